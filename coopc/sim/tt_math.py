"""Simulation of `tt`: arithmetic on each element, and the same bits as another type."""

from __future__ import annotations

from xdsl.dialects import arith, math
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls
from xdsl.ir import Operation

from coopc.dialects import tt
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.tt.enums import PropagateNan, member
from coopc.dialects.tt.externs import function_of
from coopc.sim.errors import SimulationError
from coopc.sim.integers import high_product
from coopc.sim.interpreter import SimulatorFunctions
from coopc.sim.memory import MemRef
from coopc.sim.values import Array, bits_of, unsigned, wrapped

NAMES: dict[type[Operation], str] = {
    math.AbsFOp: "abs",
    arith.MaxnumfOp: "maxnum",
    arith.MinnumfOp: "minnum",
}
"""What functions are called here, where it is not as in `math`."""


@register_impls
class TtMathFunctions(SimulatorFunctions):
    """Casts, and arithmetic that `arith` lacks."""

    @impl(tt.BitcastOp)
    def bitcast(
        self, interpreter: Interpreter, op: tt.BitcastOp, args: PythonValues
    ) -> PythonValues:
        """Take the bits as another type; pointers stay: see `coopc.sim.tt_memory`."""
        (value,) = args
        if isinstance(value, MemRef):
            return (value,)
        source, result = element_of(op.src.type), element_of(op.result.type)
        return (self.machine.numerics.bitcast(value, source, result),)

    @impl(tt.ClampFOp)
    def clampf(
        self, interpreter: Interpreter, op: tt.ClampFOp, args: PythonValues
    ) -> PythonValues:
        """Keep between two numbers: NaN is NaN where it propagates, else the least."""
        x, low, high = args
        is_kept = member(PropagateNan, op.propagate_nan) is PropagateNan.ALL
        at_least, at_most = ("maximum", "minimum") if is_kept else ("maxnum", "minnum")
        found = self._call(op, at_least, x, low)
        return (self._call(op, at_most, found, high),)

    @impl(tt.PreciseSqrtOp)
    def sqrt(
        self, interpreter: Interpreter, op: tt.PreciseSqrtOp, args: PythonValues
    ) -> PythonValues:
        """Take the root, rounded correctly."""
        return (self._call(op, "precise_sqrt", *args),)

    @impl(tt.PreciseDivFOp)
    def divf(
        self, interpreter: Interpreter, op: tt.PreciseDivFOp, args: PythonValues
    ) -> PythonValues:
        """Divide, rounded correctly."""
        return (self._call(op, "precise_div", *args),)

    @impl(tt.MulhiUIOp)
    def mulhiui(
        self, interpreter: Interpreter, op: tt.MulhiUIOp, args: PythonValues
    ) -> PythonValues:
        """Give the high half of an unsigned product."""
        type = element_of(op.result.type)
        x, y = (unsigned(arg, type) for arg in args)
        return (wrapped(high_product(x, y, bits_of(type)), type),)

    @impl(tt.ExternElementwiseOp)
    def function(
        self, interpreter: Interpreter, op: tt.ExternElementwiseOp, args: PythonValues
    ) -> PythonValues:
        """Call a function of a library."""
        found = function_of(op.symbol.data)
        if found is None:
            raise SimulationError(f"expected a known function, got {op.symbol.data}")
        name = NAMES.get(found, found.name.partition(".")[2])
        return (self._call(op, name, *args),)

    def _call(self, op: Operation, name: str, *args: Array) -> Array:
        """Return a function of floats, of the type of the result."""
        return self.machine.numerics.call(name, element_of(op.results[0].type), *args)
