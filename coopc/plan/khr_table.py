"""How each operation of `coopmatrix` is done under SPV_KHR_cooperative_matrix: a table.

The extension has few instructions, and devices lack some of those.  A row says for some
operations, in some circumstances, on devices with some abilities, what is done; of the
rows that fit, the first holds.

>>> from coopc.device import BMG, INTEL_CPU, LAVAPIPE
>>> [way("max", frozenset(), d).form for d in (LAVAPIPE, BMG, INTEL_CPU)]
['elements', 'elements', 'memory']
>>> way("add", frozenset(), BMG).form, way("add", frozenset(), LAVAPIPE).form
('elements', 'native')
>>> way("extract", frozenset(), INTEL_CPU).form
'memory'
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from coopc.device import Device
from coopc.plan.atomic_form import LOGICAL

Form: TypeAlias = Literal["native", "elements", "staged", "memory", "refused"]
"""An instruction; a loop over the elements that a work-item owns; through work-group
memory, back to a matrix; by the lanes in work-group memory, where a matrix stays that
the device has none of; not at all."""

Fact: TypeAlias = Literal[
    "narrow float",
    "checked",
    "from start",
    "surface",
    "fill of 0",
    "inexact",
    "not held",
    "not multiplied",
    "no unit stride",
    "misaligned",
    "other layout",
    "other pointee",
    "same type",
    "same use",
    "of floats",
    "rounding",
    "of acc",
    "use changes",
    "rows move",
    "no function",
    "logical",
    "integers",
]
"""What is true of one operation.

