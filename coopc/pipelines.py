"""The pipelines that coopc names: tuples of passes, a reason where order matters.

`coopc-opt --help NAME` prints their steps.  Each ends with a check that it has left
nothing that it is to lower.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any, Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.utils.arg_spec import ArgSpec

from coopc.device import DEVICES, Flavour, device
from coopc.device.cpu import (
    SECOND_CACHE_BYTES,
    STREAMED_BYTES,
    VECTOR_TILE,
    WIDE_VECTOR_TILE,
)
from coopc.diagnostic import either
from coopc.ir.control_flow import uses_dialect
from coopc.passes.generic.set_target import SetTargetPass
from coopc.pipeline import ConditionalStep, Pipeline
from coopc.remarks import remark
from coopc.rounding import PrecisionName
from coopc.universe import PASSES, factory


def step(name: str, **options: Any) -> ModulePass:
    """A pass of coopc's, imported where a pipeline has it: Triton's are many."""
    return factory(PASSES[name])()(**options)


def of_linalg(name: str, **options: Any) -> ModulePass:
    """A step for functions of linalg; a default of an option is not given."""
    given = {x: y for x, y in options.items() if y not in (False, None, "ieee")}
    return StepForDialect(("linalg",), name, given)


def tuned(pipeline: str, file: str | None, **options: Any) -> tuple[ModulePass, ...]:
    """The step that takes plans from a tuning file, where there is one."""
    if file is None:
        return ()
    return (step("apply-tuning", tuning=file, pipeline=pipeline, **options),)


TO_MATRICES = "convert-tt-to-coopmatrix"


@dataclass(frozen=True)
class StepForDialect(ConditionalStep):
    """A step that only changes operations of some dialects, or functions of tensors.

    It is imported when a module has such operations: Triton's dialects and passes take
    longer to import than a small program of matrices takes to compile.
    """

    dialects: tuple[str, ...]
    pass_name: str
    options: dict[str, Any]
    without_layouts: bool = False
    """Whether it is for kernels alone that are not lowered by layouts of tensors."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.pass_name)

    def spec(self, *, include_default: bool = False) -> ArgSpec:
        """Return how the step is written, as that of any pass."""
        given = {name: x for name, x in self.options.items() if x is not None}
        lists: dict[str, Any] = {
            name: x if isinstance(x, tuple) else (x,) for name, x in given.items()
        }
        return ArgSpec(self.pass_name, lists)

    def is_needed(self, module: ModuleOp) -> bool:
        if self.dialects == TENSORS:
            return has_functions_of_tensors(module)
        return any(uses_dialect(module, name) for name in self.dialects)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not self.is_needed(op):
            return
        if self.without_layouts:
            from coopc.passes.triton.layouts import why_not_by_layouts

            if (found := why_not_by_layouts(op)) is None:
                return
            if self.pass_name == TO_MATRICES and found[0] is not op:
                remark(found[0], f"the kernel runs on one subgroup: {found[1]}")
        step(self.pass_name, **self.options).apply(ctx, op)


