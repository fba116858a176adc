"""A launch sequence as a function that the simulator runs.

Before:  simt.sequence @f(%a: memref<4xf32>, %r: memref<4xf32>) {
           simt.launch @f.0(%a, %r) : ..
           simt.result %r : memref<4xf32>
         }
After:   func.func @f(%t: tensor<4xf32>) -> tensor<4xf32> {
           %a = bufferization.to_buffer %t
           %r = memref.alloc() : memref<4xf32>
           func.call @f.0(%a, %r) : ..
           %u = bufferization.to_tensor %r
           return %u
         }

for a function @f on tensors.  Kernels are called as long as they are plain functions;
what passes make of these is compared kernel by kernel.
"""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.dialects import bufferization, memref
from xdsl.dialects.builtin import MemRefType, ModuleOp, UnitAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import simt
from coopc.dialects.narrow import is_tensor, memref_type
from coopc.ir.control_flow import functions


def called(origin: FuncOp, module: ModuleOp) -> ModuleOp | str:
    """Return a module in which the sequence of a function is one, or why it is not.

    The module is not changed.
    """
    name, found = origin.sym_name.data, module.clone()
    sequences = [x for x in found.ops if isinstance(x, simt.SequenceOp)]
    sequence = next((x for x in sequences if x.sym_name.data == name), None)
    if sequence is None:
        return "it does not exist after the pass"
    known = functions(found)
    launches = [x for x in sequence.body.block.ops if isinstance(x, simt.LaunchOp)]
    kernels = [known.get(x.kernel.root_reference.data) for x in launches]
    if any(x is None or simt.KERNEL in x.attributes for x in kernels):
        return "it is a launch sequence, whose kernels are compared"
    types = sequence.body.block.arg_types[len(origin.function_type.inputs) :]
    if not all(isinstance(x, MemRefType) and x.has_static_shape() for x in types):
        return "it is a launch sequence with results of dynamic sizes"
    Rewriter.replace_op(sequence, _function(origin, sequence), [])
    return found


def _function(origin: FuncOp, sequence: simt.SequenceOp) -> FuncOp:
    """Return a function of the type of the origin that does what a sequence does."""
    old = sequence.body.block
    block = Block(arg_types=origin.function_type.inputs)
    for new, arg in zip(block.args, origin.args, strict=True):
        new.name_hint = arg.name_hint
    b = Builder(InsertPoint.at_end(block))
    count = len(block.args)
    given = [
        b.insert(_buffer(new, memref_type(arg))).results[0]
        if is_tensor(new.type)
        else new
        for new, arg in zip(block.args, old.args[:count], strict=True)
    ]
    results: list[SSAValue] = [
        b.insert(memref.AllocOp([], [], memref_type(arg))).results[0]
        for arg in old.args[count:]
    ]
    known: dict[SSAValue, SSAValue] = {}
    known |= zip(old.args, (*given, *results), strict=True)
    for op in old.ops:
        match op:
            case simt.LaunchOp():
                callee = op.kernel.root_reference.data
                b.insert(CallOp(callee, [known.get(x, x) for x in op.arguments], []))
            case simt.ResultOp():
                pass
            case _:
                new = b.insert(op.clone(known))
                known |= zip(op.results, new.results, strict=True)
    tensors = [
        b.insert(bufferization.ToTensorOp(x, restrict=True)).results[0] for x in results
    ]
    b.insert(ReturnOp(*tensors))
    return FuncOp(origin.sym_name.data, origin.function_type, Region(block))


def _buffer(tensor: SSAValue, type: MemRefType) -> bufferization.ToBufferOp:
    return bufferization.ToBufferOp.create(
        operands=[tensor], result_types=[type], properties={"read_only": UnitAttr()}
    )
