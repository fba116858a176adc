"""Kernels on one matrix, and on one number or vector of each lane."""

from __future__ import annotations

from collections.abc import Sequence

from support.programs import kernel
from xdsl.dialects.builtin import ModuleOp


def on_matrix(
    shape: tuple[int, int],
    type: str,
    body: str,
    *,
    result: str = "",
    use: str = "acc",
    scope: str = "subgroup",
    lanes: int = 8,
    subgroups: int = 1,
) -> ModuleOp:
    """Return a kernel that loads %m from %x, runs a body and stores %r in %y.

    Args:
        shape: rows and columns of %m.
        type: of its elements.
        body: operations; `{matrix}` is the type of %m.
        result: the type of %r, where it is another.
        use: of %m.
        scope: of %m.
        lanes: of a subgroup.
        subgroups: of a work-group.
    """
    rows, cols = shape
    matrix = f"!coopmatrix.matrix<{rows}x{cols}x{type}, {use}, scope = {scope}>"
    result = result or matrix
    out = result.partition("<")[2].partition(",")[0]
    return kernel(
        f"%x: memref<{rows}x{cols}x{type}>, %y: memref<{out}>",
        f"""
        %z = arith.constant 0 : index
        %m = coopmatrix.load %x[%z, %z] row_major
             : memref<{rows}x{cols}x{type}> -> {matrix}
        {body.replace("{matrix}", matrix)}
        coopmatrix.store %r, %y[%z, %z] row_major : {result}, memref<{out}>
        """,
        lanes=lanes,
        subgroups=subgroups,
    )


def lane_kernel(
    body: str, inputs: Sequence[str], outputs: Sequence[str], lanes: int = 16
) -> ModuleOp:
    """Return a kernel that computes on numbers or vectors, one for each lane.

    Lane l reads component l of each input, or row l where they are vectors, as %x0,
    %x1, ..., and writes what the body calls %r0, %r1, ... in the same way.  Types are
    `f32` or `vector<4xf32>`.
    """
    types = [*inputs, *outputs]
    arguments = ", ".join(
        f"%memory{n}: {memory_type(type, lanes)}" for n, type in enumerate(types)
    )
    reads = (_access(n, type, lanes, f"%x{n} =") for n, type in enumerate(inputs))
    writes = (
        _access(n + len(inputs), type, lanes, f"%r{n},")
        for n, type in enumerate(outputs)
    )
    lines = ["%lane = simt.lane_id : index", "%zero = arith.constant 0 : index"]
    return kernel(arguments, "\n  ".join([*lines, *reads, body, *writes]), lanes=lanes)


def memory_type(type: str, lanes: int) -> str:
    """Return the type of memory of one number or vector for each lane."""
    shape, element = _parts(type)
    return f"memref<{'x'.join([str(lanes), *shape, element])}>"


def _parts(type: str) -> tuple[list[str], str]:
    if not type.startswith("vector<"):
        return [], type
    *shape, element = type.removeprefix("vector<").removesuffix(">").split("x")
    return shape, element


def _access(number: int, type: str, lanes: int, what: str) -> str:
    """Return a load (`%x =`) or a store (`%x,`)."""
    shape, _ = _parts(type)
    memory = memory_type(type, lanes)
    place = (
        f"%memory{number}[{', '.join(['%lane', *['%zero'] * len(shape)])}] : {memory}"
    )
    dialect, suffix = ("vector", f", {type}") if shape else ("memref", "")
    if what.endswith("="):
        return f"{what} {dialect}.load {place}{suffix}"
    return f"{dialect}.store {what} {place}{suffix}"
