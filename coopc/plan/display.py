r"""The display of a plan: where the messages of a tensor bring its elements from.

The layout document shows a load in three steps, each a linear layout into the memory
of a tensor, (row, column):

    offset       within one operand of DPAS, row after row
    iteration    the operands that come with one message
    load         the messages of a subgroup

For example A of f16, 256 x 32, whose only message is of 32 x 32:

    offset=1 -> (0, 1)  ..  offset=64 -> (4, 0)        8 x 16, an operand
    iteration=1 -> (8, 0)  2 -> (16, 0)  4 -> (0, 16)  32 x 32

Offsets and iterations count slots: where a message packs rows (VNNI) or columns (a
transposed load of narrow elements), slot (r, c) is the elements from r times the factor
on.  Loads count elements.

The document's first listing of B has three iterations, of which (16, 0) does not exist,
and its second has the load along N as (128, 0), which is (N, K) among (K, N); here B is
in the order of memory throughout, (0, 16) (8, 0) and (0, 128).

Laws (test/unit/plan/test_display.py checks each by its name):

    size     with one load the sizes are those of the message, with more the tensor's
    slots    slot (r, c) of what packs f rows is the rows r f .. r f + f - 1
    union    what all loads of all subgroups bring is the tensor
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coopc.plan.block2d import BlockPlan
from coopc.plan.block_shape import CHANNEL_BITS, BlockMode

Place = tuple[int, int]
"""Row and column in memory."""


@dataclass(frozen=True, slots=True)
class Display:
    """A plan, step by step."""

    offsets: tuple[Place, ...]
    """Bases of the slots of an operand."""
    iterations: tuple[Place, ...]
    """Bases of the operands of a message, in slots."""
    loads: tuple[Place, ...]
    """Bases of the messages of a subgroup, in elements."""
    factors: Place
    """Elements of a slot along rows and columns."""
    operand: Place
    """Slots of an operand."""
    message: Place
    """Slots of a message."""
    tensor: Place
    """Elements of the tensor in memory."""

    @property
    def sizes(self) -> Place:
        """The sizes after loads: of the message, or of the tensor."""
        return self.tensor if self.loads else self.message

    def __str__(self) -> str:
        """Return the text of the document."""
        blocks = [
            ("", self._named(1), self.operand),
            (" after adding iterations", self._named(2), self.message),
            (" after adding loads", self._named(3), self.sizes),
        ]
        text = "\n\n".join(
            "\n".join((f"Block load tile layout{title}:", *_lines(rows), _sizes(sizes)))
            for title, rows, sizes in blocks
        )
        return f"{text}\n{self._packed()}"

    def _named(self, count: int) -> list[tuple[str, tuple[Place, ...]]]:
        named: list[tuple[str, tuple[Place, ...]]] = [
            ("offset", self.offsets),
            ("iteration", self.iterations),
            ("load", self.loads),
        ]
        return named[:count]

    def _packed(self) -> str:
        """Return what a slot holds, if that is more than one element."""
        for dimension, factor in enumerate(self.factors):
            if factor > 1:
                return f"where a slot holds {factor} elements along dim{dimension}\n"
        return ""


def _lines(rows: Sequence[tuple[str, tuple[Place, ...]]]) -> Iterator[str]:
    """Yield a line for each basis."""
    for name, bases in rows:
        if not bases:
            yield f" - {name} is a size 1 dimension"
        for bit, basis in enumerate(bases):
            yield f" {'-' if bit == 0 else ' '} {name}={1 << bit} -> {basis}"


def _sizes(sizes: Place) -> str:
    rows, cols = sizes
    return f"where out dims are: [dim0 (size {rows}), dim1 (size {cols})]"


def display_of(plan: BlockPlan, operand: tuple[int, int]) -> Display:
    """Return a plan step by step.

    Args:
        plan: of a tensor of rank 2.
        operand: rows and columns of one operand of DPAS, in elements of the tensor.

    Raises:
        ValueError: the tensor is of another rank.
    """
    layout, shape = plan.layout, plan.shape
    if len(layout.outs) != 2:
        raise ValueError(f"expected a tensor of rank 2, got {len(layout.outs)}")
    transformed = shape.mode is BlockMode.TRANSFORM
    factors = (CHANNEL_BITS // shape.bits if transformed else 1, plan.packed)
    step = plan.row_step
    size = (
        min(operand[plan.rows], shape.height * step),
        min(operand[plan.cols], shape.columns * plan.packed),
    )
    registers = [(x[plan.rows], x[plan.cols]) for x in layout.bases("register")]
    within = [registers[bit] for bit in sorted(plan.bits)]
    beyond = [x for x in within if x[0] >= size[0] or x[1] >= size[1]]
    outer = [x for bit, x in enumerate(registers) if bit not in plan.bits and any(x)]
    slots = (size[0] // factors[0], size[1] // factors[1])
    offsets = [(0, col) for col in _powers(1, slots[1])]
    offsets += [(row, 0) for row in _powers(step, slots[0])]
    rows, cols = layout.out_sizes.values()
    tensor = (rows, cols) if plan.rows == 0 else (cols, rows)
    return Display(
        tuple(offsets),
        tuple((row // factors[0], col // factors[1]) for row, col in beyond),
        tuple(dict.fromkeys(outer)),
        factors,
        slots,
        (
            shape.height * step // factors[0],
            shape.columns * plan.packed // factors[1],
        ),
        tensor,
    )


def _powers(start: int, stop: int) -> Iterator[int]:
    """Yield start, 2 start, 4 start, ... below stop."""
    while start < stop:
        yield start
        start *= 2
