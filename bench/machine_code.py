"""Counts the instructions of a kernel's loop along K in NVIDIA's machine code.

The driver's pipeline cache has the code, compressed by Zstandard.  `nvdisasm`, which is
part of Triton's package, disassembles it.  Nothing is counted without PyTorch, Triton
and the package zstandard.
"""

from __future__ import annotations

import re
import struct
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from bench.harness import pytorch

FRAME = b"\x28\xb5\x2f\xfd"
"""The magic number of a Zstandard frame."""
INSTRUCTION_BYTES = 16
OPCODES = {0x23C, 0x237, 0x83B, 0xB1D, 0x947, 0x94D, 0x918}
"""The low 12 bits of HMMA, IMMA, LDSM, BAR, BRA, EXIT and NOP.  Code is taken to reach
from the first of them to the last."""
ALWAYS = 7
"""Bits 12 to 15, the predicate, of an instruction that is always executed."""
PRODUCTS = ("HMMA", "IMMA")
LINE = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)([^;]*);")
REGISTERS, THREADS, BLOCKS = 65536, 2048, 32
"""What a multiprocessor of compute capability 9.0 has (CUDA C++ Programming Guide)."""
SHARED_BYTES = 48 << 10
"""Work-group memory of a multiprocessor that Vulkan shaders get, as measured."""


def in_loop(cache: bytes) -> Mapping[str, int] | None:
    """Return how many instructions of each kind the loop with most products has.

    None if the pipeline cache has no such loop, or tools to find it are missing.
    """
    try:
        torch, zstandard = pytorch(), import_module("zstandard")
        backend = Path(str(import_module("triton.backends.nvidia").__file__))
    except ImportError:
        return None
    tool = backend.parent / "bin" / "nvdisasm"
    if torch is None or not torch.cuda.is_available() or not tool.exists():
        return None
    major, minor = torch.cuda.get_device_capability()
    found: list[Counter[str]] = []
    for at in (x.start() for x in re.finditer(re.escape(FRAME), cache)):
        with suppress(zstandard.ZstdError):
            reader = zstandard.ZstdDecompressor().decompressobj()
            for code in codes(reader.decompress(cache[at:])):
                text = disassembled(code, tool, f"SM{major}{minor}")
                found += loops(text)
    return max(found, key=products, default=None)


def codes(blob: bytes) -> Iterator[bytes]:
    """Yield what may be machine code.

    Its instructions begin at multiples of 16 bytes, or 8 bytes behind these.
    """
    for phase in (0, INSTRUCTION_BYTES // 2):
        ends = range(phase, len(blob) - INSTRUCTION_BYTES + 1, INSTRUCTION_BYTES)
        words = ((at, *struct.unpack_from("<H", blob, at)) for at in ends)
        known = [
            at for at, word in words if word & 0xFFF in OPCODES and word >> 12 == ALWAYS
        ]
        if known:
            yield blob[known[0] : known[-1] + INSTRUCTION_BYTES]


def disassembled(code: bytes, tool: Path, architecture: str) -> str:
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        Path(file.name).write_bytes(code)
        command = [str(tool), "-b", architecture, file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout


def loops(text: str) -> Iterator[Counter[str]]:
    """Yield how many instructions of each kind each loop with products has.

    >>> text = '''/*0010*/ HMMA.16816.F32 R4, R8, R12, R4 ;
    ... /*0020*/ IMAD.MOV.U32 R1, RZ, RZ, R2 ;
    ... /*0030*/ @P0 BRA 0x10 ;'''
    >>> [dict(x) for x in loops(text)]
    [{'HMMA': 1, 'MOV': 1, 'BRA': 1}]
    """
    lines = [(int(at, 16), name, rest) for at, name, rest in LINE.findall(text)]
    for end, name, rest in lines:
        target = re.search(r"0x([0-9a-f]+)", rest)
        if name != "BRA" or target is None or (begin := int(target[1], 16)) >= end:
            continue
        found = Counter(kind(x) for at, x, _ in lines if begin <= at <= end)
        if products(found):
            yield found


def kind(name: str) -> str:
    """Return an instruction without its modifiers; IMAD.MOV is a move."""
    return "MOV" if name.startswith("IMAD.MOV") else name.split(".")[0]


def products(found: Mapping[str, int]) -> int:
    return sum(found.get(name, 0) for name in PRODUCTS)


def resident(registers: float, shared_bytes: float, work_items: int) -> int:
    """Return how many work-groups share a multiprocessor.

    >>> resident(252, 43264, 256), resident(82, 16384, 512)
    (1, 1)
    """
    held = max(-(-int(registers) // 8), 1) * 8 * work_items
    room = [REGISTERS // held, THREADS // work_items, BLOCKS]
    if shared_bytes:
        room.append(SHARED_BYTES // int(shared_bytes))
    return min(room)
