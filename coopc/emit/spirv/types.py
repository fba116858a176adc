"""The SPIR-V types of values, and constants of them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    SymbolRefAttr,
)
from xdsl.ir import Attribute

from coopc.dialects import coopmatrix
from coopc.dialects.narrow import is_vector
from coopc.emit.interface import IN_MEMORY
from coopc.emit.walker import (
    NUMBERS,
    Facts,
    NoForm,
    check_number,
    constant_bits,
    element_of,
)
from coopc.spirv.instruction import Id
from coopc.spirv.module import Module


def why_no_matrix(
    type: coopmatrix.MatrixType, default: coopmatrix.MatrixType, facts: Facts
) -> str | None:
    """Why a flavour has no such matrix type, or None.

    It may name specialization constants; `default` has the defaults of these.
    """
    if type.use.data not in coopmatrix.USE_NUMBERS:
        return (
            f"expected a matrix of use a, b or acc, which SPIR-V has, "
            f"got {type.use.data}"
        )
    if not type.specialises <= facts.device.specialised:
        what = min(type.specialises - facts.device.specialised)
        return (
            f"{facts.device.name} takes no specialization constant for the {what} "
            f"of a matrix, got {type}"
        )
    scope = default.scope
    assert isinstance(scope, coopmatrix.ScopeAttr), default
    groups = facts.device.workgroups
    if scope.data != coopmatrix.Scope.SUBGROUP and (
        scope.data != coopmatrix.Scope.WORKGROUP or not any(x.shapes for x in groups)
    ):
        by_default = "" if type.scope == scope else f", the default of {type.scope}"
        return (
            f"expected a matrix of scope {facts.device.scopes}, which "
            f"{facts.device.name} has under {facts.flavour}, "
            f"got {scope.data}{by_default}"
        )
    if type.element_bits < 8:
        return f"expected elements of at least 8 bits, got {type.element_type}"
    use, element = coopmatrix.DEVICE_USES[type.use.data], str(type.element_type)
    if not facts.device.holds(use, element, default.shape, scope.data):
        rows, cols = default.shape
        by_default = "" if type.is_static else " by default"
        if scope.data == coopmatrix.Scope.WORKGROUP:
            held = facts.device.held(use, element, scope.data)
            least = " or ".join(f"{x} x {y}" for x, y in held) or "none"
            return (
                f"expected multiples of the matrices of {element} as {use} that "
                f"work-groups of {facts.device.name} hold, {least}, "
                f"got {rows} x {cols}{by_default}"
            )
        return (
            f"{facts.device.name} has no {rows} x {cols} "
            f"matrices{by_default} of {element} as {use}: "
            "split-coopmatrix splits matrices into sizes that the device "
            "has, and legalize-coopmatrix-khr keeps others in memory"
        )
    return None


# The SPIR-V types of values, and constants of them.
#
# A value is one or more *parts*, each a SPIR-V scalar, vector or matrix.  A vector is
# cut into parts of widths that the flavour has, in order; a vector of rank 2 or more
# is its elements in row-major order.
#
# | type           | vulkan            | opencl            |
# |----------------|-------------------|-------------------|
# | index          | i32               | i64               |
# | vector<16xf32> | 4 parts of 4      | 1 part of 16      |
# | vector<7xf32>  | a part of 4, of 3 | a part of 4, of 3 |
# | vector<1xf32>  | 1 scalar          | 1 scalar          |
# | i1             | bool, in memory a byte                |
#
# Integers have no sign, as in the IR.  A bf16 is a float of its own, or a u16 where the
# device only converts it, as `Device.bfloat16` says; so is an f8, or a u8.

VECTOR_WIDTHS = {"vulkan": (4, 3, 2), "opencl": (16, 8, 4, 3, 2)}
"""Components of a vector type, by flavour, the widest first."""

MOST_COMPONENTS = 16_384
"""Of a vector: each is an instruction where SPIR-V's are shorter."""

_I1 = IntegerType(1)

_FIELDS: dict[str, Attribute] = {
    **{f"i{bits}": IntegerType(bits) for bits in (1, 8, 16, 32, 64)},
    "f16": Float16Type(),
    "bf16": BFloat16Type(),
    "f8E4M3FN": Float8E4M3FNType(),
    "f8E5M2": Float8E5M2Type(),
    "f8E8M0FNU": Float8E8M0FNUType(),
    "f32": Float32Type(),
    "f64": Float64Type(),
}
"""Types by the names that interfaces use."""


