"""What a runtime must know of a SPIR-V module before it gives it to a driver.

Drivers do not check modules: a missing entry point or buffer crashes them, and a matrix
shape that they do not have gives wrong numbers.  So the runtimes read these facts from
the binary and refuse first.
"""

import struct
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from coopc.device.shape import MatrixShape, signless

MATRIX_EXTENSION = "VK_KHR_cooperative_matrix"
MAGIC = 0x07230203
HEADER_WORDS = 5
# The instructions read here, by opcode (SPIR-V specification, section 3.49).
OP_ENTRY_POINT, OP_EXECUTION_MODE, OP_EXECUTION_MODE_ID = 15, 16, 331
OP_CAPABILITY, OP_EXTENSION = 17, 10
OP_TYPE_INT, OP_TYPE_FLOAT, OP_CONSTANT, OP_SPEC_CONSTANT = 21, 22, 43, 50
OP_DECORATE, OP_TYPE_MATRIX, OP_MUL_ADD = 71, 4456, 4459
OP_MATRIX_LOAD, OP_MATRIX_STORE = 4457, 4458
LOCAL_SIZE, LOCAL_SIZE_ID, SUBGROUP_SIZE = 17, 38, 35
SIGNED_ZERO_INF_NAN_PRESERVE = 4461
SPEC_ID, BINDING = 1, 33
MATRIX_SCOPES = {1: "device", 2: "workgroup", 3: "subgroup", 5: "queue family"}
"""Scopes by number: SPIR-V's, which are also Vulkan's."""
FLOATS = {(16, 0): "bf16", (8, 4214): "f8E4M3FN", (8, 4215): "f8E5M2"}
SATURATING = 0x10
USES = "abc"
LAYOUTS = (0, 1, 2)
"""Row major, column major, and what Intel has packed."""
ARM_LAYOUTS, CAPABILITY_ARM_LAYOUTS = (4202, 4203), 4201
"""Interleaved blocks."""

Words: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, order=True)
class MatrixProduct(MatrixShape):
    """One multiplication result = a * b + c, listed by a device or used by a kernel."""

    scope: str = "subgroup"
    """Who holds the matrices: subgroup, workgroup, device or queue family."""

    def __post_init__(self) -> None:
        """Take any types: drivers may list some that are not known here."""

    def is_made_of(self, least: "MatrixProduct") -> bool:
        """Whether multiples of its sizes are those of this one."""
        sizes = zip((self.m, self.n, self.k), (least.m, least.n, least.k), strict=True)
        same = replace(least, m=self.m, n=self.n, k=self.k) == self
        return same and not any(x % y for x, y in sizes)

    def __str__(self) -> str:
        sizes = f"{self.m}x{self.n}x{self.k}"
        return f"{sizes} {self.types}, {self.scope}" + ", saturating" * self.saturating


@dataclass(frozen=True, order=True)
class SpirvMatrix:
    """A cooperative matrix type, whose integers have no sign yet."""

    rows: int
    cols: int
    component: str
    """The element type, as in MatrixProduct; integers are u8 to u64."""
    use: str
    """a, b or c; c is also the result."""
    scope: str = "subgroup"
    """As in MatrixProduct."""

    def __str__(self) -> str:
        return f"{self.rows}x{self.cols} {self.component} as {self.use}, {self.scope}"

    def is_operand_of(self, shape: MatrixProduct) -> bool:
        """Whether a multiplication takes or gives matrices of this type."""
        use = "acc" if self.use == "c" else self.use
        mine = (use, self.rows, self.cols, signless(self.component), self.scope)
        return any(
            mine == (use, rows, cols, signless(component), shape.scope)
            for use, component, rows, cols in shape.operands
        )