`narrow float`: some elements are bf16 or f8, of which SPIR-V has no arithmetic.
`inexact`: arithmetic on whole matrices of floats, which the device has none of that
keeps zeros, infinities and NaN apart, and numbers rounded.
`from start`: of two dimensions, and memory that begins where a buffer does.
`surface`: memory of 2D blocks, and a matrix that the device accesses so.
`not held`: some matrix is of a type that no multiplication of the device has.
`not multiplied`: a multiplication of types or sizes that the device does not list.
`no unit stride`: memory in which neither rows nor columns are contiguous.
`misaligned`: rows that are surely not aligned as the device needs them.
`other layout`: a layout in which the device does not access the matrix.
`other pointee`: memory that holds something else than elements of the matrix, which
the device does not access by matrices.
`of floats`: bits of floats become integers, or the other way round.
`of acc`: the matrix that is reduced is an accumulator.
`rounding`: it rounds floats that are not only stored, or widens what may be rounded.
`use changes`: the device converts, or transposes, matrices of the use to the other one.
`rows move`: lanes can get rows, of b columns, of a matrix, and make the other of them.
`no function`: the body writes memory, or uses private memory or matrices from outside.
`logical`: atomic by means of integers, in memory that cannot be seen as such.
`integers`: the elements are integers."""

Ability: TypeAlias = Literal[
    "whole arithmetic",
    "element access",
    "any fill",
    "reductions",
    "per-element operations",
    "coordinates",
    "tensor addressing",
    "checked accesses",
]
"""What a device can do; the names of `coopc.device.Device`."""


@dataclass(frozen=True, slots=True)
class Row:
    """What is done with some operations."""

    ops: tuple[str, ...]
    """Names without the dialect."""
    form: Form
    facts: frozenset[Fact] = frozenset()
    """What must be true of the operation."""
    needs: frozenset[Ability] = frozenset()
    """What the device must have."""
    reason: str = ""
    """Why it is refused."""

    def fits(self, op: str, facts: frozenset[Fact], able: frozenset[Ability]) -> bool:
        """Whether the row is for an operation on a device."""
        return op in self.ops and self.facts <= facts and self.needs <= able


def _row(
    ops: str,
    form: Form,
    *facts: Fact,
    needs: tuple[Ability, ...] = (),
    reason: str = "",
) -> Row:
    return Row(tuple(ops.split()), form, frozenset(facts), frozenset(needs), reason)


ELEMENTS = "length extract insert coord"

WHOLE = "neg add sub mul div scale"
"""What has instructions on whole matrices."""
SINGLE = "rem min max and or xor shl shr abs not"
"""What has instructions on single elements only."""
ATOMICS = "atomic_load atomic_store atomic_add atomic_max atomic_min"
ROW_SLICES = "extract_row_slice insert_row_slice"

TABLE: tuple[Row, ...] = (
    # Multiplications.
    _row("mul_add", "staged", "not multiplied"),
    # Where matrices of a type do not exist, work-group memory holds them.
    _row(f"{WHOLE} {SINGLE} fill", "memory", "not held"),
    _row(ATOMICS, "refused", "logical", reason=LOGICAL),
    _row(
        f"load store convert bitcast apply {ATOMICS} {ROW_SLICES} {ELEMENTS}",
        "memory",
        "not held",
    ),
    _row("reduce transpose", "memory", "not held"),
    _row("reduce", "native", "same type", "of acc", needs=("reductions",)),
    _row("reduce", "memory"),
    # Memory.
    _row("load store", "staged", "no unit stride"),
    _row("load store", "staged", "other pointee"),
    _row("load store", "native", "checked", "from start", needs=("tensor addressing",)),
    _row("load store", "staged", "misaligned"),
    _row("load store", "staged", "other layout"),
    _row("load store", "native", "checked", "surface", needs=("checked accesses",)),
    _row("load store", "staged", "checked"),
    _row("load store prefetch", "native"),
    _row(ATOMICS, "staged"),
    # Values.
    _row("fill", "native", "fill of 0"),
    _row("fill", "native", needs=("any fill",)),
    _row("fill", "elements", needs=("element access",)),
    _row("fill", "memory"),
    _row("mul_add spec_constant spec_value yield", "native"),
    _row("coord", "native", needs=("element access", "coordinates")),
    # A matrix of rows and one of columns says where the driver has its elements.
    _row("coord", "staged", needs=("element access",)),
    _row("length extract insert", "native", needs=("element access",)),
    _row(ELEMENTS, "memory"),  # where a lane has any that are its own
    _row(ROW_SLICES, "staged"),  # the driver spreads matrices as it likes
    # Arithmetic.
    _row("scale", "elements", "integers", needs=("element access",)),
    _row(WHOLE, "elements", "narrow float", needs=("element access",)),
    _row("add sub mul div scale", "elements", "inexact", needs=("element access",)),
    _row(WHOLE, "native", needs=("whole arithmetic",)),
    _row(f"{WHOLE} {SINGLE}", "elements", needs=("element access",)),
    _row(f"{WHOLE} {SINGLE}", "memory"),
    _row("apply", "staged", "no function"),
    _row("apply", "native", needs=("per-element operations",)),
    # Conversions: the KHR extension keeps the use.
    _row("convert bitcast", "native", "same type", "same use"),
    _row("convert", "native", "same type", "use changes"),
    _row("bitcast", "native", "rows move"),
    _row("bitcast", "staged", "of floats"),  # OpBitcast is of integers alone
    _row("convert bitcast", "staged", "narrow float"),
    _row("convert", "staged", "inexact", "rounding"),
    _row("convert", "native", "use changes", needs=("whole arithmetic",)),
    _row("convert bitcast", "native", "same use", needs=("whole arithmetic",)),
    _row("convert bitcast apply", "staged"),
    _row("transpose", "native", "use changes"),
    _row("transpose", "staged"),
)
"""In the order in which rows are tried."""


def abilities(device: Device) -> frozenset[Ability]:
    """What a device can do."""
    has: dict[Ability, bool] = {
        "whole arithmetic": device.whole_arithmetic,
        "element access": device.element_access,
        "any fill": device.fills == "any",
        "checked accesses": bool(device.checked_rows),
    }
    has |= {name: True for name in device.matrix2 if name != "conversions"}
    return frozenset(name for name, able in has.items() if able)


def way(op: str, facts: frozenset[Fact], device: Device) -> Row:
    """The row for an operation, by its name without the dialect, on a device.

    Raises:
        ValueError: the table has none: there is no such operation.
    """
    able = abilities(device)
    for row in TABLE:
        if row.fits(op, facts, able):
            return row
    raise ValueError(f"expected an operation of coopmatrix, got {op!r}")