@dataclass(frozen=True)
class CoopcKhrPass(Pipeline):
    """Compile for SPV_KHR_cooperative_matrix, for `-t spirv`.

    Before: Triton kernels, linalg functions, or coopmatrix operations on matrices of
            any size.
    After:  kernels with only those matrix operations that the device has instructions
            for; loops over elements and work-group memory replace the rest, with a
            remark where that is much slower.
    Fails:  if the device cannot do an operation, naming it; for unknown devices.
    """

    name = "coopc-khr"

    device: str | None = None
    """A device of `--list devices`; by default that of `simt.target`."""
    flavour: Flavour | None = None
    """The SPIR-V environment; by default the device's, if it has only one."""
    tile: tuple[int, ...] = ()
    """m, n and k of a subgroup's tile of a linalg.matmul; default: the device's."""
    pack_b: bool = False
    """For devices that need B packed, pack it once in a separate kernel; otherwise each
    work-group packs the part it needs."""
    staged: bool = False
    """Use work-groups of several subgroups that share tiles in work-group memory, for
    linalg.matmul and for Triton kernels that only store results of products; split
    other Triton kernels across subgroups."""
    fallback: bool = False
    """Give Triton kernels that have conditions a second entry point, `.fallback`, for
    arguments that violate them."""
    precision: PrecisionName = "ieee"
    """How f32 is multiplied: ieee, exactly; bf16x3 or f16x3, as three products on the
    matrix engine; bf16, f16 or tf32, as one. Products that the device does not support
    stay exact, with a remark."""
    tuning: str | None = None
    """A tuning file from `coopc-tune`, with the plan for each matrix product."""

    def steps(self) -> tuple[ModulePass, ...]:
        """Choose the device, make kernels, cut to its shapes, clean up."""
        return (
            step("narrow-matrix-scope"),
            SetTargetPass.of(self.name, self.device, self.flavour),
            *from_triton(rounds=True, fallback=self.fallback, shared=self.staged),
            *from_linalg(
                precision=self.precision,
                pad_rows=self.staged,
                by_costs=self.staged and self.tuning is None,
                operands={"inner_batch": True} if self.staged else None,
            ),
            of_linalg("convert-convolution-to-coopmatrix", precision=self.precision),
            *tuned(
                self.name,
                self.tuning,
                staged=self.staged,
                explicit="tile" if self.tile else "",
            ),
            of_linalg("tile-matmul-khr", remark=not self.staged),  # for the target
            step(
                "convert-linalg-to-coopmatrix", tile=self.tile, precision=self.precision
            ),  # what is left
            of_linalg("convert-linalg-to-simt"),
            step("promote-matrix-arrays"),
            step("expand-nibbles"),
            *in_precision(self.precision),
            *((step("pack-coopmatrix-b", kernel=True),) if self.pack_b else ()),
            step("widen-products"),  # for the target
            CanonicalizePass(),  # what is dead or constant need not be cut
            step("distribute-unsupported"),  # for the target
            step("legalize-coopmatrix-khr", only="products"),  # else not to be split
            step("split-coopmatrix", by_lanes=True),  # for the target
            step("pack-coopmatrix-b"),  # of tiles
            # Of tiles: what is whole has no instruction.
            step("legalize-coopmatrix-khr"),
            step("normalize"),
            *((step("drop-fallback-entries"),) if self.fallback else ()),
            step("check-lowered", matrices=True),
        )


@dataclass(frozen=True)
class CoopcXePass(Pipeline):
    """Compile for Intel Xe: 2D block messages, shuffles and DPAS.

    Before: Triton kernels, linalg functions, or coopmatrix operations. Triton kernels
            that cannot get layouts become coopmatrix operations.
    After:  SIMT code for one lane: loads and stores are 2D block messages where there
            is a plan, and per lane otherwise; products are `xe.dpas`.
    Fails:  if an operation cannot be converted, naming it; for devices without DPAS.
    """

    name = "coopc-xe"

    device: str | None = None
    """dg2, pvc, bmg, lnl or ptl; by default that of `simt.target`."""
    explain: bool = False
    """Print a remark for each access with its plan, or the reason why it has none."""
    prefetch: int | None = None
    """How many loop iterations ahead to prefetch tiles; 0 for none. By default, one
    less than a loop's `tt.num_stages`, which `assign-tt-layouts` sets, or none."""
    barriers: bool = False
    """Keep subgroups in step in loops with prefetches, by split barriers."""
    fallback: bool = False
    """Give kernels that have conditions a second entry point, `.fallback`, for
    arguments that violate them."""
    any: bool | None = None
    """Deprecated: use `fallback`."""
    payload: Literal["none", "prefetch", "all"] = "all"
    """Which message addresses loops keep in registers, through undocumented builtins of
    Intel's compiler: none, those of prefetches, or those of loads as well."""
    split: bool = False
    """Use split DPAS, in which pairs of subgroups share A (dg2 only). That adjacent
    subgroups form the pairs is an assumption."""
    emulate: bool = False
    """Expand block messages and DPAS into plain code, to run on Intel's OpenCL runtime
    for CPUs; plans are still those for `device`."""
    precision: PrecisionName = "ieee"
    """How f32 is multiplied: ieee, exactly; bf16x3 or f16x3, as three products on the
    matrix engine; bf16, f16 or tf32, as one. Products that the device does not support
    stay exact, with a remark."""

    def __post_init__(self) -> None:
        if self.device is not None and device(self.device).dpas is None:
            known = either(each.name for each in DEVICES.values() if each.dpas)
            raise ValueError(f"expected a device with DPAS, {known}, got {self.device}")
        if self.fallback and self.any is False:
            raise ValueError("expected fallback=true or any=false, its old name")
        super().__post_init__()

    def steps(self) -> tuple[ModulePass, ...]:
        """Choose the device, plan, convert by the plans, clean up; perhaps emulate."""
        fallback = self.fallback or self.any is True
        second = (step("add-fallback-entry"),) if fallback else ()
        ahead: tuple[ModulePass, ...] = ()
        if self.prefetch != 0:
            options = {"steps": self.prefetch, "barriers": self.barriers}
            ahead = (step("prefetch-block-io", **options),)
        return (
            step("narrow-matrix-scope"),
            SetTargetPass.of(self.name, self.device, "opencl" if self.device else None),
            *from_linalg(precision=self.precision, operands={"static_rows": True}),
            of_linalg("convert-convolution-to-coopmatrix", precision=self.precision),
            step("convert-linalg-to-coopmatrix", precision=self.precision),
            of_linalg("convert-linalg-to-simt", explain=self.explain),
            step("promote-matrix-arrays"),
            step("expand-nibbles", dpas=True),
            *in_precision(self.precision),
            *from_triton(rounds=True, fallback=fallback, without_layouts=True),
            StepForDialect(
                ("coopmatrix",), "distribute-coopmatrix", {"stated": True}
            ),  # what DPAS does not multiply
            step("unwrap-tt-offsets"),  # before pointers are looked at
            *second,  # which needs no prefetches, nor has it plans
            step("convert-tt-pointers-to-descriptors"),  # not of `.fallback`
            step("normalize-tt-descriptors"),
            *ahead,  # they are planned, too
            step("plan-block-io", explain=self.explain),  # for the target
            step("convert-ttgir-to-xe", payload=self.payload),
            step("convert-coopmatrix-to-xe", explain=self.explain, fallback=fallback),
            step("expand-exchanges"),
            step("normalize"),
            *(self._sharing() if self.split else ()),
            step("check-lowered"),
            *(self._emulating() if self.emulate else ()),
        )

    def _sharing(self) -> tuple[ModulePass, ...]:
        fuse = step("fuse-split-dpas", assumed=True, explain=self.explain)
        return fuse, step("normalize")  # what is the same

    def _emulating(self) -> tuple[ModulePass, ...]:
        cpu = SetTargetPass("intel-cpu")
        return step("emulate-xe"), step("normalize"), cpu, step("converge-subgroup")


