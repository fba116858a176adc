"""The operation of `coopmatrix` that names a number which is fixed late."""

from itertools import count

from xdsl.dialects.builtin import (
    I32,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolNameConstraint,
)
from xdsl.ir import Operation
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
)
from xdsl.traits import HasParent, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class SpecConstantOp(IRDLOperation):
    """A named number, fixed when a module is specialised, not when it is compiled.

    Matrix types name it where they would have a size or a scope.  `id` is the SpecId
    by which a driver sets it: see `spec_ids` for those that are left out.

    ```mlir
    coopmatrix.spec_constant @M = 16 : i32
    coopmatrix.spec_constant @N = 8 : i32 id = 3
    %a = "test.op"() : () -> !coopmatrix.matrix<@M x @N x f16, a>
    ```
    """

    name = "coopmatrix.spec_constant"

    sym_name = prop_def(SymbolNameConstraint())
    value = prop_def(IntegerAttr[I32])
    """The default."""
    id = opt_prop_def(IntegerAttr[I32])

    traits = traits_def(SymbolOpInterface(), HasParent(ModuleOp))
    irdl_options = (ParsePropInAttrDict(),)

    assembly_format = "$sym_name `=` $value `:` `i32` (`id` `=` $id^)? attr-dict"

    def __init__(self, name: str, value: int, id: int | None = None) -> None:
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "value": IntegerAttr(value, 32),
                "id": None if id is None else IntegerAttr(id, 32),
            }
        )

    def verify_(self) -> None:
        """Check that the id is a number that no constant before it has."""
        if self.id is None:
            return
        id = self.id.value.data
        if id < 0:
            raise VerifyException(f"expected an id of 0 or more, got {id}")
        before: Operation | None = self.prev_op
        while before is not None:
            if isinstance(before, SpecConstantOp) and before.id == self.id:
                raise VerifyException(
                    f"expected an id of its own, got {id}, the id of "
                    f"@{before.sym_name.data}"
                )
            before = before.prev_op


def spec_ids(module: ModuleOp) -> dict[str, int]:
    """Return the SpecId of each constant of a module, by its name, in order.

    Those without an id get the least ones that are free, in the order of definition.
    """
    constants = [op for op in module.ops if isinstance(op, SpecConstantOp)]
    taken = {op.id.value.data for op in constants if op.id is not None}
    free = (id for id in count() if id not in taken)
    return {
        op.sym_name.data: next(free) if op.id is None else op.id.value.data
        for op in constants
    }
