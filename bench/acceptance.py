"""`python -m bench.acceptance`: how many random legal programs each device takes.

    python -m bench.acceptance --count 2000 --kept build/acceptance.jsonl
    python -m bench.acceptance --count 300 --device lavapipe --run
    python -m bench.acceptance --count 300 --device nvidia --on vulkan --jobs 1

A program is drawn for each device, compiled, and checked with spirv-val where that is
there.  With `--run` the programs for a driver that is installed also run, and are
compared with the simulator; `--on vulkan` runs them on the first device of the system's
Vulkan loader, and needs no more than numpy and xDSL.  Each job has one process of a
driver, which runs all of its programs.
"""

from __future__ import annotations

import argparse
import os
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import coopc
from bench.harness import Row, keep, kept_rows
from coopc.device import Device, device
from coopc.diagnostic import CompileError, Kind
from coopc.generate.random_programs import (
    AXES,
    RandomProduct,
    RandomProgram,
    random_program,
)
from coopc.interface_call import pack
from coopc.run.toolchain import ToolMissing, find_tool, why_invalid
from coopc.run.worker import RunFailed
from coopc.spirv.facts import HEADER_WORDS, OP_MUL_ADD, OP_TYPE_MATRIX

ANY = "any{flavour=vulkan subgroup-size=32}"
PIPELINES = {
    "lavapipe": "coopc-khr{device=lavapipe}",
    "nvidia": "coopc-khr{device=nvidia}",
    "rdna3": "coopc-khr{device=rdna3}",
    "xe2": "coopc-khr{device=xe2}",
    "any": f"coopc-khr{{device={ANY}}}",
    "bmg": "coopc-khr{device=bmg}",
    "dg2": "coopc-khr{device=dg2}",
    "intel-cpu": "coopc-lanes{device=intel-cpu}",
}
"""Devices, and how programs are compiled for them."""
DRIVERS = {"lavapipe": "lavapipe", "intel-cpu": "opencl"}
"""Where `--run` runs the programs of a device."""
ON = ("lavapipe", "vulkan", "opencl")
SECONDS = 120.0
"""For a driver to compile and run a program on a machine that is busy."""
MAX_TEXT_BYTES = 1_000_000
TEXT_PER_BINARY = 6
"""Bytes of the text of a module for a byte of its binary, at most."""
MIN_ACCEPTED, MIN_AXIS, MAX_REASON, MIN_KEPT = 90.0, 75.0, 3.0, 98.0
"""What is wanted, in percent of the programs or products."""


@dataclass(frozen=True)
class Finding:
    """What became of one program for one device."""

    seed: int
    device: str
    axes: tuple[str, ...]
    refused: str | None = None
    """The diagnostic without names and numbers; None where it is accepted."""
    mistake: bool = False
    """Whether that is a mistake in coopc and no refusal."""
    products: int = 0
    """Those of listed types whose sizes a listed shape divides."""
    kept: int = 0
    """Of these, those that are multiply instructions."""
    slow: str | None = None
    """Which slow way it took that no remark names."""
    text_bytes: int = 0
    """Of the text of the module; above `MAX_TEXT_BYTES` exact, else a bound."""
    invalid: str | None = None
    """What spirv-val has against it."""
    ran: str | None = None
    """On what it ran."""
    wrong: str | None = None
    """How it differs from the simulator, or why it did not run."""


def device_of(name: str) -> Device:
    """Return a device of `PIPELINES`; one that is none in particular has options."""
    return device(ANY if name == "any" else name)


def reason_of(message: str) -> str:
    """Return a diagnostic without the names and numbers of one program.

    >>> reason_of("scf.if: dg2 has no 8x8 matrices of !coopmatrix.matrix<8x8xf16, a>")
    'DEVICE has no NxN matrices of TYPE'
    >>> reason_of("it multiplies 16x16x16, 16x8x16 for f16 * f16 + f32 -> f32")
    'it multiplies NxNxN for T * T + T -> T'
    """
    text = message.splitlines()[0]
    text = re.sub(r"^[a-z_]+\.[a-z_]+: ", "", text)
    text = re.sub(r"!?[a-z.]+<(?:[^<>]|<[^<>]*>)*>+", "TYPE", text)
    text = re.sub(rf"\b({'|'.join(PIPELINES)}) (?=has|mul|does)", "DEVICE ", text)
    text = re.sub(rf"\b(for|on) ({'|'.join(PIPELINES)})\b", r"\1 DEVICE", text)
    text = re.sub(r"\b(?:bf|f|i|s|u)\d+\b", "T", text)
    text = re.sub(r"[%@]\w+", "NAME", text)
    text = re.sub(r"\d+(?:x\d+)+", lambda x: "x".join("N" * len(x[0].split("x"))), text)
    text = re.sub(r"\b\d+\b", "N", text)
    return re.sub(r"([\w*>+ -]+)(?:[,;] \1)+", r"\1", text)


