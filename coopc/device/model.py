"""Devices as data: what a compiler has to know of one, in one frozen value."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Literal, TypeAlias

from coopc.device.block_io import BlockIO
from coopc.device.shape import (
    AccessRule,
    GemmTiles,
    Layout,
    MatrixShape,
    Use,
    WorkgroupShapes,
    signless,
)

Flavour: TypeAlias = Literal["opencl", "vulkan"]
"""The environment of a SPIR-V module."""

Family: TypeAlias = Literal["vulkan", "xe", "opencl-cpu", "amx"]
"""What a device is programmed by: KHR matrices under Vulkan, Xe's own instructions or
KHR matrices under OpenCL, KHR matrices on a processor, or AMX tiles."""

Bfloat16: TypeAlias = Literal["khr", "intel-conversion"]
"""How a module has bf16: as SPV_KHR_bfloat16's type, or as 16-bit integers with
SPV_INTEL_bfloat16_conversion."""

ZeroMatrix: TypeAlias = Literal["constant-composite", "composite-construct"]
"""The instruction that makes a matrix of zeros: OpConstantComposite, or
OpCompositeConstruct of 0."""

Specialised: TypeAlias = Literal["sizes", "scope", "use", "layout"]
"""What of a matrix can be set when a module is loaded, not when it is made."""

FloatAtomic: TypeAlias = Literal[
    "f16 add",
    "f16 min_max",
    "f32 access",
    "f32 add",
    "f32 min_max",
    "f64 access",
    "f64 add",
    "f64 min_max",
]
"""An instruction on floats in memory; `access` is a load and a store."""

Matrix2: TypeAlias = Literal[
    "reductions",
    "conversions",
    "per-element operations",
    "coordinates",
    "tensor addressing",
]
"""A feature of an extension of `Matrix2Vendor`; `conversions` change the use."""

Matrix2Vendor: TypeAlias = Literal["NV", "EXT", "QCOM"]
"""SPV_NV_cooperative_matrix2, SPV_EXT_cooperative_matrix_maintenance1, or
SPV_QCOM_cooperative_matrix_conversion.

