"""The table of coopc-isa: a line each, or where a terminal is narrow a column each."""

from io import StringIO

from rich.console import Console

from coopc.tools.coopc_isa import COLUMNS, KERNEL_COLUMNS, PIPE_COLUMNS, table_of

COUNTS = [str(100 * number) for number in range(len(COLUMNS))]
LOOP = ["bmg", "triton_gemm", "loop", *COUNTS, *[""] * len(KERNEL_COLUMNS)]
KERNEL = ["bmg", "triton_gemm", "kernel", *COUNTS, "16", "256", "0", "0"]


def printed(width: int, *, upright: bool) -> list[list[str]]:
    """The words of each line of the table."""
    console = Console(width=width, file=StringIO(), color_system=None)
    console.print(table_of([LOOP, KERNEL], upright=upright))
    assert isinstance(console.file, StringIO)
    return [line.split() for line in console.file.getvalue().splitlines()]


def test_a_line_each() -> None:
    heads, loop, kernel = printed(PIPE_COLUMNS, upright=False)
    assert heads == ["device", "kernel", "of", *COLUMNS, *KERNEL_COLUMNS]
    assert loop == ["bmg", "triton_gemm", "loop", *COUNTS]
    assert kernel == KERNEL


def test_a_column_each() -> None:
    """Nothing is cut off in 80 columns."""
    lines = printed(80, upright=True)
    assert lines[:3] == [
        ["device", "bmg", "bmg"],
        ["kernel", "triton_gemm", "triton_gemm"],
        ["of", "loop", "kernel"],
    ]
    counts = list(zip(COLUMNS, COUNTS, COUNTS, strict=True))
    assert [tuple(line) for line in lines[3 : 3 + len(counts)]] == counts
    assert lines[-3:] == [["registers", "256"], ["spill", "0"], ["private", "0"]]