@dataclass(frozen=True)
class CoopcLanesPass(Pipeline):
    """Compile to plain code per lane, for any device with subgroups.

    Before: Triton kernels, linalg functions, or coopmatrix operations on matrices of
            a subgroup.
    After:  kernels in which each lane holds its share of a matrix in vectors; matrices
            sized by specialization constants are in work-group memory. No matrix engine
            is used.
    Fails:  for matrices of several subgroups, and for elements that are not 8, 16, 32
            or 64 bits wide, naming the operation.
    """

    name = "coopc-lanes"

    subgroup_size: int | None = None
    """Subgroup size; by default that of the kernel, or else of the device."""
    device: str | None = None
    """A device of `--list devices`; by default that of `simt.target`."""
    flavour: Flavour | None = None
    """The SPIR-V environment; by default the device's, if it has only one."""
    unroll: bool = False
    """Fully unroll all loops over a lane's components, not only short ones."""
    explain: bool = False
    """Print a remark for each memory access that says how it was lowered and why."""
    fallback: bool = False
    """Give Triton kernels that have conditions a second entry point, `.fallback`, for
    arguments that violate them."""
    tuning: str | None = None
    """A tuning file from `coopc-tune`, with the plan for each matrix product."""

    def steps(self) -> tuple[ModulePass, ...]:
        """Choose the device, spread matrices over lanes, clean up."""
        return (
            step("narrow-matrix-scope"),
            SetTargetPass.of(self.name, self.device, self.flavour),
            *from_triton(
                subgroup_size=self.subgroup_size, rounds=True, fallback=self.fallback
            ),
            *from_linalg(operands={"every": True}),
            *tuned(self.name, self.tuning),
            step("convert-linalg-to-coopmatrix", lanes=True),
            of_linalg(
                "convert-linalg-to-simt",
                subgroup_size=self.subgroup_size,
                explain=self.explain,
            ),
            step("promote-matrix-arrays"),
            step("expand-nibbles"),
            CanonicalizePass(),  # what is dead or constant need not be spread
            step(
                "legalize-coopmatrix-khr",
                only="named",
                subgroup_size=self.subgroup_size,
            ),
            step(
                "distribute-coopmatrix",
                subgroup_size=self.subgroup_size,
                unroll=self.unroll,
                explain=self.explain,
            ),
            step("expand-exchanges"),
            step("normalize"),
            step("converge-subgroup"),  # loops and calls that are left
            *((step("drop-fallback-entries"),) if self.fallback else ()),
            step("check-lowered"),
        )


