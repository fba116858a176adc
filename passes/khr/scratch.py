"""Work-group memory that matrices go through, a piece for each subgroup.

A piece is a memref of (subgroups, M, N), and a subgroup uses the part of its number:
so its own barriers suffice, and it may go there while others do not.  Every use is

    barrier; all lanes write; barrier; all lanes read

so that pieces of one type can be used again and again.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import MatrixType, matrix_type
from coopc.passes.khr.code import Code


@dataclass(frozen=True, slots=True)
class Piece:
    """Where one matrix is: `memory[subgroup, row, column]`."""

    memory: SSAValue
    subgroup: SSAValue
    rows: int
    cols: int
    element: Attribute

    def load(self, code: Code, row: SSAValue, col: SSAValue) -> SSAValue:
        """Insert the load of an element."""
        return code.get(memref.LoadOp.get(self.memory, [self.subgroup, row, col]))

    def store(self, code: Code, value: SSAValue, row: SSAValue, col: SSAValue) -> None:
        """Insert the store of an element."""
        places = [self.subgroup, row, col]
        code.do(memref.StoreOp.get(value, self.memory, places))

    def places(self, code: Code) -> list[SSAValue]:
        """The positions of the whole matrix."""
        zero = code.index(0)
        return [self.subgroup, zero, zero]


@dataclass(slots=True)
class Scratch:
    """The work-group memory of one function."""

    func: FuncOp
    lanes: int
    """Of a subgroup."""
    subgroups: int
    """Of a work-group, at most."""
    _pieces: dict[tuple[Attribute, int, int], Piece] = field(
        default_factory=dict[tuple[Attribute, int, int], Piece]
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

    def new(self, element: Attribute, rows: int, cols: int) -> Piece:
        """A piece of its own."""
        subgroup = self.subgroup
        space = simt.MemoryAttr.of(simt.MemorySpace.WORKGROUP)
        type = MemRefType(element, (self.subgroups, rows, cols), memory_space=space)
        alloca = memref.AllocaOp.build(
            operands=[[], []], result_types=[type], properties={}
        )
        memory = self._entry().get(alloca)
        memory.name_hint = "scratch"
        return Piece(memory, subgroup, rows, cols, element)

    def of(self, matrix: MatrixType) -> Piece:
        """The piece that all matrices of a size and an element type go through."""
        rows, cols = matrix.shape
        key = matrix.element_type, rows, cols
        if (found := self._pieces.get(key)) is None:
            found = self._pieces[key] = self.new(*key)
        return found

    def barrier(self, code: Code) -> None:
        """Insert a barrier of the subgroup."""
        code.do(simt.BarrierOp(simt.FenceScope.SUBGROUP))

    def put(self, code: Code, value: SSAValue) -> Piece:
        """Insert what brings a matrix to work-group memory, for all lanes to read."""
        piece = self.of(matrix_type(value))
        self.barrier(code)
        code.do(coopmatrix.StoreOp(value, piece.memory, piece.places(code)))
        self.barrier(code)
        return piece

    def take(self, code: Code, piece: Piece, matrix: MatrixType) -> SSAValue:
        """Insert what makes a matrix of what all lanes wrote."""
        self.barrier(code)
        places = piece.places(code)
        return code.get(coopmatrix.LoadOp(piece.memory, places, matrix))

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
