"""Operations of `ttg` between lanes: layouts that change, and barriers."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntFlag

from xdsl.dialects.builtin import I32, IntegerAttr, TensorType, i32
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.traits import ReadsAndWrites
from coopc.dialects.tt.checks import expect_element, expect_shape
from coopc.dialects.tt.layouts import has_encoding
from coopc.dialects.tt.types import is_tensor


@irdl_op_definition
class ConvertLayoutOp(IRDLOperation, HasFolderInterface):
    """The same tensor with another encoding: elements move between lanes.

    | value  | shape | encoding |
    |--------|-------|----------|
    | src    | M x N | any      |
    | result | M x N | any      |

    ```mlir
    #a = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 4],
                       warpsPerCTA = [4, 1], order = [1, 0]}>
    #b = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 16],
                       warpsPerCTA = [4, 1], order = [1, 0]}>
    %x = "test.op"() : () -> tensor<64x32xf16, #a>
    %y = ttg.convert_layout %x : tensor<64x32xf16, #a> -> tensor<64x32xf16, #b>
    ```
    """

    name = "ttg.convert_layout"

    src = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "$src attr-dict `:` type($src) `->` type($result)"

    def __init__(self, src: SSAValue, result_type: Attribute) -> None:
        super().__init__(operands=[src], result_types=[result_type])

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        """Return src where its encoding stays, or gets back what it was."""
        src = self.src
        if src.type == self.result.type:
            return (src,)
        if isinstance(src.owner, ConvertLayoutOp):
            first = src.owner.src
            return (first,) if first.type == self.result.type else None
        return None

    def verify_(self) -> None:
        """Check that shape and elements stay."""
        src, result = self.src.type, self.result.type
        assert is_tensor(src), src
        expect_shape("the result", result, src.get_shape(), "as src")
        expect_element("the result", result, src.element_type, "as src")
        if not has_encoding(src) or not has_encoding(result):
            raise VerifyException(
                f"expected src and the result to have encodings, got {src} and {result}"
            )


class Domain(IntFlag):
    """Which accesses a barrier orders."""

    LOCAL = 1
    GLOBAL_READ = 2
    GLOBAL_WRITE = 4
    TENSOR_READ = 8
    TENSOR_WRITE = 16


ALL = 31


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """All lanes of the work-group wait for each other, and see what they have written.

    What is ordered: `local` (shared memory), `global_read`, `global_write`,
    `tensor_read`, `tensor_write`, several with `|` between them; `all` or `none`.

    ```mlir
    ttg.barrier local
    ttg.barrier all
    ```
    """

    name = "ttg.barrier"

    domains = prop_def(IntegerAttr[I32], prop_name="addrSpace")

    traits = traits_def(ReadsAndWrites())

    def __init__(self, domains: Domain) -> None:
        super().__init__(properties={"addrSpace": IntegerAttr(int(domains), i32)})

    @property
    def ordered(self) -> Domain:
        """What is ordered."""
        return Domain(self.domains.value.data)

    def verify_(self) -> None:
        """Check that there are such domains."""
        if not 0 <= (found := self.domains.value.data) <= ALL:
            raise VerifyException(f"expected addrSpace of 0 to {ALL}, got {found}")

    @classmethod
    def parse(cls, parser: Parser) -> BarrierOp:
        """Parse `local|global_read {..}`."""
        known = {str(each.name).lower(): int(each) for each in Domain}
        known |= {"none": 0, "all": ALL}
        found = 0
        while True:
            found |= known[parser.parse_keyword_in(known)]
            if parser.parse_optional_characters("|") is None:
                break
        barrier = cls(Domain(found))
        barrier.attributes |= parser.parse_optional_attr_dict()
        return barrier

    def print(self, printer: Printer) -> None:
        """Print what `parse` reads."""
        found = self.ordered
        names = [str(each.name).lower() for each in Domain if each in found]
        words = {0: "none", ALL: "all"}.get(int(found), "|".join(names))
        printer.print_string(f" {words}")
        printer.print_op_attributes(self.attributes)
