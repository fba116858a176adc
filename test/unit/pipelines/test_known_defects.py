"""What an existing implementation gets wrong, and which tests here would catch it.

tinytc v0.4.0 is a compiler with the same matrices; its defects are numbered 7.1 to 7.13
here.  `test_lane_defects.py` has most of the tests, and plants the like of the defects.
"""

import ast
from pathlib import Path

UNIT = Path(__file__).parents[1]

DEFECTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "7.1": (
        "padding is masked by the size of the memref, not of the matrix",
        ("test_lane_defects::test_7_1_padding", "test_lane_defects::test_7_2_columns"),
    ),
    "7.2": (
        "columns beyond the lanes are reduced from the first ones again",
        ("test_lane_defects::test_7_2_columns",),
    ),
    "7.3": (
        "packed registers of a are stored as they are",
        ("test_lane_defects::test_7_3_packed_a",),
    ),
    "7.4": (
        "2D blocks are used with a pitch or a width that the device has not",
        (
            "test_block_message::test_refused_surface",
            "test_lane_access::test_why_no_blocks",
        ),
    ),
    "7.5": (
        "a of columns that do not fill channels is an invalid module",
        ("test_lane_defects::test_7_5_odd_a",),
    ),
    "7.6": (
        "a constant that is not 0 has the wrong number of constituents",
        ("test_lane_defects::test_7_6_fills",),
    ),
    "7.7": (
        "a result of another type than c is an invalid module",
        ("test_lane_defects::test_7_7_results",),
    ),
    "7.8": (
        "reductions of columns crash for types other than f32 and i32",
        ("test_lane_defects::test_7_8_reductions",),
    ),
    "7.9": (
        "a quotient of multiples is taken for a multiple",
        ("test_lane_defects::test_7_9_quotients",),
    ),
    "7.10": (
        "the offset of a memref is forgotten when its alignment is computed",
        (
            "test_lane_defects::test_7_10_offsets",
            "test_lane_blocks::test_offsets_count_for_alignment",
        ),
    ),
    "7.11": (
        "prefetches are cut to powers of two; those for levels beyond are not ignored",
        ("test_lane_defects::test_7_11_prefetch",),
    ),
    "7.12": (
        "what is said of an alignment has no effect",
        ("test_lane_defects::test_7_12_alignment",),
    ),
    "7.13": (
        "vectors have more than 16 components",
        (
            "test_lane_defects::test_7_13_vectors",
            "test_lanes_opencl::test_all_operations",
            "test_lanes_vulkan::test_section",
        ),
    ),
    "7, also": (
        "what an atomic update skips is undefined; its result is the updated value",
        ("test_lane_defects::test_7_atomics",),
    ),
}
"""What is wrong there, and the tests here that would catch it."""


def test_every_defect_has_a_test() -> None:
    """Of 7.1 to 7.13, and the tests exist."""
    assert [*DEFECTS] == [*(f"7.{n}" for n in range(1, 14)), "7, also"]
    for _, tests in DEFECTS.values():
        assert tests
        for module, name in (test.split("::") for test in tests):
            tree = ast.parse(next(UNIT.rglob(f"{module}.py")).read_text())
            found = {x.name for x in tree.body if isinstance(x, ast.FunctionDef)}
            assert name in found
