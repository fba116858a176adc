"""convert-coopmatrix-to-xe: lowers matrices to DPAS operands and 2D block messages.

Before:  coopmatrix operations on matrices whose sizes are multiples of the DPAS shape.
After:   each lane's vectors of a matrix's tiles. Loads, stores and prefetches are 2D
         block messages where a plan exists, and per lane otherwise; products are
         `xe.dpas`. Kernels state their subgroup size and the conditions that the host
         checks; with `fallback`, @f.fallback is for arguments that violate them.
Fails:   if an operation cannot be converted, naming the first. The module is then
         unchanged.

Loads, stores, products and conversions share code with tensors: a matrix is a tensor in
a DPAS layout (`coopc.passes.xe.register_layout`).
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects import vector
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i8, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc import device as devices
from coopc.device import Device
from coopc.dialects import coopmatrix, simt, xe
from coopc.dialects.coopmatrix import MatrixType, Operand, Reduced, Use, matrix_type
from coopc.dialects.narrow import I4, is_memref
from coopc.dialects.shaped_arith import shaped
from coopc.dialects.xe import EXECUTION_SIZES, accumulators
from coopc.interface import SECOND_ENTRY
from coopc.ir import element_access
from coopc.ir.builder import Builder
from coopc.ir.control_flow import (
    block_arguments,
    defined_by,
    definer,
    function_around,
    functions,
    has_matrices,
    retype,
)
from coopc.ir.device_option import device_of
from coopc.ir.matrix_size import why_not_of_lanes
from coopc.ir.split_values import Parts, Results, Rule, Splitter, split_values
from coopc.ir.transaction import Refused, transaction
from coopc.passes.coopmatrix.elementwise import (
    converted,
    copied,
    elementwise,
    fill_value,
    reduction,
)
from coopc.passes.xe.channel_plans import ChannelPlan
from coopc.passes.xe.conditions import Demands
from coopc.passes.xe.convert_to_xe.block_access import (
    BlockMessages,
    SurfaceValues,
    load_channels,
)
from coopc.passes.xe.convert_to_xe.dot_to_dpas import multiply, tiles_of
from coopc.passes.xe.convert_to_xe.matrix_memory import (
    MatrixPlaces,
    Moves,
    PrefetchMove,
    decide_matrix_blocks,
    decide_matrix_channels,
    decide_matrix_prefetch,
    demand_matrix_channels,
    demand_surface,
    element_of_lane,
    place_of,
    start_of,
    surface_of,
)
from coopc.passes.xe.convert_to_xe.scalar_access import ScalarAccess
from coopc.passes.xe.convert_to_xe.scale_loop_iv import narrow_loops
from coopc.passes.xe.convert_to_xe.tensors import reduced
from coopc.passes.xe.convert_to_xe.vectors import gathered, packed, splat, unpacked
from coopc.passes.xe.plan_block_io import remark_second_entry, summary
from coopc.passes.xe.register_layout import (
    DpasTiling,
    RegisterLayout,
    precision_of,
    sources,
    tiling_of,
)
from coopc.plan.refusal import Refusal
from coopc.remarks import remark

CACHES = {
    1: xe.CacheAttr((xe.CacheControl.CACHED, xe.CacheControl.CACHED)),
    2: xe.CacheAttr((xe.CacheControl.UNCACHED, xe.CacheControl.CACHED)),
}
"""What is filled by a prefetch for a level: from there on outwards.  There is no third
level, and a hint for it is ignored."""
NOT_CONVERTED = (
    "is not converted to xe: coopc-lanes and coopc-khr compile kernels that reach "
    "single elements"
)

MovedOp: TypeAlias = coopmatrix.LoadOp | coopmatrix.StoreOp
Prefetches: TypeAlias = tuple[PrefetchMove, ...]


@dataclass(slots=True)
class Matrices:
    """What lanes hold of the matrices of one module, how it is moved, and the rules."""

    device: Device
    lanes: int
    tf32: bool = False
    """Whether f32 may be multiplied as tf32."""
    moves: dict[Operation, Moves] = field(default_factory=dict[Operation, Moves])
    """Of the loads and stores that are done by blocks."""
    prefetches: dict[Operation, Prefetches] = field(default_factory=lambda: {})
    channels: dict[Operation, ChannelPlan] = field(default_factory=lambda: {})
    """Of the loads that are done by channels."""
    of_nibbles: set[Operation] = field(default_factory=set[Operation])
    """Products of i4; their operands have become bytes of two: see `pack_nibbles`."""
    told: list[tuple[Operation, str]] = field(default_factory=lambda: [])
    """What was decided, for people."""
    blocks: BlockMessages = field(default_factory=BlockMessages)

    def tiling(self, type: MatrixType, op: Operation) -> DpasTiling:
        """Return how lanes hold matrices of a type, which `op` takes or gives."""
        found = tiling_of(type, self.device, self.lanes)
        if isinstance(found, str):
            raise Refused(op, found)
        return found

    def of(self, value: SSAValue) -> DpasTiling:
        """Return how lanes hold a matrix."""
        op = definer(value)
        assert op is not None, value
        return self.tiling(matrix_type(value), op)

    def registers(self, value: SSAValue) -> RegisterLayout:
        return self.of(value).registers

    def vectors(self, value: SSAValue, b: Splitter) -> list[SSAValue]:
        return unpacked(b, self.registers(value), b.parts(value))

    # Decisions

    def decide(self, op: Operation) -> None:
        """Decide on an operation, if it is an access."""
        if isinstance(op, coopmatrix.PrefetchOp):
            found = decide_matrix_prefetch(op, self.device)
            if not isinstance(found, Refusal):
                self.prefetches[op] = found
            parts = [found] if isinstance(found, Refusal) else [x for x, _ in found]
            self.told += ((op, summary(part)) for part in parts)
            return
        if not isinstance(op, MovedOp):
            return
        if (reason := _why_not_access(op)) is not None:
            raise Refused(op, reason)
        tiling = self.tiling(op.matrix, op)
        moves = decide_matrix_blocks(op, tiling, self.device)
        if not isinstance(moves, Refusal):
            self.moves[op] = moves
            self.told += ((op, summary(part.plan)) for part in moves)
            return
        text = summary(moves)
        if isinstance(op, coopmatrix.LoadOp):
            loads = decide_matrix_channels(op, tiling)
            text = f"{text}; nor by channels: {loads}"
            if isinstance(loads, ChannelPlan):
                self.channels[op], text = loads, str(loads)
        self.told.append((op, text))

    def shifts(self) -> dict[Operation, int]:
        """Return by what powers of two messages of 2D blocks divide their columns."""
        found = {
            op: max(part.plan.packed.bit_length() - 1 for part in moves)
            for op, moves in self.moves.items()
        }
        return found | dict.fromkeys(self.prefetches, 0)

    def second_entries(self) -> dict[str, FuncOp]:
        """Copy the kernels that need their arguments to be like surfaces."""
        found: dict[str, FuncOp] = {}
        for op in (*self.moves, *self.prefetches):
            kernel = function_around(op)
            name = kernel.sym_name.data + SECOND_ENTRY
            if name not in found:
                copy = found[name] = kernel.clone()
                copy.sym_name = StringAttr(name)
                Rewriter.insert_op(copy, InsertPoint.after(kernel))
        return found

    def demand(self) -> None:
        """Write on kernels what must hold of their arguments."""
        demands: dict[FuncOp, Demands] = {}
        for op in (*self.moves, *self.prefetches, *self.channels):
            assert isinstance(op, coopmatrix.AccessOp), op
            here = demands.setdefault(function_around(op), Demands())
            if op in self.channels:
                assert isinstance(op, coopmatrix.LoadOp), op
                demand_matrix_channels(here, op)
                continue
            assert self.device.block_io is not None, op
            steps = [part.plan.row_step for part in self.moves.get(op, ())]
            demand_surface(here, op.memory, self.device.block_io, max(steps, default=1))
        for func, each in demands.items():
            simt.add_conditions(func, each.conditions())

    # Rules

    def rules(self) -> dict[type[Operation], Rule]:
        own = (x for x in coopmatrix.OPERATIONS if issubclass(x, ELEMENTWISE))
        return {
            **dict.fromkeys(own, self.elementwise),
            coopmatrix.LoadOp: self.load,
            coopmatrix.StoreOp: self.store,
            coopmatrix.PrefetchOp: self.prefetch,
            coopmatrix.AtomicLoadOp: self.load,
            coopmatrix.AtomicStoreOp: self.store,
            coopmatrix.AtomicAddOp: self.update,
            coopmatrix.AtomicMaxOp: self.update,
            coopmatrix.AtomicMinOp: self.update,
            coopmatrix.FillOp: self.fill,
            coopmatrix.MulAddOp: self.mul_add,
            coopmatrix.ConvertOp: self.convert,
            coopmatrix.ApplyOp: self.apply,
            coopmatrix.ReduceOp: self.reduce,
        }

    def _in_memory(
        self, b: Builder, op: coopmatrix.AccessOp
    ) -> tuple[SurfaceValues, tuple[SSAValue, SSAValue]]:
        """Return the surface of an access, and where in it the matrix begins."""
        return surface_of(b, op.memory), start_of(self.blocks.known, b, op)

    def load(
        self, op: coopmatrix.LoadOp | coopmatrix.AtomicLoadOp, b: Splitter
    ) -> Results:
        """By blocks, by channels, or each element by itself."""
        registers = self.registers(op.result)
        if (moves := self.moves.get(op)) is not None:
            surface, start = self._in_memory(b, op)
            return [self.blocks.load(b, registers, moves, surface, start)]
        if (plan := self.channels.get(op)) is not None:
            assert isinstance(op, coopmatrix.LoadOp), op
            place, name = place_of(b, op), op.result.name_hint
            return [load_channels(b, plan, registers, op.memory, place, name)]
        read = partial(element_access.load, op)
        return [ScalarAccess().load(b, registers, MatrixPlaces(op, registers), read)]

    def store(
        self,
        op: coopmatrix.StoreOp | coopmatrix.AtomicStoreOp,
        b: Splitter,
    ) -> Results:
        """By blocks, or each element by itself."""
        registers, pieces = self.registers(op.value), b.parts(op.value)
        if (moves := self.moves.get(op)) is not None:
            surface, start = self._in_memory(b, op)
            self.blocks.store(b, registers, pieces, moves, surface, start)
            return []
        write = partial(element_access.store, op)
        ScalarAccess().store(b, registers, pieces, MatrixPlaces(op, registers), write)
        return []

    def prefetch(self, op: coopmatrix.PrefetchOp, b: Splitter) -> Results:
        """By blocks, if there is a cache of that level; else not: it is a hint."""
        cache = CACHES.get(1 if op.level is None else op.level.value.data)
        moves = self.prefetches.get(op, ())
        if cache is None or not moves:
            return []
        surface, start = self._in_memory(b, op)
        for plan, offset in moves:
            begin = self.blocks.moved(b, start, offset)
            self.blocks.prefetch(b, plan, surface, begin, cache)
        return []

    def update(self, op: coopmatrix.AtomicUpdateOp, b: Splitter) -> Results:
        """Each element by itself, once: `test_one_lane_has_an_element`."""
        registers = self.registers(op.value)
        places = MatrixPlaces(op, registers)

        def change(values: Sequence[SSAValue], at: Sequence[SSAValue]) -> Operation:
            return element_access.update(op, values[0], at)

        parts = [b.parts(op.value)]
        found = ScalarAccess().update(b, registers, parts, places, change)
        return [packed(b, registers, found)]

    # Arithmetic

    def fill(self, op: coopmatrix.FillOp, b: Splitter) -> Results:
        """The number, converted, in every component."""
        if op.is_pointer and not is_memref(op.value.type):
            what = f"expected a memref to fill from, got {op.value.type}"
            raise Refused(op, what)
        registers = self.registers(op.result)
        vector = splat(b, fill_value(b, op), registers.length)
        count = registers.run // registers.length
        (tile,) = packed(b, registers, [vector] * count)
        return [(tile,) * registers.pieces]

    def mul_add(self, op: coopmatrix.MulAddOp, b: Splitter) -> Results:
        """A run of DPAS."""
        left, right, addend = (
            tiles_of(self.registers(x), b.parts(x)) for x in (op.a, op.b, op.c)
        )
        precisions, rows = self._precisions(op), self.of(op.c).encoding.repeat_count
        if precisions[0] is xe.Precision.TF32:  # whose bits are integers
            for operand in (left, right):
                for at, piece in operand.items():
                    type = shaped(piece.type, i32)
                    operand[at] = b.pure(vector.BitcastOp, piece, type)
        return [multiply(b, left, right, addend, precisions, rows)]

    def _precisions(self, op: coopmatrix.MulAddOp) -> tuple[xe.Precision, xe.Precision]:
        """Return what DPAS calls the elements of a and b."""
        assert self.device.dpas is not None, self.device
        allowed = [has for has, n in EXECUTION_SIZES if n == self.device.dpas.lanes]
        if self.lanes not in allowed:
            wanted = " or ".join(map(str, allowed))
            raise Refused(
                op,
                f"expected a kernel of {wanted} lanes, which multiply by the DPAS of "
                f"{self.device.name}, got {self.lanes}",
            )
        a, b = op.matrices[Operand.A], op.matrices[Operand.B]
        x = self._precision(a, op, Operand.A)
        y = self._precision(b, op, Operand.B)
        if x is None or y is None:
            raise Refused(
                op,
                "expected elements of f16, bf16 or i8, which DPAS multiplies exactly, "
                f"got {a if x is None else b}",
            )
        if x is not y and not (x.is_integer and y.is_integer):
            raise Refused(op, f"expected a and b of one type, got {a} and {b}")
        if op.saturating is not None:
            what = (
                "expected an accumulator that wraps around, as DPAS has, got saturating"
            )
            raise Refused(op, what)
        c, result = op.matrices[Operand.C], op.matrices[Operand.RESULT]
        if c != result:
            raise Refused(
                op, f"expected c and a result of one type, got {c} and {result}"
            )
        assert self.device.dpas is not None, self.device
        sums = accumulators(x, self.device.dpas.lanes)
        if c.element_type not in sums:
            names = " or ".join(map(str, sums))
            raise Refused(op, f"expected a c of {names}, which DPAS adds to, got {c}")
        return x, y

    def _precision(
        self, type: MatrixType, op: coopmatrix.MulAddOp, operand: Operand
    ) -> xe.Precision | None:
        """Return what DPAS calls the elements of an operand, None if it has no name."""
        found = precision_of(self.tiling(type, op).registers.element)
        if op in self.of_nibbles:
            return xe.Precision.S4 if op.is_signed(operand) else xe.Precision.U4
        if found is xe.Precision.TF32 and not self.tf32:
            return None  # it would drop bits of f32
        if found is xe.Precision.S8 and not op.is_signed(operand):
            return xe.Precision.U8
        return found

    def elementwise(self, op: Operation, b: Splitter) -> Results:
        """The same on vectors of elements; a bit cast keeps width, use and layout."""
        registers = self.registers(op.results[0])
        operands = (
            self.vectors(x, b)
            if isinstance(x.type, MatrixType)
            else repeat(splat(b, x, registers.length))
            for x in op.operands
        )
        vectors = zip(*operands, strict=False)
        return [packed(b, registers, [elementwise(b, op, each) for each in vectors])]

    def apply(self, op: coopmatrix.ApplyOp, b: Splitter) -> Results:
        """The body, for each element that a lane holds.

        The lanes of an accumulator hold each element once, so that one runs it.
        """
        registers = self.registers(op.value)
        vectors = self.vectors(op.value, b)
        for number in range(len(vectors)):
            for at in range(registers.length):
                element = element_of_lane(b, registers, number, at)
                place = b.index(element.row), b.index(element.col)
                given = *place, b.extract(vectors[number], at)
                found = copied(b, op.body.block, given)
                vectors[number] = b.insert(vectors[number], at, found)
        return [packed(b, registers, vectors)]

    def reduce(self, op: coopmatrix.ReduceOp, b: Splitter) -> Results:
        """Combine the vectors of each row in a lane, then the lanes, which share it."""
        registers = self.registers(op.value)
        bases = registers.layout.bases("lane")
        if op.axis.data is not Reduced.ROWS or op.broadcast is None:
            raise Refused(op, f"expected rows broadcast, got {op.form}")
        if any(row or not col for row, col in bases):
            what = "expected lanes to hold columns, as those of an accumulator do"
            raise Refused(op, f"{what}, got {op.value.type}")
        combine, length, kind = reduction(op), registers.length, op.kind.data
        own = [registers.coordinates[x][0] for x in registers.distinct]
        rows = [tuple(own[at : at + length]) for at in range(0, len(own), length)]
        found: dict[tuple[int, ...], SSAValue] = {}
        for key, one in zip(rows, self.vectors(op.value, b), strict=True):
            old = found.get(key)
            found[key] = one if old is None else b.pure(combine, old, one)
        signed = op.signed is not None
        for key, one in found.items():
            found[key] = reduced(b, one, simt.ReduceKind(kind.value), signed)
        return [packed(b, registers, [found[key] for key in rows])]

    def convert(self, op: coopmatrix.ConvertOp, b: Splitter) -> Results:
        """Convert the elements, then put them where the other use has them."""
        source, target = self.registers(op.value), self.registers(op.result)
        elements = [target.coordinates[x] for x in target.distinct]
        wanted = sources(source, elements)
        if wanted is None or source.layout.bases("lane") != target.layout.bases("lane"):
            raise Refused(
                op,
                f"expected elements to stay in their lanes, which those of "
                f"{op.value.type} do not in {op.result.type}",
            )
        signed = op.signed is not None
        vectors = [
            converted(b, x, target.element, signed) for x in self.vectors(op.value, b)
        ]
        return [packed(b, target, gathered(b, vectors, wanted, target.length))]


ELEMENTWISE = (coopmatrix.ElementwiseOp, coopmatrix.BitcastOp)


def _why_not_access(op: coopmatrix.PlainAccessOp) -> str | None:
    for name in ("volatile", "available", "visible"):
        if getattr(op, name) is not None:
            return f"{name} accesses are not converted to xe"
    if op.memory_type.element_type != op.matrix.element_type:
        return (
            f"expected a memref of {op.matrix.element_type}, the element type of the "
            f"matrix, got {op.memory_type}"
        )
    return None


def _why_not_kernel(func: FuncOp, lanes: int) -> str | None:
    if coopmatrix.DISTRIBUTION in func.attributes and has_matrices(func, {}):
        return (
            f"{coopmatrix.DISTRIBUTION} = "
            f"{func.attributes[coopmatrix.DISTRIBUTION]} is not "
            "supported: on xe, lanes hold matrices as DPAS operands"
        )
    return why_not_of_lanes(func, lanes)


def subgroup_size(module: ModuleOp, device: devices.Device) -> int:
    """Return the lanes of every subgroup: what kernels say, or what the device has."""
    for kernel in simt.kernels(module):
        if kernel.subgroup_size is not None:
            return kernel.subgroup_size
    return device.subgroup_size


def refuse(
    op: Operation, matrices: Matrices, rules: Container[type[Operation]]
) -> None:
    """Refuse an operation that nothing can be made of, whatever else there is."""
    if isinstance(op, FuncOp):
        if (reason := _why_not_kernel(op, matrices.lanes)) is not None:
            raise Refused(op, reason)
        return  # arguments are refused where they are used first
    types = [x.type for x in (*op.operands, *defined_by(op))]
    for each in (*types, *op.properties.values()):
        if isinstance(each, MatrixType):
            matrices.tiling(each, op)
    if isinstance(op, coopmatrix.YieldOp):
        return  # of an `apply`
    if op.dialect_name() == "coopmatrix" and type(op) not in rules:
        if isinstance(op, coopmatrix.SpecConstantOp):
            raise Refused(op, coopmatrix.ONLY_SPIRV)
        raise Refused(op, f"{op.name} {NOT_CONVERTED}")


def pack_nibbles(module: ModuleOp) -> set[Operation]:
    """Let operands of i4 be matrices of bytes, of which DPAS has the same registers.

    Two numbers of a byte follow each other along K, where it is loaded.

    Returns:
        the products of these operands.
    """

    def packed(type: Attribute) -> Attribute:
        if not isinstance(type, MatrixType):
            return type
        rows, cols = type.shape
        halves = (rows, cols // 2) if type.use.data is Use.A else (rows // 2, cols)
        return type.with_element(i8).with_shape(*halves)

    ops = tuple(module.walk())
    products = (op for op in ops if isinstance(op, coopmatrix.MulAddOp))
    found: set[Operation] = {
        op for op in products if matrix_type(op.a).element_type == I4
    }
    loads = (op for op in ops if isinstance(op, coopmatrix.LoadOp))
    for op in loads:
        if (op.memory_type.element_type, op.matrix.element_type) == (i8, I4):
            retype(op, packed)
    return found


def convert(module: ModuleOp, matrices: Matrices, fallback: bool) -> dict[str, FuncOp]:
    """Convert a module; return the second entry points, by name."""
    matrices.of_nibbles = pack_nibbles(module)
    known, table = functions(module), matrices.rules()
    for op in module.walk():
        refuse(op, matrices, table)
        matrices.decide(op)
    for func in known.values():
        if simt.KERNEL in func.attributes and has_matrices(func, known):
            func.attributes[simt.SUBGROUP_SIZE] = IntegerAttr(matrices.lanes, i32)
    second_entries = matrices.second_entries() if fallback else {}
    matrices.demand()
    parts: dict[SSAValue, Parts] = {
        value: matrices.of(value).parts
        for op in module.walk()
        for value in defined_by(op)
        if isinstance(value.type, MatrixType)
    }
    for func in (*known.values(), *second_entries.values()):
        if len(func.body.blocks) == 1:
            narrow_loops(func, matrices.shifts())
    for op in tuple(module.walk()):
        if isinstance(op, coopmatrix.PrefetchOp):  # it has no matrix as a value
            table[coopmatrix.PrefetchOp](op, Splitter.at(op, unroll=True))
            Rewriter.erase_op(op)
    split_values(module, parts, table, unroll=True)
    return second_entries


@dataclass(frozen=True)
class ConvertCoopmatrixToXePass(ModulePass):
    name = "convert-coopmatrix-to-xe"

    device: str | None = None
    """A device of `--list devices`; by default that of `simt.target`."""
    explain: bool = False
    """Print a remark for each access with its plan, or the reason why it has none."""
    fallback: bool = False
    """Give kernels with conditions on 2D blocks a second entry point, `.fallback`,
    which accesses all matrices per lane."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not any(
            each.dialect_name() == "coopmatrix"
            or any(isinstance(x.type, MatrixType) for x in block_arguments(each))
            for each in op.walk()
        ):
            return
        device = device_of(self.device, op, self.name)
        if device.dpas is None:
            raise PassFailedException(
                f"{self.name}: expected a device with DPAS, got {device.name}"
            )
        tf32 = coopmatrix.precision_of(op) == "tf32"
        matrices = Matrices(device, subgroup_size(op, device), tf32)
        with transaction(op) as draft:
            second_entries = convert(draft, matrices, self.fallback)
        if self.explain:
            for each, text in matrices.told:
                remark(each, text)
            for name, entry in second_entries.items():
                remark_second_entry(entry, name)