Only the second converts operands to accumulators by an instruction; in the third, lanes
get rows of matrices and make others of them."""

MATRIX2_VENDORS: dict[Matrix2, tuple[Matrix2Vendor, ...]] = {
    "reductions": ("NV", "EXT"),
    "conversions": ("NV", "EXT", "QCOM"),
    "per-element operations": ("NV", "EXT"),
    "coordinates": ("EXT",),
    "tensor addressing": ("NV",),
}
"""Whose extensions have a feature."""

JointMatrix: TypeAlias = Literal["packed", "bf16", "tf32"]
"""What modules say in the words of SPV_INTEL_joint_matrix: that B is packed, and that
16-bit integers are multiplied as bf16, or f32 as tf32."""

Fills: TypeAlias = Literal["any", "zero"]
"""Which values a device fills a matrix with natively; others go another way."""


@dataclass(frozen=True, slots=True)
class Limits:
    work_items: int
    """Work-items of a work-group, at least one subgroup."""
    work_group_size: tuple[int, int, int]
    """Work-items along x, y and z, each at most `work_items`."""
    local_bytes: int
    """Bytes of work-group memory (SLM, shared memory)."""
    max_vector: int
    """Components of the longest vector in a module."""
    argument_bytes: int
    """Bytes of the arguments of a kernel: of the push constants under Vulkan, of all
    parameters under OpenCL."""
    binding_bytes: int | None = None
    """Bytes of a buffer that is bound under Vulkan; None where nothing is bound."""
    buffers: int | None = None
    """Buffers that are bound under Vulkan; None for any number."""
    work_groups: tuple[int, int, int] | None = None
    """Work-groups along x, y and z; None for any number."""

    def __post_init__(self) -> None:
        counts = self.work_items, self.local_bytes, self.max_vector
        most = self.binding_bytes or 1, self.buffers or 1, *(self.work_groups or ())
        if min(*counts, self.argument_bytes, *most) < 1:
            raise ValueError(f"expected limits of at least 1, got {self}")
        if max(self.work_group_size) > self.work_items:
            raise ValueError(
                f"expected work-group sizes of at most work_items = {self.work_items}, "
                f"got {self.work_group_size}"
            )


@dataclass(frozen=True, slots=True)
class Dpas:
    """The DPAS of a Xe device, beside what KHR matrices make of it."""

    lanes: int
    """Execution size: N, 8 or 16; the subgroup size that it needs."""
    rows: tuple[int, ...] = (1, 2, 4, 8)
    """M."""
    depth: int = 8
    """Systolic depth: K is `depth` channels of 32 bits."""
    operands: tuple[str, ...] = ("f16", "bf16", "s8", "u8", "s4", "u4")
    """The element types of A and B."""

    def __post_init__(self) -> None:
        if self.lanes not in (8, 16):
            raise ValueError(f"expected an execution size of 8 or 16, got {self.lanes}")

    def sums(self, a: str) -> tuple[str, ...]:
        """Return the element types that C and the result can have, by that of A.

        With 8 lanes, as on Alchemist, floats are accumulated in f32 only.
        """
        if a[0] in "su":
            return ("s32",)
        return ("f32", a) if a in ("f16", "bf16") and self.lanes == 16 else ("f32",)

    def k(self, element_bits: int) -> int:
        """Return K for elements of 4, 8, 16 or 32 bits.

        >>> [Dpas(lanes=16).k(bits) for bits in (4, 8, 16, 32)]
        [64, 32, 16, 8]
        """
        return self.depth * 32 // element_bits


@dataclass(frozen=True, slots=True)
class SplitPair:
    """Which two subgroups share A in a split DPAS."""

    rule: Literal["adjacent"]
    """`adjacent`: subgroups 2 i and 2 i + 1 of the work-group."""
    assumed: bool
    """Whether no document says so: what relies on it is then opt-in."""


@dataclass(frozen=True, slots=True)
class Amx:
    tiles: int = 8
    """Tile registers."""
    rows: int = 16
    """Rows of a tile, at most."""
    row_bytes: int = 64
    """Bytes of a row of a tile, at most; a multiple of 4."""


@dataclass(frozen=True, slots=True)
class Device:
    """One device, or one driver of it, as far as the compiler is concerned."""

    name: str
    title: str
    """What it is called in print."""
    family: Family
    source: str
    """The document, or the measurement, that the figures are from."""
    flavours: tuple[Flavour, ...]
    """What modules it takes, the preferred one first; none where it takes no SPIR-V."""
    spirv_version: tuple[int, int]
    """The version of the modules that are made for it."""
    subgroup_sizes: tuple[int, ...]
    """Lanes that a kernel may ask for, each a power of two."""
    subgroup_size: int
    """Lanes where the kernel does not say; those that `matrix_shapes` need."""
    matrix_shapes: tuple[MatrixShape, ...]
    """The multiplications that a KHR matrix can be, of a subgroup."""
    accesses: tuple[AccessRule, ...]
    """The layouts of loads and stores: of the rules that match, the first holds."""
    limits: Limits
    bfloat16: Bfloat16 | None = None
    """None where bf16 is only memory: its bits are shifted and rounded in integers."""
    float8: bool = False
    """Whether modules have the types of SPV_EXT_float8; else an f8 is a byte."""
    workgroups: tuple[WorkgroupShapes, ...] = ()
    """The multiplications that a KHR matrix of scope workgroup can be; for a module,
    only work-groups of its kernels have any."""
    zero_matrix: ZeroMatrix = "constant-composite"
    fills: Fills = "any"
    stride_bits: int = 32
    """Bits of the stride operand of a matrix load."""
    aligned: bool = True
    """Whether a matrix access may say how it is aligned."""
    aligned_rows: bool = False
    """Whether matrix accesses are wrong where rows are not aligned to 16 bytes, or to
    their length where that is less; Vulkan asks for it, not every driver needs it."""
    whole_arithmetic: bool = True
    """Whether arithmetic on whole matrices works: add, negate, convert, scale."""
    exact_matrices: bool = True
    """Whether its compiler keeps signed zeros, infinities and NaN in what it makes of
    whole matrices of floats, as modules ask it to; else it takes 0 * x and x - x for
    0, 0 + x for x, and computes with the number as it was before it was rounded."""
    exact_quotients: bool = True
    """Whether its compiler knows that 0 / x is not 0 for every x, and x / 0 defined."""
    element_access: bool = True
    """Whether a work-item can reach its elements, through a matrix variable."""
    specialised: frozenset[Specialised] = frozenset({"sizes", "scope", "use", "layout"})
    """What of matrices specialization constants may set."""
    unrolls: bool = True
    """Whether its compiler takes long code without loops in reasonable time."""
    branched_matrices: bool = True
    """Whether a matrix may be what one of two branches made."""
    pointees: bool = True
    """Whether a matrix may be loaded from, and stored to, memory that holds something
    else than its elements: wider numbers, or vectors."""
    matrix2: frozenset[Matrix2] = frozenset()
    """What it has of the extension of `matrix2_vendor`."""
    matrix2_vendor: Matrix2Vendor = "NV"
    """In whose words modules ask for that."""
    joint_matrix: frozenset[JointMatrix] = frozenset()
    tf32_shapes: tuple[MatrixShape, ...] = ()
    """Multiplications of f32 that drop bits, for modules that ask for tf32."""
    checked_rows: tuple[int, ...] = ()
    """Rows of the matrices that SPV_INTEL_joint_matrix loads and stores with checks,
    where `block_io` takes the memory; none where it does not."""
    lockstep: bool = False
    """Whether the lanes of a subgroup are always at the same place, so that they need
    not wait for each other, only see what they wrote."""
    keeps_lanes_together: bool = True
    """Whether its compiler leaves calls of functions in which lanes communicate, and
    loops, to all lanes, also where some of them branch before and after."""
    keeps_negations: bool = True
    """Whether its compiler keeps the -x of each subgroup across a barrier."""
    slow_shuffles: bool = False
    """Whether a shuffle goes from lane to lane, so that a broadcast and a selection for
    each of a few lanes are faster."""
    subgroup_elements: int | None = None
    """Sums that the registers of a subgroup hold, where its compiler makes vectors of a
    processor of the vectors of all lanes.  It gathers what each lane reads at a place
    of its own; so all lanes read all rows, and each selects its own."""
    contract_mode: bool = False
    """Whether it has SPV_INTEL_fp_fast_math_mode, and its compiler fuses a product and
    a sum only where that says so."""
    slow_bfloat16: bool = False
    """Whether its compiler takes so long for conversions of bf16 that integer
    arithmetic is to do them."""
    scalars: frozenset[str] = frozenset()
    """Types that are not to be taken for granted: f16, f64, i8, i16, i64."""
    atomics: frozenset[FloatAtomic] = frozenset()
    """Atomic instructions on floats; others compare and exchange integers."""
    atomic_bits: int = 32
    """Bits of the narrowest integers that atomic instructions access."""
    registers: tuple[int, ...] = ()
    """General registers of a thread that one can choose, the default first."""
    register_bytes: int = 0
    """Bytes of a general register; 0 where it is no concern of the compiler."""
    dpas: Dpas | None = None
    block_io: BlockIO | None = None
    """2D block loads and stores; None where there are none."""
    split_pair: SplitPair | None = None
    """None where there is no split DPAS."""
    amx: Amx | None = None
    gemm_tiles: tuple[GemmTiles, ...] = ()
    """The tiles by which subgroups share a multiplication, for elements of 16 bits, in
    the order of preference where sizes or costs are not known."""
    compute_units: int | None = None
    """Processors among which work-groups are shared out; None if not known."""
    shares_gemm: bool = False
    """Whether that is far faster than work-groups of one subgroup each."""
    turns_bytes: bool = False
    """Whether matrices of bytes load slowly from work-group memory where K is not
    contiguous there, so that they are turned on the way to it."""
    run: bool = False
    """Whether kernels were run on it, not only compiled for it."""
    unknown: tuple[str, ...] = ()
    """The fields that no source tells: they have a value that is right on any device.
    With `matrix_shapes` among them it multiplies whatever a program multiplies, and
    the interface lists what."""

    def __post_init__(self) -> None:
        if self.subgroup_size not in self.subgroup_sizes:
            raise ValueError(
                f"{self.name}: expected a default subgroup size of "
                f"{self.subgroup_sizes}, got {self.subgroup_size}"
            )
        for size in self.subgroup_sizes:
            if size < 1 or size & (size - 1):
                raise ValueError(
                    f"{self.name}: expected subgroup sizes that are powers of two, "
                    f"got {size}"
                )
        if max(self.subgroup_sizes) > self.limits.work_items:
            raise ValueError(
                f"{self.name}: expected work-groups of {self.limits.work_items} "
                f"work-items to hold a subgroup, got {max(self.subgroup_sizes)} lanes"
            )
        if self.dpas is not None and self.dpas.lanes != self.subgroup_size:
            raise ValueError(
                f"{self.name}: expected the {self.dpas.lanes} lanes of DPAS as default "
                f"subgroup size, got {self.subgroup_size}"
            )
        if strangers := set(self.unknown) - set(self.__slots__):
            raise ValueError(
                f"{self.name}: expected fields of a device to be unknown, "
                f"got {', '.join(sorted(strangers))}"
            )
        for feature in sorted(self.matrix2):
            vendors = MATRIX2_VENDORS[feature]
            if self.matrix2_vendor not in vendors:
                raise ValueError(
                    f"{self.name}: expected matrix2_vendor {' or '.join(vendors)} for "
                    f"{feature}, got {self.matrix2_vendor}"
                )
        if self.amx is None:
            self._check_shapes()

    def _check_shapes(self) -> None:
        """Check that each multiplication can be fed and is listed once."""
        if self.checked_rows and self.block_io is None:
            raise ValueError(
                f"{self.name}: expected block_io, which checked_rows need, got None"
            )
        if len(set(self.matrix_shapes)) != len(self.matrix_shapes):
            raise ValueError(f"{self.name}: expected each matrix shape once")
        for shape in self.matrix_shapes:
            if "bf16" in shape.elements and self.bfloat16 is None:
                raise ValueError(
                    f"{self.name}: expected a form of bf16, which {shape} needs, "
                    "got None"
                )
            if not self.float8 and any(x.startswith("f8") for x in shape.elements):
                raise ValueError(f"{self.name}: expected float8, which {shape} needs")
        operands = {x: shape for shape in self.matrix_shapes for x in shape.operands}
        for (use, element, rows, cols), shape in operands.items():
            if not self.layouts(use, element, rows, cols):
                raise ValueError(
                    f"{self.name}: expected a layout for {use}, "
                    f"{rows} x {cols} of {element} in {shape}, got none"
                )

    @property
    def summary(self) -> str:
        """One line: what it is, and the M x N x K that it multiplies at most."""
        run = ", run" if self.run else ", not run"
        sizes = {(x.m, x.n, x.k) for x in self.matrix_shapes}
        largest = max(sizes, key=lambda size: (prod(size), size))
        up_to = "up to " if len(sizes) > 1 else ""
        blocks = "" if self.block_io is None else ", 2D blocks"
        return (
            f"{self.title}: {self.family}, {self.subgroup_size} lanes, "
            f"{up_to}{'x'.join(map(str, largest))}{blocks}{run}"
        )

    def layouts(
        self, use: Use, element: str, rows: int, cols: int
    ) -> tuple[Layout, ...]:
        name = signless(element)
        for rule in self.accesses:
            if rule.matches(use, name, rows, cols):
                return rule.layouts
        return ()

    @property
    def scopes(self) -> str:
        """Who holds matrices, as text: subgroup, or workgroup, of which sizes, too."""
        sizes = " or ".join(str(group.work_items) for group in self.workgroups)
        return f"subgroup or, of {sizes} work-items, workgroup" if sizes else "subgroup"

    def _shapes(self, scope: str) -> tuple[MatrixShape, ...]:
        if scope == "subgroup":
            return self.matrix_shapes
        groups = self.workgroups if scope == "workgroup" else ()
        return tuple(shape for group in groups for shape in group.shapes)

    def multiplications(
        self,
        a: str,
        b: str,
        c: str,
        result: str,
        saturating: bool = False,
        scope: str = "subgroup",
    ) -> tuple[MatrixShape, ...]:
        """Return the multiplications of these element types, in the order of the list.

        The signs of an integer c and result are free where they change no bit: neither
        saturates, nor is c extended.
        """
        wanted = (a, b, c, result)
        free = not saturating and signless(c) == signless(result)

        def fits(shape: MatrixShape) -> bool:
            if shape.saturating != saturating:
                return False
            if not free:
                return shape.elements == wanted
            return shape.elements[:2] == wanted[:2] and (
                signless(shape.c) == signless(shape.result) == signless(c)
            )

        return tuple(shape for shape in self._shapes(scope) if fits(shape))

    def multiplication(
        self,
        sizes: tuple[int, int, int],
        elements: tuple[str, str, str, str],
        saturating: bool,
        scope: str,
    ) -> MatrixShape | None:
        """Return the multiplication that M, N and K are of, or None."""
        for shape in self.multiplications(*elements, saturating, scope):
            if _is_of(sizes, (shape.m, shape.n, shape.k), scope):
                return shape
        return None

    def holds(self, use: Use, element: str, sizes: tuple[int, int], scope: str) -> bool:
        """Whether there are matrices of (rows, columns) of a scope."""
        return any(_is_of(sizes, x, scope) for x in self.held(use, element, scope))

    def held(
        self, use: Use, element: str, scope: str = "subgroup"
    ) -> tuple[tuple[int, int], ...]:
        """Return the (rows, columns) of the matrices of a use and an element type.

        They are those that some multiplication takes; the type may be signless.
        """
        name = signless(element)
        found = {
            (rows, cols): None
            for shape in self._shapes(scope)
            for of, has, rows, cols in shape.operands
            if of == use and signless(has) == name
        }
        return tuple(found)

    def changes_use(self, before: str, after: str, transposing: bool = False) -> bool:
        """Whether it converts matrices of a use to another use, or transposes them so.

        >>> from coopc.device import LAVAPIPE
        >>> [LAVAPIPE.changes_use("acc", to, transposing=True) for to in ("a", "b")]
        [False, True]
        """
        is_wide = self.matrix2_vendor == "EXT"
        if "conversions" not in self.matrix2 or self.matrix2_vendor == "QCOM":
            return False
        if before == "acc":
            return after == "b" or (after == "a" and (is_wide or not transposing))
        return before in ("a", "b") and after == "acc" and is_wide and not transposing

    def rows_to_lanes(self, use: Use, element: str, rows: int, cols: int) -> bool:
        """Whether a lane can get a row of a matrix, of b a column, and make it of such.

        The rules of OpCompositeConstructCoopMatQCOM (revision 1): what a lane gets of
        a and b has 32 bytes, and a subgroup has a lane for each.
        """
        if "conversions" not in self.matrix2 or self.matrix2_vendor != "QCOM":
            return False
        if (rows, cols) not in self.held(use, element):
            return False
        lanes = min(self.subgroup_sizes)
        if use == "acc":
            return element in ("f16", "f32", "i32") and max(rows, cols) <= lanes
        length, count = (rows, cols) if use == "b" else (cols, rows)
        return {"f16": 16, "f32": 8, "i8": 32}.get(element) == length and count <= lanes

    def types(self) -> Iterator[str]:
        """Yield the element types that it multiplies, as text, each once."""
        yield from {shape.types: None for shape in self.matrix_shapes}


def _is_of(sizes: tuple[int, ...], listed: tuple[int, ...], scope: str) -> bool:
    """Whether sizes are those that are listed; of a work-group, multiples of them."""
    if scope == "subgroup":
        return sizes == listed
    return not any(size % least for size, least in zip(sizes, listed, strict=True))
