"""`llvm.intr.assume`, which xDSL 0.74 lacks: Triton's `tl.assume`.

Kernels of Triton have no other operation of LLVM's dialect, whose import takes long;
`coopc.dialects.llvm_target` adds it to the dialect.
"""

from xdsl.dialects.builtin import i1
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, traits_def
from xdsl.traits import MemoryWriteEffect


@irdl_op_definition
class AssumeOp(IRDLOperation):
    """A promise that a condition is true; it is undefined where it is not.

    ```mlir
    %c = "test.op"() : () -> i1
    llvm.intr.assume %c : i1
    ```
    """

    name = "llvm.intr.assume"

    cond = operand_def(i1)

    # As in LLVM, so that it stays where it is.
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$cond attr-dict `:` type($cond)"