def widths(count: int, allowed: Sequence[int]) -> tuple[int, ...]:
    """The widths of the parts of a vector.

    >>> widths(7, (4, 3, 2)), widths(16, (16, 8, 4, 3, 2))
    ((4, 3), (16,))
    """
    found: list[int] = []
    while count > 1:
        width = next((each for each in allowed if each <= count), 1)
        found.append(width)
        count -= width
    return (*found, *([1] * count))


class Types:
    """The types and constants of one SPIR-V module."""

    def __init__(
        self, module: Module, facts: Facts, spec_constants: dict[str, Id]
    ) -> None:
        """Make an empty table."""
        self.module = module
        self.facts = facts
        self.spec_constants = spec_constants
        self.float_bits: set[int] = set()
        """Widths of the floats in use, in bits, without bf16 and f8."""
        self._numbers: dict[Attribute, Id] = {}
        self._parts: dict[Attribute, tuple[Id, ...]] = {}

    @property
    def index_bits(self) -> int:
        return 32 if self.facts.vulkan else 64

    @property
    def bool(self) -> Id:
        return self.module.type("OpTypeBool")

    @property
    def index(self) -> Id:
        return self.int(self.index_bits)

    @property
    def u32(self) -> Id:
        return self.int(32)

    def int(self, bits: int) -> Id:
        return self.module.type("OpTypeInt", bits, 0)

    def enumerant(self, number: int) -> Id:
        """A constant that stands for a scope, a use, a layout or memory semantics."""
        return self.module.constant(self.u32, number)

    def bits(self, type: Attribute) -> int:
        """Width of a number, in bits.

        Raises:
            NoForm: it is no number.
        """
        if isinstance(type, IndexType):
            return self.index_bits
        if isinstance(type, IntegerType | coopmatrix.FloatElement):
            return type.bitwidth
        raise NoForm(f"expected {NUMBERS}, got {type}")

    def number(self, type: Attribute) -> Id:
        """The type of a number as a value.

        Raises:
            NoForm: the device has none.
        """
        if (found := self._numbers.get(type)) is None:
            found = self._numbers[type] = self._number(type)
        return found

    def _number(self, type: Attribute) -> Id:
        check_number(type, self.facts.device)
        match type:
            case IndexType():
                return self.index
            case IntegerType(width=width):
                return self.bool if width.data == 1 else self.int(width.data)
            case BFloat16Type():
                return self._bf16()
            case Float8E4M3FNType() | Float8E5M2Type():
                return self._f8(type)
            case Float8E8M0FNUType():
                return self.number(IntegerType(8))
            case _:
                self.float_bits.add(bits := self.bits(type))
                return self.module.type("OpTypeFloat", bits)

    def in_memory(self, type: Attribute) -> Id:
        """The type of an element of a memref: an i1 is a byte."""
        if isinstance(type, coopmatrix.MatrixType):
            raise NoForm(IN_MEMORY)
        if is_vector(type):
            widths = self.widths(type)
            if len(widths) != 1:
                most = "4" if self.facts.vulkan else "16"
                raise NoForm(
                    f"expected memory of vectors of at most {most} components, which "
                    f"{self.facts.flavour} has, got {type}"
                )
            return self.vector(self.in_memory(type.get_element_type()), widths[0])
        return self.int(8) if type == _I1 else self.number(type)

    def field(self, type: str) -> Id:
        return self.in_memory(_FIELDS[type])

    def bytes_of(self, type: Attribute) -> int:
        """Size of an element of a memref, in bytes."""
        if is_vector(type):
            return type.element_count() * self.bytes_of(type.get_element_type())
        return max(1, self.bits(type) // 8)

    def vector(self, element: Id, width: int) -> Id:
        """A vector of a scalar type; of one component, the scalar."""
        return (
            element if width == 1 else self.module.type("OpTypeVector", element, width)
        )

    def width(self, type: Id) -> int:
        assert type.definition is not None, type
        if type.definition.facts.name != "OpTypeVector":
            return 1
        width = type.definition.operands[1]
        assert isinstance(width, int), type
        return width

    def component(self, type: Id) -> Id:
        assert type.definition is not None, type
        if type.definition.facts.name != "OpTypeVector":
            return type
        component = type.definition.operands[0]
        assert isinstance(component, Id), type
        return component

    def component_bits(self, type: Id) -> int:
        """Width of a component of a scalar or vector type of numbers, in bits."""
        definition = self.component(type).definition
        assert definition is not None, type
        bits = definition.operands[0]
        assert isinstance(bits, int), type
        return bits

    def widths(self, type: Attribute) -> tuple[int, ...]:
        """How many components each part of a number or vector has."""
        if not is_vector(type):
            return (1,)
        if any(type.get_scalable_dims()):
            raise NoForm(f"expected a vector of fixed size, got {type}")
        if type.element_count() > MOST_COMPONENTS:
            raise NoForm(
                f"expected a vector of at most {MOST_COMPONENTS} components, got {type}"
            )
        return widths(type.element_count(), VECTOR_WIDTHS[self.facts.flavour])

    def parts(self, type: Attribute) -> tuple[Id, ...]:
        if (found := self._parts.get(type)) is None:
            if isinstance(type, coopmatrix.MatrixType):
                found = (self._matrix(type),)
            else:
                element = self.number(element_of(type))
                found = tuple(self.vector(element, w) for w in self.widths(type))
            self._parts[type] = found
        return found

    def matrix(self, type: coopmatrix.MatrixType) -> Id:
        """A cooperative matrix.

        Raises:
            NoForm: SPIR-V or the flavour has none of its use, scope or elements.
        """
        (found,) = self.parts(type)
        return found

    def signed_matrix(self, type: coopmatrix.MatrixType) -> Id:
        """A cooperative matrix of integers that SPIR-V calls signed."""
        return self._matrix(type, self.module.type("OpTypeInt", type.element_bits, 1))

    def _matrix(self, type: coopmatrix.MatrixType, component: Id | None = None) -> Id:
        reason = why_no_matrix(type, self.by_default(type), self.facts)
        if reason is not None:
            raise NoForm(reason)
        if component is None:
            component = self.number(type.element_type)
        if isinstance(type.use_name, SymbolRefAttr):
            use = self.named(type.use_name.root_reference.data)
        else:
            use = self.enumerant(coopmatrix.USE_NUMBERS[type.use.data])
        if isinstance(type.scope, coopmatrix.ScopeAttr):
            scope = self.enumerant(coopmatrix.SCOPE_NUMBERS[type.scope.data])
        else:
            scope = self.named(type.scope.root_reference.data)
        rows, cols = (
            self.named(size) if isinstance(size, str) else self.enumerant(size)
            for size in type.sizes
        )
        return self.module.type(
            "OpTypeCooperativeMatrixKHR", component, scope, rows, cols, use
        )

    def constant(self, type: Attribute, value: float) -> Id:
        """A number as a constant: an int of an integer type, a float of a float type.

        Raises:
            NoForm: the device has no such type.
        """
        id, bits = self.number(type), self.bits(type)
        number = constant_bits(type, value, bits)
        return self.module.constant(id, number % (1 << bits))

    def pointer(self, storage: str, pointee: Id) -> Id:
        return self.module.type("OpTypePointer", storage, pointee)

    def _bf16(self) -> Id:
        if self.facts.device.bfloat16 == "khr":
            return self.module.type("OpTypeFloat", 16, "BFloat16KHR")
        return self.int(16)

    def _f8(self, type: Float8E4M3FNType | Float8E5M2Type) -> Id:
        if not (self.facts.device.float8 and self.facts.vulkan):
            return self.number(IntegerType(8))
        encoding = f"Float8{type.name[2:].removesuffix('FN')}EXT"
        return self.module.type("OpTypeFloat", 8, encoding)

    def by_default(self, type: coopmatrix.MatrixType) -> coopmatrix.MatrixType:
        """What a matrix type is unless its specialization constants are set."""
        defaults = {name: self._default(name) for name in type.names}
        return type.specialised(defaults)

    def _default(self, name: str) -> int:
        """The number that a specialization constant is unless it is set."""
        definition = self.named(name).definition
        assert definition is not None, name
        value = definition.operands[0]
        assert isinstance(value, int), definition
        return value

    def named(self, name: str) -> Id:
        if (found := self.spec_constants.get(name)) is None:
            raise NoForm(f"expected a coopmatrix.spec_constant @{name} in the module")
        return found
