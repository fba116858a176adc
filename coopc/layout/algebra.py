"""The algebra of linear layouts: product, composition, inverses and division.

    product(f, g)        f for the minor bits of every dimension, g for the major ones
    compose(f, g)        x -> f(g(x))
    invert(f)            the map back, of a bijection
    pseudo_invert(f)     a map back to one place of each element that has one
    divide_left(h, f)    the g with product(f, g) == h, if there is one
    divide_right(h, g)   the f with product(f, g) == h, if there is one

In a product both factors may name the same dimensions; with f of size m in `dim0`,

    product(f, g)(x0 + |f| x1) = f(x0) + m g(x1)

For example two registers along dim0, and that four times along dim1 over the lanes:

    f:  register 1 -> 1                     of (dim0 = 2)
    g:  lane 1 -> (0, 1), lane 2 -> (0, 2)  of (dim0 = 1, dim1 = 4)
    product(f, g) has register 1 -> (1, 0), lane 1 -> (0, 1), lane 2 -> (0, 2)

Laws (test/unit/layout/test_algebra.py checks each by its name):

    product         product(f, g) at (x0, x1) is f(x0) and g(x1), g scaled by f's sizes
    associativity_of_product    product(product(f, g), h) == product(f, product(g, h))
    associativity_of_compose    the same of compose
    compose         compose(f, g) is application of g, then of f
    invert          invert(invert(f)) == f, and compose(f, invert(f)) is the identity
    pseudo_invert   f f+ f == f and f+ f f+ == f+, for every f
    divide_left     divide_left(product(f, g), f) == g
    divide_right    divide_right(product(f, g), g) == f
    movement        compose(f, movement(f, g)) == g wherever f reaches what g holds
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from coopc.layout.linear import Echelon, LinearLayout, image, log2


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


def product(*factors: LinearLayout) -> LinearLayout:
    """Return the factors side by side, the first one minor in every dimension.

    Dimensions keep the order in which they first appear.
    """
    result = factors[0]
    for factor in factors[1:]:
        result = _product(result, factor)
    return result


def _product(minor: LinearLayout, major: LinearLayout) -> LinearLayout:
    low = dict(minor.outs)
    high = dict(major.outs)
    names = [*low, *(name for name in high if name not in low)]
    outs = tuple((name, low.get(name, 0) + high.get(name, 0)) for name in names)
    raise_low = _mover(minor.outs, outs, {})
    raise_high = _mover(major.outs, outs, low)
    minor_ins, major_ins = dict(minor.ins), dict(major.ins)
    ins = tuple(
        (
            name,
            (
                *map(raise_low, minor_ins.get(name, ())),
                *map(raise_high, major_ins.get(name, ())),
            ),
        )
        for name in [*minor_ins, *(n for n in major_ins if n not in minor_ins)]
    )
    return LinearLayout(ins, outs)


def _mover(
    source: Sequence[tuple[str, int]],
    target: Sequence[tuple[str, int]],
    offsets: dict[str, int],
) -> Callable[[int], int]:
    """Return what moves packed coordinates to wider outputs, by an offset in each."""
    base: dict[str, int] = {}
    shift = 0
    for name, bits in target:
        base[name] = shift
        shift += bits
    moves: list[tuple[int, int, int]] = []
    shift = 0
    for name, bits in source:
        moves.append((shift, (1 << bits) - 1, base[name] + offsets.get(name, 0)))
        shift += bits

    def move(packed: int) -> int:
        result = 0
        for start, mask, to in moves:
            result |= (packed >> start & mask) << to
        return result

    return move


def compose(outer: LinearLayout, inner: LinearLayout) -> LinearLayout:
    """Return x -> outer(inner(x)).

    Raises:
        ValueError: the inputs of `outer` are not named as the outputs of `inner`, or
            are smaller.
    """
    outer = transpose_ins(outer, inner.out_names)
    for name, size in inner.out_sizes.items():
        if outer.in_sizes[name] < size:
            raise ValueError(
                f"expected {name} to have at most {outer.in_sizes[name]} values, "
                f"got {size}"
            )
    widen = _mover(inner.outs, [(n, len(b)) for n, b in outer.ins], {})
    columns = outer.columns
    ins = tuple(
        (name, tuple(image(columns, widen(basis)) for basis in bases))
        for name, bases in inner.ins
    )
    return LinearLayout(ins, outer.outs)


def invert(layout: LinearLayout) -> LinearLayout:
    """Return the map from coordinates to places.

    Raises:
        ValueError: the layout is no bijection.
    """
    if not layout.is_bijective:
        raise ValueError(
            f"expected a bijection to invert, got {layout.in_bits} bits to "
            f"{layout.out_bits} of rank {layout.rank}"
        )
    return pseudo_invert(layout)


def pseudo_invert(layout: LinearLayout) -> LinearLayout:
    """Return a linear map from coordinates to places that hold them.

    Of several places it takes the one whose free bits are 0.  A coordinate that has no
    place is mapped to that of the nearest one: its projection (see `gf2`).
    """
    echelon = Echelon.of(layout.columns)
    outs = tuple((name, len(bases)) for name, bases in layout.ins)
    ins: list[tuple[str, tuple[int, ...]]] = []
    shift = 0
    for name, bits in layout.outs:
        bases = tuple(echelon.solve(1 << shift + bit) for bit in range(bits))
        ins.append((name, bases))
        shift += bits
    return LinearLayout(tuple(ins), outs)


def movement(source: LinearLayout, target: LinearLayout) -> LinearLayout:
    """Return the map from places of `target` to places of `source` with that element.

    Raises:
        ValueError: the outputs differ, or `source` lacks an element of `target`.
    """
    target = transpose_outs(target, source.out_names)
    if source.outs != target.outs:
        raise ValueError(
            f"expected coordinates of {source.out_sizes}, got {target.out_sizes}"
        )
    echelon = Echelon.of(source.columns)
    for name, bases in target.ins:
        for basis in bases:
            if not echelon.spans(basis):
                raise ValueError(
                    f"expected a source that holds {tuple(source.unpack(basis))}, a "
                    f"basis of the target's {name}; it holds none of it"
                )
    return compose(pseudo_invert(source), target)


def divide_left(whole: LinearLayout, minor: LinearLayout) -> LinearLayout | None:
    """Return the layout with `product(minor, it) == whole`, None if there is none.

    The quotient has all dimensions of the whole, of size 1 where nothing is left.
    """
    if not _has_dimensions(whole, minor):
        return None
    skip = {name: len(bases) for name, bases in minor.ins}
    low = dict(minor.outs)
    outs = tuple((name, bits - low.get(name, 0)) for name, bits in whole.outs)
    ins = tuple((name, bases[skip.get(name, 0) :]) for name, bases in whole.ins)
    lower = _lowered(ins, whole.outs, low, outs)
    return _confirmed(lower, whole, lambda quotient: _product(minor, quotient))


def divide_right(whole: LinearLayout, major: LinearLayout) -> LinearLayout | None:
    """Return the layout with `product(it, major) == whole`, None if there is none."""
    if not _has_dimensions(whole, major):
        return None
    skip = {name: len(bases) for name, bases in major.ins}
    high = dict(major.outs)
    outs = tuple((name, bits - high.get(name, 0)) for name, bits in whole.outs)
    ins = tuple(
        (name, bases[: len(bases) - skip.get(name, 0)]) for name, bases in whole.ins
    )
    lower = _lowered(ins, whole.outs, {}, outs)
    return _confirmed(lower, whole, lambda quotient: _product(quotient, major))


def _lowered(
    ins: tuple[tuple[str, tuple[int, ...]], ...],
    whole: Sequence[tuple[str, int]],
    offsets: dict[str, int],
    outs: tuple[tuple[str, int], ...],
) -> LinearLayout:
    """Return the bits from `offsets` upwards of each output, `outs` wide."""
    moves: list[tuple[int, int, int]] = []
    start = to = 0
    for (name, bits), (_, kept) in zip(whole, outs, strict=True):
        moves.append((start + offsets.get(name, 0), (1 << kept) - 1, to))
        start += bits
        to += kept

    def lower(packed: int) -> int:
        result = 0
        for start, mask, to in moves:
            result |= (packed >> start & mask) << to
        return result

    lowered = tuple((name, tuple(map(lower, bases))) for name, bases in ins)
    return LinearLayout(lowered, outs)


def _confirmed(
    quotient: LinearLayout,
    whole: LinearLayout,
    multiply: Callable[[LinearLayout], LinearLayout],
) -> LinearLayout | None:
    """Return the quotient if multiplying it gives the whole again."""
    result = multiply(quotient)
    result = transpose_outs(transpose_ins(result, whole.in_names), whole.out_names)
    return quotient if result == whole else None


def _has_dimensions(whole: LinearLayout, part: LinearLayout) -> bool:
    """Return whether the part's dimensions are the whole's, none of them larger."""
    ins, outs = whole.in_sizes, whole.out_sizes
    return all(size <= ins.get(n, 0) for n, size in part.in_sizes.items()) and all(
        size <= outs.get(n, 0) for n, size in part.out_sizes.items()
    )
