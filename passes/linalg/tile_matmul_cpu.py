"""tile-matmul-cpu: lowers products to packed and blocked vector kernels.

Before:  a func.func with one linalg.matmul, or an equivalent linalg.generic, on memref
         arguments with accumulators of f32, f64, or i32 of bytes; a linalg.fill of the
         output with a constant may precede it, and elementwise linalg.generic
         operations on its result may follow.
After:   two kernels, @f.pack and @f.multiply. A and B are packed in two additional
         arguments; with few columns of C, A is read in place. The module attribute
         `cpu.kernels` says how to run them. If C has few rows, nothing is packed; if K
         is split, @f.add follows. If B is transposed, too, they are dot products, in a
         kernel as from `convert-linalg-to-simt`.
Fails:   never; other products are unchanged, with a remark.

See `coopc.passes.linalg.staged_by_packing`.

    @pack      a work-group packs a panel of A or of B
    @multiply  a work-group computes a block of C, tile by tile

A panel of A has as many rows as a tile, a panel of B as many columns.  The words of one
step along K are contiguous: word (s, i) of panel p is at (p * steps + s) * size + i.
Batches are stored one after the other.  Words, and the operations that multiply them:

    an element, converted to the accumulator type    vector.fma
    two of bf16 along K                              avx512.dot, with AVX512_BF16
    four bytes along K                               avx512.dot, with AVX512_VNNI
    two bytes along K, converted to i16              products of i32, added in pairs

`avx512.dot` takes the bytes of A as unsigned.  Signed bytes are packed as a + 128, and
each panel of B has an additional step: -128 times its column sums, the initial
accumulators.

The accumulators of a tile are one vector per row, in registers during a step of K and
in C between steps.

With few rows of C, each element of B is used once per row: its words are formed at
their use, from some rows of B along all columns of a work-group.  Accumulators are in
scratch memory, and each word of B is also multiplied by -128 if bytes of A are a + 128.
If rows of B are too short for the number of threads, @multiply computes partial sums,
which @add adds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, f64, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir.affine import AffineConstantExpr, AffineExpr
from xdsl.passes import ModulePass

from coopc.device import AMX, signless
from coopc.device.cpu import VECTOR_TILE
from coopc.passes.linalg.convert_linalg_to_simt.convert_linalg_to_simt import (
    ConvertLinalgToSimtPass,
)
from coopc.passes.linalg.kernel_text import Memory, zero
from coopc.passes.linalg.match import Multiplication, dots_of, extent, matches
from coopc.passes.linalg.staged_by_packing import (
    ADD,
    MULTIPLY,
    PACK,
    Groups,
    Operand,
    PackedKernel,
    Shares,
    become_stages,
    with_packed_b,
)
from coopc.plan.core_gemm import (
    CONVERTED,
    check_features,
    is_of_amx,
    is_thin,
    plan_vector_gemm,
)
from coopc.plan.gemm import AXES, Direct, GemmPlan, Packed, in_precision
from coopc.remarks import remark
from coopc.rounding import PrecisionName

UNROLL = 4
"""Steps along K that the innermost loop is unrolled by."""
LENGTH = 16
"""Words along K that are read at a time, to be packed."""
MOST_SUMS = 1024
"""Of a tile: twice those of f32 that all registers of AVX-512 hold."""


WORDS = {"f32": f32, "f64": f64, "i32": i32}


def word_of(packed: Packed) -> str:
    """Return the type of a word."""
    assert packed.element is not None, packed
    return signless(packed.element) if packed.channel == 1 else "i32"


class VectorKernel(PackedKernel):
    def __init__(self, found: Multiplication, plan: GemmPlan) -> None:
        assert isinstance(plan.b, Packed), plan
        assert plan.b.element is not None, plan
        self.element = signless(plan.b.element)
        """The type of an element of a word."""
        self.biased = plan.b.element == "s8"
        """Whether elements of A are packed as unsigned."""
        self.word = word_of(plan.b)
        self.thin = not plan.b.before
        """Whether nothing is packed: then the last argument is sums of parts."""
        last = signless(found.problem.c.element) if self.thin else self.word
        super().__init__(found, plan, f"memref<?x{last}>")
        if self.thin:
            self.scratch = ("%pa",) if plan.split > 1 else ()
        elif not self.packs_a:
            self.scratch = self.scratch[1:]
        self.words = f"vector<{self.cols}x{self.word}>"
        """The type of the words of a panel of B in a step."""

    def as_packed(self, name: str) -> str:
        return f"""
  %pb = "memref.cast"({name}) : ({self.prepacked}) -> ({self.packed})"""

    def text_of_panels(self, name: str, axis: str, body: str) -> str:
        steps = f"""
  %steps = arith.ceildivui %k, %c{self.channel} : index
  %steps_b = arith.addi %steps, %c{int(self.biased)} : index"""
        return self.text(name, self.matrix_of_batch(axis) + steps, body)

    def split(self, name: str, words: str) -> tuple[str, str]:
        """Return what makes %NAMEc of the words of a step, and its type."""
        type = f"vector<{self.cols * self.channel}x{self.element}>"
        return (
            f"""
        %{name}c = vector.bitcast {words} : {self.words} to {type}""",
            type,
        )


# --- the kernel that multiplies ------------------------------------------------------


def multiplying(g: VectorKernel) -> str:
    ones = "1, " * g.problem.batched
    name, own, finish, lines = "edge", g.own, "", g.lines_of_c
    begin = f"""
      scf.if %outside {{{g.from_edge("%none")}
      }}
      %sums = scf.if %inside -> ({g.part}) {{
        %there = memref.subview {g.c.name}[{g.c.place("%row", "%col")}]
          [{ones}{g.rows}, {g.cols}] [{ones}1, 1] : {g.problem.c.type} to {g.part}
        scf.yield %there : {g.part}
      }} else {{
        %at_edge = "memref.cast"(%edge) : ({g.own}) -> ({g.part})
        scf.yield %at_edge : {g.part}
      }}"""
    end = f"""
      scf.if %outside {{{g.to_edge}
      }}"""
    if g.outputs:
        name, own, finish = "kept", g.block_type, g.finish_block
        begin, end, lines = kept(g), "", ""
    step = g.plan.step // g.channel
    body = f"""
  %{name} = memref.alloca() {{alignment = 64 : i64}} : {own}
  %none = arith.constant dense<{zero(g.sum)}> : {g.sums}
  scf.for %r = %c0 to %c{g.rows} step %c1 {{
    vector.store %none, %{name}[%r, %c0] : {own}, {g.sums}
  }}{lines}{g.block}
  %some = arith.maxui %steps, %c1 : index
  scf.for %s0 = %c0 to %some step %c{step} {{
    %s_end = arith.addi %s0, %c{step} : index
    %s1 = arith.minui %s_end, %steps : index
    %depth = arith.subi %s1, %s0 : index
    %is_first = arith.cmpi eq, %s0, %c0 : index
    scf.for %j = %j0 to %j1 step %c1 {{
    scf.for %i = %i0 to %i1 step %c1 {{{g.tile_of_c}{g.left}{begin}
      %panel_a = arith.addi %before_a, %i : index
      %panel_b = arith.addi %before_b, %j : index
      %is = arith.muli %panel_a, %steps : index
      %js = arith.muli %panel_b, %steps_b : index
      %a_first = arith.addi %is, %s0 : index
      %b_first = arith.addi %js, %s0 : index{tile(g)}{end}
    }} }}
  }}{finish}"""
    return g.text_of_panels("multiply", "z", body)


def kept(g: VectorKernel) -> str:
    """Return where the sums of a tile are among those of the work-group.

    Sums that begin with C are copied from there.
    """
    begin = f"""
      %ii = arith.subi %i, %i0 : index{g.kept_row}{g.in_block("%sums")}"""
    if g.fill is not None:
        return begin
    return f"""{begin}
      scf.if %is_first {{
        scf.for %r = %c0 to %c{g.rows} step %c1 {{
          vector.store %none, %sums[%r, %c0] : {g.part}, {g.sums}
        }}{g.from_edge("%none", "%sums", g.part)}
      }}"""


def tile(g: VectorKernel) -> str:
    """Return the loops along K of a tile: some steps at a time, then the rest."""
    over = range(g.rows)
    types = ", ".join([g.sums] * g.rows)
    first = "".join(
        f"""
        %o{r} = vector.load %sums[%c{r}, %c0] : {g.part}, {g.sums}"""
        for r in over
    )
    names = [f"%o{r}" for r in over]
    if g.fill is not None:
        first = f"""
      %f:{g.rows} = scf.if %is_first -> ({types}) {{
        %value = arith.constant dense<{g.fill}> : {g.sums}
        scf.yield {", ".join(["%value"] * g.rows)} : {types}
      }} else {{{first}
        scf.yield {", ".join(names)} : {types}
      }}"""
        names = [f"%f#{r}" for r in over]
    if g.biased:
        first += f"""
      %bias = scf.if %is_first -> ({g.sums}) {{
        %last = arith.addi %js, %steps : index
        %last_at = arith.muli %last, %c{g.cols} : index
        %of_b = vector.load %pb[%last_at] : {g.packed}, {g.sums}
        scf.yield %of_b : {g.sums}
      }} else {{
        scf.yield %none : {g.sums}
      }}"""
        for r in over:
            first += f"""
      %g{r} = arith.addi {names[r]}, %bias : {g.sums}"""
        names = [f"%g{r}" for r in over]

    def carried(names: Iterable[str]) -> str:
        return ", ".join(f"%t0_{r} = {name}" for r, name in enumerate(names))

    def ends(unroll: int) -> str:
        return ", ".join(f"%t{unroll}_{r}" for r in over)

    def stores(hint: str) -> str:
        return "".join(
            f"""
      vector.store %e#{r}, %sums[%c{r}, %c0]{hint} : {g.part}, {g.sums}"""
            for r in over
        )

    store = stores("")
    if g.plan.streams and not g.outputs:
        store = f"""
      %past = arith.andi %inside, %streams : i1{g.past_caches(stores, "%past")}"""
    # LLVM would reassociate sums of integers, for which registers do not suffice.
    unroll = 1 if g.element == "i16" else UNROLL

    def loops(*, clamped: bool = False) -> str:
        return f"""{rows_of_a(g, clamped=clamped)}
      %l:{g.rows} = scf.for %s = %c0 to %middle step %c{unroll}
          iter_args({carried(names)}) -> ({types}) {{{products(g, unroll)}
        scf.yield {ends(unroll)} : {types}
      }}
      %e:{g.rows} = scf.for %s = %middle to %depth step %c1
          iter_args({carried(f"%l#{r}" for r in over)}) -> ({types}) {{{products(g, 1)}
        scf.yield {ends(1)} : {types}
      }}"""

    found, end = loops(), ", ".join(f"%e#{r}" for r in over)
    # Whole tiles address a row as the first one and a multiple of the stride.  Clamped
    # rows need an address each, for which there are too few registers.
    if g.plan.a == Direct(("rows",)):
        found = f"""
      %e:{g.rows} = scf.if %row_in -> ({types}) {{{found}
        scf.yield {end} : {types}
      }} else {{{loops(clamped=True)}
        scf.yield {end} : {types}
      }}"""
    return f"""{first}
      %rest = arith.remui %depth, %c{unroll} : index
      %middle = arith.subi %depth, %rest : index{found}{store}"""


