"""The kernel that packs A and B for tiles: see `coopc.rewrite.amx_gemm`.

It is written as text, as it would be by hand.
"""

from __future__ import annotations

from coopc.plan.amx_gemm import PANEL
from coopc.rewrite.amx_gemm import ATTRIBUTES, Gemm, zero


def packing(g: Gemm) -> str:
    """Return the kernel that packs A and B, as text."""
    return f"""
func.func @pack({g.arguments}) attributes {{{ATTRIBUTES}}} {{{g.sizes}
  %group = simt.workgroup_id x : index
  %of_a = arith.muli %panels_a, %c{int(g.packs_a)} : index
  %is_a = arith.cmpi ult, %group, %of_a : index
  scf.if %is_a {{{panel_of_a(g)}
  }} else {{{step_of_b(g)}
  }}
  func.return
}}"""


def panel_of_a(g: Gemm) -> str:
    """Return what packs a panel of A: rows as they are, and zeros beyond."""
    a = g.types[0]
    row = f"vector<{g.step}x{g.element}>"
    return f"""
    %none = arith.constant dense<{zero(g.element)}> : {row}
    %row0 = arith.muli %group, %c32 : index
    %first = arith.muli %group, %steps : index
    scf.for %s = %c0 to %steps step %c1 {{
      %k0 = arith.muli %s, %cstep : index
      %left = arith.subi %k, %k0 : index
      %whole = arith.cmpi uge, %left, %cstep : index
      %at = arith.addi %first, %s : index
      %base = arith.muli %at, %csize : index
      scf.for %r = %c0 to %c32 step %c1 {{
        %row = arith.addi %row0, %r : index
        %r_at = arith.muli %r, %cstep : index
        %to = arith.addi %base, %r_at : index
        %there = arith.cmpi ult, %row, %m : index
        %inside = arith.andi %there, %whole : i1
        %v = scf.if %inside -> ({row}) {{
          %v0 = vector.load %a[%row, %k0] : {a}, {row}
          scf.yield %v0 : {row}
        }} else {{
          %rest = arith.select %there, %left, %c0 : index
          %near = arith.select %there, %row, %c0 : index
          %mask = vector.create_mask %rest : vector<{g.step}xi1>
          %v1 = vector.maskedload %a[%near, %k0], %mask, %none
            : {a}, vector<{g.step}xi1>, {row} into {row}
          scf.yield %v1 : {row}
        }}
        vector.store %v, %pa[%c0, %to] : {g.rows}, {row}
      }}
    }}"""


def step_of_b(g: Gemm) -> str:
    """Return what packs a step of K of all panels of B."""
    return f"""
    %s = arith.subi %group, %of_a : index
    %k0 = arith.muli %s, %cstep : index
    scf.for %p = %c0 to %panels_b step %c1 {{
      %n0 = arith.muli %p, %c32 : index
      %left = arith.subi %n, %n0 : index
      %whole = arith.cmpi uge, %left, %c32 : index
      %before = arith.muli %p, %steps : index
      %at = arith.addi %before, %s : index
      %base = arith.muli %at, %csize : index
      scf.for %r = %c0 to %c16 step %c1 {{{rows_of_b(g)}
      }}
    }}"""


def rows_of_b(g: Gemm) -> str:
    """Return what packs rows of B that share a row: load each, then interleave."""
    row = f"vector<{PANEL}x{g.element}>"
    numbers = range(g.packed)
    many = ", ".join([row] * g.packed)
    places = "".join(
        f"""
        %o{t} = arith.constant {t} : index
        %k{t}_ = arith.addi %kr, %o{t} : index"""
        for t in numbers
    )
    casts = "".join(
        f"""
        %i{t} = vector.bitcast %v#{t} : {row} to vector<{PANEL}xi{8 * g.bytes}>"""
        for t in numbers
    )
    out = f"{g.rows}, vector<{g.step}x{g.element}>"
    return f"""
        %cp = arith.constant {g.packed} : index
        %none = arith.constant dense<{zero(g.element)}> : {row}
        %rk = arith.muli %r, %cp : index
        %kr = arith.addi %k0, %rk : index{places}
        %end = arith.cmpi ult, %k{g.packed - 1}_, %k : index
        %all = arith.andi %end, %whole : i1
        %v:{g.packed} = scf.if %all -> ({many}) {{{loads(g, masked=False)}
        }} else {{{loads(g, masked=True)}
        }}{casts}{interleaved(g)}
        %r_at = arith.muli %r, %cstep : index
        %to = arith.addi %base, %r_at : index
        %beside = arith.addi %to, %chalf : index
        vector.store %row0, %pb[%c0, %to] : {out}
        vector.store %row1, %pb[%c0, %beside] : {out}"""


def loads(g: Gemm, masked: bool) -> str:
    """Return the loads of rows of B that share a row, with zeros beyond if masked."""
    b, row = g.types[1], f"vector<{PANEL}x{g.element}>"
    mask = f"vector<{PANEL}xi1>"
    lines: list[str] = []
    for t in range(g.packed):
        plain = f"""
          %x{t} = vector.load %b[%k{t}_, %n0] : {b}, {row}"""
        edge = f"""
          %in{t} = arith.cmpi ult, %k{t}_, %k : index
          %rest{t} = arith.select %in{t}, %left, %c0 : index
          %near{t} = arith.select %in{t}, %k{t}_, %c0 : index
          %mask{t} = vector.create_mask %rest{t} : {mask}
          %x{t} = vector.maskedload %b[%near{t}, %n0], %mask{t}, %none
            : {b}, {mask}, {row} into {row}"""
        lines.append(edge if masked else plain)
    names = ", ".join(f"%x{t}" for t in range(g.packed))
    types = ", ".join([row] * g.packed)
    return (
        "".join(lines)
        + f"""
          scf.yield {names} : {types}"""
    )


def shuffle(result: str, a: str, b: str, type: str, first: int, count: int) -> str:
    """Return the interleaving of some components of two vectors.

    Args:
        result: its name.
        a: the name of one.
        b: the name of the other.
        type: of both.
        first: the first component of each that is taken.
        count: how many are.
    """
    length = int(type.split("<")[1].split("x")[0])
    numbers = range(first, first + count)
    mask = ", ".join(f"{n}, {n + length}" for n in numbers)
    return f"""
        %{result} = vector.shuffle %{a}, %{b} [{mask}] : {type}, {type}"""


def interleaved(g: Gemm) -> str:
    """Return how %i0, %i1, .. become %row0 and %row1, of two tiles side by side."""
    half = PANEL // 2
    lines = ""
    for tile in range(2):
        first = tile * half
        if g.packed == 2:
            type = f"vector<{PANEL}xi16>"
            lines += shuffle(f"words{tile}", "i0", "i1", type, first, half)
        else:
            type, wide = f"vector<{PANEL}xi8>", f"vector<{half}xi16>"
            for name, a, b in (("low", "i0", "i1"), ("high", "i2", "i3")):
                lines += shuffle(f"{name}{tile}", a, b, type, first, half)
                lines += f"""
        %{name}{tile}_ = vector.bitcast %{name}{tile} : {type} to {wide}"""
            lines += shuffle(
                f"words{tile}", f"low{tile}_", f"high{tile}_", wide, 0, half
            )
        lines += f"""
        %row{tile} = vector.bitcast %words{tile} : vector<{PANEL}xi16>
          to vector<{g.step}x{g.element}>"""
    return lines
