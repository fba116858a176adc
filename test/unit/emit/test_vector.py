"""`vector`, and bf16, in both flavours, run and compared with numpy.

Widths that no flavour has as one SPIR-V vector are cut, so 1, 5 and 16 are among them.
"""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

import coopc

Array: TypeAlias = npt.NDArray[Any]

WIDTHS = (1, 2, 3, 4, 5, 8, 16, 20)

KERNEL = """
func.func @k(%a: memref<{size}xi32>, %b: memref<{size}xi32>, %r: memref<{out}xi32>,
             %n: index) attributes {{simt.kernel}} {{
  %0 = arith.constant 0 : index
  %x = vector.load %a[%0] : memref<{size}xi32>, vector<{size}xi32>
  %y = vector.load %b[%0] : memref<{size}xi32>, vector<{size}xi32>
{body}
  vector.store %z, %r[%0] : memref<{out}xi32>, vector<{out}xi32>
  func.return
}}
"""


def run(runner: Any, size: int, body: str, out: int, n: int = 0) -> Array:
    a = np.arange(1, size + 1, dtype=np.int32)
    text = KERNEL.format(size=size, body=body, out=out)
    arrays = [a, 100 * a, np.zeros(out, np.int32), n]
    return runner.run(text, arrays, (1, 1, 1))[2]


@pytest.mark.parametrize("size", WIDTHS)
def test_load_compute_store(runner: Any, size: int):
    body = f"  %z = arith.addi %x, %y : vector<{size}xi32>"
    np.testing.assert_array_equal(
        run(runner, size, body, size), 101 * np.arange(1, size + 1)
    )


@pytest.mark.parametrize("size", [2, 5, 8])
def test_shuffle(runner: Any, size: int):
    mask = list(range(2 * size - 1, size - 2, -1))
    type = f"vector<{size}xi32>"
    body = f"  %z = vector.shuffle %x, %y {mask} : {type}, {type}"
    both = np.concatenate([np.arange(1, size + 1), 100 * np.arange(1, size + 1)])
    found = run(runner, size, body, len(mask))
    np.testing.assert_array_equal(found, both[mask])


@pytest.mark.parametrize("size", [1, 4, 5, 16])
def test_extract_and_insert(runner: Any, size: int):
    type = f"vector<{size}xi32>"
    static = f"""
  %e = vector.extract %y[{size - 1}] : i32 from {type}
  %z = vector.insert %e, %x[0] : i32 into {type}"""
    expected = np.arange(1, size + 1)
    expected[0] = 100 * size
    np.testing.assert_array_equal(run(runner, size, static, size), expected)
    dynamic = f"""
  %e = vector.extract %y[%n] : i32 from {type}
  %z = vector.insert %e, %x[%n] : i32 into {type}"""
    expected = np.arange(1, size + 1)
    expected[size - 1] = 100 * size
    np.testing.assert_array_equal(run(runner, size, dynamic, size, size - 1), expected)


def test_rows(runner: Any):
    body = """
  %m = vector.broadcast %x : vector<6xi32> to vector<3x6xi32>
  %m1 = vector.insert %y, %m[%n] : vector<6xi32> into vector<3x6xi32>
  %row = vector.extract %m1[2] : vector<6xi32> from vector<3x6xi32>
  %col = vector.extract %m1[1, 3] : i32 from vector<3x6xi32>
  %z = vector.insert %col, %row[0] : i32 into vector<6xi32>"""
    found = run(runner, 6, body, 6, 2)
    np.testing.assert_array_equal(found, [4, 200, 300, 400, 500, 600])


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("add", 36), ("mul", 40320), ("maxsi", 8), ("minui", 1), ("xor", 8), ("or", 15)],
)
def test_reduction(runner: Any, kind: str, expected: int):
    body = f"""
  %e = vector.reduction <{kind}>, %x : vector<8xi32> into i32
  %z = vector.broadcast %e : i32 to vector<2xi32>"""
    np.testing.assert_array_equal(run(runner, 8, body, 2), [expected] * 2)


def test_reduction_with_start(runner: Any):
    body = """
  %s = vector.extract %y[1] : i32 from vector<4xi32>
  %e = vector.reduction <add>, %x, %s : vector<4xi32> into i32
  %z = vector.broadcast %e : i32 to vector<1xi32>"""
    np.testing.assert_array_equal(run(runner, 4, body, 1), [210])


