"""Operations of `simt` at which work-items wait for each other.

No access to memory moves across them.
"""

from abc import ABC

from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
)
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.simt.attributes import (
    FenceScope,
    FenceScopeAttr,
    MemoryAttr,
    MemorySpace,
)
from coopc.dialects.traits import Collective, ReadsAndWrites


class WaitingOp(IRDLOperation, ABC):
    """An operation that every work-item of a scope executes, to wait for the others."""

    scope = prop_def(FenceScopeAttr)

    traits = traits_def(Collective(), ReadsAndWrites())

    assembly_format = "$scope attr-dict"

    def __init__(self, scope: FenceScope = FenceScope.WORKGROUP) -> None:
        super().__init__(properties={"scope": FenceScopeAttr(scope)})


@irdl_op_definition
class BarrierOp(WaitingOp):
    """Wait for every work-item of the scope, and see what they wrote.

    Every work-item of the scope must execute it.  What was written before it, in global
    and in work-group memory, is seen after it.

    With `memory`, only what was written in that memory is.

    ```mlir
    simt.barrier workgroup
    simt.barrier workgroup memory = <workgroup>
    ```
    """

    name = "simt.barrier"

    memory = opt_prop_def(MemoryAttr)

    assembly_format = "$scope (`memory` `=` $memory^)? attr-dict"

    def __init__(
        self,
        scope: FenceScope = FenceScope.WORKGROUP,
        memory: MemorySpace | None = None,
    ) -> None:
        super().__init__(scope)
        self.memory = None if memory is None else MemoryAttr.of(memory)

    def verify_(self) -> None:
        """Check that others see the memory."""
        if self.memory is not None and self.memory.data is MemorySpace.PRIVATE:
            raise VerifyException(
                "expected memory that others see, global or workgroup, got private"
            )


@irdl_op_definition
class BarrierArriveOp(WaitingOp):
    """The first half of a barrier: say that this work-item is there, and go on.

    Every work-item of the scope must execute it, and then the other half.  What was
    written before it, in global and in work-group memory, is seen after the other half.

    ```mlir
    simt.barrier_arrive workgroup
    ```
    """

    name = "simt.barrier_arrive"


@irdl_op_definition
class BarrierWaitOp(WaitingOp):
    """The second half of a barrier: wait for those who have not arrived.

    Every work-item of the scope must execute it, after the first half.  What was
    written before the first half, in global and in work-group memory, is seen after it.

    ```mlir
    simt.barrier_wait workgroup
    ```
    """

    name = "simt.barrier_wait"
