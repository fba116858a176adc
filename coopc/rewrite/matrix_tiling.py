"""Decide into which tiles each matrix of a program is cut, so that a device has them.

Each axis of `coopc.rewrite.matrix_axes` gets one tile size.  A multiplication wants the
sizes that the device multiplies and that divide the matrices, those that take the
fewest multiplications first.  A matrix wants the sizes of matrices that the device
holds, those first that it can load and store in the layouts of the program.  Where
elements are addressed by slot, a matrix has to stay whole: which element is in which
slot is open.

`plan_tiling` changes nothing.  The answer is a `Tiling`, or a `Refusal` that says which
operation is in the way, and why.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from math import prod

from xdsl.dialects.arith import SelectOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, SSAValue

from coopc.device import Device
from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import MatrixType, matrix_type
from coopc.rewrite.matrix_axes import SAME_AXES, SLOTS, MatrixAxes, Tile, is_known
from coopc.rewrite.matrix_offers import Layouts, Offers, Product
from coopc.rewrite.matrix_size import why_too_large
from coopc.rewrite.structure import TRANSPARENT, Functions, callee, functions
from coopc.rewrite.tiling import Constraint, choose

CUT = (
    *SAME_AXES,
    *TRANSPARENT,
    coopmatrix.AccessOp,
    coopmatrix.FillOp,
    coopmatrix.MulAddOp,
    coopmatrix.ReduceOp,
    SelectOp,
)
"""Operations whose matrices can be cut; not so those of `SLOTS`."""


@dataclass(frozen=True, slots=True)
class Tiling:
    """The tiles of the matrices that are to be cut."""

    tiles: Mapping[SSAValue, Tile]
    prefetches: Mapping[coopmatrix.PrefetchOp, Tile]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a program cannot be cut for a device."""

    op: Operation
    reason: str


class Want(Enum):
    """Why some axes cannot have any size."""

    PRODUCT = auto()
    """The matrices are multiplied."""
    HELD = auto()
    """The device has to hold the matrix."""
    WHOLE = auto()
    """The operation needs the whole matrix."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Which sizes an operation, or a matrix of it, wants for some axes."""

    want: Want
    op: Operation
    type: MatrixType
    """Of the matrix; of a, where it is a multiplication."""
    constraint: Constraint
    layouts: Layouts = frozenset()

    def reason(self, offers: Offers) -> str:
        """Return what to say where the demand is not met."""
        if self.want == Want.HELD:
            return offers.why_no_matrix(self.type, self.layouts)
        if self.want == Want.WHOLE:
            return why_whole(self.op, self.type, offers.device)
        assert isinstance(self.op, coopmatrix.MulAddOp), self.op
        if not is_known(self.type):
            return (
                f"{offers.device.name} multiplies matrices of a subgroup, "
                f"got {self.type}"
            )
        return offers.why_no_product(Product.of(self.op))


def plan_tiling(root: Operation, device: Device) -> Tiling | Refusal:
    """Return the tiles of the matrices in `root`, or why there are none."""
    offers = Offers(device)
    if (found := _too_large(root)) is not None:
        return found
    program = Program.of(root)
    # In this order: what must stay whole is blamed where it contradicts the device.
    demands = [
        *_products(program, offers),
        *_held(program, offers),
        *_wholes(program),
    ]
    sizes = choose([demand.constraint for demand in demands])
    if isinstance(sizes, Constraint):
        refused = next(x for x in demands if x.constraint is sizes)
        return Refusal(refused.op, refused.reason(offers))
    tiles = dict(program.axes.tiles(sizes))
    cut = {value.type for value in tiles}
    for op in program.lengths:
        if op.matrix_type in cut:
            return Refusal(op, why_whole(op, op.matrix_type, device))
    return Tiling(tiles, dict(_prefetches(program, offers)))


def _too_large(root: Operation) -> Refusal | None:
    """Refuse matrices that would be too many tiles."""
    for op in root.walk():
        for value in op.results:
            if not (isinstance(type := value.type, MatrixType) and is_known(type)):
                continue
            if reason := why_too_large(type):
                return Refusal(op, reason)
    return None