@dataclass
class SpirvFacts:
    version: tuple[int, int] = (1, 0)
    """The SPIR-V version, such as (1, 6)."""
    capabilities: list[int] = field(default_factory=list[int])
    """The capabilities that it declares, by number."""
    extensions: list[str] = field(default_factory=list[str])
    """The extensions that it declares."""
    preserving_bits: set[int] = field(default_factory=set[int])
    """The widths of floats whose signed zeros, infinities and NaN are to be kept."""
    entry_points: dict[int, str] = field(default_factory=dict[int, str])
    """The names of the entry points by id."""
    work_group_columns: dict[str, int] = field(default_factory=dict[str, int])
    """The first size of an entry point's work-group, in invocations, by its name."""
    subgroup_sizes: dict[str, int] = field(default_factory=dict[str, int])
    """The subgroup size that an entry point asks for, in invocations, by its name."""
    interfaces: dict[str, frozenset[int]] = field(default_factory=lambda: {})
    """The ids of the variables of an entry point, by its name."""
    bindings: dict[str, int] = field(default_factory=dict[str, int])
    """One more than the greatest binding of an entry point, by its name."""
    matrix_types: set[SpirvMatrix] = field(default_factory=set[SpirvMatrix])
    """The cooperative matrix types that the module declares."""
    multiplications: set[MatrixProduct] = field(default_factory=set[MatrixProduct])
    mistakes: list[str] = field(default_factory=list[str])
    """What its specialization constants make of matrices that no module may have."""

    def check_entry(self, entry: str) -> None:
        """Refuse the name of an entry point that the module does not have.

        Raises:
            ValueError: there is none of that name.
        """
        names = sorted(self.entry_points.values())
        if entry not in names:
            has = ", ".join(map(repr, names)) or "none"
            raise ValueError(f"expected an entry point {entry!r}, the module has {has}")


def why_unlisted(
    listed: Collection[MatrixProduct],
    shapes: Iterable[MatrixProduct],
    types: Iterable[SpirvMatrix] = (),
) -> str | None:
    """What a kernel multiplies, or only declares, that is not listed; or None."""
    missing = [str(x) for x in sorted(set(shapes).difference(listed))]
    missing += [
        str(x)
        for x in sorted(set(types))
        if not any(x.is_operand_of(shape) for shape in listed)
    ]
    if not missing:
        return None
    has = "; ".join(map(str, sorted(listed))) or "no cooperative matrices"
    return f"expected a listed matrix shape, got {'; '.join(missing)} (listed: {has})"


def spirv_facts(
    binary: bytes, specialization: Mapping[int, bytes] | None = None
) -> SpirvFacts:
    """The facts of a module, with values of specialization constants by SpecId.

    Raises:
        ValueError: the bytes are no little-endian SPIR-V module.
    """
    if not binary:
        raise ValueError("expected a SPIR-V module, got 0 bytes")
    if len(binary) % 4 or len(binary) < 4 * HEADER_WORDS:
        raise ValueError(f"expected whole SPIR-V words, got {len(binary)} bytes")
    words = struct.unpack(f"<{len(binary) // 4}I", binary)
    if words[0] != MAGIC:
        raise ValueError(f"expected SPIR-V magic {MAGIC:#010x}, got {words[0]:#010x}")
    reader = FactsReader(specialization or {})
    reader.facts.version = (words[1] >> 16 & 255, words[1] >> 8 & 255)
    position = HEADER_WORDS
    while position < len(words):
        length, opcode = words[position] >> 16, words[position] & 0xFFFF
        end = position + length
        if length == 0 or end > len(words):
            raise ValueError(f"the SPIR-V module is cut off at word {position}")
        try:
            reader.visit(opcode, words[position + 1 : end])
        except (LookupError, ValueError, struct.error):
            message = f"cannot read opcode {opcode} at word {position} of the module"
            raise ValueError(message) from None
        position = end
    return reader.facts


def _text(words: Words) -> str:
    """Return a literal string, which ends in a zero byte."""
    text = struct.pack(f"<{len(words)}I", *words)
    return text.split(b"\0", 1)[0].decode(errors="replace")