def rows_of_a(g: VectorKernel, *, clamped: bool) -> str:
    """Return the rows of A of a tile, if A is not packed.

    Those beyond A are clamped to the last one, where it is asked for.
    """
    if g.packs_a:
        return ""
    text = ""
    if clamped:
        text = """
      %m_last = arith.subi %m, %c1 : index"""
    for r in range(g.rows):
        to = f"%row_{r}" if clamped else f"%a_row{r}"
        text += f"""
      {to} = arith.addi %row, %c{r} : index"""
        if clamped:
            text += f"""
      %a_row{r} = arith.minui %row_{r}, %m_last : index"""
    return text


def word_of_a(g: VectorKernel, step: int, row: int) -> str:
    """Return the loading of %xSTEP_ROW, a word of A."""
    name = f"%x{step}_{row}"
    if not g.packs_a:
        at = g.element_at(g.a, f"%a_row{row}", f"%ka{step}")
        return f"""
        {name} = memref.load {at} : {g.problem.a.type}"""
    return f"""
        %p{step}_{row} = arith.addi %from_a, %c{step * g.rows + row} : index
        {name} = memref.load %pa[%p{step}_{row}] : {g.packed}"""


def products(g: VectorKernel, unroll: int) -> str:
    """Return some steps: a row of B by each word of a column of A."""
    lines = """
        %k_at = arith.addi %s0, %s : index"""
    if g.packs_a:
        lines = f"""
        %at_a = arith.addi %a_first, %s : index
        %from_a = arith.muli %at_a, %c{g.rows} : index"""
    lines += f"""
        %at_b = arith.addi %b_first, %s : index
        %from_b = arith.muli %at_b, %c{g.cols} : index"""
    for u in range(unroll):
        if not g.packs_a:
            lines += f"""
        %ka{u} = arith.addi %k_at, %c{u} : index"""
        lines += f"""
        %q{u} = arith.addi %from_b, %c{u * g.cols} : index
        %b{u} = vector.load %pb[%q{u}] : {g.packed}, {g.words}"""
        lines += factor(g, f"b{u}")
        for r in range(g.rows):
            lines += word_of_a(g, u, r)
            lines += f"""
        %a{u}_{r} = vector.broadcast %x{u}_{r} : {g.word} to {g.words}"""
            lines += factor(g, f"a{u}_{r}")
            lines += product(g, f"t{u + 1}_{r}", f"a{u}_{r}", f"b{u}", f"t{u}_{r}")
    return lines


