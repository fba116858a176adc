"""How each operation of `coopmatrix` is done by lanes that hold parts of matrices.

Rules for `coopc.rewrite.one_to_many`, which does the rest; `Distributor.rules` is the
table.  What can be refused is refused before, by `coopc.rewrite.lane_facts`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp, VectorType
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import MatrixType, Operand, matrix_type
from coopc.dialects.coopmatrix.elements import matrix_of
from coopc.dialects.layout import CoopmatrixAttr
from coopc.dialects.narrow import is_memref
from coopc.ir.builder import Builder, Built, Values
from coopc.layout.exchange import plan_exchange
from coopc.layout.family import CoopmatrixFamily
from coopc.plan.lane_access import BlockAccess
from coopc.rewrite import lane_arithmetic, lane_elements, lane_memory
from coopc.rewrite.lane_multiply import Product, multiply_add
from coopc.rewrite.lane_reduction import reduced
from coopc.rewrite.lane_values import Held
from coopc.rewrite.one_to_many import Parts, Rule, Splitter
from coopc.rewrite.structure import free_name

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
    held_by_type: dict[MatrixType, Held] = field(default_factory=dict[MatrixType, Held])
    products: dict[Product, str] = field(default_factory=dict[Product, str])

    def held(self, type: MatrixType) -> Held:
        """Return what a lane holds of matrices of a type."""
        if (found := self.held_by_type.get(type)) is None:
            layout = CoopmatrixFamily().distribution(matrix_of(type), self.lanes)
            found = Held.of(layout, type.element_type, self.max_vector)
            self.held_by_type[type] = found
        return found

    def of(self, value: SSAValue) -> Held:
        """Return what a lane holds of a matrix."""
        return self.held(matrix_type(value))

    def parts(self) -> dict[SSAValue, Parts]:
        """Return what each matrix of the module becomes."""
        found: dict[SSAValue, Parts] = {}
        for op in self.module.walk():
            arguments = [
                x
                for region in op.regions
                for block in region.blocks
                for x in block.args
            ]
            for value in (*op.results, *arguments):
                if isinstance(value.type, MatrixType):
                    found[value] = self.held(value.type).parts
        return found

    def builder(self, op: Operation) -> Builder:
        """Return a builder in front of an operation."""
        return Builder.at(op, self.built, self.unroll)

    @property
    def rules(self) -> dict[type[Operation], Rule]:
        """The rule for each operation."""
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
            coopmatrix.ScaleOp: self.scale,
            coopmatrix.ConvertOp: self.convert,
            coopmatrix.BitcastOp: self.bitcast,
            coopmatrix.ReduceOp: self.reduce,
            coopmatrix.ApplyOp: self.apply,
            coopmatrix.ExtractOp: self.extract,
            coopmatrix.InsertOp: self.insert,
            coopmatrix.CoordOp: self.coord,
            coopmatrix.ExtractRowSliceOp: self.extract_row_slice,
            coopmatrix.InsertRowSliceOp: self.insert_row_slice,
        }
        for op in coopmatrix.OPERATIONS:
            if op in table:
                continue
            if issubclass(op, coopmatrix.BinaryOp | coopmatrix.SignedBinaryOp):
                table[op] = self.binary
            elif issubclass(op, coopmatrix.UnaryOp):
                table[op] = self.unary
        return dict(table)

    def load(
        self, op: coopmatrix.LoadOp | coopmatrix.AtomicLoadOp, splitter: Splitter
    ) -> Results:
        """Read each component."""
        block = self.blocks.get(op)
        return [lane_memory.load(self.builder(op), op, self.of(op.result), block)]

    def store(
        self, op: coopmatrix.StoreOp | coopmatrix.AtomicStoreOp, splitter: Splitter
    ) -> Results:
        """Write each component."""
        values, held = splitter.parts(op.value), self.of(op.value)
        block = self.blocks.get(op)
        lane_memory.store(self.builder(op), op, held, values, block)
        return []

    def update(self, op: coopmatrix.AtomicUpdateOp, splitter: Splitter) -> Results:
        """Update memory by each component."""
        values, held = splitter.parts(op.value), self.of(op.value)
        return [lane_memory.update(self.builder(op), op, held, values)]

    def fill(self, op: coopmatrix.FillOp, splitter: Splitter) -> Results:
        """The number, converted, in every component."""
        b, held, value = self.builder(op), self.of(op.result), op.value
        if is_memref(value.type):
            value = b.effect(memref.LoadOp.get(value, [])).results[0]
        scalar = lane_arithmetic.converted(b, value, held.element, signed=True)
        return [(lane_arithmetic.splat(b, held, scalar),) * held.count]

    def mul_add(self, op: coopmatrix.MulAddOp, splitter: Splitter) -> Results:
        """Call the function of such products."""
        product = Product(
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

    def _function(self, op: coopmatrix.MulAddOp, product: Product) -> str:
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

    def binary(
        self, op: coopmatrix.BinaryOp | coopmatrix.SignedBinaryOp, splitter: Splitter
    ) -> Results:
        """The same on vectors."""
        pair = splitter.parts(op.lhs), splitter.parts(op.rhs)
        return [lane_arithmetic.binary(self.builder(op), op, self.of(op.result), *pair)]

    def unary(self, op: coopmatrix.UnaryOp, splitter: Splitter) -> Results:
        """The same on vectors."""
        values, held = splitter.parts(op.value), self.of(op.result)
        return [lane_arithmetic.unary(self.builder(op), op, held, values)]

    def scale(self, op: coopmatrix.ScaleOp, splitter: Splitter) -> Results:
        """Vectors times a vector of the scalar."""
        b, held = self.builder(op), self.of(op.result)
        return [lane_arithmetic.scale(b, held, splitter.parts(op.value), op.scalar)]

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
                values = tuple(
                    lane_arithmetic.converted(b, x, target.element, signed)
                    for x in values
                )
                source = Held(source.layout, target.element, source.width, source.count)
            elif plan_exchange(source.layout, target.layout).kind != "none":
                to = Held(target.layout, source.element, target.width, target.count)
                values = _exchanged(splitter, source, values, to)
                source = to
        return [values]

    def bitcast(self, op: coopmatrix.BitcastOp, splitter: Splitter) -> Results:
        """The same bits: width and use are the same, and so is the layout."""
        element = self.of(op.result).element
        values = splitter.parts(op.value)
        return [lane_arithmetic.bits_as(self.builder(op), values, element)]

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
        return [lane_elements.apply(b, op, held, values, distribute)]

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
        return [(lane_elements.extract(b, held, values, op.index),)]

    def insert(self, op: coopmatrix.InsertOp, splitter: Splitter) -> Results:
        """The component replaced."""
        values, held = splitter.parts(op.matrix), self.of(op.matrix)
        b = self.builder(op)
        return [lane_elements.insert(b, held, values, op.index, op.value)]

    def coord(self, op: coopmatrix.CoordOp, splitter: Splitter) -> Results:
        """By the formula of the layout."""
        found = lane_elements.coord(self.builder(op), self.of(op.matrix), op.index)
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
        return [(lane_elements.extract_row_slice(b, held, values, op.offset, type),)]

    def insert_row_slice(
        self, op: coopmatrix.InsertRowSliceOp, splitter: Splitter
    ) -> Results:
        """Each lane takes what it is to hold."""
        values, held = splitter.parts(op.matrix), self.of(op.matrix)
        b = self.builder(op)
        return [
            lane_elements.insert_row_slice(
                b, held, values, op.offset, op.value, op.mask
            )
        ]


def _exchanged(
    splitter: Splitter, source: Held, values: Values, target: Held
) -> Values:
    """Return a matrix in another layout, of the same element type."""
    layouts = CoopmatrixAttr(source.layout), CoopmatrixAttr(target.layout)
    new = simt.ExchangeOp(values, *layouts, target.parts.types)
    return tuple(splitter.insert(new).outputs)
