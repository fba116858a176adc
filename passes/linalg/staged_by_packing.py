"""A multiplication in two stages: one kernel packs A and B, the next one multiplies.

A function becomes two kernels, @f.pack and @f.multiply.  Both take its arguments, and A
and B packed.  The module attribute `cpu.kernels` says how they run: see
`coopc.passes.cpu.stages`.

With `prepack=b` the caller packs B once, by a kernel @f.pack_b of its own, and gives it
packed, in the place of B: then @f.pack is of A alone, if that is packed.

A is packed in panels of rows, and B in panels of columns.  What is beyond the matrices
is zero there, so that only C has edges.  A work-group computes a block of C, the tiles
of some panels of A and of B.  At the edges of C the sums of a tile are in memory of the
function, and are copied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DictionaryAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects.narrow import memref_type
from coopc.dialects.simt import ALIGNMENT
from coopc.interface import PACKING_ENTRY
from coopc.ir.control_flow import free_name
from coopc.passes.cpu.stages import KERNELS, PackedArgument, Stages, map_of_sizes
from coopc.passes.linalg.epilogue import CALLS
from coopc.passes.linalg.kernel_text import Memory, Operands, functions, kernel
from coopc.passes.linalg.match import Multiplication, constant_text, extent
from coopc.plan.core_gemm import LINE_BYTES
from coopc.plan.gemm import AXES, GemmPlan, Output, Packed
from coopc.remarks import remark

ATTRIBUTES = (
    "simt.kernel, simt.subgroup_size = 1 : i32, simt.work_group_size = array<i32: 1>"
)
PACK, MULTIPLY, ADD, PACK_B = ".pack", ".multiply", ".add", PACKING_ENTRY
"""What the names of the kernels end in."""
Groups: TypeAlias = dict[str, tuple[AffineExpr, ...]]
"""The work-groups of kernels along x, y, z, by what their names end in."""
Shares: TypeAlias = tuple[AffineExpr, tuple[AffineExpr | int, ...]]
"""Work-groups that pack B for the caller, and factors of its elements then."""
Operand: TypeAlias = Literal["none", "b"]
"""What the caller packs."""
PAST_CACHES = f" {{nontemporal = true, {ALIGNMENT} = {LINE_BYTES} : i64}}"
"""Attributes of nontemporal stores of whole cache lines."""
UNKNOWN = 1 << 40
"""A size of memory that is larger than any, where its own cannot be said."""


class PackedKernel(Operands):
    """`C = fill + A * B`, or `C += A * B`, by a plan, with A and B in panels."""

    def __init__(self, found: Multiplication, plan: GemmPlan, packed: str) -> None:
        """Choose the types of a kernel.

        The plan's tile of a subgroup has the rows of a panel of A, and the columns of
        one of B; packed, A and B are of the type `packed`.
        """
        assert isinstance(plan.b, Packed), plan
        problem = found.problem
        super().__init__(problem)
        block = found.op.parent
        assert block is not None, found
        names: dict[SSAValue, str] = {}
        for name, memory in zip(("%a", "%b", "%c"), found.memories, strict=True):
            names.setdefault(memory, name)
        for argument in block.args:
            names.setdefault(argument, f"%arg{argument.index}")
        matrices = problem.a, problem.b, problem.c
        self.a, self.b, self.c = (
            Memory(names[x], matrix)
            for x, matrix in zip(found.memories, matrices, strict=True)
        )
        self.given = [f"{names[x]}: {x.type}" for x in block.args]
        """The arguments of the function, with types."""
        self.fill = None if found.fill is None else constant_text(found.fill)
        """A constant that C is filled with first; None to add to what is there."""
        self.outputs = [
            (Memory(names[x.memory], output.memory), output)
            for x, output in zip(found.stored, problem.outputs, strict=True)
        ]
        """What the epilogue stores, and where."""
        self.stored = [memory for memory, _ in self.outputs] or [self.c]
        """What the kernel stores to."""
        self.plan, self.packed = plan, packed
        self.channel = plan.b.channel
        """Elements along K that share a word of packed A or B."""
        self.packs_a = isinstance(plan.a, Packed)
        """Whether A is packed, too: else its elements are read where they are."""
        b = memref_type(found.memories[1])
        self.prepacked = str(b) if b.get_num_dims() == 1 else None
        """The type of %b where the caller gives B packed; None where it does not."""
        self.scratch = ("%pa",) if self.prepacked else ("%pa", "%pb")
        """The last arguments, of the packed type."""
        self.rows, self.cols = plan.subgroup
        self.panels = plan.group[0] // self.rows, plan.group[1] // self.cols
        """Panels of A, and of B, of a work-group."""
        self.sum = self.c.element
        """The type of an element of C."""
        self.sums = f"vector<{self.cols}x{self.sum}>"
        """The type of a row of a tile of C."""
        self.mask = f"vector<{self.cols}xi1>"
        self.part = self.part_of("?")
        """The type of memory that has the sums of a tile, wherever that is."""
        self.own = f"memref<{self.rows}x{self.cols}x{self.sum}>"
        """The type of memory of the function for the sums of a tile."""
        tiles = self.panels[0] * self.panels[1]
        self.block_type = f"memref<{tiles * self.rows}x{self.cols}x{self.sum}>"
        """The same of all tiles of a work-group."""

    def part_of(self, stride: int | str | None) -> str:
        known = "?" if stride is None else stride
        layout = f"strided<[{known}, 1], offset: ?>"
        return f"memref<{self.rows}x{self.cols}x{self.sum}, {layout}>"

    def text(self, name: str, sizes: str, body: str) -> str:
        """Return a kernel of a body, which begins with how many panels there are.

        Indices of constant value are %c of their numbers.

        Args:
            name: of the function, without that of what it is of.
            sizes: what else it begins with.
            body: its operations.
        """
        given = [*self.given, *(f"{x}: {self.packed}" for x in self.scratch)]
        numbers = self.c.dim("rows"), self.c.dim("cols"), self.a.dim("cols")
        if name == PACK_B[1:]:
            given = [f"%b: {self.b.matrix.type}", f"%b_packed: {self.prepacked}"]
            numbers = "arith.constant 0 : index", self.b.dim("cols"), self.b.dim("rows")
        m, n, k = numbers
        packed = ""
        if self.prepacked is not None:
            packed = self.as_packed("%b_packed" if name == PACK_B[1:] else "%b")
        panels = f"""{packed}
  %m = {m}
  %n = {n}
  %k = {k}
  %panels_a = arith.ceildivui %m, %c{self.rows} : index
  %panels_b = arith.ceildivui %n, %c{self.cols} : index"""
        return kernel(", ".join(given), panels + sizes + body, name, ATTRIBUTES)

    def matrix_of_batch(self, axis: str) -> str:
        """Return %batch, the group's place on an axis, and the panels before it."""
        number = "arith.constant 0"
        if self.problem.batched:
            number = f"simt.workgroup_id {axis}"
        return f"""
  %batch = {number} : index
  %before_a = arith.muli %batch, %panels_a : index
  %before_b = arith.muli %batch, %panels_b : index"""

    def text_of_panels(self, name: str, axis: str, body: str) -> str:
        """Return a kernel, as `text` does, of panels of a matrix of the batch.

        Its body knows how many %steps there are; the batch is along an axis.
        """
        raise NotImplementedError

    def packing(self, of_a: str, of_b: str, what: str = "ab", of_all: str = "") -> str:
        """Return the kernel that packs A and B, or one of them.

        Args:
            of_a: packs a panel of A, number %group.
            of_b: packs the share of B of a %group, which counts on from those of A.
            what: is packed.
            of_all: what the kernel begins with.
        """
        both = f"""
  %is_a = arith.cmpi ult, %group, %of_a : index
  scf.if %is_a {{{of_a}
  }} else {{{of_b}
  }}"""
        has_a = self.packs_a and what == "ab"
        body = f"""{of_all}
  %group = simt.workgroup_id x : index
  %of_a = arith.muli %panels_a, %c{int(has_a)} : index{
            {"ab": both, "a": of_a, "b": of_b}[what]
        }"""
        return self.text_of_panels("pack_b" if what == "b" else "pack", "y", body)

    def as_packed(self, name: str) -> str:
        """Return what makes %pb of packed B, as the caller has it."""
        raise NotImplementedError

    def element_at(self, memory: Memory, at: str, k: str) -> str:
        """Return an element in memory, of a row of A or a column of B."""
        pair = (at, k) if memory is self.a else (k, at)
        return f"{memory.name}[{memory.place(*pair)}]"

    def read(
        self,
        memory: Memory,
        size: int,
        at: tuple[str, str, str],
        *,
        masked: bool,
        name: str = "v",
    ) -> str:
        """Return the loads of a word for each of some rows of A or columns of B.

        Args:
            memory: of which the elements of one k are consecutive.
            size: how many rows or columns.
            at: the first of them, the first k, and how many there are at least.
            masked: whether what is beyond the matrix is zero, or all of it is inside.
            name: of what is loaded, with the number of its element in the word.
        """
        type, vector = memory.matrix.type, f"vector<{size}x{memory.element}>"
        mask, (first, first_k, left), text = f"vector<{size}xi1>", at, ""
        for t in range(self.channel):
            k, own = f"%k{name}{t}", f"{name}{t}"
            text += f"""
        {k} = arith.addi {first_k}, %c{t} : index"""
            if not masked:
                text += f"""
        %{own} = vector.load {self.element_at(memory, first, k)} : {type}, {vector}"""
                continue
            near = self.element_at(memory, first, f"%near_{own}")
            text += f"""
        %in_{own} = arith.cmpi ult, {k}, %k : index
        %near_{own} = arith.select %in_{own}, {k}, %c0 : index
        %rest_{own} = arith.select %in_{own}, {left}, %c0 : index
        %mask_{own} = vector.create_mask %rest_{own} : {mask}
        %{own} = vector.maskedload {near}, %mask_{own}, %nothing
          : {type}, {mask}, {vector} into {vector}"""
        return text

    def read_at_edges(self, memory: Memory, size: int, first: str, k: str) -> str:
        """Return the loads of words, %v#0 and more, masked at the edges of the matrix.

        Args:
            memory: of which the elements of one k are consecutive.
            size: how many rows or columns.
            first: the first of them; there are %left, and %rows_in says if all are.
            k: the first k.
        """
        loaded = range(self.channel)
        names = ", ".join(f"%v{t}" for t in loaded)
        types = ", ".join(f"vector<{size}x{memory.element}>" for _ in loaded)
        whole, masked = (
            self.read(memory, size, (first, k, "%left"), masked=x)
            for x in (False, True)
        )
        return f"""
      %last_k = arith.addi {k}, %c{self.channel - 1} : index
      %k_in = arith.cmpi ult, %last_k, %k : index
      %all = arith.andi %rows_in, %k_in : i1
      %v:{self.channel} = scf.if %all -> ({types}) {{{whole}
        scf.yield {names} : {types}
      }} else {{{masked}
        scf.yield {names} : {types}
      }}"""

    @property
    def block(self) -> str:
        """The panels of a work-group: %i0 up to %i1 of A, and %j0 up to %j1 of B."""
        rows, cols = self.panels
        places = """
  %x = simt.workgroup_id x : index
  %y = simt.workgroup_id y : index"""
        if band := self.plan.band:
            places = f"""
  %x_ = simt.workgroup_id x : index
  %y_ = simt.workgroup_id y : index
  %across = arith.ceildivui %panels_b, %c{cols} : index
  %down = arith.ceildivui %panels_a, %c{rows} : index
  %over = arith.muli %y_, %across : index
  %group = arith.addi %over, %x_ : index
  %in_band = arith.muli %across, %c{band} : index
  %band = arith.divui %group, %in_band : index
  %y0 = arith.muli %band, %c{band} : index
  %below = arith.subi %down, %y0 : index
  %high = arith.minui %below, %c{band} : index
  %at_band = arith.remui %group, %in_band : index
  %y_in = arith.remui %at_band, %high : index
  %y = arith.addi %y0, %y_in : index
  %x = arith.divui %at_band, %high : index"""
        return f"""{places}
  %j0 = arith.muli %x, %c{cols} : index
  %i0 = arith.muli %y, %c{rows} : index
  %j_end = arith.addi %j0, %c{cols} : index
  %i_end = arith.addi %i0, %c{rows} : index
  %j1 = arith.minui %j_end, %panels_b : index
  %i1 = arith.minui %i_end, %panels_a : index"""

    @property
    def tile_of_c(self) -> str:
        """Where tile %i, %j of C is, and whether it is %inside or %outside."""
        return f"""
      %row = arith.muli %i, %c{self.rows} : index
      %col = arith.muli %j, %c{self.cols} : index
      %row_end = arith.addi %row, %c{self.rows} : index
      %col_end = arith.addi %col, %c{self.cols} : index
      %row_in = arith.cmpi ule, %row_end, %m : index
      %col_in = arith.cmpi ule, %col_end, %n : index
      %inside = arith.andi %row_in, %col_in : i1
      %yes = arith.constant true
      %outside = arith.xori %inside, %yes : i1"""

    @property
    def left(self) -> str:
        """What of a tile at an edge is in C: %rows_here, and columns as a %mask."""
        return f"""
        %rows_left = arith.subi %m, %row : index
        %rows_here = arith.minui %rows_left, %c{self.rows} : index
        %cols_left = arith.subi %n, %col : index
        %mask = vector.create_mask %cols_left : {self.mask}"""

    def from_edge(self, beyond: str, to: str = "%edge", type: str | None = None) -> str:
        """Return the copying of a tile of C at an edge, row by row.

        Args:
            beyond: a row that has what is not in C.
            to: where it is copied to.
            type: of that memory, if it is not the function's for a tile.
        """
        return self._rows(
            f"""
          %old = vector.maskedload {self._there}, %mask, {beyond}
            : {self.problem.c.type}, {self.mask}, {self.sums} into {self.sums}
          vector.store %old, {to}[%r, %c0] : {type or self.own}, {self.sums}"""
        )

    @property
    def to_edge(self) -> str:
        """The copying of %edge to a tile of C at an edge, row by row."""
        return self._rows(
            f"""
          %new = vector.load %edge[%r, %c0] : {self.own}, {self.sums}
          vector.maskedstore {self._there}, %mask, %new
            : {self.problem.c.type}, {self.mask}, {self.sums}"""
        )

    @property
    def finish_block(self) -> str:
        """The epilogue of a work-group's sums, which are in %kept of type `block_type`.

        It goes along rows: what it reads and stores is then consecutive.
        """
        kept = f"""
        %col = arith.muli %j, %c{self.cols} : index{self.kept_row}
        %kept_r = arith.addi %kept_row, %r : index
        %total = vector.load %kept[%kept_r, %c0] : {self.block_type}, {self.sums}"""

        def whole(hint: str) -> str:
            return f"""
      scf.for %j = %j0 to %j_whole step %c1 {{{kept}{
                self.finished(masked=False, hint=hint)
            }
      }}"""

        return f"""{self.lines_of_c}
  %whole_b = arith.divui %n, %c{self.cols} : index
  %j_whole = arith.minui %j1, %whole_b : index
  scf.for %i = %i0 to %i1 step %c1 {{
    %row = arith.muli %i, %c{self.rows} : index
    %rows_left = arith.subi %m, %row : index
    %rows_here = arith.minui %rows_left, %c{self.rows} : index
    %ii = arith.subi %i, %i0 : index
    scf.for %r = %c0 to %rows_here step %c1 {{
      %at = arith.addi %row, %r : index{self.past_caches(whole)}
      scf.for %j = %j_whole to %j1 step %c1 {{{kept}
        %cols_left = arith.subi %n, %col : index
        %mask = vector.create_mask %cols_left : {self.mask}{self.finished(masked=True)}
      }}
    }}
  }}"""

    def finished(self, *, masked: bool, hint: str = "") -> str:
        """Return the epilogue of %total, sums of row %at of C from column %col on.

        Stores that are not masked have the attributes `hint`.
        """
        calls = stores = ""
        batch = "%batch" if self.problem.batched else "%c0"
        outputs = self.outputs or [(self.c, Output(self.problem.c))]
        for number, (memory, output) in enumerate(outputs):
            value, element = "%total", memory.element
            where = f"{memory.name}[{memory.place('%at', '%col')}]"
            vector = f"vector<{self.cols}x{element}>"
            if output.element is not None:
                value = f"%value{number}"
                mask, type = (", %mask", f", {self.mask}") if masked else ("", "")
                calls += f"""
        {value} = func.call @{CALLS}{number}({batch}, %at, %col, %total{mask})
          : (index, index, index, {self.sums}{type}) -> {vector}"""
            stores += (
                f"""
        vector.maskedstore {where}, %mask, {value}
          : {memory.matrix.type}, {self.mask}, {vector}"""
                if masked
                else f"""
        vector.store {value}, {where}{hint} : {memory.matrix.type}, {vector}"""
            )
        return calls + stores

    @property
    def lines_of_c(self) -> str:
        """%streams: whether the plan streams C and all outputs begin with a line."""
        if not self.plan.streams:
            return """
  %streams = arith.constant false"""
        lines, address = "", "%of_line"
        for memory in self.stored:
            name, element = memory.name, memory.element
            lines += f"""
  {name}_first = memref.reinterpret_cast {name} to offset: [0], sizes: [], strides: []
    : {memory.matrix.type} to memref<{element}>
  {name}_at = simt.address_of {name}_first : memref<{element}>
  {name}_or = arith.ori {address}, {name}_at : i64"""
            address = f"{name}_or"
        return f"""
  %of_line = arith.constant 0 : i64{lines}
  %in_line = arith.constant {LINE_BYTES - 1} : i64
  %into_line = arith.andi {address}, %in_line : i64
  %streams = arith.cmpi eq, %into_line, %of_line : i64"""

    def past_caches(self, text: Callable[[str], str], where: str = "%streams") -> str:
        """Return stores of whole rows of tiles, nontemporal under a condition.

        Args:
            text: the stores, given their attributes.
            where: the condition.
        """
        if not self.plan.streams:
            return text("")
        return f"""
        scf.if {where} {{{text(PAST_CACHES)}
        }} else {{{text("")}
        }}"""

    @property
    def kept_row(self) -> str:
        """Which row of %kept the sums of tile %i, %j begin with, given %ii."""
        return f"""
        %jj = arith.subi %j, %j0 : index
        %jr = arith.muli %jj, %c{self.panels[0]} : index
        %number = arith.addi %jr, %ii : index
        %kept_row = arith.muli %number, %c{self.rows} : index"""

    def in_block(self, name: str) -> str:
        """Return the part of %kept that has the sums of a tile, from %kept_row on."""
        inside = self.part_of(self.cols)
        return f"""
        %there = memref.subview %kept[%kept_row, 0] [{self.rows}, {self.cols}] [1, 1]
          : {self.block_type} to {inside}
        {name} = "memref.cast"(%there) : ({inside}) -> ({self.part})"""

    @property
    def _there(self) -> str:
        return f"{self.c.name}[{self.c.place('%at', '%col')}]"

    def _rows(self, copy: str) -> str:
        return f"""
        scf.for %r = %c0 to %rows_here step %c1 {{
          %at = arith.addi %row, %r : index{copy}
        }}"""