def test_bitcast(runner: Any):
    body = """
  %h = vector.bitcast %x : vector<4xi32> to vector<8xi16>
  %w = vector.bitcast %h : vector<8xi16> to vector<2xi64>
  %c = vector.bitcast %w : vector<2xi64> to vector<16xi8>
  %z = vector.bitcast %c : vector<16xi8> to vector<4xi32>"""
    np.testing.assert_array_equal(run(runner, 4, body, 4), [1, 2, 3, 4])
    body = """
  %h = vector.bitcast %y : vector<4xi32> to vector<16xi8>
  %e = vector.extract %h[5] : i8 from vector<16xi8>
  %i = arith.extui %e : i8 to i32
  %z = vector.broadcast %i : i32 to vector<2xi32>"""
    found = run(runner, 4, body, 2)
    expected = (100 * np.arange(1, 5, dtype=np.int32)).view(np.uint8)[5]
    np.testing.assert_array_equal(found, [expected] * 2)


@pytest.mark.parametrize("size", [3, 8])
def test_masked(runner: Any, size: int):
    type, memory = f"vector<{size}xi32>", f"memref<{size}xi32>"
    body = f"""
  %m = vector.create_mask %n : vector<{size}xi1>
  %l = vector.maskedload %b[%0], %m, %x
     : {memory}, vector<{size}xi1>, {type} into {type}
  vector.maskedstore %a[%0], %m, %l : {memory}, vector<{size}xi1>, {type}
  %z = vector.load %a[%0] : {memory}, {type}"""
    found = run(runner, size, body, size, 2)
    expected = np.arange(1, size + 1)
    expected[:2] *= 100
    np.testing.assert_array_equal(found, expected)


def test_dense_constants(runner: Any):
    body = """
  %c = arith.constant dense<[1, 2, 3, 4, 5]> : vector<5xi32>
  %d = arith.constant dense<10> : vector<5xi32>
  %e = arith.muli %c, %d : vector<5xi32>
  %z = arith.addi %e, %x : vector<5xi32>"""
    np.testing.assert_array_equal(run(runner, 5, body, 5), [11, 22, 33, 44, 55])


def test_fma(runner: Any):
    a = np.linspace(-3, 3, 16).astype(np.float32)
    body = """
  %v = vector.broadcast %a : f32 to vector<7xf32>
  %w = vector.fma %v, %v, %v : vector<7xf32>
  %x = math.absf %w : vector<7xf32>
  %r = vector.extract %x[6] : f32 from vector<7xf32>"""
    found = runner.elementwise({"fma": ("f32", body)}, ["f32"], [a])["fma"]
    wide = a.astype(np.float64)
    np.testing.assert_allclose(found, np.abs(wide * wide + wide), 2**-20, 2**-20)


def bf16(x: Array) -> Array:
    """The bits of floats rounded to bf16, to nearest even."""
    bits = x.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def wide(bits: Array) -> Array:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def test_bf16(runner: Any):
    random = np.random.default_rng(0)
    a, b = (bf16(random.normal(0, 4, 64)) for _ in range(2))
    x, y = wide(a), wide(b)
    bodies = {
        "add": ("bf16", "%r = arith.addf %a, %b : bf16"),
        "mul": ("bf16", "%r = arith.mulf %a, %b : bf16"),
        "div": ("bf16", "%r = arith.divf %a, %b : bf16"),
        "neg": ("bf16", "%r = arith.negf %a : bf16"),
        "max": ("bf16", "%r = arith.maximumf %a, %b : bf16"),
        "less": ("i1", "%r = arith.cmpf olt, %a, %b : bf16"),
        "wide": ("f32", "%r = arith.extf %a : bf16 to f32"),
        "half": (
            "f16",
            "%x = arith.extf %a : bf16 to f32\n%r = arith.truncf %x : f32 to f16",
        ),
        "bits": ("i16", "%r = arith.bitcast %a : bf16 to i16"),
        "vector": (
            "bf16",
            "%v = vector.broadcast %a : bf16 to vector<6xbf16>\n"
            "%w = arith.addf %v, %v : vector<6xbf16>\n"
            "%r = vector.extract %w[5] : bf16 from vector<6xbf16>",
        ),
    }
    found = runner.elementwise(bodies, ["bf16", "bf16"], [a, b])
    for name, expected in {
        "add": bf16(x + y),
        "mul": bf16(x * y),
        "div": bf16(x / y),
        "neg": bf16(-x),
        "max": bf16(np.maximum(x, y)),
        "less": x < y,
        "wide": x,
        "half": x.astype(np.float16),
        "bits": a.view(np.int16),
        "vector": bf16(x + x),
    }.items():
        np.testing.assert_array_equal(found[name], expected, name)


def test_insert_is_one_instruction():
    """However long a vector is; one that is replaced as a whole is constructed."""
    body = """  %f = arith.constant 7 : i32
  %g = memref.load %b[%0] : memref<8xi32>
  %h = vector.insert %g, %x [3] : i32 into vector<8xi32>
  %z = vector.insert %f, %h [6] : i32 into vector<8xi32>"""
    text = KERNEL.format(size=8, body=body, out=8)
    found = coopc.compile(text, "", "spirv{device=intel-cpu}").text
    assert found.count("OpCompositeInsert") == 2
    assert "OpCompositeExtract" not in found