def factor(g: VectorKernel, name: str) -> str:
    """Return how the elements of words become what `product` takes, %NAMEc."""
    if g.channel == 1:
        return ""
    text, type = g.split(name, f"%{name}")
    if g.element != "i16":
        return text
    return f"""{text}
        %{name}w = arith.extsi %{name}c : {type} to vector<{2 * g.cols}xi32>"""


def product(g: VectorKernel, result: str, a: str, b: str, sums: str) -> str:
    """Return a row of sums with the products of some words added."""
    if g.channel == 1:
        return f"""
        %{result} = vector.fma %{a}, %{b}, %{sums} : {g.sums}"""
    if g.element != "i16":
        _, type = g.split(a, a)
        return f"""
        %{result} = avx512.dot %{a}c, %{b}c, %{sums} : {type}, {g.sums}"""
    type = f"vector<{2 * g.cols}xi32>"  # LLVM makes vpmaddwd of all of it
    lines = f"""
        %{result}_p = arith.muli %{a}w, %{b}w : {type}"""
    for half in range(2):
        mask = ", ".join(str(2 * n + half) for n in range(g.cols))
        lines += f"""
        %{result}_{half} = vector.shuffle %{result}_p, %{result}_p [{mask}]
          : {type}, {type}"""
    return f"""{lines}
        %{result}_s = arith.addi %{result}_0, %{result}_1 : {g.sums}
        %{result} = arith.addi %{result}_s, %{sums} : {g.sums}"""