@dataclass(frozen=True, slots=True)
class Program:
    """What there is to decide on in a program."""

    axes: MatrixAxes
    products: list[coopmatrix.MulAddOp]
    lengths: list[coopmatrix.LengthOp]
    prefetches: list[coopmatrix.PrefetchOp]
    accesses: dict[SSAValue, list[coopmatrix.AccessOp]]
    """The loads and stores of a matrix."""
    wholes: list[tuple[Operation, SSAValue]]
    """Operations with matrices of theirs that they need whole."""

    @classmethod
    def of(cls, root: Operation) -> "Program":
        """Look at each operation once."""
        known = functions(root)
        program = cls(MatrixAxes(), [], [], [], {}, [])
        inner = _inside_apply(root)
        for op in root.walk():
            matrices = program.axes.visit(op, known)
            if not is_cut(op, known) or op in inner:
                program.wholes.extend((op, value) for value in matrices)
            program._note(op, matrices)
        program.axes.settle()
        return program

    def _note(self, op: Operation, matrices: list[SSAValue]) -> None:
        """Note an operation that is to be decided on."""
        match op:
            case coopmatrix.MulAddOp():
                self.products.append(op)
            case coopmatrix.LengthOp():
                self.lengths.append(op)
            case coopmatrix.PrefetchOp():
                self.prefetches.append(op)
            case coopmatrix.AccessOp():
                self.accesses.setdefault(matrices[0], []).append(op)
            case _:
                pass


def is_cut(op: Operation, known: Functions) -> bool:
    """Whether there is a way to cut the matrices of `op`."""
    if isinstance(op, CallOp):
        return callee(op, known) is not None
    if isinstance(op, coopmatrix.PlainAccessOp) and op.layout_name is not None:
        return False
    return isinstance(op, CUT) and not isinstance(op, SLOTS)


def why_whole(op: Operation, type: MatrixType, device: Device) -> str:
    """Return why an operation needs a matrix whole."""
    rows, cols = type.shape
    why = "there is no rule for it"
    if isinstance(op, (*SLOTS, coopmatrix.LengthOp)):
        why = "which elements a work-item owns would change"
    if isinstance(op, coopmatrix.PlainAccessOp):
        why = "where its tiles are in memory is not known until its layout is"
    return f"cannot cut {rows} x {cols} here, as {device.name} needs it: {why}"


def _inside_apply(root: Operation) -> set[Operation]:
    """Return the operations in the bodies of `coopmatrix.apply`."""
    return {
        inner
        for op in root.walk()
        if isinstance(op, coopmatrix.ApplyOp)
        for inner in op.body.walk()
    }


def _products(program: Program, offers: Offers) -> Iterator[Demand]:
    """Yield what the multiplications want: sizes that the device multiplies."""
    axes = program.axes
    for op in program.products:
        if not all(type.is_static for type in op.matrices.values()):
            continue
        numbers = (*axes.of(op.a), axes.of(op.b)[1])
        type = matrix_type(op.a)
        constraint = Constraint(numbers, ())
        if is_known(type):
            free = tuple(axis in axes.free for axis in numbers)
            constraint = _product(Product.of(op), numbers, free, offers)
        yield Demand(Want.PRODUCT, op, type, constraint)


def _product(
    product: Product, axes: tuple[int, ...], free: tuple[bool, ...], offers: Offers
) -> Constraint:
    """Return what a multiplication wants for its axes, M, K and N; free ones stay."""
    sizes = (product.m, product.k, product.n)
    options = dict.fromkeys((x.m, x.k, x.n) for x in offers.product(product))
    fitting = tuple(
        option
        for option in options
        if all(
            tile == size or not left
            for tile, size, left in zip(option, sizes, free, strict=True)
        )
    )
    weight = prod(sizes) // prod(fitting[0]) if fitting else 1
    return Constraint(axes, fitting, weight)


def _held(program: Program, offers: Offers) -> Iterator[Demand]:
    """Yield what the matrices want: sizes that the device holds."""
    for value, pair in program.axes.values.items():
        if not program.axes.free.isdisjoint(pair):
            continue
        accesses = program.accesses.get(value, [])
        layouts = frozenset(op.layout_in_memory or op.layout.data for op in accesses)
        type = matrix_type(value)
        if (tiles := offers.matrix(type, layouts)) is not None:
            op = accesses[0] if accesses else _op_of(value)
            yield Demand(Want.HELD, op, type, Constraint(pair, tiles), layouts)


def _wholes(program: Program) -> Iterator[Demand]:
    """Yield what operations want that have no rule, or that address slots."""
    for op, value in program.wholes:
        if is_known(type := matrix_type(value)):
            constraint = Constraint(program.axes.of(value), (type.shape,))
            yield Demand(Want.WHOLE, op, type, constraint)


def _op_of(value: SSAValue) -> Operation:
    """Return the operation that a value is from, or that holds its block."""
    owner = value.owner
    op = owner if isinstance(owner, Operation) else owner.parent_op()
    assert op is not None, value
    return op


def _prefetches(
    program: Program, offers: Offers
) -> Iterator[tuple[coopmatrix.PrefetchOp, Tile]]:
    """Yield the prefetches that are cut; what the device has no use for stays."""
    for op in program.prefetches:
        if not is_known(op.matrix):
            continue
        tiles = offers.matrix(op.matrix, frozenset((op.layout.data,)))
        if tiles and tiles[0] != op.matrix.shape:
            yield op, tiles[0]