class FactsReader:
    def __init__(self, specialization: Mapping[int, bytes]) -> None:
        self.facts = SpirvFacts()
        self._specialization = specialization
        self._spec_ids: dict[int, int] = {}
        self._constants: dict[int, int] = {}
        self._components: dict[int, str] = {}
        self._types: dict[int, SpirvMatrix] = {}
        self._values: dict[int, SpirvMatrix] = {}
        self._sized_by_id: dict[int, str] = {}
        self._visitors: dict[int, Callable[[Words], None]] = {
            OP_CAPABILITY: lambda words: self.facts.capabilities.append(words[0]),
            OP_EXTENSION: lambda words: self.facts.extensions.append(_text(words)),
            OP_ENTRY_POINT: self._entry_point,
            OP_EXECUTION_MODE: self._execution_mode,
            OP_EXECUTION_MODE_ID: self._execution_mode_id,
            OP_DECORATE: self._decorate,
            OP_TYPE_INT: self._type_int,
            OP_TYPE_FLOAT: self._type_float,
            OP_CONSTANT: self._constant,
            OP_SPEC_CONSTANT: self._constant,
            OP_TYPE_MATRIX: self._type_matrix,
            OP_MUL_ADD: self._mul_add,
            OP_MATRIX_LOAD: self._load,
            OP_MATRIX_STORE: self._store,
        }

    def visit(self, opcode: int, words: Words) -> None:
        visitor = self._visitors.get(opcode)
        if visitor is not None:
            visitor(words)
        elif len(words) > 1 and words[0] in self._types:
            self._values[words[1]] = self._types[words[0]]

    def _entry_point(self, words: Words) -> None:
        name = _text(words[2:])
        self.facts.entry_points[words[1]] = name
        variables = words[3 + len(name.encode()) // 4 :]
        self.facts.interfaces[name] = frozenset(variables)
        self.facts.bindings[name] = 0

    def _execution_mode(self, words: Words) -> None:
        entry = self.facts.entry_points[words[0]]
        if words[1] == LOCAL_SIZE:
            self.facts.work_group_columns[entry] = words[2]
        elif words[1] == SUBGROUP_SIZE:
            self.facts.subgroup_sizes[entry] = words[2]
        elif words[1] == SIGNED_ZERO_INF_NAN_PRESERVE:
            self.facts.preserving_bits.add(words[2])

    def _execution_mode_id(self, words: Words) -> None:
        if words[1] == LOCAL_SIZE_ID:
            self._sized_by_id[words[2]] = self.facts.entry_points[words[0]]

    def _decorate(self, words: Words) -> None:
        if words[1] == SPEC_ID:
            self._spec_ids[words[0]] = words[2]
        elif words[1] == BINDING:
            every = self.facts.version < (1, 4)  # which lists inputs and outputs only
            for name, variables in self.facts.interfaces.items():
                if every or words[0] in variables:
                    most = max(self.facts.bindings[name], words[2] + 1)
                    self.facts.bindings[name] = most

    def _type_int(self, words: Words) -> None:
        self._components[words[0]] = f"u{words[1]}"

    def _type_float(self, words: Words) -> None:
        result, width, *encoding = words
        known = FLOATS.get((width, encoding[0])) if encoding else f"f{width}"
        self._components[result] = known or f"float{width}.{encoding[0]}"

    def _constant(self, words: Words) -> None:
        _, result, value = words[:3]
        given = self._specialization.get(self._spec_ids.get(result, -1))
        if given is not None:
            value = int.from_bytes(given, "little")
        self._constants[result] = value
        if result in self._sized_by_id:
            self.facts.work_group_columns[self._sized_by_id[result]] = value

    def _type_matrix(self, words: Words) -> None:
        result, component, *sizes = words
        scope, rows, cols, use = (self._constants[x] for x in sizes)
        if use >= len(USES):
            self._mistake(f"a use of {USES}, 0 to {len(USES) - 1}, got {use}")
            use = 0
        matrix = SpirvMatrix(
            rows=rows,
            cols=cols,
            component=self._components[component],
            use=USES[use],
            scope=MATRIX_SCOPES.get(scope, f"scope {scope}"),
        )
        self._types[result] = matrix
        self.facts.matrix_types.add(matrix)

    def _mistake(self, text: str) -> None:
        self.facts.mistakes.append(f"expected constants that give {text}")

    def _load(self, words: Words) -> None:
        self._values[words[1]] = self._types[words[0]]
        self._store(words[1:])

    def _store(self, words: Words) -> None:
        declared = CAPABILITY_ARM_LAYOUTS in self.facts.capabilities
        layouts = LAYOUTS + ARM_LAYOUTS if declared else LAYOUTS
        if (layout := self._constants[words[2]]) not in layouts:
            self._mistake(f"a layout of {', '.join(map(str, layouts))}, got {layout}")

    def _mul_add(self, words: Words) -> None:
        type_, value, *operands = words
        result = self._types[type_]
        self._values[value] = result
        a, b, c = (self._values[x] for x in operands[:3])
        matrices = (a, b, c, result)
        if (
            a.cols != b.rows
            or {(a.rows, b.cols)} != {(x.rows, x.cols) for x in (c, result)}
            or len({x.scope for x in matrices}) != 1
            or [x.use for x in matrices] != list("abcc")
        ):
            self._mistake(
                "a multiplication of M x K as a and K x N as b to M x N as c, of one "
                f"scope, got {'; '.join(map(str, matrices))}"
            )
        flags = operands[3] if len(operands) > 3 else 0
        names = [
            "s" + x.component[1:] if flags >> bit & 1 else x.component
            for bit, x in enumerate((a, b, c, result))
        ]
        self.facts.multiplications.add(
            MatrixProduct(
                *(result.rows, result.cols, a.cols),
                *names,
                saturating=bool(flags & SATURATING),
                scope=result.scope,
            )
        )
