"""Machine code in a driver's cache: where it is, and what its loops have."""

import struct

import pytest

from bench.machine_code import OPCODES, codes, loops, resident

TEXT = """
        /*0000*/                   S2R R0, SR_TID.X ;
        /*0010*/                   LDG.E.128.CONSTANT R4, [R4.U32+UR6], !P0 ;
        /*0020*/                   HMMA.16816.F32 R8, R160.reuse, R148, R8 ;
        /*0030*/              @!P1 IMAD.MOV.U32 R172, RZ, RZ, R212 ;
        /*0040*/               @P0 BRA 0x10 ;
        /*0050*/                   IADD3 R1, R2, R3, RZ ;
        /*0060*/                   BRA 0x50 ;
        /*0070*/                   BRA 0x90 ;
"""


def test_loops_of_products() -> None:
    """Not those without a product, nor branches ahead."""
    (found,) = loops(TEXT)
    assert found == {"LDG": 1, "HMMA": 1, "MOV": 1, "BRA": 1}


@pytest.mark.parametrize("phase", [0, 8])
def test_code_is_between_instructions_that_are_known(phase: int) -> None:
    hmma, add, exit = (struct.pack("<QQ", x, 0) for x in (0x723C, 0x7210, 0x794D))
    assert {0x23C, 0x94D} <= OPCODES
    blob = bytes(phase) + bytes(32) + hmma + add + exit + bytes(16)
    assert [*codes(blob)] == [hmma + add + exit]
    assert not [*codes(bytes(64))]


@pytest.mark.parametrize(
    ("registers", "shared", "items", "count"),
    [
        (252, 43264, 256, 1),  # registers
        (64, 40000, 128, 1),  # work-group memory
        (82, 20480, 256, 2),
        (16, 0, 1024, 2),  # work-items
        (8, 0, 32, 32),
    ],
)
def test_work_groups_of_a_multiprocessor(
    registers: int, shared: int, items: int, count: int
) -> None:
    assert resident(registers, shared, items) == count
