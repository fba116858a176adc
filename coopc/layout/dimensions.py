r"""Dimensions of linear layouts: reorder, regroup, rename and leave out.

None of these changes what a place holds; they change how places and coordinates are
named.  Flattened, the first dimension is the minor one, so splitting a size of 8 into
(inner = 2, outer = 4) takes its low bit as `inner`:

    x = inner + 2 outer         5 = 0b101  <->  inner = 1, outer = 2

A row-major flattening of (dim0, dim1) therefore is `transpose_outs` to (dim1, dim0),
then `reshape_outs` to one dimension.

The laws `reshape` and `sublayout` of `linear` are about these functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coopc.layout.linear import LinearLayout, log2


def transpose_ins(layout: LinearLayout, names: Sequence[str]) -> LinearLayout:
    """Return the layout with its inputs in another order.

    Raises:
        ValueError: the names are not those of the inputs.
    """
    _same_names("inputs", layout.in_names, names)
    ins = dict(layout.ins)
    return LinearLayout(tuple((name, ins[name]) for name in names), layout.outs)


def transpose_outs(layout: LinearLayout, names: Sequence[str]) -> LinearLayout:
    """Return the layout with its outputs in another order.

    Raises:
        ValueError: the names are not those of the outputs.
    """
    _same_names("outputs", layout.out_names, names)
    return layout if tuple(names) == layout.out_names else _select_outs(layout, names)


def reshape_ins(layout: LinearLayout, sizes: Mapping[str, int]) -> LinearLayout:
    """Return the layout with its flattened inputs split into other dimensions.

    Raises:
        ValueError: the sizes have another product, or are no powers of two.
    """
    columns = layout.columns
    _same_bits("inputs", len(columns), sizes)
    ins: list[tuple[str, tuple[int, ...]]] = []
    for name, size in sizes.items():
        bits = log2(size, name)
        ins.append((name, columns[:bits]))
        columns = columns[bits:]
    return LinearLayout(tuple(ins), layout.outs)


def reshape_outs(layout: LinearLayout, sizes: Mapping[str, int]) -> LinearLayout:
    """Return the layout with its flattened outputs split into other dimensions.

    Raises:
        ValueError: the sizes have another product, or are no powers of two.
    """
    _same_bits("outputs", layout.out_bits, sizes)
    outs = tuple((name, log2(size, name)) for name, size in sizes.items())
    return LinearLayout(layout.ins, outs)


def rename_ins(layout: LinearLayout, names: Mapping[str, str]) -> LinearLayout:
    """Return the layout with new names for some inputs."""
    ins = tuple((names.get(name, name), bases) for name, bases in layout.ins)
    return LinearLayout(ins, layout.outs)


def rename_outs(layout: LinearLayout, names: Mapping[str, str]) -> LinearLayout:
    """Return the layout with new names for some outputs."""
    outs = tuple((names.get(name, name), bits) for name, bits in layout.outs)
    return LinearLayout(layout.ins, outs)


def sublayout(
    layout: LinearLayout,
    ins: Sequence[str] | None = None,
    outs: Sequence[str] | None = None,
) -> LinearLayout:
    """Return the layout on some inputs (the others are 0), seen in some outputs.

    Args:
        layout: the whole.
        ins: the inputs to keep, in this order; None keeps all.
        outs: the outputs to keep, in this order; None keeps all.

    Raises:
        ValueError: a name is not one of the layout's.
    """
    bases = dict(layout.ins)
    kept = layout.in_names if ins is None else tuple(ins)
    _known_names("inputs", layout.in_names, kept)
    part = LinearLayout(tuple((name, bases[name]) for name in kept), layout.outs)
    if outs is None:
        return part
    _known_names("outputs", layout.out_names, outs)
    return _select_outs(part, outs)


def is_zero(layout: LinearLayout) -> bool:
    """Return whether every place holds coordinate 0 in every output."""
    return not any(layout.columns)


def _select_outs(layout: LinearLayout, names: Sequence[str]) -> LinearLayout:
    widths = dict(layout.outs)
    place: dict[str, int] = {}
    total = 0
    for name, bits in layout.outs:
        place[name] = total
        total += bits

    def select(packed: int) -> int:
        result = shift = 0
        for name in names:
            part = packed >> place[name] & ((1 << widths[name]) - 1)
            result |= part << shift
            shift += widths[name]
        return result

    ins = tuple((name, tuple(map(select, bases))) for name, bases in layout.ins)
    return LinearLayout(ins, tuple((name, widths[name]) for name in names))


def _same_names(kind: str, names: Sequence[str], given: Sequence[str]) -> None:
    if sorted(names) != sorted(given):
        raise ValueError(f"expected the {kind} {list(names)}, got {list(given)}")


def _known_names(kind: str, names: Sequence[str], given: Sequence[str]) -> None:
    if unknown := [name for name in given if name not in names]:
        raise ValueError(f"expected {kind} of {list(names)}, got {unknown}")


def _same_bits(kind: str, bits: int, sizes: Mapping[str, int]) -> None:
    total = sum(log2(size, name) for name, size in sizes.items())
    if total != bits:
        raise ValueError(
            f"expected sizes of {1 << bits} {kind} in all, got {1 << total} by "
            f"{dict(sizes)}"
        )
