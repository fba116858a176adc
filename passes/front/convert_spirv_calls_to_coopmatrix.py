"""convert-spirv-calls-to-coopmatrix: read kernels that call SPIR-V's builtins.

Before:  functions with calls of __spirv_CooperativeMatrix{Load,Store,MulAdd,Length}KHR,
         CompositeConstruct, VectorExtractDynamic and VectorInsertDynamic, as SYCL's
         front end writes them, in the llvm dialect; control flow is scf, or branches
         whose loops are left at one place
After:   func.func of coopmatrix operations; functions of the convention spir_kernelcc
         are kernels, with their sizes from intel_reqd_sub_group_size and
         reqd_work_group_size
Fails:   naming an operation that is not read; nothing is changed then

    %m = llvm.call @__spirv_CooperativeMatrixLoadKHR(%p, %row, %stride, %none)

    %v = memref.reinterpret_cast %p to offset: [%o], sizes: [8, 16], strides: [%s, 1]
    %m = coopmatrix.load %v[%c0, %c0] row_major
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, UnitAttr, i32
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc.dialects import simt
from coopc.rewrite.spirv_branches import read_blocks
from coopc.rewrite.spirv_builtins import read_call
from coopc.rewrite.spirv_calls import builtin_of
from coopc.rewrite.spirv_reader import Reader, Unreadable

_LANES, _SIZE = "intel_reqd_sub_group_size", "reqd_work_group_size"

Function = llvm.FuncOp | func.FuncOp


@dataclass(frozen=True)
class ConvertSpirvCallsToCoopmatrixPass(ModulePass):
    """Make coopmatrix operations of SPIR-V-friendly calls."""

    name = "convert-spirv-calls-to-coopmatrix"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Read all functions of `op`, then replace them."""
        old = [each for each in op.ops if isinstance(each, Function)]
        concerned = [each for each in old if each.body.blocks and _concerns(each)]
        try:
            read = [(each, _read(each)) for each in concerned]
        except Unreadable as error:
            error.op.emit_error(error.reason, PassFailedException(error.reason))
        for each, new in read:
            Rewriter.replace_op(each, new)
        for each in old:
            if not each.body.blocks and builtin_of(each.sym_name.data) is not None:
                Rewriter.erase_op(each)


def _concerns(function: Function) -> bool:
    """Whether a function is SPIR-V-friendly LLVM."""
    return isinstance(function, llvm.FuncOp) or any(
        isinstance(op, llvm.CallOp) for op in function.walk()
    )


def _read(old: Function) -> func.FuncOp:
    new = Reader(old, read_call).read(read_blocks)
    new.location = old.location
    new.attributes.update(_attributes(old))
    return new


def _attributes(old: Function) -> dict[str, Attribute]:
    """Return the attributes of the new function: what a kernel is, in simt's words."""
    found = {
        name: value
        for name, value in old.attributes.items()
        if name.startswith(("simt.", "coopmatrix."))
    }
    if isinstance(old, llvm.FuncOp) and old.CConv.convention.data == "spir_kernelcc":
        found[simt.KERNEL] = UnitAttr()
    lanes, size = old.attributes.get(_LANES), old.attributes.get(_SIZE)
    if isinstance(lanes, IntegerAttr):
        found[simt.SUBGROUP_SIZE] = IntegerAttr(lanes.value.data, i32)
    if isinstance(size, DenseArrayBase):
        found[simt.WORK_GROUP_SIZE] = size
    return found
