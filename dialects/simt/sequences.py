"""Launch sequences: which kernels the host starts, in which order, on which memory."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FunctionType,
    IndexType,
    MemRefType,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.dialects.utils import parse_func_op_like, print_func_op_like
from xdsl.ir import BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    MemoryReadEffect,
    MemoryWriteEffect,
    NoTerminator,
    SymbolOpInterface,
    SymbolTable,
)
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.narrow import memref_type

_RESERVED = ("sym_name", "function_type")
HOST_ARITHMETIC: dict[type[Operation], str] = {
    arith.AddiOp: "add",
    arith.SubiOp: "sub",
    arith.MuliOp: "mul",
    arith.MinSIOp: "min",
    arith.MinUIOp: "min",
    arith.MaxSIOp: "max",
    arith.MaxUIOp: "max",
    arith.RemUIOp: "mod",
    arith.RemSIOp: "truncmod",
    arith.DivUIOp: "floordiv",
    arith.DivSIOp: "truncdiv",
    arith.FloorDivSIOp: "floordiv",
    arith.CeilDivUIOp: "ceildiv",
    arith.CeilDivSIOp: "ceildiv",
}
"""What a host computes of index, by the names of `coopc.interface.OPERATIONS`."""
HOST_UNSIGNED = (
    *(arith.MinUIOp, arith.MaxUIOp, arith.RemUIOp, arith.DivUIOp, arith.CeilDivUIOp),
)
"""Those of them that take negative numbers for large ones."""


@irdl_op_definition
class SequenceOp(IRDLOperation):
    """What the host does for a function of several kernels.

    The body allocates temporary memory (`memref.alloc`), takes views of memory and
    computes sizes, and launches kernels, each after the one before it has ended.

    ```mlir
    func.func @scale(%x: memref<4xf32>, %y: memref<4xf32>) attributes {simt.kernel} {
      return
    }
    simt.sequence @twice(%x: memref<4xf32>, %y: memref<4xf32>) {
      simt.result %y : memref<4xf32>
      %t = memref.alloc() : memref<4xf32>
      simt.launch @scale(%x, %t) : (memref<4xf32>, memref<4xf32>)
      simt.launch @scale(%t, %y) : (memref<4xf32>, memref<4xf32>)
    }
    ```
    """

    name = "simt.sequence"

    body = region_def("single_block")
    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)

    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface(), NoTerminator())

    def __init__(self, name: str, body: Region) -> None:
        types = body.block.arg_types
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "function_type": FunctionType.from_lists(types, []),
            },
            regions=[body],
        )

    def verify_(self) -> None:
        found, wanted = tuple(self.body.block.arg_types), self.function_type
        if found != wanted.inputs.data or wanted.outputs.data:
            raise VerifyException(
                "expected a body with the arguments of the function type, and no "
                f"results, got {wanted}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> SequenceOp:
        """Parse `@f(%x: memref<4xf32>) attributes {..} { .. }`."""
        name, _, _, body, extra, _, _ = parse_func_op_like(
            parser, reserved_attr_names=_RESERVED
        )
        op = cls(name, body)
        op.attributes = {} if extra is None else dict(extra.data)
        return op

    def print(self, printer: Printer) -> None:
        print_func_op_like(
            printer,
            self.sym_name,
            self.function_type,
            self.body,
            self.attributes,
            reserved_attr_names=_RESERVED,
        )


@irdl_op_definition
class ResultOp(IRDLOperation):
    """A memref that the function returned: the host allocates it.

    Its dynamic sizes are computed from those of other arguments.

    ```mlir
    simt.sequence @nothing(%x: memref<?x4xf32>, %y: memref<?x4xf32>) {
      %c0 = arith.constant 0 : index
      %n = memref.dim %x, %c0 : memref<?x4xf32>
      simt.result %y[%n] : memref<?x4xf32>
    }
    ```
    """

    name = "simt.result"

    memory = operand_def(MemRefType)
    sizes = var_operand_def(IndexType())

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect(), HasParent(SequenceOp))

    assembly_format = "$memory (`[` $sizes^ `]`)? attr-dict `:` type($memory)"

    def __init__(self, memory: SSAValue, sizes: Sequence[SSAValue]) -> None:
        super().__init__(operands=[memory, sizes])

    def verify_(self) -> None:
        wanted = list(memref_type(self.memory).get_shape()).count(DYNAMIC_INDEX)
        if not isinstance(self.memory, BlockArgument):
            raise VerifyException("expected an argument of the sequence")
        if len(self.sizes) != wanted:
            raise VerifyException(
                f"expected {wanted} sizes, the dynamic ones of {self.memory.type}, got "
                f"{len(self.sizes)}"
            )


@irdl_op_definition
class LaunchOp(IRDLOperation):
    """Runs all work-groups of a kernel's grid.

    ```mlir
    func.func @scale(%x: memref<4xf32>) attributes {simt.kernel} {
      return
    }
    simt.sequence @once(%x: memref<4xf32>) {
      simt.launch @scale(%x) : (memref<4xf32>)
    }
    ```
    """

    name = "simt.launch"

    kernel = prop_def(SymbolRefAttr)
    arguments = var_operand_def()

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect(), HasParent(SequenceOp))

    assembly_format = (
        "$kernel `(` $arguments `)` attr-dict `:` `(` type($arguments) `)`"
    )

    def __init__(self, kernel: str, arguments: Sequence[SSAValue]) -> None:
        super().__init__(
            operands=[arguments], properties={"kernel": SymbolRefAttr(kernel)}
        )

    def verify_(self) -> None:
        name = self.kernel.root_reference.data
        called = SymbolTable.lookup_symbol(self, self.kernel)
        if not isinstance(called, FuncOp):
            raise VerifyException(f"expected @{name} to be a function of the module")
        found, wanted = tuple(self.arguments.types), called.function_type.inputs.data
        if found != wanted:
            shown = ", ".join(map(str, wanted))
            raise VerifyException(
                f"expected arguments of types ({shown}), those of @{name}, got "
                f"({', '.join(map(str, found))})"
            )