CPU_TILE = (32, 32)
"""Rows and columns of a linalg.matmul that a work-group computes on a CPU."""


@dataclass(frozen=True)
class CoopcAmxPass(Pipeline):
    """Compile to functions on AMX tiles, for `-t llvm-ir`.

    Before: Triton kernels, linalg functions, or coopmatrix operations on matrices of
            a subgroup.
    After:  functions that loop over a range of the grid's work-groups; matrices are AMX
            tiles.
    Fails:  for operations on types that AMX does not support, or that cannot be
            vectorized over lanes, naming the operation.
    """

    name = "coopc-amx"

    subgroup_size: int | None = None
    """Subgroup size; by default that of the kernel, or else 16."""
    block: tuple[int, ...] = ()
    """Cache block of a linalg.matmul: panels of A, panels of B, and steps along K."""
    threads: int = 1
    """Threads that share a linalg.matmul."""
    precision: PrecisionName = "ieee"
    """How f32 is multiplied: ieee, exactly; bf16x3 or f16x3, as three products on the
    matrix engine; bf16, f16 or tf32, as one. Products that the device does not support
    stay exact, with a remark."""
    tuning: str | None = None
    """A tuning file from `coopc-tune`, with the plan for each matrix product."""
    features: tuple[str, ...] = ()
    """Which of avx512bf16 and avx512vnni the CPU has. Vector code handles what tiles
    cannot, and products with few rows."""
    prepack: Literal["none", "b"] = "none"
    """Take B of a linalg.matmul packed, and emit a kernel `.pack_b` that packs it."""

    def steps(self) -> tuple[ModulePass, ...]:
        """Vectorise what work-items do, cut matrices into tiles, loop over the grid."""
        return (
            step("narrow-matrix-scope"),
            *from_triton("amx", self.subgroup_size, CPU_TILE),
            *from_linalg(
                *(False, "amx", self.precision),
                operands={"every": True},
                scores=CPU_SCORES,
            ),
            of_linalg(
                "convert-convolution-to-coopmatrix",
                device="amx",
                precision=self.precision,
            ),
            *tuned(
                self.name,
                self.tuning,
                threads=self.threads,
                explicit="block" if self.block else "",
            ),
            step(
                "tile-matmul-amx",
                block=self.block,
                threads=self.threads,
                prepack=self.prepack,
            ),
            step(
                "tile-matmul-cpu",
                threads=self.threads,
                prepack=self.prepack,
                tile=WIDE_VECTOR_TILE if self.features else VECTOR_TILE,
                amx=False,
                precision=self.precision,
                features=self.features,
            ),
            step(
                "convert-linalg-to-coopmatrix",
                tile=(*CPU_TILE, 64),
                amx=True,
                precision=self.precision,
            ),
            *rest_of_linalg(
                self.subgroup_size,
                self.threads,
                WIDE_VECTOR_TILE if self.features else VECTOR_TILE,
            ),
            *in_precision(self.precision, "amx"),
            step("inline-calls", matrices=True),  # tiles are of one function
            step("pack-b-amx"),
            *vectorising(self.subgroup_size, self.threads),
            step(
                "distribute-coopmatrix",
                subgroup_size=1,
                max_vector=16,
                block_access=False,
                sums=prod(WIDE_VECTOR_TILE if self.features else VECTOR_TILE),
                stated=True,
            ),  # what AMX does not multiply
            step("convert-coopmatrix-to-amx"),
            step("normalize"),
            step("fit-amx-tiles"),
            *rounding(self.features),
            step("convert-simt-to-loops"),
            step("check-lowered"),
        )


