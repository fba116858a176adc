"""What would take minutes is refused by name, with the number that decides.

The work is counted, so that it is the same on every machine.
"""

import pytest

import coopc
from coopc.diagnostic import CompileError

HEAD = """
!m = !coopmatrix.matrix<8x16xf32, acc>
!large = !coopmatrix.matrix<64x64xf32, acc>
!t = memref<64x64xf32>
func.func @k(%a: !t) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %f = arith.constant 1.0 : f32
"""
END = "  func.return\n}\n"
WORK = "expected at most 500000 operations for all passes to look at"


def moves(count: int, matrix: str = "!m") -> str:
    """A kernel of so many loads and stores of matrices."""
    pairs = (
        f"  %x{n} = coopmatrix.load %a[%c0, %c0] row_major : !t -> {matrix}\n"
        f"  coopmatrix.store %x{n}, %a[%c0, %c0] row_major : {matrix}, !t\n"
        for n in range(count)
    )
    return HEAD + "".join(pairs) + END


def calls(count: int, times: int) -> str:
    """Functions that each call the next one so often."""
    found: list[str] = []
    for n in range(count):
        lines = [f"func.func private @g{n}(%x0: f32) -> f32 {{\n"]
        lines += [
            f"  %x{at + 1} = func.call @g{n + 1}(%x{at}) : (f32) -> f32\n"
            for at in range(times)
        ]
        found += [*lines, f"  func.return %x{times} : f32\n}}\n"]
    last = (
        f"func.func private @g{count}(%x: f32) -> f32 {{\n  func.return %x : f32\n}}\n"
    )
    use = "  %y = func.call @g0(%f) : (f32) -> f32\n"
    store = "  memref.store %y, %a[%c0, %c0] : !t\n"
    return HEAD + use + store + END + "".join(found) + last


def large(rows: int, cols: int) -> str:
    """A matrix that comes and goes."""
    matrix, memory = (
        f"!coopmatrix.matrix<{rows}x{cols}xf16, acc>",
        "memref<256x256xf16>",
    )
    return f"""
func.func @k(%a: {memory}) attributes {{simt.kernel}} {{
  %c0 = arith.constant 0 : index
  %x = coopmatrix.load %a[%c0, %c0] row_major : {memory} -> {matrix}
  coopmatrix.store %x, %a[%c0, %c0] row_major : {matrix}, {memory}
  func.return
}}"""


def vectors(length: int, count: int) -> str:
    """Sums of long vectors."""
    type, memory = f"vector<{length}xf32>", "memref<1000000xf32>"
    lines = [f"  %x{n + 1} = arith.addf %x{n}, %x0 : {type}\n" for n in range(count)]
    return f"""
func.func @k(%a: {memory}) attributes {{simt.kernel}} {{
  %c0 = arith.constant 0 : index
  %x0 = vector.load %a[%c0] : {memory}, {type}
{"".join(lines)}  vector.store %x{count}, %a[%c0] : {memory}, {type}
  func.return
}}"""


BLOCKS = "".join(f"^b{n}:\n  cf.br ^b{n + 1}\n" for n in range(1, 3000))
BRANCHES = f"func.func @f() {{\n  cf.br ^b1\n{BLOCKS}^b3000:\n  func.return\n}}\n"
LANES = "coopc-lanes{device=lavapipe}"
ONE_LANE = "coopc-lanes{device=nvidia subgroup-size=1}"
VULKAN = "spirv-binary{device=lavapipe}"


@pytest.mark.parametrize(
    ("text", "pipeline", "target", "message"),
    [
        (moves(700, "!large"), LANES, "mlir", WORK),
        (moves(3000), "coopc-cpu", "mlir", WORK.replace("500000", "600500")),
        (calls(30, 2), "", VULKAN, "a function of at most 50000 operations"),
        (large(256, 256), ONE_LANE, "mlir", "each of 1 lanes to hold at most 4096"),
        (large(256, 256), "coopc-cpu", "mlir", "to hold at most 16384 elements"),
        (vectors(1_000_000, 1), "", VULKAN, "vector of at most 16384 components"),
        (vectors(16_384, 200), "", VULKAN, "function of at most 150000 instructions"),
        (BRANCHES, "", "mlir", "expected at most 1000 blocks in a region, got 3001"),
    ],
    ids=str.split("moves vectors tree lane processor long sums blocks"),
)
def test_refused(text: str, pipeline: str, target: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        coopc.compile(text, pipeline, target)


def test_what_is_large_is_compiled() -> None:
    """As many elements as there may be, and as many of a lane."""
    coopc.compile(large(256, 256), "coopc-lanes{device=bmg}")
    coopc.compile(large(128, 128), "coopc-cpu", "mlir")
    coopc.compile(calls(1000, 1), LANES, "mlir")
