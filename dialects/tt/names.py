"""The attributes that Triton puts on modules, functions and operations, by name.

They are discardable: none is needed, and what is not known is kept.

| on | name | what it says |
|---|---|---|
| module | `ttg.num-warps` | subgroups of a work-group |
| module | `ttg.threads-per-warp` | lanes of a subgroup, 32 where it is missing |
| module | `ttg.num-ctas` | work-groups that share a tensor, 1 where it is missing |
| module | `ttig.support_2d_block_io` | loads may become 2D block loads (unit) |
| access | `ttig.block_io` | the strides are those of a matrix in this order |
| load | `ttig.block_io_stride` | the pitch in elements (i64), of a load made 2D |
| load | `ttig.one_matrix_per_load` | no message loads several matrices (unit) |
| load | `ttig.desc_padding` | what is outside of the descriptor: 1 zero, 2 NaN (i32) |
| argument | `tt.divisibility` | it is a multiple of this (i32) |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

NUM_WARPS = "ttg.num-warps"
THREADS_PER_WARP = "ttg.threads-per-warp"
NUM_CTAS = "ttg.num-ctas"
TARGET = "ttg.target"
SUPPORT_2D_BLOCK_IO = "ttig.support_2d_block_io"
MIN_SUBGROUP_SIZE = "ttig.min_sg_size"
BASE_ALIGNMENT = "ttig.2d_block_io_base_alignment"

BLOCK_IO = "ttig.block_io"
BLOCK_IO_STRIDE = "ttig.block_io_stride"
ONE_MATRIX_PER_LOAD = "ttig.one_matrix_per_load"
DESC_PADDING = "ttig.desc_padding"

DIVISIBILITY = "tt.divisibility"
CONTIGUITY = "tt.contiguity"
CONSTANCY = "tt.constancy"

DEFAULT_THREADS_PER_WARP = 32

Order: TypeAlias = Literal["row_major", "column_major"]


@dataclass(frozen=True, slots=True)
class ModuleFacts:
    """What a module says about the work-groups that run it."""

    num_warps: int | None
    """Subgroups of a work-group; None where the module does not say."""
    threads_per_warp: int
    """Lanes of a subgroup."""
    num_ctas: int
    """Work-groups that share a tensor."""
    says_threads: bool
    """Whether `threads_per_warp` is the module's, or the default."""

    @classmethod
    def of(cls, op: Operation) -> ModuleFacts:
        """Return the facts of the module around an operation.

        Raises:
            VerifyException: an attribute of the module is not a positive number.
        """
        module = op
        while not isinstance(module, ModuleOp):
            if (parent := module.parent_op()) is None:
                break
            module = parent
        threads = _number(module, THREADS_PER_WARP)
        return cls(
            _number(module, NUM_WARPS),
            DEFAULT_THREADS_PER_WARP if threads is None else threads,
            _number(module, NUM_CTAS) or 1,
            threads is not None,
        )


def block_io(op: Operation) -> Order | None:
    """Return in which order a matrix is in memory, where an operation says it.

    Raises:
        VerifyException: the attribute says something else.
    """
    match op.attributes.get(BLOCK_IO):
        case None:
            return None
        case StringAttr(data="row_major" | "column_major" as order):
            return order
        case found:
            raise VerifyException(
                f'expected {BLOCK_IO} to be "row_major" or "column_major", got {found}'
            )


def _number(op: Operation, name: str) -> int | None:
    """Return the positive number that an attribute is, None where there is none."""
    match op.attributes.get(name):
        case None:
            return None
        case IntegerAttr(value=value) if value.data > 0:
            return value.data
        case found:
            raise VerifyException(f"expected {name} to be a positive i32, got {found}")