# --- the kernels of a C of few rows --------------------------------------------------


def multiplying_thin(g: VectorKernel) -> str:
    """Return the kernel whose work-groups have columns of C, or a part of their sums.

    They read some rows of B at a time: each along all columns, from memory.
    """
    own, split = g.plan.step // g.channel // g.plan.split, g.plan.split
    words, types = thin_factors(g)
    body = f"""{begin_thin(g, whole=split == 1)}
  %part = simt.workgroup_id y : index
  %s_first = arith.muli %part, %c{own} : index
  scf.for %s = %s_first to %steps step %c{own * split} {{
    %k_at = arith.muli %s, %c{g.channel} : index
    %k_end = arith.addi %k_at, %c{own * g.channel} : index
    %k_in = arith.cmpi ule, %k_end, %k : index
    %w:{len(words)} = scf.if %k_in -> ({types}) {{{thin_words(g, masked=False)}
    }} else {{{thin_words(g, masked=True)}
    }}
    scf.for %j = %j0 to %j1 step %c1 {{
      %i = arith.constant 0 : index{g.tile_of_c}
      %ii = arith.constant 0 : index{g.kept_row}
      %all = arith.andi %inside, %k_in : i1
      scf.if %all {{{thin_steps(g, masked=False)}
      }} else {{{thin_steps(g, masked=True)}
      }}
    }}
  }}{g.finish_block if split == 1 else thin_part(g, "store")}"""
    return g.text_of_panels("multiply", "z", body)


def adding_thin(g: VectorKernel) -> str:
    """Return the kernel that adds the parts of sums, in their order."""
    body = f"""{begin_thin(g, whole=True)}
  scf.for %part = %c0 to %c{g.plan.split} step %c1 {{{thin_part(g, "add")}
  }}{g.finish_block}"""
    return g.text_of_panels("add", "y", body)


def begin_thin(g: VectorKernel, *, whole: bool) -> str:
    """Return the columns of a work-group, and its sums: what they begin with, or zeros.

    The fill or C is what they begin with, if they are `whole`.
    """
    cols, tiles = g.panels[1], g.panels[1] * g.rows
    fill = zero(g.sum) if g.fill is None or not whole else g.fill
    old = f"""
  %is_first = arith.constant true
  scf.for %j = %j0 to %j1 step %c1 {{
    %i = arith.constant 0 : index{g.tile_of_c}{g.left}{kept(g)}
  }}"""
    return f"""
  %kept = memref.alloca() {{alignment = 64 : i64}} : {g.block_type}
  %none = arith.constant dense<{fill}> : {g.sums}
  scf.for %r = %c0 to %c{tiles} step %c1 {{
    vector.store %none, %kept[%r, %c0] : {g.block_type}, {g.sums}
  }}
  %x = simt.workgroup_id x : index
  %j0 = arith.muli %x, %c{cols} : index
  %j_end = arith.addi %j0, %c{cols} : index
  %j1 = arith.minui %j_end, %panels_b : index
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index{old if whole and g.fill is None else ""}"""