def with_packed_b(
    func: FuncOp, found: Multiplication, element: Attribute
) -> Multiplication:
    """Let a function take B packed, unless it uses B elsewhere: that is remarked."""
    a, b, c = found.memories
    if b.uses.get_length() > 1:
        remark(
            func, "B is not packed by a kernel of its own: it is used elsewhere, too"
        )
        return found
    type = MemRefType(element, [DYNAMIC_INDEX])
    memories = a, Rewriter.replace_value_with_new_type(b, type), c
    func.update_function_type()
    return replace(found, memories=memories)


def become_stages(
    func: FuncOp,
    found: Multiplication,
    text: str,
    ctx: Context,
    groups: Groups,
    bytes: Sequence[tuple[AffineExpr | int, ...]],
    of_b: Callable[[AffineExpr, AffineExpr], Shares] | None = None,
) -> None:
    """Put the kernels that a product runs as in place of a function.

    The text has them in the order in which they run.  Each of `bytes` has the factors
    of what one of their last arguments takes.  With `of_b`, the last kernel packs B for
    the caller, as that says by K and N.
    """
    module = func.parent_op()
    assert isinstance(module, ModuleOp), module
    endings = [*groups, *([PACK_B] if of_b else [])]
    name = free_name(module, func.sym_name.data, *endings)
    made = functions(ctx, text)
    for each, ending in zip(made, endings, strict=True):
        each.sym_name = StringAttr(name + ending)
        if found.consumers is not None and ending != PACK_B:
            given = zip(func.body.block.args, each.body.block.args, strict=False)
            found.consumers.write(each, found.stored, dict(given))
        for inner in each.walk():
            inner.location = func.location
        Rewriter.insert_op(each, InsertPoint.before(func))
    known = module.attributes.get(KERNELS, DictionaryAttr({}))
    assert isinstance(known, DictionaryAttr), known
    kernels, packed = {**known.data}, None
    if of_b is not None:
        packs, matrix = made[-1], found.problem.b
        b, to = packs.body.block.args
        k, n = (extent(packs, b, matrix.dimension(axis)) for axis in AXES)
        batch = (extent(packs, b, 0),) if matrix.batched else ()
        count, elements = of_b(k, n)
        argument, map = found.memories[1], map_of_sizes(packs, *batch, *elements)
        assert isinstance(argument, BlockArgument), argument
        packed = PackedArgument(argument.index, memref_type(to), map)
        stage = f"{name}{PACK_B}", map_of_sizes(packs, count, *batch)
        kernels[func.sym_name.data + PACK_B] = Stages((stage,), ()).attr
    of = partial(map_of_sizes, func)
    # No affine map is the size of what is packed: checks of bounds leave it to others.
    stages = Stages(
        tuple((name + ending, of(*numbers)) for ending, numbers in groups.items()),
        tuple((of(*factors), of(UNKNOWN)) for factors in bytes),
        packed,
        of(groups[MULTIPLY][-1]) if found.problem.batched else None,
    )
    kernels[func.sym_name.data] = stages.attr
    module.attributes[KERNELS] = DictionaryAttr(kernels)
    Rewriter.erase_op(func)
