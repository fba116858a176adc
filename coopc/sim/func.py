"""Simulation of `func`: calls and returns."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.interpreter import (
    Interpreter,
    PythonValues,
    impl,
    register_impls,
)

from coopc.sim.errors import SimulationError
from coopc.sim.interpreter import SimulatorFunctions, ending


@register_impls
class FuncFunctions(SimulatorFunctions):
    """Those who are active call together; the callee has one exit, its end."""

    @impl(func.CallOp)
    def call(
        self, interpreter: Interpreter, op: func.CallOp, args: PythonValues
    ) -> PythonValues:
        """Run the function that is called."""
        callee = interpreter.get_op_for_symbol(op.callee)
        if not isinstance(callee, func.FuncOp) or not callee.body.blocks:
            raise SimulationError(f"no function with a body is called {op.callee}")
        return interpreter.run_ssacfg_region(callee.body, args)

    leave = ending(func.ReturnOp)