def thin_part(g: VectorKernel, what: str) -> str:
    """Return what stores the sums of a part, or adds them to those of the block."""
    there = f"%pa[%at_] : {g.packed}, {g.sums}"
    kept = f"%kept[%r, %c0] : {g.block_type}, {g.sums}"
    add = "addi" if g.sum.startswith("i") else "addf"
    action = {
        "store": f"""
    %mine = vector.load {kept}
    vector.store %mine, {there}""",
        "add": f"""
    %mine = vector.load {kept}
    %more = vector.load {there}
    %both = arith.{add} %mine, %more : {g.sums}
    vector.store %both, {kept}""",
    }[what]
    return f"""
  %all_before = arith.muli %batch, %c{g.plan.split} : index
  %number_ = arith.addi %all_before, %part : index
  %before_ = arith.muli %number_, %panels_b : index
  %first_ = arith.addi %before_, %j0 : index
  %row_ = arith.muli %first_, %c{g.rows} : index
  %panels_ = arith.subi %j1, %j0 : index
  %rows_ = arith.muli %panels_, %c{g.rows} : index
  scf.for %r = %c0 to %rows_ step %c1 {{
    %r_ = arith.addi %row_, %r : index
    %at_ = arith.muli %r_, %c{g.cols} : index{action}
  }}"""


def thin_factors(g: VectorKernel) -> tuple[list[str], str]:
    """Return the names of words of A, each (step, row), and their types."""
    steps = g.plan.step // g.channel // g.plan.split
    names = [f"%w{u}_{r}" for u in range(steps) for r in range(g.rows)]
    return names, ", ".join([g.word] * len(names))


def thin_words(g: VectorKernel, *, masked: bool) -> str:
    """Return a region that gives the words of A of some steps, from %k_at on."""
    names, types = thin_factors(g)
    memory, length = g.a, g.channel
    type, vector = memory.matrix.type, f"vector<{length}x{memory.element}>"
    mask = f"vector<{length}xi1>"
    lines = f"""
      %nothing = arith.constant dense<{zero(memory.element)}> : {vector}"""
    for number, name in enumerate(names):
        u, row = divmod(number, g.rows)
        if row == 0:
            lines += f"""
      %k{u} = arith.addi %k_at, %c{u * length} : index"""
            if masked:
                lines += f"""
      %in{u} = arith.cmpi ult, %k{u}, %k : index
      %near{u} = arith.select %in{u}, %k{u}, %c0 : index
      %left{u} = arith.subi %k, %near{u} : index
      %rest{u} = arith.select %in{u}, %left{u}, %c0 : index
      %mask{u} = vector.create_mask %rest{u} : {mask}"""
        at = g.element_at(memory, f"%c{row}", f"%near{u}" if masked else f"%k{u}")
        load = f"vector.load {at} : {type}, {vector}"
        if masked:
            load = f"""vector.maskedload {at}, %mask{u}, %nothing
        : {type}, {mask}, {vector} into {vector}"""
        text, made = converted(g, memory, f"{name}v", f"{name[1:]}_", length)
        lines += f"""
      {name}v = {load}{text}"""
        if length > 1:
            lines += f"""
      {name}b = vector.bitcast {made}
        : vector<{length}x{g.element}> to vector<1x{g.word}>"""
            made = f"{name}b"
        lines += f"""
      {name} = vector.extract {made}[0] : {g.word} from vector<1x{g.word}>"""
    return f"""{lines}
      scf.yield {", ".join(names)} : {types}"""