@dataclass(frozen=True)
class CoopcCpuPass(Pipeline):
    """Compile to vector code for x86-64 CPUs, for `-t llvm-ir`.

    Before: Triton kernels, linalg functions, or coopmatrix operations on matrices of
            a subgroup.
    After:  functions that loop over a range of the grid's work-groups; matrices are
            vectors.
    Fails:  if an operation cannot be vectorized over lanes, naming it.
    """

    name = "coopc-cpu"

    subgroup_size: int | None = None
    """Subgroup size; by default that of the kernel, or else 16."""
    block: tuple[int, ...] = ()
    """Cache block of a linalg.matmul: panels of A, panels of B, and K."""
    threads: int = 1
    """Threads that share a linalg.matmul."""
    tile: tuple[int, ...] = (6, 16)
    """Rows and columns of the accumulator tile in registers; 12,32 suits AVX-512."""
    tuning: str | None = None
    """A tuning file from `coopc-tune`, with the plan for each matrix product."""
    features: tuple[str, ...] = ()
    """Which of avx512bf16 and avx512vnni the CPU has."""
    prepack: Literal["none", "b"] = "none"
    """Take B of a linalg.matmul packed, and emit a kernel `.pack_b` that packs it."""

    def steps(self) -> tuple[ModulePass, ...]:
        """Vectorise what work-items do, then let one work-item hold each matrix."""
        return (
            step("narrow-matrix-scope"),
            *from_triton("amx", self.subgroup_size, CPU_TILE),
            *from_linalg(sequence=False, operands={"every": True}, scores=CPU_SCORES),
            *tuned(
                self.name,
                self.tuning,
                threads=self.threads,
                explicit="block" if self.block else "tile" * (self.tile != (6, 16)),
            ),
            step(
                "tile-matmul-cpu",
                block=self.block,
                threads=self.threads,
                tile=self.tile,
                features=self.features,
                prepack=self.prepack,
            ),
            step("convert-linalg-to-coopmatrix", tile=(*CPU_TILE, 16)),  # the rest
            *rest_of_linalg(self.subgroup_size, self.threads, self.tile),
            *vectorising(self.subgroup_size, self.threads),
            step("stage-row-slices"),  # lanes have none
            step(
                "distribute-coopmatrix",
                subgroup_size=1,
                max_vector=16,
                block_access=False,
                sums=prod(self.tile),
            ),
            step("expand-exchanges"),  # of one lane: other orders
            step("normalize"),
            *rounding(self.features),
            step("convert-simt-to-loops"),
            step("check-lowered"),
        )


def from_triton(
    device: str | None = None,
    subgroup_size: int | None = None,
    tile: tuple[int, int] = (16, 16),
    rounds: bool = False,
    fallback: bool = False,
    without_layouts: bool = False,
    shared: bool = False,
) -> tuple[ModulePass, ...]:
    """The steps from Triton's kernels to those of matrices.

    Args:
        device: whose lanes run a program; the target's without it.
        subgroup_size: their number, instead of the device's.
        tile: rows and columns of one product.
        rounds: whether matrices keep sums, and are loaded from where factors are.
        fallback: whether there are second entry points without conditions.
        without_layouts: whether kernels get layouts, and only those are converted that
            are not lowered by layouts: see `coopc.passes.triton.layouts`.
        shared: whether subgroups share sums.
    """
    options = {
        "device": device,
        "subgroup_size": subgroup_size,
        "tile": (*tile, 32),
        "rounds": rounds or None,
        "fallback": fallback or None,
        "shared": shared or None,
        "dpas": without_layouts or None,
    }
    make = partial(StepForDialect, ("tt",), without_layouts=without_layouts)
    found = (
        make("unwrap-tt-offsets", {}),
        make("convert-tt-pointers-to-descriptors", {"known": True}),
    )
    assigned = (StepForDialect(("tt",), "assign-tt-layouts", {}),)
    return (
        StepForDialect(("tt",), "inline-calls", {}),
        StepForDialect(("tt",), "expand-tt-math", {}),
        *(assigned if without_layouts else ()),
        *(found if rounds else ()),
        make(TO_MATRICES, options),
        step("share-workgroup-memory"),
    )


def in_precision(
    precision: PrecisionName, device: str | None = None
) -> tuple[ModulePass, ...]:
    """The step that lets the matrix engine multiply f32, where that is asked for."""
    if precision == "ieee":
        return ()
    return (step("split-f32-products", to=precision, device=device),)


CPU_SCORES = 1 << 26
"""The most attention scores that a CPU stores, so that its matmul computes them.  On an
Emerald Rapids Xeon, one thread, eight heads of 256 x 64 took 1.3 ms instead of 5.1 in
bf16, and 2.2 ms instead of 7.4 in f32; four of 2048 x 128 took 47 ms instead of 133 in
bf16."""
CPU_LONG = 1 << 20
"""Elements from which on threads share them in another kernel."""
CPU_REDUCTIONS = {"parts": 64, "least": CPU_LONG, "dynamic": False}
"""Partial results of a long reduction on a CPU, at most, of which threads take some,
and the elements from which on that is faster."""

