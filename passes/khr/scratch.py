"""Work-group memory that matrices go through, a piece for each subgroup.

A piece is a memref of one matrix for each subgroup, and a subgroup uses the part of
its number: so its own barriers suffice, and it may go there while others do not.  There
a matrix has a layout in which the device loads and stores such.  Every use is

    barrier; all lanes write; barrier; all lanes read

so that pieces of one type can be used again and again.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.dialects import memref
from xdsl.dialects.builtin import FixedBitwidthType, MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from coopc.device import Device
from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import Layout, MatrixType, matrix_type
from coopc.passes.khr.code import Code
from coopc.passes.khr.layouts import memory_shape, places, scratch_layout


def element_bits(type: Attribute) -> int:
    """The width of an element, in bits."""
    assert isinstance(type, FixedBitwidthType), type
    return type.bitwidth


@dataclass(frozen=True, slots=True)
class Piece:
    """Where one matrix is: `memory[subgroup, row, column]` where it is row major."""

    memory: SSAValue
    subgroup: SSAValue
    rows: int
    cols: int
    element: Attribute
    layout: Layout = Layout.ROW_MAJOR

    def load(self, code: Code, row: SSAValue, col: SSAValue) -> SSAValue:
        """Insert the load of an element."""
        return code.get(memref.LoadOp.get(self.memory, self._at(code, row, col)))

    def store(self, code: Code, value: SSAValue, row: SSAValue, col: SSAValue) -> None:
        """Insert the store of an element."""
        code.do(memref.StoreOp.get(value, self.memory, self._at(code, row, col)))

    def _at(self, code: Code, row: SSAValue, col: SSAValue) -> list[SSAValue]:
        bits = element_bits(self.element)
        return [self.subgroup, *places(code, self.layout, bits, row, col)]

    def whole(self, code: Code) -> list[SSAValue]:
        """The positions of the whole matrix."""
        zero = code.index(0)
        return [self.subgroup, zero, zero]


@dataclass(slots=True)
class Scratch:
    """The work-group memory of one function."""

    func: FuncOp
    device: Device
    lanes: int
    """Of a subgroup."""
    subgroups: int
    """Of a work-group, at most."""
    _pieces: dict[tuple[Attribute, int, int, Layout, int], Piece] = field(
        default_factory=dict[tuple[Attribute, int, int, Layout, int], Piece]
    )
    _ids: list[SSAValue] = field(default_factory=list[SSAValue])

    def _entry(self) -> Code:
        first = self.func.body.block.first_op
        assert first is not None, self.func
        at: Operation = first
        # What is at the entry already stays before what uses it.
        if self._ids:
            owner = self._ids[-1].owner
            assert isinstance(owner, Operation)
            return Code(InsertPoint.after(owner))
        return Code(InsertPoint.before(at))

    @property
    def subgroup(self) -> SSAValue:
        """The number of the subgroup."""
        if not self._ids:
            code = self._entry()
            lane, subgroup = simt.LaneIdOp(), simt.SubgroupIdOp()
            self._ids = [code.get(lane), code.get(subgroup)]
        return self._ids[1]

    @property
    def lane(self) -> SSAValue:
        """The number of the lane."""
        assert self.subgroup
        return self._ids[0]

    def new(
        self,
        element: Attribute,
        rows: int,
        cols: int,
        layout: Layout = Layout.ROW_MAJOR,
    ) -> Piece:
        """A piece of its own."""
        subgroup = self.subgroup
        space = simt.MemoryAttr.of(simt.MemorySpace.WORKGROUP)
        shape = memory_shape(layout, element_bits(element), rows, cols)
        type = MemRefType(element, (self.subgroups, *shape), memory_space=space)
        alloca = memref.AllocaOp.build(
            operands=[[], []], result_types=[type], properties={}
        )
        memory = self._entry().get(alloca)
        memory.name_hint = "scratch"
        return Piece(memory, subgroup, rows, cols, element, layout)

    def own(self, matrix: MatrixType) -> Piece:
        """A piece of its own, for a matrix."""
        layout = scratch_layout(matrix, self.device)
        return self.new(matrix.element_type, *matrix.shape, layout)

    def of(self, matrix: MatrixType, number: int = 0) -> Piece:
        """The piece that all matrices of a size and an element type go through.

        Those that are there at the same time have other numbers.
        """
        layout = scratch_layout(matrix, self.device)
        place = matrix.element_type, *matrix.shape, layout
        if (found := self._pieces.get((*place, number))) is None:
            found = self._pieces[*place, number] = self.new(*place)
        return found

    def barrier(self, code: Code) -> None:
        """Insert a barrier of the subgroup."""
        code.do(simt.BarrierOp(simt.FenceScope.SUBGROUP))

    def put(self, code: Code, value: SSAValue, piece: Piece | None = None) -> Piece:
        """Insert what brings a matrix to work-group memory, for all lanes to read."""
        if piece is None:
            piece = self.of(matrix_type(value))
        at = piece.whole(code)
        self.barrier(code)
        code.do(coopmatrix.StoreOp(value, piece.memory, at, piece.layout))
        self.barrier(code)
        return piece

    def take(self, code: Code, piece: Piece, matrix: MatrixType) -> SSAValue:
        """Insert what makes a matrix of what all lanes wrote."""
        self.barrier(code)
        at = piece.whole(code)
        return code.get(coopmatrix.LoadOp(piece.memory, at, matrix, piece.layout))

    def each(
        self,
        code: Code,
        rows: int,
        cols: int,
        body: Callable[[Code, SSAValue, SSAValue], None],
    ) -> None:
        """Insert a loop over the elements of a matrix, shared out to the lanes."""
        count = rows * cols

        def step(code: Code, turn: SSAValue) -> None:
            place = code.add(code.mul(turn, self.lanes), self.lane)
            inside = None if count % self.lanes == 0 else code.less(place, count)

            def one(code: Code) -> None:
                row, col = code.div_mod(place, cols)
                body(code, row, col)

            code.when(inside, one)

        code.loop(-(-count // self.lanes), step)
