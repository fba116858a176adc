"""distribute-coopmatrix: distributes matrices over lanes, as vectors.

Before:  coopmatrix operations on matrices of a subgroup.
After:   the vectors that a lane holds in place of each matrix, through loops, branches,
         calls and functions. Kernels state subgroup size and distribution.
Fails:   for specialization constants as sizes, other scopes, elements that do not have
         8, 16, 32 or 64 bits, other distributions, and subgroup sizes that a kernel or
         the device contradicts. The module is then unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, VectorType, i32
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc import device as devices
from coopc.dialects import coopmatrix, layout, simt
from coopc.dialects.coopmatrix import MatrixType, Operand, matrix_type
from coopc.dialects.coopmatrix.elements import matrix_of
from coopc.dialects.layout import CoopmatrixAttr
from coopc.dialects.narrow import is_integer
from coopc.ir.builder import Builder, Built, Values
from coopc.ir.control_flow import (
    defined_by,
    free_name,
    functions,
    has_matrices,
)
from coopc.ir.element_access import view_elements
from coopc.ir.split_values import Parts, Rule, Splitter, split_values
from coopc.layout.exchange import plan_exchange
from coopc.layout.family import CoopmatrixFamily
from coopc.passes.coopmatrix.elementwise import converted, elementwise, fill_value
from coopc.passes.lanes.distribute_coopmatrix import elements, memory
from coopc.passes.lanes.distribute_coopmatrix.fragments import LaneFragment
from coopc.passes.lanes.distribute_coopmatrix.multiply import (
    LaneProduct,
    multiply_add,
    reduced,
)
from coopc.passes.lanes.distribute_coopmatrix.refusal import memory_of, refusal
from coopc.plan.lane_access import BlockAccess, plan_block
from coopc.remarks import remark

Results = Sequence[Values]


@dataclass(slots=True)
class Distributor:
    """The rules for one module, and what they share."""

    module: ModuleOp
    lanes: int
    """S, of every subgroup."""
    max_vector: int
    """Components of the longest vector."""
    unroll: bool
    blocks: dict[Operation, BlockAccess]
    """The accesses that are done by blocks."""
    built: Built = field(default_factory=Built)
    held_by_type: dict[MatrixType, LaneFragment] = field(
        default_factory=dict[MatrixType, LaneFragment]
    )
    products: dict[LaneProduct, str] = field(default_factory=dict[LaneProduct, str])

    def held(self, type: MatrixType) -> LaneFragment:
        if (found := self.held_by_type.get(type)) is None:
            layout = CoopmatrixFamily().distribution(matrix_of(type), self.lanes)
            found = LaneFragment.of(layout, type.element_type, self.max_vector)
            self.held_by_type[type] = found
        return found

    def of(self, value: SSAValue) -> LaneFragment:
        return self.held(matrix_type(value))

    def parts(self) -> dict[SSAValue, Parts]:
        found: dict[SSAValue, Parts] = {}
        for op in self.module.walk():
            for value in defined_by(op):
                if isinstance(value.type, MatrixType):
                    found[value] = self.held(value.type).parts
        return found

    def builder(self, op: Operation) -> Builder:
        return Builder.at(op, self.built, self.unroll)

    @property
    def rules(self) -> dict[type[Operation], Rule]:
        table: dict[type[Operation], Callable[[Any, Splitter], Results]] = {
            coopmatrix.LoadOp: self.load,
            coopmatrix.AtomicLoadOp: self.load,
            coopmatrix.StoreOp: self.store,
            coopmatrix.AtomicStoreOp: self.store,
            coopmatrix.AtomicAddOp: self.update,
            coopmatrix.AtomicMaxOp: self.update,
            coopmatrix.AtomicMinOp: self.update,
            coopmatrix.FillOp: self.fill,
            coopmatrix.MulAddOp: self.mul_add,
            coopmatrix.ConvertOp: self.convert,
            coopmatrix.BitcastOp: self.elementwise,
            coopmatrix.ReduceOp: self.reduce,
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
        return dict(table)

    def load(
        self, op: coopmatrix.LoadOp | coopmatrix.AtomicLoadOp, splitter: Splitter
    ) -> Results:
        """Read each component."""
        block = self.blocks.get(op)
        return [memory.load(self.builder(op), op, self.of(op.result), block)]

    def store(
        self, op: coopmatrix.StoreOp | coopmatrix.AtomicStoreOp, splitter: Splitter
    ) -> Results:
        """Write each component."""
        values, held = splitter.parts(op.value), self.of(op.value)
        block = self.blocks.get(op)
        memory.store(self.builder(op), op, held, values, block)
        return []

    def update(self, op: coopmatrix.AtomicUpdateOp, splitter: Splitter) -> Results:
        values, held = splitter.parts(op.value), self.of(op.value)
        return [memory.update(self.builder(op), op, held, values)]

    def fill(self, op: coopmatrix.FillOp, splitter: Splitter) -> Results:
        """The number, converted, in every component."""
        b = self.builder(op)
        return [self.of(op.result).splat(b, fill_value(b, op))]

    def mul_add(self, op: coopmatrix.MulAddOp, splitter: Splitter) -> Results:
        """Call the function of such products."""
        product = LaneProduct(
            self.of(op.a),
            self.of(op.b),
            self.of(op.c),
            self.of(op.result),
            tuple(op.is_signed(x) for x in Operand),  # pyright: ignore
            op.saturating is not None,
        )
        values = [splitter.parts(x) for x in (op.a, op.b, op.c)]
        if self.unroll:
            return [multiply_add(self.builder(op), product, *values)]
        arguments = [x for each in values for x in each]
        results = product.result.parts.types
        call = splitter.insert(CallOp(self._function(op, product), arguments, results))
        return [tuple(call.results)]

    def _function(self, op: coopmatrix.MulAddOp, product: LaneProduct) -> str:
        """Return the name of the function of a product, which is made once."""
        if (name := self.products.get(product)) is not None:
            return name
        name = self.products[product] = free_name(self.module, product.name)
        groups = [x.parts.types for x in (product.a, product.b, product.c)]
        types = [type for group in groups for type in group]
        results = product.result.parts.types
        block = Block(arg_types=types)
        func = FuncOp(name, (types, results), Region(block), "private")
        func.location = op.location
        b = Builder.at_end(block, op.location)
        given = iter(block.args)
        x, y, z = (tuple(next(given) for _ in group) for group in groups)
        end = ReturnOp(*multiply_add(b, product, x, y, z))
        end.location = op.location
        block.add_op(end)
        Rewriter.insert_op(func, InsertPoint.at_end(self.module.body.block))
        return name

    def elementwise(self, op: Operation, splitter: Splitter) -> Results:
        """The same on vectors; of a bit cast, too: the layout is the same."""
        b, held = self.builder(op), self.of(op.results[0])
        operands = [
            splitter.parts(x) if isinstance(x.type, MatrixType) else held.splat(b, x)
            for x in op.operands
        ]
        is_division = isinstance(op, coopmatrix.DivOp | coopmatrix.RemOp)
        if is_division and is_integer(held.element):
            operands[1] = elements.divisors(b, held, operands[1])
        vectors = zip(*operands, strict=True)
        return [tuple(elementwise(b, op, each) for each in vectors)]

    def convert(self, op: coopmatrix.ConvertOp, splitter: Splitter) -> Results:
        """Convert the elements and change the layout, what is narrower by lane."""
        b, source, target = self.builder(op), self.of(op.value), self.of(op.result)
        values, signed = splitter.parts(op.value), op.signed is not None
        is_wider = target.layout.components and (
            matrix_type(op.result).element_bits > matrix_type(op.value).element_bits
        )
        steps = [False, True] if is_wider else [True, False]
        for is_element in steps:
            if is_element:
                values = tuple(converted(b, x, target.element, signed) for x in values)
                source = LaneFragment(
                    source.layout, target.element, source.width, source.count
                )
            elif plan_exchange(source.layout, target.layout).kind != "none":
                to = LaneFragment(
                    target.layout, source.element, target.width, target.count
                )
                values = _exchanged(splitter, source, values, to)
                source = to
        return [values]

    def reduce(self, op: coopmatrix.ReduceOp, splitter: Splitter) -> Results:
        """In each lane, then between lanes."""
        source, target = self.of(op.value), self.of(op.result)
        values = splitter.parts(op.value)
        return [reduced(self.builder(op), op, source, values, target)]

    def apply(self, op: coopmatrix.ApplyOp, splitter: Splitter) -> Results:
        """The body for each component."""

        def distribute(inner: Operation) -> Values | None:
            return self._in_copy(inner, splitter)

        values, held = splitter.parts(op.value), self.of(op.result)
        b = self.builder(op)
        return [elements.apply(b, op, held, values, distribute)]

    def _in_copy(self, op: Operation, around: Splitter) -> Values | None:
        """Replace an operation in the copy of a body, if it is of `coopmatrix`."""
        rule = self.rules.get(type(op))
        if rule is None:
            return None
        found = [values[0] for values in rule(op, Splitter(op, around.known))]
        for result, new in zip(op.results, found, strict=True):
            result.replace_all_uses_with(new)
        Rewriter.erase_op(op)
        return tuple(found)

    def extract(self, op: coopmatrix.ExtractOp, splitter: Splitter) -> Results:
        """The component; 0 where it is padding."""
        values, held = splitter.parts(op.matrix), self.of(op.matrix)
        b = self.builder(op)
        return [(elements.extract(b, held, values, op.index),)]

    def insert(self, op: coopmatrix.InsertOp, splitter: Splitter) -> Results:
        values, held = splitter.parts(op.matrix), self.of(op.matrix)
        b = self.builder(op)
        return [elements.insert(b, held, values, op.index, op.value)]

    def coord(self, op: coopmatrix.CoordOp, splitter: Splitter) -> Results:
        """By the formula of the layout."""
        found = elements.coord(self.builder(op), self.of(op.matrix), op.index)
        return [(each,) for each in found]

    def extract_row_slice(
        self, op: coopmatrix.ExtractRowSliceOp, splitter: Splitter
    ) -> Results:
        """Each element from the lane that has it."""
        values, held, type = (
            splitter.parts(op.matrix),
            self.of(op.matrix),
            op.result.type,
        )
        assert isinstance(type, VectorType)
        b = self.builder(op)
        return [(elements.extract_row_slice(b, held, values, op.offset, type),)]

    def insert_row_slice(
        self, op: coopmatrix.InsertRowSliceOp, splitter: Splitter
    ) -> Results:
        """Each lane takes what it is to hold."""
        values, held = splitter.parts(op.matrix), self.of(op.matrix)
        b = self.builder(op)
        return [
            elements.insert_row_slice(b, held, values, op.offset, op.value, op.mask)
        ]


def _exchanged(
    splitter: Splitter, source: LaneFragment, values: Values, target: LaneFragment
) -> Values:
    """Return a matrix in another layout, of the same element type."""
    layouts = CoopmatrixAttr(source.layout), CoopmatrixAttr(target.layout)
    new = simt.ExchangeOp(values, *layouts, target.parts.types)
    return tuple(splitter.insert(new).outputs)


SUBGROUP_SIZES = (1, 2, 4, 8, 16, 32, 64)
"""Lanes of the subgroups that devices have."""

PlainAccess = (
    coopmatrix.LoadOp
    | coopmatrix.StoreOp
    | coopmatrix.AtomicLoadOp
    | coopmatrix.AtomicStoreOp
)


@dataclass(frozen=True)
class DistributeCoopmatrixPass(ModulePass):
    """Spread matrices over the lanes of subgroups."""

    name = "distribute-coopmatrix"

    subgroup_size: int | None = None
    """Lanes; what kernels say, or else the target's device, where it is absent."""
    unroll: bool = False
    """Whether loops over what a lane holds are written out."""
    max_vector: int | None = None
    """Components of the longest vector: 4, 8 or 16; the device's, or 16, if absent."""
    block_access: bool = True
    """Whether consecutive elements are read and written by the whole subgroup."""
    explain: bool = False
    """Whether standard error says how each access to memory is done, and why."""

    def __post_init__(self) -> None:
        if self.subgroup_size not in (None, *SUBGROUP_SIZES):
            raise ValueError(
                "expected a subgroup size that is a power of two up to 64, got "
                f"{self.subgroup_size}"
            )
        if self.max_vector not in (None, 4, 8, 16):
            raise ValueError(
                "expected vectors of at most 4, 8 or 16 components, got "
                f"{self.max_vector}"
            )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lanes, longest = self._lanes(op), self._longest(op)
        if (found := refusal(op, lanes, longest)) is not None:
            where, reason = found
            where.emit_error(reason, PassFailedException(reason))
        view_elements(op)
        blocks = self._blocks(op, lanes, longest)
        distributor = Distributor(op, lanes, longest, self.unroll, blocks)
        known = functions(op)
        kernels = [x.func for x in simt.kernels(op)]
        for func in [x for x in kernels if has_matrices(x, known)]:
            _say(func, lanes)
        self._drop(op, distributor)
        split_values(op, distributor.parts(), distributor.rules)

    def _lanes(self, module: ModuleOp) -> int:
        """Return the lanes of every subgroup, which the device must have."""
        target = simt.target_of(module)
        device = None if target is None else devices.device(target.device.data)
        lanes = self._wanted(module)
        if device is None:
            return lanes or self._no_lanes()
        lanes = lanes or device.subgroup_size
        # One lane is no subgroup: any device has that.
        if lanes not in (1, *device.subgroup_sizes):
            sizes = " or ".join(map(str, device.subgroup_sizes))
            raise PassFailedException(
                f"{self.name}: expected subgroups of {sizes} lanes, as {device.name} "
                f"has them, got {lanes}"
            )
        return lanes

    def _wanted(self, module: ModuleOp) -> int | None:
        """Return the lanes that the pass or a kernel is told to have."""
        if self.subgroup_size is not None:
            return self.subgroup_size
        sizes = (kernel.subgroup_size for kernel in simt.kernels(module))
        return next((size for size in sizes if size is not None), None)

    def _no_lanes(self) -> NoReturn:
        raise PassFailedException(
            f"{self.name}: expected a subgroup size, {self.name}{{subgroup-size=..}}, "
            f"{simt.SUBGROUP_SIZE} on a kernel, or {simt.TARGET} on the module, "
            "got none"
        )

    def _longest(self, module: ModuleOp) -> int:
        if self.max_vector is not None:
            return self.max_vector
        target = simt.target_of(module)
        if target is None:
            return 16
        return min(16, devices.device(target.device.data).limits.max_vector)

    def _blocks(
        self, module: ModuleOp, lanes: int, longest: int
    ) -> dict[Operation, BlockAccess]:
        """Return the accesses that are done by blocks."""
        found: dict[Operation, BlockAccess] = {}
        family = CoopmatrixFamily()
        for op in module.walk():
            if not isinstance(op, PlainAccess):
                continue
            held = family.distribution(matrix_of(op.matrix), lanes)
            plan = plan_block(held, memory_of(op), longest)
            if isinstance(plan, BlockAccess) and self.block_access:
                found[op] = plan
                self._tell(op, str(plan))
            else:
                self._tell(op, f"element by element: {plan}")
        return found

    def _drop(self, module: ModuleOp, distributor: Distributor) -> None:
        """Replace what has no matrices as values."""
        for op in tuple(module.walk()):
            if isinstance(op, coopmatrix.PrefetchOp):
                self._tell(op, "dropped: lanes have no prefetch")
                Rewriter.erase_op(op)
            elif isinstance(op, coopmatrix.LengthOp):
                length = distributor.held(op.matrix_type).layout.components
                new = arith.ConstantOp(IntegerAttr(length, IndexType()))
                Rewriter.replace_op(op, new)

    def _tell(self, op: Operation, text: str) -> None:
        if self.explain:
            remark(op, text, by=self.name)


def _say(func: FuncOp, lanes: int) -> None:
    func.attributes[simt.SUBGROUP_SIZE] = IntegerAttr(lanes, i32)
    func.attributes[coopmatrix.DISTRIBUTION] = layout.CoopmatrixAttr(CoopmatrixFamily())
