"""distribute-coopmatrix: distributes matrices over lanes as vectors.

Before:  coopmatrix operations on matrices of a subgroup.
After:   each lane's vectors in place of each matrix, through loops, branches, calls and
         functions. Kernels state subgroup size and distribution.
Fails:   for specialization constants as sizes, other scopes, elements that are not 8,
         16, 32 or 64 bits wide, other distributions, and a subgroup size that the
         kernel or the device excludes. The module is then unchanged.

Memory accesses are per lane, or by blocks of the whole subgroup.

    %x = memref.load %memory[%p0 + row, %p1 + column]

Padding is masked by the size of the matrix, never of the memref; `checked` axes by the
size of the memref.  Masked elements are 0.

    %m = simt.block_read %memory[%p0, %p1] : memref<8x32xf32> -> vector<2xf32>
    %v = vector.shuffle %now, %m [0, 8, 2, 3, 4, 9, 6, 7]

    %v = vector.load %memory[%p0 + row, %p1] : memref<8x32xf32>, vector<4xf32>

A lane accesses adjacent elements of a row at once.  On devices with slow gathers
(`Device.subgroup_elements`) all lanes read the rows of an operand, and each selects its
own elements (memory_products.py); products are then computed in tiles whose
accumulators fit into registers, and each tile reads its operands again.  Wide matrices
over 16 lanes or more that are only such accumulators are scalars, accumulated a few
columns at a time.  A long product of matrices that one lane holds goes through its
stack, and is computed in loops over tiles of accumulators that fit into registers.

A message of a plan (`coopc.plan.lane_access`) starts at the element of lane 0.  Its
components are moved to their places by one shuffle per vector if their numbers are
static, and one by one in loops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice, product
from math import gcd
from typing import Any, TypeGuard

from xdsl.context import Context
from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StridedLayoutAttr,
    VectorType,
    f16,
    f32,
    i32,
)
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.ub import PoisonOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import Axis, Layout, MatrixType, Operand, matrix_type
from coopc.dialects.coopmatrix.elements import matrix_of
from coopc.dialects.layout import CoopmatrixAttr, rule_in
from coopc.dialects.narrow import is_integer, length_of, vector_type
from coopc.ir.builder import INDEX, BoundedIndex, Builder, Values, private_function
from coopc.ir.control_flow import defined_by, functions, has_matrices
from coopc.ir.device_option import target_device
from coopc.ir.element_access import (
    Element,
    access_element,
    checks_of,
    positions_of,
    view_elements,
)
from coopc.ir.facts import ValueFacts, constant_number
from coopc.ir.matrix_size import is_of_lanes, why_not_held, why_not_of_lanes
from coopc.ir.split_values import Parts, Rule, Splitter, split_values
from coopc.ir.stack_buffer import StackBuffers
from coopc.ir.transaction import Refused, transaction
from coopc.layout.coopmatrix import ELEMENT_BITS
from coopc.layout.exchange import plan_exchange
from coopc.layout.family import CoopmatrixFamily
from coopc.passes.coopmatrix.elementwise import (
    converted,
    copied,
    elementwise,
    fill_value,
)
from coopc.passes.lanes.distribute_coopmatrix.fragments import (
    Digits,
    LaneFragment,
    component,
    in_rounds,
    inside,
    owner,
)
from coopc.passes.lanes.distribute_coopmatrix.memory_products import (
    ColumnsProduct,
    TiledProduct,
    may_read_later,
    multiply,
    multiply_columns,
    multiply_tiles,
    read_rows,
)
from coopc.passes.lanes.distribute_coopmatrix.multiply import (
    LaneProduct,
    gathered,
    reduced,
)
from coopc.plan.lane_access import (
    AccessFacts,
    BlockAccess,
    RowAccess,
    plan_block,
    plan_rows,
)
from coopc.plan.lane_product import ColumnsPlan, number_of, plan_columns, plan_tile
from coopc.plan.refusal import Refusal
from coopc.remarks import remark

PlainAccess = (
    coopmatrix.LoadOp
    | coopmatrix.StoreOp
    | coopmatrix.AtomicLoadOp
    | coopmatrix.AtomicStoreOp
)


ACCESS_COST = 4
"""Operations of an access to one element: its place, and the component."""


# What is known of an access


def memory_of(op: PlainAccess) -> AccessFacts:
    """Return what is known of the memory of an access."""
    type = op.memory_type
    checked = () if op.checked is None else op.checked.data
    is_plain = isinstance(op, coopmatrix.PlainAccessOp)
    where = (*type.get_shape(), *(type.get_strides() or (None,)), type.get_offset())
    return AccessFacts(
        rows_last=op.layout.data == Layout.COL_MAJOR,
        strides=op.matrix_strides,
        element_bytes=op.matrix.element_bits // 8,
        alignment=alignment_of(op),
        is_write=isinstance(op, coopmatrix.StoreOp | coopmatrix.AtomicStoreOp),
        is_global=not isinstance(type.memory_space, simt.MemoryAttr)
        or type.memory_space.data == simt.MemorySpace.GLOBAL,
        is_atomic=not is_plain,
        is_special=is_plain and (op.volatile or op.nontemporal) is not None,
        is_packed=op.layout.data == Layout.PACKED,
        is_placed=all(number not in (None, DYNAMIC_INDEX) for number in where),
        checked_rows=Axis.ROWS in checked,
        checked_cols=Axis.COLS in checked,
    )


def alignment_of(op: coopmatrix.AccessOp) -> int:
    """Return what the address of element (0, 0) is a multiple of, in bytes.

    The access may say it; or the memref is assumed to be aligned, and offset, positions
    and strides are known multiples.
    """
    size = op.matrix.element_bits // 8
    said = size
    if isinstance(op, coopmatrix.PlainAccessOp) and op.alignment is not None:
        said = max(said, op.alignment.value.data)
    owner = op.memory.owner
    if not isinstance(owner, memref.AssumeAlignmentOp):
        return said
    strides = op.memory_type.get_strides()
    assert strides is not None, op.memory_type
    found: int = owner.alignment.value.data
    layout = op.memory_type.layout
    if isinstance(layout, StridedLayoutAttr):
        offset = layout.get_offset()
        found = gcd(found, size * (1 if offset is None else offset))
    for position, stride in zip(op.positions, strides, strict=True):
        step = 1 if stride is None or stride == DYNAMIC_INDEX else stride
        found = gcd(found, size * step * ValueFacts().divisor(position))
    return max(said, found)


def by_elements(
    b: Builder, op: coopmatrix.AccessOp, held: LaneFragment, values: Values = ()
) -> Values:
    """Access memory component by component.

    Args:
        b: the builder.
        op: the access.
        held: what lanes hold of its matrix.
        values: of the matrix; none of a load.

    Returns:
        The matrix that is read; nothing of a store.
    """

    def body(places: Sequence[BoundedIndex], now: Values) -> Values:
        for at in places:
            place = held.place(b, at)
            value = partial(held.get, b, values, at) if values else None
            wanted = inside(b, held.layout, place)
            for found in access_element(b, op, place, value, wanted):
                now = held.put(b, now, at, found)
        return now

    nothing = held.nothing(b) if op.results else ()
    return held.for_components(b, nothing, body, ACCESS_COST)


def is_factor(op: Operation | Block) -> TypeGuard[coopmatrix.LoadOp]:
    """Whether an operation loads what is multiplied, and no more."""
    return isinstance(op, coopmatrix.LoadOp) and all(
        isinstance(use.operation, coopmatrix.MulAddOp) and use.index < 2
        for use in op.result.uses
    )


def is_plain(load: coopmatrix.LoadOp) -> bool:
    """Whether each element is wherever it is read from, and may be read again."""
    facts = memory_of(load)
    other = facts.is_special or facts.is_packed
    return is_factor(load) and not (other or facts.checked_rows or facts.checked_cols)


def allocation_of(memory: SSAValue) -> SSAValue:
    """Return what memory is a view of."""
    while isinstance(op := memory.owner, Operation) and op.operands:
        if not isinstance(op.operands[0].type, MemRefType):
            break
        memory = op.operands[0]
    return memory


# Rows


def by_rows(
    b: Builder,
    op: PlainAccess,
    held: LaneFragment,
    plan: RowAccess,
    values: Values = (),
) -> Values:
    """Access memory by vectors of neighbours in a row, as `by_elements` does."""
    x, now = held.layout, held.nothing(b) if op.results else ()
    for block, (start, length) in product(range(x.blocks), plan.runs):
        cols = (divmod(col, x.channels) for col in range(start, start + length))
        numbers = [BoundedIndex(number_of(x, block, *col)) for col in cols]
        place = held.place(b, numbers[0])
        positions = positions_of(b, op, place)
        wanted = b.both(inside(b, x, place), *checks_of(b, op, positions))
        type = VectorType(held.element, [length])
        if values:
            new = _get_all(b, held, values, numbers)
            if length == 1:
                new = b.pure(vector.BroadcastOp, new, type)
            write = partial(vector.StoreOp, new, op.memory, positions)
            b.effect_where(wanted, write)
            continue
        read = partial(vector.LoadOp, op.memory, positions, type)
        (found,) = b.effect_where(wanted, read, (b.constant(type, 0),))
        if length == 1:
            found = b.extract(found, 0)
        now = _put_all(b, held, now, numbers, found)
    return now


# Blocks

WRITTEN_OUT = 8
"""So many messages, or fewer, are not worth a loop."""


def by_blocks(
    b: Builder,
    op: PlainAccess,
    held: LaneFragment,
    plan: BlockAccess,
    values: Values = (),
) -> Values:
    """Access memory by the messages of a plan, as `by_elements` does."""
    x, is_load = held.layout, not values
    places = list(plan.places(x))
    memory = _joined(b, op) if plan.joined else op.memory

    def message(start: int, length: int, run: BoundedIndex, now: Values) -> Values:
        block, first = places[start]
        column = b.times(b.add(run, BoundedIndex(first)), x.lanes_per_row)
        at = Element(BoundedIndex(block * x.block_rows), column)
        positions = positions_of(b, op, at)
        wanted = b.both(*checks_of(b, op, positions))
        if plan.joined:
            positions = (_linear(b, op, start * x.lanes),)
        numbers: list[BoundedIndex] = []
        for block, step in places[start : start + length]:
            steps = b.add(run, BoundedIndex(step))
            own = Digits(BoundedIndex(), BoundedIndex(block), steps)
            numbers.append(component(b, x, own))
        if not is_load:
            value = _get_all(b, held, values, numbers)
            write = partial(simt.BlockWriteOp, value, memory, positions)
            b.effect_where(wanted, write)
            return now
        type = held.element if length == 1 else VectorType(held.element, [length])
        zero = b.constant(type, 0)
        read = partial(simt.BlockReadOp, memory, positions, type)
        (value,) = b.effect_where(wanted, read, (zero,))
        return _put_all(b, held, now, numbers, value)

    def body(runs: Sequence[BoundedIndex], now: Values) -> Values:
        for run in runs:
            for start, length in zip(plan.starts, plan.lengths, strict=True):
                now = message(start, length, run, now)
        return now

    # A round of a loop does one run in each vector, as far as vectors end with runs.
    chunk = 1 if plan.messages <= WRITTEN_OUT else max(1, held.width // x.k1)
    nothing = held.nothing(b) if is_load else ()
    return in_rounds(b, plan.runs, chunk, nothing, body, written_out=0)


def _joined(b: Builder, op: PlainAccess) -> SSAValue:
    """Return a memref as one dimension; all of it is known."""
    type = op.memory_type
    offset, strides = type.get_offset(), type.get_strides()
    assert offset is not None
    assert strides is not None
    ends = zip(type.get_shape(), strides, strict=True)
    size = 1 + sum((n - 1) * (stride or 0) for n, stride in ends)
    layout = StridedLayoutAttr([1], offset)
    flat = MemRefType(type.element_type, [size], layout, type.memory_space)
    return b.pure(_flattened, op.memory, offset, size, flat)


def _flattened(memory: SSAValue, offset: int, size: int, type: Attribute) -> Operation:
    return memref.ReinterpretCastOp.from_dynamic(memory, [offset], [size], [1], type)


def _linear(b: Builder, op: PlainAccess, more: int) -> SSAValue:
    """Return where an element after the first one is, counted in one dimension."""
    strides = op.memory_type.get_strides()
    assert strides is not None
    found: SSAValue | None = None
    first = positions_of(b, op, Element(BoundedIndex(), BoundedIndex()))
    for position, stride in zip(first, strides, strict=True):
        factor = b.constant(INDEX, stride or 0)
        step = position if stride == 1 else b.pure(arith.MuliOp, position, factor)
        found = step if found is None else b.pure(arith.AddiOp, found, step)
    assert found is not None
    return b.pure(arith.AddiOp, found, b.constant(INDEX, more)) if more else found


# From messages to what lanes hold, and back


def _put_all(
    b: Builder,
    held: LaneFragment,
    now: Values,
    numbers: Sequence[BoundedIndex],
    value: SSAValue,
) -> Values:
    """Return vectors of which the components of a message are replaced."""
    if len(numbers) == 1:
        return held.put(b, now, numbers[0], value)
    known = [number.known for number in numbers]
    if None in known:
        for at, number in enumerate(numbers):
            new = b.extract(value, at)
            now = held.put(b, now, number, new)
        return now
    masks: dict[int, list[int]] = {}
    whole = range(held.width)
    for at, number in enumerate(known):
        assert number is not None
        each, place = divmod(number, held.width)
        masks.setdefault(each, list(whole))[place] = held.width + at
    found = list(now)
    for each, mask in masks.items():
        is_all = value.type == held.type and mask == [held.width + n for n in whole]
        found[each] = value if is_all else b.blend(found[each], value, mask)
    return tuple(found)


def _get_all(
    b: Builder, held: LaneFragment, values: Values, numbers: Sequence[BoundedIndex]
) -> SSAValue:
    """Return some components, as the value of a message."""
    if len(numbers) == 1:
        return held.get(b, values, numbers[0])
    known = [number.known for number in numbers]
    if None in known:
        found = b.constant(VectorType(held.element, [len(numbers)]), 0)
        for at, number in enumerate(numbers):
            found = b.insert(found, at, held.get(b, values, number))
        return found
    wanted = [divmod(n, held.width) for n in known if n is not None]
    components = [(values[each], place) for each, place in wanted]
    return b.gathered(components, len(components), values[0])


# The rules

MOST_VECTORS = 1024
"""Vectors that a lane holds of a matrix: all are written out, and each element of a
product chooses among them.  1024 of 4 are sixteen times the registers of a lane."""

SUMMED = coopmatrix.FillOp | coopmatrix.LoadOp | coopmatrix.StoreOp
"""What else may be done with matrices that are sums of products by columns."""
FLOATS = {f16, f32}

MOST_INLINED = 4
"""Products of one kind that are written out where they are; more call a function."""

SUBGROUP_SIZES = (1, 2, 4, 8, 16, 32, 64)
"""Lanes of the subgroups that devices have."""

Results = Sequence[Values]


@dataclass(slots=True)
class Distributor:
    """The rules for one module, and what they share."""

    module: ModuleOp
    options: DistributeCoopmatrixPass
    lanes: int
    """S, of every subgroup."""
    max_vector: int
    """Components of the longest vector."""
    slow_shuffles: bool
    """As `Device.slow_shuffles`."""
    most_sums: int | None
    """As `Device.subgroup_elements`."""
    shared: set[SSAValue] = field(default_factory=set[SSAValue])
    """Memory of which lanes read what other lanes may store."""
    held_by_type: dict[MatrixType, LaneFragment] = field(
        default_factory=dict[MatrixType, LaneFragment]
    )
    scalars: dict[MatrixType, ColumnsPlan] = field(
        default_factory=dict[MatrixType, ColumnsPlan]
    )
    """Matrices whose components are scalars, and how their products are added up."""
    asked: dict[LaneProduct, int] = field(default_factory=dict[LaneProduct, int])
    """How many products of a kind there were so far."""
    products: dict[LaneProduct, str] = field(default_factory=dict[LaneProduct, str])
    """The functions of products."""
    buffers: StackBuffers = field(default_factory=StackBuffers)
    """Memory for factors and sums of products."""

    def of(self, value: SSAValue) -> LaneFragment:
        return self.held_by_type[matrix_type(value)]

    def parts(self, root: Operation) -> dict[SSAValue, Parts]:
        """Return what each matrix becomes; replace what has no matrices as values."""
        found: dict[SSAValue, Parts] = {}
        for op in tuple(root.walk()):
            defined = tuple(defined_by(op))
            types = [value.type for value in (*op.operands, *defined)]
            for type in (*types, *op.properties.values()):
                if isinstance(type, MatrixType) and type not in self.held_by_type:
                    self.held_by_type[type] = self._held(op, type)
            for value in defined:
                if isinstance(value.type, MatrixType):
                    found[value] = self.of(value).parts
            if self.most_sums is not None and is_factor(op):
                self.shared.add(allocation_of(op.memory))
            if isinstance(op, coopmatrix.PrefetchOp):
                self.options.tell(op, "dropped: lanes have no prefetch")
                Rewriter.erase_op(op)
            elif isinstance(op, coopmatrix.LengthOp):
                length = self.held_by_type[op.matrix_type].layout.components
                new = arith.ConstantOp(IntegerAttr(length, IndexType()))
                Rewriter.replace_op(op, new)
            elif isinstance(op, coopmatrix.PlainAccessOp) and op.layout_name:
                reason = f"expected a layout that is known, got {op.layout_name}"
                raise Refused(op, reason)
        return found

    def _held(self, op: Operation, type: MatrixType) -> LaneFragment:
        """Return what a lane holds of matrices of a type.

        Raises:
            Refused: it cannot, which the operation is blamed for.
        """
        if reason := why_not_held(type, ELEMENT_BITS, ", as lanes need"):
            raise Refused(op, reason)
        layout = CoopmatrixFamily().distribution(matrix_of(type), self.lanes)
        if layout.components > (most := MOST_VECTORS * self.max_vector):
            raise Refused(
                op,
                f"expected each of {self.lanes} lanes to hold at most {most} "
                f"elements of a matrix ({MOST_VECTORS} vectors of {self.max_vector}), "
                f"got {layout.components} of {type}: write a loop over smaller "
                "matrices",
            )
        longest = 1 if type in self.scalars else self.max_vector
        return LaneFragment.of(layout, type.element_type, longest)

    def find_scalars(self, operations: Sequence[Operation]) -> None:
        """Find the matrices that are no more than sums of products by columns."""
        found: dict[MatrixType, ColumnsPlan] = {}
        others, products = set[MatrixType](), Counter[MatrixType]()
        if self.most_sums is None or self.options.unroll:
            return
        for op in operations:
            types = {x.type for x in (*op.operands, *op.results)}
            matrices = {x for x in types if isinstance(x, MatrixType)}
            if isinstance(op, coopmatrix.MulAddOp):
                type = matrix_type(op.result)
                products[type] += 1
                plan = self._plan_columns(op)
                if plan is not None and products[type] <= MOST_INLINED:
                    found[type] = plan
                else:
                    others.add(type)
            elif not isinstance(op, SUMMED) and op.dialect_name() == "coopmatrix":
                others |= matrices
        self.scalars = {type: x for type, x in found.items() if type not in others}

    def _plan_columns(self, op: coopmatrix.MulAddOp) -> ColumnsPlan | None:
        """Return by which columns factors in memory are multiplied, if they are."""
        loads = op.a.owner, op.b.owner
        type, x, y = map(matrix_type, (op.result, op.a, op.b))
        if any(why_not_held(each, ELEMENT_BITS, "") for each in (type, x, y)):
            return None
        if not (op.c.type == type and type.element_type == f32):
            return None
        if op.saturating is not None or not {x.element_type, y.element_type} <= FLOATS:
            return None
        if not all(may_read_later(load, op) and is_plain(load) for load in loads):
            return None
        layout = CoopmatrixFamily().distribution(matrix_of(type), self.lanes)
        return plan_columns(layout, matrix_of(x).cols)

    @property
    def rules(self) -> dict[type[Operation], Rule]:
        table: dict[type[Operation], Callable[[Any, Splitter], Results]] = {
            coopmatrix.LoadOp: self.load,
            coopmatrix.AtomicLoadOp: self.load,
            coopmatrix.StoreOp: self.store,
            coopmatrix.AtomicStoreOp: self.store,
            coopmatrix.FillOp: self.fill,
            PoisonOp: self.poison,
            coopmatrix.MulAddOp: self.mul_add,
            coopmatrix.ConvertOp: self.convert,
            coopmatrix.BitcastOp: self.elementwise,
            coopmatrix.ReduceOp: self.reduce,
            coopmatrix.TransposeOp: self.transpose,
            coopmatrix.ApplyOp: self.apply,
            coopmatrix.ExtractOp: self.extract,
            coopmatrix.InsertOp: self.insert,
            coopmatrix.CoordOp: self.coord,
            coopmatrix.ExtractRowSliceOp: self.extract_row_slice,
            coopmatrix.InsertRowSliceOp: self.insert_row_slice,
        }
        for op in coopmatrix.OPERATIONS:
            if issubclass(op, coopmatrix.ElementwiseOp):
                table[op] = self.elementwise
            elif issubclass(op, coopmatrix.AtomicUpdateOp):
                table[op] = self.update
        return dict(table)

    def load(
        self, op: coopmatrix.LoadOp | coopmatrix.AtomicLoadOp, b: Splitter
    ) -> Results:
        """Read each component, or all by blocks."""
        return [self._access(op, b, self.of(op.result))]

    def store(
        self, op: coopmatrix.StoreOp | coopmatrix.AtomicStoreOp, b: Splitter
    ) -> Results:
        """Write each component, or all by blocks."""
        if allocation_of(op.memory) in self.shared:
            b.effect(simt.BarrierOp(simt.FenceScope.SUBGROUP))
        self._access(op, b, self.of(op.value), b.parts(op.value))
        return []

    def _access(
        self, op: PlainAccess, b: Builder, held: LaneFragment, values: Values = ()
    ) -> Values:
        plan = plan_block(held.layout, memory_of(op), self.max_vector)
        if isinstance(plan, BlockAccess) and self.options.block_access:
            self.options.tell(op, str(plan))
            return by_blocks(b, op, held, plan, values)
        rows = self._plan_rows(op, held)
        if isinstance(rows, RowAccess):
            self.options.tell(op, f"{rows}: {plan}")
            if rows.is_shared:
                return read_rows(b, op, held, rows)
            return by_rows(b, op, held, rows, values)
        self.options.tell(op, f"element by element: {plan}")
        return by_elements(b, op, held, values)

    def _plan_rows(self, op: PlainAccess, held: LaneFragment) -> RowAccess | Refusal:
        is_shared = self.most_sums is not None and is_factor(op)
        facts = memory_of(op), held.width, self.max_vector, is_shared
        return plan_rows(held.layout, *facts)

    def update(self, op: coopmatrix.AtomicUpdateOp, b: Splitter) -> Results:
        held, values = self.of(op.value), b.parts(op.value)
        return [by_elements(b, op, held, values)]

    def fill(self, op: coopmatrix.FillOp, b: Splitter) -> Results:
        """The number, converted, in every component."""
        return [self.of(op.result).splat(b, fill_value(b, op))]

    def poison(self, op: PoisonOp, b: Splitter) -> Results:
        types = self.of(op.result).parts.types
        return [tuple(b.effect(PoisonOp(x)).result for x in types)]

    def mul_add(self, op: coopmatrix.MulAddOp, b: Splitter) -> Results:
        """Write the product out; where there are many such, call their function."""
        product = LaneProduct(
            self.of(op.a),
            self.of(op.b),
            self.of(op.c),
            self.of(op.result),
            tuple(op.is_signed(x) for x in Operand),  # pyright: ignore
            op.saturating is not None,
            self.slow_shuffles,
        )
        values = [b.parts(x) for x in (op.a, op.b, op.c)]
        plan, x, y = self.scalars.get(matrix_type(op.result)), op.a.owner, op.b.owner
        if plan is not None and is_factor(x) and is_factor(y):
            by_columns = ColumnsProduct(product, plan, x, y)
            return [multiply_columns(b, by_columns, values[2])]
        self.asked[product] = self.asked.get(product, 0) + 1
        made = partial(multiply, most_sums=self.options.sums, buffers=self.buffers)
        if self.options.unroll or self.asked[product] <= MOST_INLINED:
            if (tiled := self._tiled(op, product)) is not None:
                return [multiply_tiles(b, tiled, values[2])]
            return [made(b, product, *values)]
        arguments = [x for each in values for x in each]
        results = product.result.parts.types
        if (name := self.products.get(product)) is None:

            def body(b: Builder, given: Values) -> Values:
                rest = iter(given)
                own = [tuple(islice(rest, len(each))) for each in values]
                return made(b, product, *own)

            types = [x.type for x in arguments]
            func = private_function(
                self.module, product.name, types, results, body, op.location
            )
            name = self.products[product] = func.sym_name.data
        call = b.effect(CallOp(name, arguments, results))
        return [tuple(call.results)]

    def _tiled(
        self, op: coopmatrix.MulAddOp, product: LaneProduct
    ) -> TiledProduct | None:
        """Return by which tiles factors in memory are multiplied, if they are."""
        x, y = op.a.owner, op.b.owner
        if self.most_sums is None or product.saturating:
            return None
        if not product.c.element == product.result.element == product.sum_type:
            return None  # it is rounded once, at the end
        if not (may_read_later(x, op) and may_read_later(y, op)):
            return None
        depth, result = product.a.layout.cols, product.result
        tile = plan_tile(result.layout, depth, result.width, self.most_sums)
        if tile is None or (tile.vectors, tile.depth) == (result.count, depth):
            return None
        part = product.of_shape(tile.rows, tile.cols, tile.depth)
        plans = [self._plan_rows(x, part.a), self._plan_rows(y, part.b)]
        shared = [x for x in plans if isinstance(x, RowAccess) and x.is_shared]
        if len(shared) < len(plans):
            return None
        return TiledProduct(product, part, tile, (x, y), shared)

    def elementwise(self, op: Operation, b: Splitter) -> Results:
        """The same on vectors; of a bit cast, too: the layout is the same."""
        held = self.of(op.results[0])
        operands = [
            b.parts(x) if isinstance(x.type, MatrixType) else held.splat(b, x)
            for x in op.operands
        ]
        is_division = isinstance(op, coopmatrix.DivOp | coopmatrix.RemOp)
        if is_division and is_integer(held.element):
            operands[1] = self._divisors(b, held, operands[1])
        vectors = zip(*operands, strict=True)
        return [tuple(elementwise(b, op, each) for each in vectors)]

    def _divisors(self, b: Builder, held: LaneFragment, values: Values) -> Values:
        """Return divisors that are 1 where they are no elements.

        Padding takes part in all arithmetic, as nothing reads it later; but a padding
        zero would divide.
        """
        x = held.layout
        is_full = x.components == held.width * held.count
        if is_full and not (x.needs_mask or x.needs_row_mask):
            return values
        one = b.constant(held.element, 1)

        def divisor(at: BoundedIndex, _: Values) -> SSAValue:
            is_element = inside(b, x, held.place(b, at))
            return b.select(is_element, held.get(b, values, at), one)

        return held.made(b, divisor, (b.constant(held.type, 1),) * held.count)

    def convert(self, op: coopmatrix.ConvertOp, b: Splitter) -> Results:
        """Convert the elements and change the layout, what is narrower by lane."""
        source, values = self.of(op.value), b.parts(op.value)
        target, signed = self.of(op.result), op.signed is not None
        is_wider = target.layout.components and (
            matrix_type(op.result).element_bits > matrix_type(op.value).element_bits
        )
        steps = [False, True] if is_wider else [True, False]
        for is_element in steps:
            if is_element:
                values = tuple(converted(b, x, target.element, signed) for x in values)
                source = replace(source, element=target.element)
            elif plan_exchange(source.layout, target.layout).kind != "none":
                layouts = CoopmatrixAttr(source.layout), CoopmatrixAttr(target.layout)
                source = replace(target, element=source.element)
                new = simt.ExchangeOp(values, *layouts, source.parts.types)
                values = tuple(b.effect(new).outputs)
        return [values]

    def reduce(self, op: coopmatrix.ReduceOp, b: Splitter) -> Results:
        """In each lane, then between lanes."""
        source, values = self.of(op.value), b.parts(op.value)
        return [reduced(b, op, source, values, self.of(op.result))]

    def transpose(self, op: coopmatrix.TransposeOp, b: Splitter) -> Results:
        """Each element from the lane that has it."""
        source, values = self.of(op.value), b.parts(op.value)
        target = self.of(op.result)
        return [gathered(b, source, values, target, lambda at: Element(at.col, at.row))]

    def apply(self, op: coopmatrix.ApplyOp, b: Splitter) -> Results:
        """The body for each component; padding stays what it is."""
        for inner in op.body.walk():
            matrices = any(
                isinstance(value.type, MatrixType)
                for value in (*inner.operands, *inner.results)
            )
            allowed = coopmatrix.ExtractOp | coopmatrix.CoordOp
            if matrices and not isinstance(inner, allowed):
                reason = f"expected single elements in a body, got {inner.name}"
                raise Refused(op, reason)
        held, values = self.of(op.value), b.parts(op.value)

        def distribute(inner: Operation) -> Values | None:
            """Replace an operation in the copy of the body, if it is of matrices."""
            if (rule := self.rules.get(type(inner))) is None:
                return None
            there = Splitter.at(inner, b.built, b.unroll)
            there.known = b.known
            found = [x for (x,) in rule(inner, there)]
            Rewriter.replace_op(inner, [], found)
            return tuple(found)

        def computed(at: BoundedIndex, now: Values) -> SSAValue:
            place, old = held.place(b, at), held.get(b, now, at)

            def body() -> Values:
                given = b.index(place.row), b.index(place.col), old
                return (copied(b, op.body.block, given, distribute),)

            return b.branch(inside(b, held.layout, place), body, (old,))[0]

        cost = 2 + sum(1 for _ in op.body.walk())
        return [held.made(b, computed, values, cost)]

    # Single elements

    def slot(
        self,
        op: coopmatrix.ExtractOp | coopmatrix.InsertOp | coopmatrix.CoordOp,
        held: LaneFragment,
    ) -> BoundedIndex:
        """Return a slot as a number: it is below V, or anything goes."""
        number, length = constant_number(op.index), held.layout.components
        if number is None:
            return BoundedIndex(0, op.index, length - 1, varies=True)
        if 0 <= number < length:
            return BoundedIndex(number)
        raise Refused(
            op,
            f"expected a slot below {length}, the number of slots of "
            f"{op.matrix.type} per lane, over {self.lanes} lanes, got {number}",
        )

    def extract(self, op: coopmatrix.ExtractOp, b: Splitter) -> Results:
        """The component; 0 where it is padding."""
        held, values = self.of(op.matrix), b.parts(op.matrix)
        at = self.slot(op, held)
        is_element = inside(b, held.layout, held.place(b, at))
        zero = b.constant(held.element, 0)
        return [(b.select(is_element, held.get(b, values, at), zero),)]

    def insert(self, op: coopmatrix.InsertOp, b: Splitter) -> Results:
        """The component replaced; padding is never read."""
        held, values = self.of(op.matrix), b.parts(op.matrix)
        return [held.put(b, values, self.slot(op, held), op.value)]

    def coord(self, op: coopmatrix.CoordOp, b: Splitter) -> Results:
        """By the formula of the layout; M and N of padding."""
        held = self.of(op.matrix)
        place = held.place(b, self.slot(op, held))
        is_element = inside(b, held.layout, place)
        pairs = zip((place.row, place.col), held.layout.shape, strict=True)
        return [
            (b.select(is_element, b.index(at), b.constant(INDEX, size)),)
            for at, size in pairs
        ]

    def extract_row_slice(
        self, op: coopmatrix.ExtractRowSliceOp, b: Splitter
    ) -> Results:
        """Each element from the lane that has it; 0 beyond the matrix."""
        held, values = self.of(op.matrix), b.parts(op.matrix)
        x, type = held.layout, vector_type(op.result)
        zero, nothing = b.constant(held.element, 0), b.constant(INDEX, 0)

        def body(t: BoundedIndex, now: Values) -> Values:
            flat = b.pure(arith.AddiOp, op.offset, b.index(t))
            wanted = b.compare("ult", flat, b.constant(INDEX, x.rows * x.cols))
            # Only what is in the matrix has an owner.
            at = BoundedIndex(0, b.select(wanted, flat, nothing), x.rows * x.cols - 1)
            place = Element(b.divided(at, x.cols), b.remainder(at, x.cols))
            lane, number = owner(b, x, place)
            value = b.from_lane(held.get(b, values, number), lane)
            value = b.select(wanted, value, zero)
            position = t.constant if t.part is None else b.index(t)
            return (b.insert(now[0], position, value),)

        return [b.loop(type.element_count(), (b.constant(type, 0),), body)]

    def insert_row_slice(self, op: coopmatrix.InsertRowSliceOp, b: Splitter) -> Results:
        """Each lane takes what it is to hold."""
        held, values = self.of(op.matrix), b.parts(op.matrix)
        x, zero, length = held.layout, b.constant(INDEX, 0), length_of(op.value)

        def taken(at: BoundedIndex, now: Values) -> SSAValue:
            place = held.place(b, at)
            flat = b.index(b.add(b.times(place.row, x.cols), place.col))
            number = b.pure(arith.SubiOp, flat, op.offset)
            within = b.compare("ult", number, b.constant(INDEX, length))
            wanted = b.both(within, inside(b, x, place))
            number = b.select(within, number, zero)
            if op.mask is not None:
                wanted = b.both(wanted, b.extract(op.mask, number))
            new = b.extract(op.value, number)
            return b.select(wanted, new, held.get(b, now, at))

        return [held.made(b, taken, values)]


@dataclass(frozen=True)
class DistributeCoopmatrixPass(ModulePass):
    name = "distribute-coopmatrix"

    subgroup_size: int | None = None
    """Subgroup size; by default that of the kernel, or else of the device."""
    unroll: bool = False
    """Fully unroll all loops over a lane's components, not only short ones."""
    max_vector: int | None = None
    """Components of the longest vector: 4, 8 or 16; by default the device's, or 16."""
    block_access: bool = True
    """Access consecutive elements by block operations of the whole subgroup."""
    explain: bool = False
    """Print a remark for each memory access that says how it was lowered and why."""
    sums: int = 96
    """f32 accumulators in registers if one lane holds the matrix; 384 suits AVX-512."""
    stated: bool = False
    """Distribute only kernels that state the distribution #layout.coopmatrix; leave the
    others to another engine."""

    def __post_init__(self) -> None:
        if self.subgroup_size not in (None, *SUBGROUP_SIZES):
            raise ValueError(
                "expected a subgroup size that is a power of two up to 64, got "
                f"{self.subgroup_size}"
            )
        if self.sums < 1:
            raise ValueError(f"expected 1 accumulator or more, got {self.sums}")
        if self.max_vector not in (None, 4, 8, 16):
            raise ValueError(
                "expected vectors of at most 4, 8 or 16 components, got "
                f"{self.max_vector}"
            )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.stated and not any(map(is_of_lanes, op.ops)):
            return
        lanes, longest = self._lanes(op), self._longest(op)
        with transaction(op) as draft:
            device = target_device(op)
            slow_shuffles = device is not None and device.slow_shuffles
            most_sums = None if device is None else device.subgroup_elements
            distributor = Distributor(
                draft, self, lanes, longest, slow_shuffles, most_sums
            )
            roots = [x for x in draft.ops if is_of_lanes(x)] if self.stated else [draft]
            inside = [x for root in roots for x in root.walk()]
            for func in (x for x in inside if isinstance(x, FuncOp)):
                self._check_kernel(func, lanes)
            known, family = functions(draft), CoopmatrixAttr(CoopmatrixFamily())
            for kernel in list(simt.kernels(draft)):
                if kernel.func in inside and has_matrices(kernel.func, known):
                    attributes = kernel.func.attributes
                    attributes[simt.SUBGROUP_SIZE] = IntegerAttr(lanes, i32)
                    attributes[coopmatrix.DISTRIBUTION] = family
            distributor.find_scalars(inside)
            for root in roots:
                parts = distributor.parts(root)
                view_elements(root)
                split_values(root, parts, distributor.rules, self.unroll)

    def _lanes(self, module: ModuleOp) -> int:
        """Return the lanes of every subgroup, which the device must have."""
        device = target_device(module)
        kernels = (x for x in simt.kernels(module) if x.subgroup_size is not None)
        kernel = next(kernels, None) if self.subgroup_size is None else None
        lanes = self.subgroup_size if kernel is None else kernel.subgroup_size
        if device is not None:
            lanes = lanes or device.subgroup_size
            # One lane is no subgroup: any device has that.
            if lanes not in (1, *device.subgroup_sizes):
                has = " or ".join(map(str, device.subgroup_sizes))
                reason = (
                    f"expected subgroups of {has} lanes, as {device.name} has them, "
                    f"got {lanes}"
                )
                if kernel is not None:
                    Refused(kernel.func, reason).report()
                raise PassFailedException(f"{self.name}: {reason}")
        if lanes is None:
            raise PassFailedException(
                f"{self.name}: expected a subgroup size, {self.name}"
                f"{{subgroup-size=..}}, {simt.SUBGROUP_SIZE} on a kernel, or "
                f"{simt.TARGET} on the module, got none"
            )
        return lanes

    def _check_kernel(self, func: FuncOp, lanes: int) -> None:
        """Refuse a function that says of its subgroups what is not so."""
        found = func.attributes.get(coopmatrix.DISTRIBUTION)
        if found is not None and not isinstance(rule_in(found), CoopmatrixFamily):
            raise Refused(
                func,
                f"expected {coopmatrix.DISTRIBUTION} to be #layout.coopmatrix, which "
                f"lanes hold matrices in, got {found}",
            )
        asked = ", the subgroup size asked for"
        if self.subgroup_size is None:
            asked = ", as the other kernels of the module"
        if (reason := why_not_of_lanes(func, lanes, asked)) is not None:
            raise Refused(func, reason)

    def _longest(self, module: ModuleOp) -> int:
        if self.max_vector is not None:
            return self.max_vector
        device = target_device(module)
        return 16 if device is None else min(16, device.limits.max_vector)

    def tell(self, op: Operation, text: str) -> None:
        if self.explain:
            remark(op, text, by=self.name)