def listed(program: RandomProgram, target: Device) -> int:
    """Return how many products of a program are multiplications of a device.

    Those whose sizes have names are as they are, and cannot be cut.  A device whose
    list is unknown multiplies what the program multiplies.
    """
    if "matrix_shapes" in target.unknown:
        return len(program.products)

    def fits(product: RandomProduct) -> bool:
        types = [name.replace("i", "s") for name in (product.factor, product.sum)]
        size = product.m, product.n, product.k
        return product.scope == "subgroup" and any(
            size == (x.m, x.n, x.k)
            if product.named
            else product.m % x.m == product.n % x.n == product.k % x.k == 0
            for x in target.multiplications(types[0], types[0], types[1], types[1])
        )

    return sum(map(fits, program.products))


def opcodes_of(binary: bytes) -> Iterator[int]:
    """Yield the opcode of each instruction of a module."""
    words = struct.unpack(f"<{len(binary) // 4}I", binary)
    at = HEADER_WORDS
    while at < len(words):
        yield words[at] & 0xFFFF
        at += words[at] >> 16


def slow_way(program: RandomProgram, opcodes: Counter[int]) -> str | None:
    """Return which slow way a program took that was compiled to KHR matrices."""
    if not opcodes[OP_TYPE_MATRIX]:
        return "no matrix of the device"
    if program.products and not opcodes[OP_MUL_ADD]:
        return "no multiply instruction"
    return None


def measured(name: str, on: str | None, seed: int) -> Finding:
    """Compile a program for a device, check it, and run it on a driver."""
    target, pipeline = device_of(name), PIPELINES[name]
    program = random_program(seed, target)
    found = Finding(seed, name, tuple(sorted(program.axes)))
    try:
        artifact = coopc.compile(program.text, pipeline, on_remark=lambda _: None)
    except CompileError as error:
        mistake = error.diagnostic.kind not in (Kind.PASS, Kind.EMIT)
        reason = reason_of(error.diagnostic.message)
        return replace(found, refused=reason, mistake=mistake)
    binary, slow, products, kept = artifact.bytes, None, 0, 0
    if pipeline.startswith("coopc-khr"):
        opcodes = Counter(opcodes_of(binary))
        if not artifact.remarks:
            slow = slow_way(program, opcodes)
        products = listed(program, target)
        kept = min(products, opcodes[OP_MUL_ADD])
    text_bytes = TEXT_PER_BINARY * len(binary)
    if text_bytes > MAX_TEXT_BYTES:
        text = coopc.compile(program.text, pipeline, "spirv", on_remark=lambda _: None)
        text_bytes = len(text.bytes)
    env = "vulkan1.3" if target.flavours[0] == "vulkan" else "spv1.4"
    found = replace(
        found,
        products=products,
        kept=kept,
        slow=slow,
        text_bytes=text_bytes,
        invalid=why_invalid(binary, env),
    )
    return found if on is None else run(found, program, artifact, on)


@cache
def session_on(driver: str) -> Any:
    """Return the session of this process on a driver, which ends with the process."""
    import atexit
    from multiprocessing.util import Finalize

    if driver == "opencl":
        from coopc.run.opencl import Session as OpenCLSession

        session = OpenCLSession.start()
    else:
        from coopc.run.vulkan import Session as VulkanSession

        session = VulkanSession.start("system" if driver == "vulkan" else "lavapipe")
    atexit.register(session.close)
    Finalize(None, session.close, exitpriority=1)  # processes of a pool run no atexit
    return session


def run(
    found: Finding, program: RandomProgram, artifact: coopc.Artifact, on: str
) -> Finding:
    """Run a compiled program on a driver, and compare it with the simulator."""
    from coopc.run.execute import on_opencl, on_vulkan

    (interface,) = artifact.interface
    try:
        call = pack(interface, program.copies(), (1, 1, 1))
    except ValueError:
        if not interface.conditions:
            raise
        return found  # its arguments break a condition that its interface states
    launch: Callable[..., Any] = on_opencl if on == "opencl" else on_vulkan
    session = session_on(on)
    try:
        arrays = launch(artifact.bytes, call, session, seconds=SECONDS).arrays
    except RunFailed as error:
        return replace(found, ran=session.where, wrong=str(error))
    wrong = program.difference(arrays, interface.subgroup_size)
    return replace(found, ran=session.where, wrong=wrong)


