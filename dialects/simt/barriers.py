"""Operations of `simt` at which work-items wait for each other.

No access to memory moves across them.
"""

from abc import ABC

from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, traits_def

from coopc.dialects.simt.attributes import FenceScope, FenceScopeAttr
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

    ```mlir
    simt.barrier workgroup
    ```
    """

    name = "simt.barrier"


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
