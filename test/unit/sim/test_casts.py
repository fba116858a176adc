"""`arith` from one type to another, against Python's numbers."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.lane_values import (
    BITS,
    FLOATS,
    STORED,
    as_floats,
    as_integers,
    as_stored,
    built,
    floats,
    integers,
    run,
    same,
    stored,
)

from coopc.rounding import FORMATS, wrap
from coopc.sim.errors import UndefinedBehaviour

few = settings(max_examples=10, deadline=None)
"""Each example is of many numbers, and many operations are tried on it."""


@pytest.mark.parametrize(("source", "result"), [(x, y) for x in FLOATS for y in FLOATS])
@few
@given(st.data())
def test_float_conversions(source: str, result: str, data: st.DataObject) -> None:
    bits = {name: FORMATS[name].bits for name in FLOATS}
    if bits[source] == bits[result]:
        return
    op = "extf" if bits[source] < bits[result] else "truncf"
    xs = data.draw(floats(source))
    module = built(f"%r0 = arith.{op} %x0 : {source} to {result}", (source,), (result,))
    found = run(module, [as_stored(xs, source)], STORED[result])
    assert same(as_floats(found, result), [FORMATS[result].round(x) for x in xs])


def nearest(value: int, type: str) -> float:
    """The float of a type nearest to an integer, by way of no other float."""
    format = FORMATS[type]
    shift = max(abs(value).bit_length() - format.fraction_bits - 1, 0)
    low = abs(value) & ((1 << shift) - 1)
    units = abs(value) >> shift
    half = 1 << (shift - 1) if shift else 1
    units += low > half or (low == half and units & 1)
    rounded = units << shift
    infinite = rounded > int(format.greatest)
    return math.copysign(math.inf if infinite else float(rounded), value)


@pytest.mark.parametrize("source", ["i1", "i8", "i32", "i64"])
@pytest.mark.parametrize("result", FLOATS)
@few
@given(st.data())
def test_integers_to_floats(source: str, result: str, data: st.DataObject) -> None:
    xs = data.draw(integers(BITS[source]))
    for op, is_signed in (("sitofp", True), ("uitofp", False)):
        module = built(
            f"%r0 = arith.{op} %x0 : {source} to {result}", (source,), (result,)
        )
        found = run(module, [stored(xs, source)], STORED[result])
        expected = [nearest(wrap(x, BITS[source], is_signed), result) for x in xs]
        assert same(as_floats(found, result), expected)


@pytest.mark.parametrize("result", ["i4", "i8", "i32", "i64"])
@pytest.mark.parametrize("source", FLOATS)
@few
@given(st.data())
def test_floats_to_integers(source: str, result: str, data: st.DataObject) -> None:
    bits = BITS[result]
    xs = data.draw(floats(source))
    for op, is_signed in (("fptosi", True), ("fptoui", False)):
        low = -(1 << (bits - 1)) if is_signed else 0
        high = low + (1 << bits) - 1
        module = built(
            f"%r0 = arith.{op} %x0 : {source} to {result}", (source,), (result,)
        )
        fit = [math.isfinite(x) and low <= math.trunc(x) <= high for x in xs]
        fitting = [x if fits else 0.0 for x, fits in zip(xs, fit, strict=True)]
        stored = as_stored(fitting, source)
        found = as_integers(run(module, [stored], STORED[result]), result)
        for x, y in zip(fitting, found, strict=True):
            assert y == wrap(math.trunc(x), bits, signed=True)
        if not all(fit):
            first = fit.index(False)
            message = rf"{op}.* conversion of .*{result}, by lane {first}$"
            with pytest.raises(UndefinedBehaviour, match=message):
                run(module, [as_stored(xs, source)], STORED[result])


WIDENINGS = [("i1", "i8"), ("i4", "i32"), ("i8", "i16"), ("i32", "i64")]


@pytest.mark.parametrize(("narrow", "wide"), WIDENINGS)
@few
@given(st.data())
def test_widths(narrow: str, wide: str, data: st.DataObject) -> None:
    xs = data.draw(integers(BITS[wide]))
    low = [wrap(x, BITS[narrow], signed=True) for x in xs]
    cases = {
        f"trunci %x0 : {wide} to {narrow}": (wide, narrow, low),
        f"extsi %x0 : {narrow} to {wide}": (narrow, wide, low),
        f"extui %x0 : {narrow} to {wide}": (
            narrow,
            wide,
            [wrap(x, BITS[narrow], signed=False) for x in xs],
        ),
    }
    for op, (source, result, expected) in cases.items():
        module = built(f"%r0 = arith.{op}", (source,), (result,))
        given = stored(xs if source == wide else low, source)
        assert as_integers(run(module, [given], STORED[result]), result) == expected


@few
@given(integers(64))
def test_index_cast(xs: list[int]) -> None:
    module = built("%r0 = arith.index_cast %x0 : index to i32", ("index",), ("i32",))
    low = run(module, [stored(xs, "index")], np.int32)
    assert as_integers(low, "i32") == [wrap(x, 32, True) for x in xs]
    module = built("%r0 = arith.index_cast %x0 : i32 to index", ("i32",), ("index",))
    assert as_integers(run(module, [low], np.int64), "index") == low.tolist()
    module = built("%r0 = arith.index_castui %x0 : i32 to index", ("i32",), ("index",))
    assert (run(module, [low], np.int64) == low.view(np.uint32)).all()


@pytest.mark.parametrize(
    ("source", "result"), [("f16", "i16"), ("bf16", "i16"), ("f32", "i32")]
)
@few
@given(st.data())
def test_bitcast(source: str, result: str, data: st.DataObject) -> None:
    xs = as_stored(data.draw(floats(source)), source)
    module = built(
        f"%r0 = arith.bitcast %x0 : {source} to {result}", (source,), (result,)
    )
    bits = run(module, [xs], STORED[result])
    assert (bits == xs.view(STORED[result])).all()
    module = built(
        f"%r0 = arith.bitcast %x0 : {result} to {source}", (result,), (source,)
    )
    assert (run(module, [bits], STORED[source]).view(bits.dtype) == bits).all()