# --- All programs. ---


def known_devices(names: Iterable[str]) -> Iterator[str]:
    """Yield the devices that there are, and say which are left out."""
    for name in names:
        try:
            device_of(name)
        except ValueError as error:
            print(f"{name} is left out: {error}")
        else:
            yield name


def usable_driver(on: str | None) -> str | None:
    """Return a driver if it can be opened here, and say why if not."""
    if on is None:
        return None
    try:
        session_on(on)
    except (ToolMissing, RunFailed) as error:
        print(f"programs do not run on {on}: {error}")
        return None
    return on


def driver_for(name: str, runs: bool, on: str | None) -> str | None:
    """Return the driver that is asked to run the programs of a device, or None.

    >>> driver_for("nvidia", True, None), driver_for("nvidia", True, "vulkan")
    (None, 'vulkan')
    >>> driver_for("lavapipe", True, None), driver_for("bmg", True, "vulkan")
    ('lavapipe', None)
    """
    if not runs:
        return None
    if on is None:
        return DRIVERS.get(name)
    flavour = "opencl" if on == "opencl" else "vulkan"
    return on if flavour in device_of(name).flavours else None


def all_findings(
    names: Sequence[str],
    seeds: Iterable[int],
    *,
    kept: Path | None = None,
    runs: bool = False,
    on: str | None = None,
    jobs: int = 1,
) -> Iterator[Finding]:
    """Yield a finding for each seed and device: those that are kept, then the others.

    `kept` is a file of findings, which gets what is found, and `on` a driver that
    programs run on instead of the device's.
    """
    drivers = {name: usable_driver(driver_for(name, runs, on)) for name in names}
    known: dict[tuple[int, str], Finding] = {}
    for row in kept_rows(kept):
        row["axes"] = tuple(row["axes"])
        known[row["seed"], row["device"]] = Finding(**row)
    missing: list[tuple[str, int]] = []
    for seed in seeds:
        for name in names:
            found = known.get((seed, name))
            done = found is not None and (found.refused or found.ran)
            if found is not None and (done or drivers[name] is None):
                yield found
            else:
                missing.append((name, seed))
    for found in _computed(missing, drivers, jobs):
        keep(kept, found)
        yield found


def _computed(
    missing: Sequence[tuple[str, int]], drivers: dict[str, str | None], jobs: int
) -> Iterator[Finding]:
    names, seeds = [x for x, _ in missing], [x for _, x in missing]
    given = names, [drivers[x] for x in names], seeds
    if jobs == 1:
        yield from map(measured, *given)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        yield from pool.map(measured, *given, chunksize=4)


# --- What is shown. ---


@dataclass(frozen=True)
class Summary:
    """What became of all programs for one device."""

    device: str
    findings: tuple[Finding, ...]

    @property
    def accepted(self) -> list[Finding]:
        return [x for x in self.findings if x.refused is None]

    @property
    def accepted_percent(self) -> float:
        return percent(len(self.accepted), len(self.findings))

    @property
    def kept_percent(self) -> float:
        asked = sum(x.products for x in self.findings)
        return percent(sum(x.kept for x in self.findings), asked)

    def axis_percent(self, axis: str) -> float:
        """Return how many programs with an axis are accepted."""
        about = [x for x in self.findings if axis in x.axes]
        return percent(sum(x.refused is None for x in about), len(about))

    def reasons(self) -> list[tuple[str, float]]:
        """Return the reasons of refusals, the most frequent first, and how frequent."""
        count = Counter(x.refused for x in self.findings if x.refused is not None)
        total = len(self.findings)
        return [(name, percent(n, total)) for name, n in count.most_common()]

    def faults(self) -> Iterator[tuple[int, str]]:
        """Yield what must not be, by seed."""
        for x in self.findings:
            if x.mistake:
                yield x.seed, f"mistake in coopc: {x.refused}"
            if x.invalid is not None:
                yield x.seed, f"invalid: {x.invalid}"
            if x.text_bytes > MAX_TEXT_BYTES:
                yield x.seed, f"{x.text_bytes} bytes of text"
            if x.slow is not None:
                yield x.seed, f"{x.slow}, without a remark"
            if x.wrong is not None:
                yield x.seed, f"on {x.ran}: {x.wrong}"

    def misses(self) -> list[str]:
        """Return what is less than wanted, of the figures that are percentages."""
        found: list[str] = []
        if self.accepted_percent < MIN_ACCEPTED:
            found.append("accepted")
        found += [axis for axis in AXES if self.axis_percent(axis) < MIN_AXIS]
        found += [name for name, share in self.reasons() if share > MAX_REASON]
        if self.kept_percent < MIN_KEPT:
            found.append("multiply instructions")
        return found