def thin_steps(g: VectorKernel, *, masked: bool) -> str:
    """Return the steps of tile %j: words of B by each of A, added to its sums."""
    (names, _), rows = thin_factors(g), range(g.rows)
    none = f"vector<{g.cols}x{g.b.element}>"
    lines = f"""
        %nothing = arith.constant dense<{zero(g.b.element)}> : {none}
        %left = arith.subi %n, %col : index"""
    sums = [f"o{r}" for r in rows]
    for r in rows:
        lines += f"""
        %at{r} = arith.addi %kept_row, %c{r} : index
        %o{r} = vector.load %kept[%at{r}, %c0] : {g.block_type}, {g.sums}"""
    if g.biased:
        lines += f"""
        %t0_s = arith.constant dense<0> : {g.sums}"""
    for u in range(len(names) // g.rows):
        lines += f"""
        %k{u} = arith.addi %k_at, %c{u * g.channel} : index"""
        at = "%col", f"%k{u}", "%left"
        lines += g.read(g.b, g.cols, at, masked=masked, name=f"v{u}_")
        parts: list[str] = []
        for t in range(g.channel):
            name = f"v{u}_{t}"
            text, made = converted(g, g.b, f"%{name}", f"{name}_", g.cols)
            lines += text
            parts.append(made)
        text, made = interleaved(g, parts, g.cols, f"i{u}_")
        lines += text
        word = made[1:]
        lines += factor(g, word)
        for r in rows:
            name = f"a{u}_{r}"
            lines += f"""
        %{name} = vector.broadcast %w#{u * g.rows + r} : {g.word} to {g.words}"""
            lines += factor(g, name)
            lines += product(g, f"t{u + 1}_{r}", name, word, sums[r])
            sums[r] = f"t{u + 1}_{r}"
        if g.biased:
            lines += f"""
        %ones{u} = arith.constant dense<-128> : vector<{4 * g.cols}xi8>
        %t{u + 1}_s = avx512.dot %ones{u}, %{word}c, %t{u}_s
          : vector<{4 * g.cols}xi8>, {g.sums}"""
    last = len(names) // g.rows
    for r in rows:
        if g.biased:
            lines += f"""
        %u{r} = arith.subi %{sums[r]}, %t{last}_s : {g.sums}"""
            sums[r] = f"u{r}"
        lines += f"""
        vector.store %{sums[r]}, %kept[%at{r}, %c0] : {g.block_type}, {g.sums}"""
    return lines


# --- the kernel that packs -----------------------------------------------------------


def packing(g: VectorKernel, what: str = "ab") -> str:
    """Return the kernel that packs A and B, or one of them."""
    of_a = f"""
    %panel = arith.addi %before_a, %group : index
    %first = arith.muli %group, %c{g.rows} : index
    %left = arith.subi %m, %first : index
    %base = arith.muli %panel, %steps : index{panel(g, g.a, g.rows, "%pa")}"""
    of_b = f"""
    %number = arith.subi %group, %of_a : index
    %panel = arith.addi %before_b, %number : index
    %first = arith.muli %number, %c{g.cols} : index
    %left = arith.subi %n, %first : index
    %base = arith.muli %panel, %steps_b : index{panel(g, g.b, g.cols, "%pb")}
    {bias(g) if g.biased else ""}"""
    return g.packing(of_a if g.packs_a else "", of_b, what)


def panel(g: VectorKernel, memory: Memory, size: int, to: str) -> str:
    """Return what packs the panel of rows of A, or columns of B, from %first on."""
    along_k = memory.matrix.transposed != (memory is g.a)
    pack = lines if along_k else line
    return pack(g, memory, size, to)


def bias(g: VectorKernel) -> str:
    """Return what makes the last step of a panel of B."""
    text, type = g.split("w", "%w")
    return f"""
    %zeros = arith.constant dense<0> : {g.sums}
    %ones = arith.constant dense<-128> : {type}
    %totals = scf.for %s = %c0 to %steps step %c1 iter_args(%sum = %zeros)
        -> ({g.sums}) {{
      %step = arith.addi %base, %s : index
      %at = arith.muli %step, %c{g.cols} : index
      %w = vector.load %pb[%at] : {g.packed}, {g.words}{text}
      %more = avx512.dot %ones, %wc, %sum : {type}, {g.sums}
      scf.yield %more : {g.sums}
    }}
    %less = arith.subi %zeros, %totals : {g.sums}
    %last = arith.addi %base, %steps : index
    %last_at = arith.muli %last, %c{g.cols} : index
    vector.store %less, %pb[%last_at] : {g.packed}, {g.sums}"""


def converted(
    g: VectorKernel, memory: Memory, value: str, name: str, length: int
) -> tuple[str, str]:
    """Return what makes elements of words of those in memory, and what they are."""
    of, text, vector = memory.element, "", f"vector<{length}x{g.element}>"
    if of != g.element:
        signed = memory.matrix.element.startswith("s")
        kind = "f" if of in CONVERTED else "si" if signed else "ui"
        text = f"""
      %{name}w = arith.ext{kind} {value} : vector<{length}x{of}> to {vector}"""
        value = f"%{name}w"
    if g.biased and memory is g.a:
        text += f"""
      %{name}s = arith.constant dense<-128> : {vector}
      %{name}u = arith.xori {value}, %{name}s : {vector}"""
        value = f"%{name}u"
    return text, value


def line(g: VectorKernel, memory: Memory, size: int, to: str) -> str:
    """Return what packs a panel whose elements of one k are consecutive."""
    words = ""
    parts: list[str] = []
    for t in range(g.channel):
        text, made = converted(g, memory, f"%v#{t}", f"v{t}_", size)
        words += text
        parts.append(made)
    text, made = interleaved(g, parts, size)
    vector = f"vector<{size}x{memory.element}>"
    return f"""
    %nothing = arith.constant dense<{zero(memory.element)}> : {vector}
    %rows_in = arith.cmpi uge, %left, %c{size} : index
    scf.for %s = %c0 to %steps step %c1 {{
      %first_k = arith.muli %s, %c{g.channel} : index{
        g.read_at_edges(memory, size, "%first", "%first_k")
    }{words}{text}
      %step = arith.addi %base, %s : index
      %at = arith.muli %step, %c{size} : index
      vector.store {made}, {to}[%at] : {g.packed}, vector<{size}x{g.word}>
    }}"""


def interleaved(
    g: VectorKernel, parts: list[str], size: int, name: str = "i"
) -> tuple[str, str]:
    """Return what makes words of vectors of their elements, and what they are."""
    if g.channel == 1:
        return "", parts[0]
    text, length = "", size
    while len(parts) > 1:  # v0 and v2, v1 and v3; then these two
        half, found = len(parts) // 2, list[str]()
        type = f"vector<{length}x{g.element}>"
        mask = ", ".join(f"{n}, {n + length}" for n in range(length))
        for t in range(half):
            found.append(f"%{name}{length}_{t}")
            text += f"""
      {found[-1]} = vector.shuffle {parts[t]}, {parts[t + half]} [{mask}]
        : {type}, {type}"""
        parts, length = found, 2 * length
    return (
        f"""{text}
      %{name}words = vector.bitcast {parts[0]}
        : vector<{length}x{g.element}> to vector<{size}x{g.word}>""",
        f"%{name}words",
    )


def lines(g: VectorKernel, memory: Memory, size: int, to: str) -> str:
    """Return what packs a panel whose elements along K are consecutive.

    Some steps of a row of A or a column of B are read at a time, then the rest.
    """
    there, type = g.element_at(memory, "%line", "%k0"), memory.matrix.type

    def rows(steps: str, count: int) -> str:
        """Return the packing of so many steps at a time; one may be at the end."""
        length = count * g.channel
        vector = f"vector<{length}x{memory.element}>"
        load, mask = f"vector.load {there} : {type}, {vector}", ""
        if count == 1:
            mask = f"""
      %k_left = arith.subi %k, %k0 : index
      %mask = vector.create_mask %k_left : vector<{length}xi1>"""
            load = f"""vector.maskedload {there}, %mask, %none
            : {type}, vector<{length}xi1>, {vector} into {vector}"""
        text, made = converted(g, memory, "%v", "v", length)
        if g.channel > 1:
            text += f"""
        %words = vector.bitcast {made}
          : vector<{length}x{g.element}> to vector<{count}x{g.word}>"""
            made = "%words"
        for n in range(count):
            text += f"""
        %e{n} = vector.extract {made}[{n}] : {g.word} from vector<{count}x{g.word}>
        %p{n} = arith.addi %at, %c{n * size} : index
        memref.store %e{n}, {to}[%p{n}] : {g.packed}"""
        return f"""
    scf.for %s = {steps} {{
      %k0 = arith.muli %s, %c{g.channel} : index{mask}
      %step = arith.addi %base, %s : index
      %from = arith.muli %step, %c{size} : index
      %none = arith.constant dense<{zero(memory.element)}> : {vector}
      scf.for %r = %c0 to %c{size} step %c1 {{
        %in = arith.cmpi ult, %r, %left : index
        %line = arith.addi %first, %r : index
        %v = scf.if %in -> ({vector}) {{
          %there = {load}
          scf.yield %there : {vector}
        }} else {{
          scf.yield %none : {vector}
        }}
        %at = arith.addi %from, %r : index{text}
      }}
    }}"""

    return f"""
    %whole_k = arith.divui %k, %c{LENGTH * g.channel} : index
    %whole = arith.muli %whole_k, %c{LENGTH} : index
    {rows(f"%c0 to %whole step %c{LENGTH}", LENGTH)}
    {rows("%whole to %steps step %c1", 1)}"""


# --- the pass ---


@dataclass(frozen=True)
class TileMatmulCpuPass(ModulePass):
    name = "tile-matmul-cpu"

    block: tuple[int, ...] = ()
    """Cache block: panels of A, panels of B, and K."""
    threads: int = 1
    """Threads that share the work."""
    tile: tuple[int, ...] = VECTOR_TILE
    """Rows and columns of the accumulator tile in registers; 12,32 suits AVX-512."""
    amx: bool = True
    """Also convert products of types that AMX supports."""
    precision: PrecisionName = "ieee"
    """How f32 is multiplied, as for `split-f32-products`."""
    features: tuple[str, ...] = ()
    """Which of avx512bf16 and avx512vnni the CPU has."""
    prepack: Operand = "none"
    """Let the caller pack B, by a separate kernel."""

    def __post_init__(self) -> None:
        check_features(self.features)
        if self.threads < 1:
            raise ValueError(f"expected 1 thread or more, got {self.threads}")
        if self.block and (len(self.block) != 3 or min(self.block) < 1):
            raise ValueError(
                "expected a block of 3 numbers of 1 or more, panels of A, panels of B "
                f"and K, got {','.join(map(str, self.block))}"
            )
        if len(self.tile) != 2 or min(self.tile) < 1 or self.tile[1] % 2:
            raise ValueError(
                "expected a tile of rows and an even number of columns, "
                f"got {','.join(map(str, self.tile))}"
            )
        rows, cols = self.tile
        if rows * max(cols, LENGTH) > MOST_SUMS:
            raise ValueError(
                f"expected a tile of at most {MOST_SUMS} sums in registers, of which a "
                f"row takes {LENGTH} or more, got {rows} x {cols}"
            )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func, found in matches(op):
            self._tile(ctx, func, found)

    def _tile(self, ctx: Context, func: FuncOp, found: Multiplication) -> None:
        """Put kernels in the place of a function, if there is a plan."""
        problem = found.problem
        asked = self.block or found.tuned or self.prepack == "b"
        if not asked and (nest := dots_of(func, found)) is not None:
            rows = ConvertLinalgToSimtPass(threads=self.threads)
            return rows.convert(func, nest, AMX)
        of_amx = is_of_amx(in_precision(problem, self.precision))
        thin = is_thin(problem) and self.prepack == "none"
        if of_amx and not self.amx and not thin:
            return
        block = None
        if self.block:
            down, across, step = self.block
            block = down, across, step
        rows, cols = self.tile
        if found.tuned and found.tuned.registers:
            block, (rows, cols) = found.tuned.block, found.tuned.registers
        plan = plan_vector_gemm(
            problem,
            self.threads,
            block,
            (rows, cols),
            self.features,
            packs=self.prepack == "b",
        )
        if isinstance(plan, str):
            remark(func, f"not packed and blocked for the caches: {plan}")
            return
        if not self.amx and not thin:
            left, right, sums = problem.elements
            reason = f"AMX does not multiply {left} and {right} into {sums}"
            remark(found.op, f"computed by vectors, not by AMX tiles: {reason}")
        self._by(plan, ctx, func, found)

    def _by(
        self, plan: GemmPlan, ctx: Context, func: FuncOp, found: Multiplication
    ) -> None:
        """Put kernels in the place of a function, by a plan."""
        assert isinstance(plan.b, Packed), plan
        if self.prepack == "b":
            found = with_packed_b(func, found, WORDS[word_of(plan.b)])
        kernel = VectorKernel(found, plan)
        problem, (a, _, c) = found.problem, found.memories
        m, n = (extent(func, c, problem.c.dimension(axis)) for axis in AXES)
        steps = extent(func, a, problem.a.dimension("cols"))
        if kernel.channel > 1:
            steps = steps.ceil_div(kernel.channel)
        of_a, of_b = m.ceil_div(kernel.rows), n.ceil_div(kernel.cols)
        batch = (extent(func, c, 0),) if problem.batched else ()
        across, size = n.ceil_div(plan.group[1]), problem.c.element_bytes
        if kernel.thin:
            split = AffineConstantExpr(plan.split)
            text = multiplying_thin(kernel)
            scratch = list[tuple[AffineExpr | int, ...]]()
            stages: Groups = {MULTIPLY: (across, split, *batch)}
            if plan.split > 1:
                text += adding_thin(kernel)
                stages[ADD] = across, *batch
                scratch = [(*batch, split, of_b, kernel.rows * kernel.cols * size)]
        else:
            text, stages = multiplying(kernel), {}
            panels, scratch = list[AffineExpr](), list[tuple[AffineExpr | int, ...]]()
            if kernel.packs_a:
                panels.append(of_a)
                scratch.append((*batch, of_a, steps, kernel.rows * size))
            if not kernel.prepacked:
                panels.append(of_b)
                of_k = steps + int(kernel.biased)
                scratch.append((*batch, of_b, of_k, kernel.cols * size))
            if panels:
                text = packing(kernel, "a" if kernel.prepacked else "ab") + text
                stages[PACK] = sum(panels[1:], panels[0]), *batch
            stages[MULTIPLY] = across, m.ceil_div(plan.group[0]), *batch

        def shares_of_b(k: AffineExpr, n: AffineExpr) -> Shares:
            panels = n.ceil_div(kernel.cols)
            steps = k.ceil_div(kernel.channel) + int(kernel.biased)
            return panels, (panels, steps, kernel.cols)

        if not kernel.prepacked:
            become_stages(func, found, text, ctx, stages, scratch)
            return
        text += packing(kernel, "b")
        become_stages(func, found, text, ctx, stages, scratch, shares_of_b)
