"""Functions of linalg that are no product of matrices, with what numpy makes of them.

`$r` and `$c` stand for sizes, `$t` for an element type.  Each function is `@f`, and its
last arguments are outputs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import Template
from typing import Any

import numpy as np

from coopc.run.arrays import Argument, Array

MAPS = """
#p = affine_map<(d0, d1) -> (d0, d1)>
#t = affine_map<(d0, d1) -> (d1, d0)>
#r = affine_map<(d0, d1) -> (d0)>
#c = affine_map<(d0, d1) -> (d1)>
#z = affine_map<(d0, d1) -> ()>
#i = affine_map<(d0) -> (d0)>
#o = affine_map<(d0) -> ()>
"""
PARALLEL, OVER_COLS = '["parallel", "parallel"]', '["parallel", "reduction"]'


@dataclass(frozen=True)
class RowProgram:
    name: str
    text: str
    arguments: Callable[[np.random.Generator, int, int], Sequence[Argument]]
    """Inputs and outputs, for a generator and r and c."""
    expected: Callable[[Sequence[Any]], Sequence[Array]]
    """The outputs, from all arguments in f64 or as integers."""

    def source(self, r: int | str = "?", c: int | str = "?") -> str:
        return MAPS + Template(self.text).substitute(r=r, c=c)


def normal(g: np.random.Generator, *shape: int) -> Array:
    return g.standard_normal(shape).astype(np.float32)


def generic(
    maps: str, kinds: str, ins: str, outs: str, body: str, values: str = ""
) -> str:
    """A linalg.generic; `ins` and `outs` are `%a: memref<..>, ..`."""

    def operands(listed: str) -> tuple[str, str]:
        pairs = [x.split(":", 1) for x in listed.split(";")]
        return ", ".join(x for x, _ in pairs), ", ".join(t for _, t in pairs)

    groups = f"outs({' : '.join(operands(outs))})"
    if ins:
        groups = f"ins({' : '.join(operands(ins))}) {groups}"
    return f"""
  linalg.generic {{indexing_maps = [{maps}], iterator_types = {kinds}}} {groups} {{
  ^bb0({values}):{body}
  }}"""


def function(arguments: str, body: str) -> str:
    return f"func.func @f({arguments}) {{{body}\n  func.return\n}}"


M, V = "memref<${r}x${c}xf32>", "memref<${r}xf32>"
W = "memref<${c}xf32>"


def fill(value: str, to: str, type: str) -> str:
    return f"""
  %init_{to} = arith.constant {value} : f32
  linalg.fill ins(%init_{to} : f32) outs(%{to} : {type})"""


ROWS = """
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<${r}x${c}xf32>"""


def local(name: str) -> str:
    """Memory for a number of each row, of a dynamic size."""
    return f"\n  %{name} = memref.alloc(%n) : memref<?xf32>"


L = "memref<?xf32>"
SUM = """
    %next = arith.addf %v, %acc : f32
    linalg.yield %next : f32"""


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(1, keepdims=True, initial=-np.inf))
    return e / e.sum(1, keepdims=True)


def layer_norm(x: Array, g: Array, b: Array) -> Array:
    mean, var = x.mean(1, keepdims=True), x.var(1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * g + b


COUNT = """
  %c1 = arith.constant 1 : index
  %cols = memref.dim %x, %c1 : memref<${r}x${c}xf32>
  %cols_i = arith.index_cast %cols : index to i32
  %count = arith.sitofp %cols_i : i32 to f32"""

PROGRAMS = [
    RowProgram(
        "gelu_bias",
        function(
            f"%x: {M}, %b: {W}, %o: {M}",
            generic(
                "#p, #c, #p",
                PARALLEL,
                f"%x:{M};%b:{W}",
                f"%o:{M}",
                """
    %half = arith.constant 0.5 : f32
    %root = arith.constant 0.70710678 : f32
    %one = arith.constant 1.0 : f32
    %v = arith.addf %a, %bb : f32
    %s = arith.mulf %v, %root : f32
    %e = math.erf %s : f32
    %p = arith.addf %e, %one : f32
    %h = arith.mulf %v, %half : f32
    %y = arith.mulf %h, %p : f32
    linalg.yield %y : f32""",
                "%a: f32, %bb: f32, %old: f32",
            ),
        ),
        lambda g, r, c: [normal(g, r, c), normal(g, c), normal(g, r, c)],
        lambda a: [gelu(a[0] + a[1])],
    ),
    RowProgram(
        "transpose",
        function(
            "%x: memref<${r}x${c}xi16>, %o: memref<${c}x${r}xi16>",
            generic(
                "#p, #t",
                PARALLEL,
                "%x:memref<${r}x${c}xi16>",
                "%o:memref<${c}x${r}xi16>",
                "\n    linalg.yield %a : i16",
                "%a: i16, %old: i16",
            ),
        ),
        lambda g, r, c: [
            g.integers(-9, 9, (r, c)).astype(np.int16),
            np.zeros((c, r), np.int16),
        ],
        lambda a: [a[0].T],
    ),
    RowProgram(
        "in_place",
        function(
            f"%x: {M}, %o: {M}",
            generic(
                "#p, #p",
                PARALLEL,
                f"%x:{M}",
                f"%o:{M}",
                """
    %y = arith.addf %a, %old : f32
    linalg.yield %y : f32""",
                "%a: f32, %old: f32",
            ),
        ),
        lambda g, r, c: [normal(g, r, c), normal(g, r, c)],
        lambda a: [a[0] + a[1]],
    ),
    RowProgram(
        "row_maximum",
        function(
            f"%x: {M}, %o: {V}",
            fill("0xFF800000", "o", V)
            + generic(
                "#p, #r",
                OVER_COLS,
                f"%x:{M}",
                f"%o:{V}",
                """
    %y = arith.maximumf %a, %old : f32
    linalg.yield %y : f32""",
                "%a: f32, %old: f32",
            ),
        ),
        lambda g, r, c: [with_nan(normal(g, r, c)), normal(g, r)],
        lambda a: [a[0].max(1, initial=-np.inf)],
    ),
    RowProgram(
        "row_maxnum",
        function(
            f"%x: {M}, %o: {V}",
            fill("0xFF800000", "o", V)
            + generic(
                "#p, #r",
                OVER_COLS,
                f"%x:{M}",
                f"%o:{V}",
                """
    %y = arith.maxnumf %a, %old : f32
    linalg.yield %y : f32""",
                "%a: f32, %old: f32",
            ),
        ),
        lambda g, r, c: [with_nan(normal(g, r, c)), normal(g, r)],
        lambda a: [np.fmax.reduce(a[0], 1, initial=-np.inf)],
    ),
    RowProgram(
        "row_sum_onto",
        function(
            f"%x: {M}, %o: {V}",
            generic(
                "#p, #r", OVER_COLS, f"%x:{M}", f"%o:{V}", SUM, "%v: f32, %acc: f32"
            ),
        ),
        lambda g, r, c: [normal(g, r, c), normal(g, r)],
        lambda a: [a[0].sum(1) + a[1]],
    ),
    RowProgram(
        "column_sum",
        function(
            f"%x: {M}, %o: {W}",
            fill("0.0", "o", W)
            + generic(
                "#p, #c",
                '["reduction", "parallel"]',
                f"%x:{M}",
                f"%o:{W}",
                SUM,
                "%v: f32, %acc: f32",
            ),
        ),
        lambda g, r, c: [normal(g, r, c), normal(g, c)],
        lambda a: [a[0].sum(0)],
    ),
    RowProgram(
        "total",
        function(
            f"%x: {M}, %o: memref<f32>",
            fill("0.0", "o", "memref<f32>")
            + generic(
                "#p, #z",
                '["reduction", "reduction"]',
                f"%x:{M}",
                "%o:memref<f32>",
                SUM,
                "%v: f32, %acc: f32",
            ),
        ),
        lambda g, r, c: [normal(g, r, c), normal(g)],
        lambda a: [a[0].sum()],
    ),
    RowProgram(
        "bytes_and",
        function(
            "%x: memref<${r}x${c}xi8>, %o: memref<${r}xi8>",
            generic(
                "#p, #r",
                OVER_COLS,
                "%x:memref<${r}x${c}xi8>",
                "%o:memref<${r}xi8>",
                """
    %y = arith.andi %a, %old : i8
    linalg.yield %y : i8""",
                "%a: i8, %old: i8",
            ),
        ),
        lambda g, r, c: [
            g.integers(-128, 128, (r, c)).astype(np.int8) | np.int8(5),
            np.full(r, -2, np.int8),
        ],
        lambda a: [np.bitwise_and.reduce(a[0], 1) & a[1]],
    ),
    RowProgram(
        "any",
        function(
            "%x: memref<${r}x${c}xi1>, %o: memref<${r}xi1>",
            generic(
                "#p, #r",
                OVER_COLS,
                "%x:memref<${r}x${c}xi1>",
                "%o:memref<${r}xi1>",
                """
    %y = arith.maxui %a, %old : i1
    linalg.yield %y : i1""",
                "%a: i1, %old: i1",
            ),
        ),
        lambda g, r, c: [
            g.integers(0, 2 + c, (r, c)) == 1,
            np.zeros(r, np.bool_),
        ],
        lambda a: [a[0].any(1) | a[1]],
    ),
    RowProgram(
        "in_part",
        function(
            "%x: memref<${r}x${c}xf32, strided<[?, ?], offset: ?>>, %s: f32, "
            "%m: memref<9x9xf32>, "
            "%o: memref<${r}x${c}xf32, strided<[?, 1], offset: ?>>",
            """
  %row = memref.subview %m[2, 0] [1, 1] [1, 1]
    : memref<9x9xf32> to memref<1x1xf32, strided<[9, 1], offset: 18>>"""
            + generic(
                "#p, affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (0, 0)>, #p",
                PARALLEL,
                "%x:memref<${r}x${c}xf32, strided<[?, ?], offset: ?>>;%s:f32;"
                "%row:memref<1x1xf32, strided<[9, 1], offset: 18>>",
                "%o:memref<${r}x${c}xf32, strided<[?, 1], offset: ?>>",
                """
    %v = arith.mulf %a, %by : f32
    %y = arith.addf %v, %plus : f32
    linalg.yield %y : f32""",
                "%a: f32, %by: f32, %plus: f32, %old: f32",
            ),
        ),
        lambda g, r, c: [
            normal(g, 2 * r, 3 * c)[::2, ::3],
            np.float32(1.5),
            normal(g, 9, 9),
            normal(g, r, c + 5)[:, :c],
        ],
        lambda a: [a[0] * a[1] + a[2][2, 0]],
    ),
    RowProgram(
        "softmax",
        function(
            f"%x: {M}, %o: {M}",
            ROWS
            + COUNT
            + local("m")
            + fill("0xFF800000", "m", L)
            + generic(
                "#p, #r",
                OVER_COLS,
                f"%x:{M}",
                f"%m:{L}",
                """
    %y = arith.maximumf %a, %old : f32
    linalg.yield %y : f32""",
                "%a: f32, %old: f32",
            )
            + "\n  %e = memref.alloc(%n, %cols) : memref<?x?xf32>"
            + generic(
                "#p, #r, #p",
                PARALLEL,
                f"%x:{M};%m:{L}",
                "%e:memref<?x?xf32>",
                """
    %d = arith.subf %a, %mm : f32
    %y = math.exp %d : f32
    linalg.yield %y : f32""",
                "%a: f32, %mm: f32, %old: f32",
            )
            + local("s")
            + fill("0.0", "s", L)
            + generic(
                "#p, #r",
                OVER_COLS,
                "%e:memref<?x?xf32>",
                f"%s:{L}",
                SUM,
                "%v: f32, %acc: f32",
            )
            + generic(
                "#p, #r, #p",
                PARALLEL,
                f"%e:memref<?x?xf32>;%s:{L}",
                f"%o:{M}",
                """
    %y = arith.divf %a, %ss : f32
    linalg.yield %y : f32""",
                "%a: f32, %ss: f32, %old: f32",
            )
            + "\n  memref.dealloc %e : memref<?x?xf32>",
        ),
        lambda g, r, c: [normal(g, r, c), normal(g, r, c)],
        lambda a: [softmax(a[0])],
    ),
    RowProgram(
        "layer_norm",
        function(
            f"%x: {M}, %g: {W}, %b: {W}, %o: {M}",
            ROWS
            + COUNT
            + local("s")
            + fill("0.0", "s", L)
            + generic(
                "#p, #r", OVER_COLS, f"%x:{M}", f"%s:{L}", SUM, "%v: f32, %acc: f32"
            )
            + local("mean")
            + generic(
                "#i, #i",
                '["parallel"]',
                f"%s:{L}",
                f"%mean:{L}",
                """
    %y = arith.divf %a, %count : f32
    linalg.yield %y : f32""",
                "%a: f32, %old: f32",
            )
            + local("q")
            + fill("0.0", "q", L)
            + generic(
                "#p, #r, #r",
                OVER_COLS,
                f"%x:{M};%mean:{L}",
                f"%q:{L}",
                """
    %d = arith.subf %a, %mm : f32
    %v = arith.mulf %d, %d : f32"""
                + SUM,
                "%a: f32, %mm: f32, %acc: f32",
            )
            + generic(
                "#p, #r, #r, #c, #c, #p",
                PARALLEL,
                f"%x:{M};%mean:{L};%q:{L};%g:{W};%b:{W}",
                f"%o:{M}",
                """
    %eps = arith.constant 1.0e-5 : f32
    %var = arith.divf %qq, %count : f32
    %sum = arith.addf %var, %eps : f32
    %inv = math.rsqrt %sum : f32
    %d = arith.subf %a, %mm : f32
    %n0 = arith.mulf %d, %inv : f32
    %n1 = arith.mulf %n0, %gg : f32
    %y = arith.addf %n1, %bb : f32
    linalg.yield %y : f32""",
                "%a: f32, %mm: f32, %qq: f32, %gg: f32, %bb: f32, %old: f32",
            ),
        ),
        lambda g, r, c: [normal(g, r, c), normal(g, c), normal(g, c), normal(g, r, c)],
        lambda a: [layer_norm(a[0], a[1], a[2])],
    ),
    RowProgram(
        "rms_norm_f16",
        function(
            "%x: memref<${r}x${c}xf16>, %o: memref<${r}x${c}xf16>",
            """
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<${r}x${c}xf16>"""
            + COUNT.replace("xf32>", "xf16>")
            + local("q")
            + fill("0.0", "q", L)
            + generic(
                "#p, #r",
                OVER_COLS,
                "%x:memref<${r}x${c}xf16>",
                f"%q:{L}",
                """
    %w = arith.extf %a : f16 to f32
    %v = arith.mulf %w, %w : f32"""
                + SUM,
                "%a: f16, %acc: f32",
            )
            + generic(
                "#p, #r, #p",
                PARALLEL,
                f"%x:memref<${{r}}x${{c}}xf16>;%q:{L}",
                "%o:memref<${r}x${c}xf16>",
                """
    %eps = arith.constant 1.0e-6 : f32
    %w = arith.extf %a : f16 to f32
    %var = arith.divf %qq, %count : f32
    %sum = arith.addf %var, %eps : f32
    %root = math.sqrt %sum : f32
    %d = arith.divf %w, %root : f32
    %y = arith.truncf %d : f32 to f16
    linalg.yield %y : f16""",
                "%a: f16, %qq: f32, %old: f16",
            ),
        ),
        lambda g, r, c: [
            normal(g, r, c).astype(np.float16),
            normal(g, r, c).astype(np.float16),
        ],
        lambda a: [a[0] / np.sqrt((a[0] * a[0]).mean(1, keepdims=True) + 1e-6)],
    ),
    RowProgram(
        "argmax",
        function(
            f"%x: {M}, %o: {V}, %k: memref<${{r}}xi32>",
            fill("0xFF800000", "o", V)
            + """
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%k : memref<${r}xi32>)"""
            + generic(
                "#p, #r, #r",
                OVER_COLS,
                f"%x:{M}",
                f"%o:{V};%k:memref<${{r}}xi32>",
                """
    %at = linalg.index 1 : index
    %i = arith.index_cast %at : index to i32
    %more = arith.cmpf ogt, %a, %old : f32
    %y = arith.select %more, %a, %old : f32
    %j = arith.select %more, %i, %ki : i32
    linalg.yield %y, %j : f32, i32""",
                "%a: f32, %old: f32, %ki: i32",
            ),
        ),
        lambda g, r, c: [normal(g, r, c), normal(g, r), np.zeros(r, np.int32)],
        lambda a: [
            a[0].max(1, initial=-np.inf),
            a[0].argmax(1),
        ],
    ),
    RowProgram(
        "causal_mask",
        function(
            f"%x: {M}, %o: {M}",
            generic(
                "#p, #p",
                PARALLEL,
                f"%x:{M}",
                f"%o:{M}",
                """
    %ninf = arith.constant 0xFF800000 : f32
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %in = arith.cmpi ule, %j, %i : index
    %y = arith.select %in, %a, %ninf : f32
    linalg.yield %y : f32""",
                "%a: f32, %old: f32",
            ),
        ),
        lambda g, r, c: [normal(g, r, c), normal(g, r, c)],
        lambda a: [np.where(np.tri(*a[0].shape, dtype=bool), a[0], -np.inf)],
    ),
    RowProgram(
        "matvec",
        function(
            f"%x: {M}, %u: {W}, %o: {V}",
            generic(
                "#p, #c, #r",
                OVER_COLS,
                f"%x:{M};%u:{W}",
                f"%o:{V}",
                """
    %v = arith.mulf %a, %b : f32"""
                + SUM,
                "%a: f32, %b: f32, %acc: f32",
            ),
        ),
        lambda g, r, c: [normal(g, r, c), normal(g, c), normal(g, r)],
        lambda a: [a[0] @ a[1] + a[2]],
    ),
    RowProgram(
        "vecmat",
        function(
            f"%x: {M}, %u: {V}, %o: {W}",
            fill("0.0", "o", W)
            + generic(
                "affine_map<(d0, d1) -> (d1, d0)>, #c, #r",
                OVER_COLS,
                f"%x:{M};%u:{V}",
                f"%o:{W}",
                """
    %v = arith.mulf %a, %b : f32"""
                + SUM,
                "%a: f32, %b: f32, %acc: f32",
            ),
        ),
        lambda g, r, c: [normal(g, r, c), normal(g, r), normal(g, c)],
        lambda a: [a[1] @ a[0]],
    ),
    RowProgram(
        "dot",
        function(
            f"%x: {W}, %y: {W}, %o: memref<f32>",
            generic(
                "#i, #i, #o",
                '["reduction"]',
                f"%x:{W};%y:{W}",
                "%o:memref<f32>",
                """
    %v = arith.mulf %a, %b : f32"""
                + SUM,
                "%a: f32, %b: f32, %acc: f32",
            ),
        ),
        lambda g, r, c: [normal(g, c), normal(g, c), normal(g)],
        lambda a: [a[0] @ a[1] + a[2]],
    ),
    RowProgram(
        "gather",
        function(
            f"%k: memref<${{r}}xi32>, %x: memref<11x${{c}}xf32>, %o: {M}",
            generic(
                "#r, #p",
                PARALLEL,
                "%k:memref<${r}xi32>",
                f"%o:{M}",
                """
    %i = arith.index_cast %at : i32 to index
    %j = linalg.index 1 : index
    %y = memref.load %x[%i, %j] : memref<11x${c}xf32>
    linalg.yield %y : f32""",
                "%at: i32, %old: f32",
            ),
        ),
        lambda g, r, c: [
            g.integers(0, 11, r).astype(np.int32),
            normal(g, 11, c),
            normal(g, r, c),
        ],
        lambda a: [a[1][a[0].astype(int)]],
    ),
    RowProgram(
        "pairs",
        function(
            "%x: memref<${c}x2xf32>, %o: memref<${c}xf32>, %q: memref<${c}xi1>",
            generic(
                "affine_map<(d0) -> (d0, 0)>, affine_map<(d0) -> (d0, 1)>, #i, #i",
                '["parallel"]',
                "%x:memref<${c}x2xf32>;%x:memref<${c}x2xf32>",
                "%o:memref<${c}xf32>;%q:memref<${c}xi1>",
                """
    %y = arith.subf %a, %b : f32
    %less = arith.cmpf olt, %a, %b : f32
    linalg.yield %y, %less : f32, i1""",
                "%a: f32, %b: f32, %old: f32, %oq: i1",
            ),
        ),
        lambda g, r, c: [normal(g, c, 2), normal(g, c), np.zeros(c, np.bool_)],
        lambda a: [a[0][:, 0] - a[0][:, 1], a[0][:, 0] < a[0][:, 1]],
    ),
    RowProgram(
        "convolution",
        function(
            "%x: memref<1x6x7x3xf32>, %w: memref<3x3x3x${c}xf32>, "
            "%o: memref<1x2x5x${c}xf32>",
            fill("0.0", "o", "memref<1x2x5x${c}xf32>")
            + generic(
                "affine_map<(n, h, w, f, a, b, c) -> (n, h * 2 + a, w + b, c)>, "
                "affine_map<(n, h, w, f, a, b, c) -> (a, b, c, f)>, "
                "affine_map<(n, h, w, f, a, b, c) -> (n, h, w, f)>",
                str(["parallel"] * 4 + ["reduction"] * 3).replace("'", '"'),
                "%x:memref<1x6x7x3xf32>;%w:memref<3x3x3x${c}xf32>",
                "%o:memref<1x2x5x${c}xf32>",
                """
    %v = arith.mulf %a, %b : f32"""
                + SUM,
                "%a: f32, %b: f32, %acc: f32",
            ),
        ),
        lambda g, r, c: [
            normal(g, 1, 6, 7, 3),
            normal(g, 3, 3, 3, c),
            normal(g, 1, 2, 5, c),
        ],
        lambda a: [convolution(a[0], a[1])],
    ),
    RowProgram(
        "pooling",
        function(
            "%x: memref<2x6x8x${c}xf32>, %w: memref<2x2xf32>, "
            "%o: memref<2x3x4x${c}xf32>",
            fill("0xFF800000", "o", "memref<2x3x4x${c}xf32>")
            + generic(
                "affine_map<(n, h, w, f, a, b) -> (n, h * 2 + a, w * 2 + b, f)>, "
                "affine_map<(n, h, w, f, a, b) -> (a, b)>, "
                "affine_map<(n, h, w, f, a, b) -> (n, h, w, f)>",
                str(["parallel"] * 4 + ["reduction"] * 2).replace("'", '"'),
                "%x:memref<2x6x8x${c}xf32>;%w:memref<2x2xf32>",
                "%o:memref<2x3x4x${c}xf32>",
                """
    %y = arith.maximumf %a, %old : f32
    linalg.yield %y : f32""",
                "%a: f32, %b: f32, %old: f32",
            ),
        ),
        lambda g, r, c: [normal(g, 2, 6, 8, c), normal(g, 2, 2), normal(g, 2, 3, 4, c)],
        lambda a: [a[0].reshape(2, 3, 2, 4, 2, a[0].shape[3]).max((2, 4))],
    ),
]


def with_nan(x: Array) -> Array:
    if x.size > 3:
        x.flat[3] = np.nan
    return x


def gelu(x: Array) -> Array:
    from math import erf

    return 0.5 * x * (1 + np.vectorize(erf, otypes=[float])(x / np.sqrt(2)))


def convolution(x: Array, w: Array) -> Array:
    out = np.zeros((1, 2, 5, w.shape[3]))
    for a in range(3):
        for b in range(3):
            out += x[:, a : a + 3 : 2, b : b + 5] @ w[a, b]
    return out
