"""Which values of a kernel differ between the lanes that one work-item replaces.

`coopc.ir.uniformity` says it of the code as it is.  Code for all lanes at once
keeps more apart: what a loop carries differs where lanes leave the loop at different
times, since those who have left keep what they had.  Matrices and tokens are one for
all lanes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import coopmatrix, row_slice, simt
from coopc.ir.control_flow import (
    TRANSPARENT,
    Functions,
    callee,
    functions,
    returns,
)
from coopc.ir.uniformity import Uniformity, Variation, yielded


def varying_values(module: ModuleOp, least: Variation) -> set[SSAValue]:
    """Return the values that are a vector over lanes.

    Args:
        module: the kernels and functions.
        least: what values vary by at least: between lanes, or between subgroups, too.
    """
    found = Uniformity(module)
    varying = {
        value
        for value in _values(module)
        if found.of(value) >= least and not is_shared(value.type)
    }
    _Closure(module, varying, least).run()
    return varying


def is_shared(type: Attribute) -> bool:
    """Whether values of a type are one for all lanes that hold it."""
    return isinstance(type, coopmatrix.MatrixType | row_slice.TokenType)


def is_varying_loop(op: Operation, varying: set[SSAValue]) -> bool:
    """Whether lanes leave a loop at different times."""
    match op:
        case scf.ForOp():
            return any(x in varying for x in (op.lb, op.ub, op.step))
        case scf.WhileOp():
            decide = op.before_region.block.last_op
            assert isinstance(decide, scf.ConditionOp), decide
            return decide.condition in varying
        case _:
            return False


class _Closure:
    """Adds what depends on what is forced to vary, until nothing is added."""

    def __init__(
        self, module: ModuleOp, varying: set[SSAValue], least: Variation
    ) -> None:
        self.module = module
        self.varying = varying
        self.least = least
        self.passed: dict[SSAValue, list[SSAValue]] = {}
        known = functions(module)
        for op in module.walk():
            for source, targets in passed_on(op, known):
                self.passed.setdefault(source, []).extend(targets)

    def run(self) -> None:
        """Go on from what loops and branches carry that varying values decide."""
        decided: set[Operation] = set()
        while new := [
            op for op in self.module.walk() if op not in decided and self._decides(op)
        ]:
            decided.update(new)
            pending: list[SSAValue] = []
            for op in new:
                self._force(carried(op), pending)
            while pending:
                self._force(self._dependent(pending.pop()), pending)

    def _force(self, values: Iterable[SSAValue], pending: list[SSAValue]) -> None:
        for value in values:
            if value not in self.varying and not is_shared(value.type):
                self.varying.add(value)
                pending.append(value)

    def _decides(self, op: Operation) -> bool:
        if isinstance(op, scf.IfOp):
            return op.cond in self.varying
        return is_varying_loop(op, self.varying)

    def _dependent(self, value: SSAValue) -> Iterator[SSAValue]:
        """Yield what is a vector if a value is."""
        yield from self.passed.get(value, ())
        for use in value.uses:
            op = use.operation
            reduced = isinstance(op, simt.BroadcastOp | simt.ReduceOp)
            if type(op) not in TRANSPARENT and not (
                reduced and self.least == Variation.LANES
            ):
                yield from op.results


def passed_on(
    op: Operation, known: Functions
) -> Iterator[tuple[SSAValue, tuple[SSAValue, ...]]]:
    """Yield what control flow passes on, and as what."""
    match op:
        case scf.ForOp():
            targets = [*zip(op.body.block.args[1:], op.res, strict=True)]
            for given in (op.iter_args, yielded(op.body)):
                yield from zip(given, targets, strict=True)
        case scf.WhileOp():
            starts = [(x,) for x in op.before_region.block.args]
            yield from zip(op.arguments, starts, strict=True)
            yield from zip(yielded(op.after_region), starts, strict=True)
            args = op.after_region.block.args
            targets = [*zip(args, op.res, strict=True)]
            yield from zip(yielded(op.before_region)[1:], targets, strict=True)
        case scf.IfOp() | scf.ExecuteRegionOp() | scf.IndexSwitchOp():
            for region in op.regions:
                if region.blocks:
                    results = [(x,) for x in op.results]
                    yield from zip(yielded(region), results, strict=True)
        case CallOp() if (func := callee(op, known)) is not None:
            yield from zip(op.arguments, [(x,) for x in func.args], strict=True)
            for end in returns(func):
                yield from zip(end.arguments, [(x,) for x in op.res], strict=True)
        case _:
            pass


def carried(op: Operation) -> Iterator[SSAValue]:
    """Yield what a loop or a branch that varying values decide keeps for each lane."""
    yield from op.results
    match op:
        case scf.ForOp():
            yield from op.body.block.args
        case scf.WhileOp():
            yield from op.before_region.block.args
            yield from op.after_region.block.args
        case _:
            pass


def _values(module: ModuleOp) -> Iterator[SSAValue]:
    """Yield all values of a module."""
    for op in module.walk():
        yield from op.results
        for region in op.regions:
            for block in region.blocks:
                yield from block.args