def percent(part: int, whole: int) -> float:
    """Return a share; of nothing, all is as wanted.

    >>> percent(3, 4), percent(0, 0)
    (75.0, 100.0)
    """
    return 100 * part / whole if whole else 100.0


def summaries(findings: Iterable[Finding]) -> list[Summary]:
    by_device: dict[str, list[Finding]] = {}
    for found in findings:
        by_device.setdefault(found.device, []).append(found)
    return [Summary(name, tuple(found)) for name, found in by_device.items()]


Cells = Sequence[str]


def tables(found: Sequence[Summary], reasons: int) -> Iterator[tuple[str, list[Cells]]]:
    """Yield tables, each a title and rows of which the first is the head."""
    names = [x.device for x in found]
    rows: list[Cells] = [("", *names)]
    rows.append(("programs", *(str(len(x.findings)) for x in found)))
    rows.append(("accepted %", *(_figure(x.accepted_percent) for x in found)))
    rows.append(("multiply instructions kept %", *(_kept(x) for x in found)))
    for title, field in (("invalid", "invalid"), ("slow, no remark", "slow")):
        counts = (sum(getattr(y, field) is not None for y in x.findings) for x in found)
        rows.append((title, *map(str, counts)))
    longest = (max((y.text_bytes for y in x.findings), default=0) for x in found)
    rows.append(("text, kB at most", *(str(x // 1000) for x in longest)))
    for title, field in (("ran", "ran"), ("ran, wrong", "wrong")):
        counts = (sum(getattr(y, field) is not None for y in x.findings) for x in found)
        rows.append((title, *map(str, counts)))
    yield "random programs", rows
    axes = [(axis, *(_figure(x.axis_percent(axis)) for x in found)) for axis in AXES]
    yield "accepted % of the programs about", [("", *names), *axes]
    for x in found:
        most = x.reasons()[:reasons]
        if most:
            shares = [(f"{share:.1f}", name) for name, share in most]
            yield f"why {x.device} refuses", [("%", "reason"), *shares]
        faults = [(str(seed), text.splitlines()[0]) for seed, text in x.faults()]
        if faults:
            yield f"faults of {x.device}", [("seed", "fault"), *faults[:reasons]]


def _figure(share: float) -> str:
    return f"{share:.1f}"


def _kept(found: Summary) -> str:
    asked = sum(x.products for x in found.findings)
    return f"{found.kept_percent:.1f} of {asked}" if asked else "-"


def show(title: str, rows: Sequence[Cells]) -> None:
    """Print a table; without rich, by tabulators."""
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        print(f"\n{title}", *("\t".join(row) for row in rows), sep="\n")
        return
    table = Table(*rows[0], title=title)
    for row in rows[1:]:
        table.add_row(*map(Text, row))
    Console().print(table)


def measure(count: int = 100) -> Iterator[Row]:
    """Yield a row for each device: how many programs it refuses."""
    names = list(known_devices(PIPELINES))
    findings = all_findings(names, range(count), jobs=os.cpu_count() or 1)
    for found in summaries(findings):
        name = f"{count} random programs, refused by {found.device}"
        yield Row(name, 100 - found.accepted_percent, "%", 100 - MIN_ACCEPTED)


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench.acceptance", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--count", type=int, default=100, help="programs")
    parser.add_argument(
        "--device", nargs="+", choices=PIPELINES, default=list(PIPELINES)
    )
    parser.add_argument(
        "--kept", type=Path, help="JSON lines: findings to go on from, and to add to"
    )
    parser.add_argument("--reasons", type=int, default=10, help="rows of reasons")
    parser.add_argument("--run", action="store_true", help="run programs, and compare")
    parser.add_argument("--on", choices=ON, help="run on this driver; implies --run")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; return 1 if a program is invalid, slow or wrong."""
    given = options().parse_args(arguments)
    if find_tool("spirv-val") is None:
        print("modules are not validated: spirv-val is missing")
    found = summaries(
        all_findings(
            list(known_devices(given.device)),
            range(given.seed, given.seed + given.count),
            kept=given.kept,
            runs=given.run or given.on is not None,
            on=given.on,
            jobs=given.jobs,
        )
    )
    for title, rows in tables(found, given.reasons):
        show(title, rows)
    for x in found:
        if missed := x.misses():
            print(f"{x.device} misses: {', '.join(missed)}")
    return 1 if any(True for x in found for _ in x.faults()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