TENSORS = ("linalg", "tensor", "bufferization")
"""The dialects of whole functions: see `coopc.passes.linalg.whole_functions`."""


def has_functions_of_tensors(module: ModuleOp) -> bool:
    """Whether a module has functions of linalg, or on tensors."""
    return any(
        op.dialect_name() in TENSORS or op.name == "memref.copy" for op in module.walk()
    ) or any(
        isinstance(type, TensorType)
        for op in module.ops
        if isinstance(op, FuncOp)
        for type in (*op.function_type.inputs, *op.function_type.outputs)
    )


def from_linalg(
    sequence: bool = True,
    device: str | None = None,
    precision: PrecisionName = "ieee",
    pad_rows: bool = False,
    by_costs: bool = False,
    operands: Mapping[str, bool] | None = None,
    scores: int = 0,
) -> tuple[ModulePass, ...]:
    """The steps from whole functions of linalg to those that one kernel does each.

    Args:
        sequence: whether there is a sequence that launches them.
        device: whose matrices attention is done by; the target's without it.
        precision: as what they multiply f32.
        pad_rows: whether operands of products get aligned rows, for the target.
        by_costs: whether B of products is transposed, and products computed in
            parts along K, where the costs of tiles say that it is faster.
        operands: options of `transpose-operands`.
        scores: the most attention scores that are stored in memory.
    """
    before = (
        "inline-calls",
        "unroll-loops",
        "lift-memrefs-to-tensors",
        "generalize-linalg",
        "split-zero-points",
    )
    behind = (
        "collapse-linalg",
        "fuse-linalg",
        *(("transpose-product-b",) if by_costs else ()),
        *(("pad-product-rows",) if pad_rows else ()),
        *(("split-product-k",) if by_costs else ()),
    )
    options: dict[str, Any] = {}
    if not sequence:
        options["sequence"] = False
    if scores:
        options["scores"] = scores
    if not sequence:
        options["long_rows"] = CPU_LONG
    of_device: dict[str, Any] = {} if device is None else {"device": device}
    if precision != "ieee":
        of_device["precision"] = precision
    transposing = {**of_device, **(operands or {})}
    of_cores: dict[str, Any] = {} if sequence else CPU_REDUCTIONS
    return (
        *(StepForDialect(TENSORS, name, {}) for name in before),
        StepForDialect(TENSORS, "transpose-operands", transposing),
        *(StepForDialect(TENSORS, name, {}) for name in behind),
        StepForDialect(TENSORS, "split-reductions", of_cores),
        StepForDialect(TENSORS, "outline-linalg-kernels", options),
        StepForDialect(TENSORS, "convert-attention-to-coopmatrix", of_device),
    )


def with_sequence(step: ModulePass) -> ModulePass | None:
    """Return a step of `from_linalg` without `sequence=false`; None for others."""
    if not isinstance(step, StepForDialect) or step.dialects != TENSORS:
        return None
    kept = {name: x for name, x in step.options.items() if name != "sequence"}
    return replace(step, options=kept)


def rest_of_linalg(
    subgroup_size: int | None, threads: int, tile: tuple[int, ...]
) -> tuple[ModulePass, ...]:
    """The steps from what is not a product in linalg to kernels, and from i4 to i8."""
    return (
        of_linalg(
            "convert-linalg-to-simt",
            device="amx",
            subgroup_size=subgroup_size,
            threads=threads if threads > 1 else None,
            tile=tile if tile != VECTOR_TILE else None,
        ),
        step("promote-matrix-arrays"),
        step("expand-nibbles"),
    )


def rounding(features: tuple[str, ...]) -> tuple[ModulePass, ...]:
    """The step that uses an instruction to round to bf16, where there is one."""
    if "avx512bf16" not in features:
        return ()
    return (step("expand-narrow-floats", device="amx", features=features),)


def vectorising(subgroup_size: int | None, threads: int) -> tuple[ModulePass, ...]:
    """The steps from work-items to one work-item with row slices of matrices."""
    streamed = max(STREAMED_BYTES, threads * SECOND_CACHE_BYTES)
    return (
        step("infer-kernel-sizes", subgroup_size=subgroup_size),
        CanonicalizePass(),  # a zero may be known only then
        step("resolve-matrix-fill"),
        step("resolve-matrix-wi-slice"),
        step("vectorize-subgroup", whole_groups=True, streamed=streamed),
        step("resolve-subgroup-wi-call"),
        CanonicalizePass(),  # offsets that are known need no masks
    )
