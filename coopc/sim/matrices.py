"""What a matrix type is in a simulation: its sizes, and who owns which element.

Sizes and scopes may name a `coopmatrix.spec_constant`; a simulation gives them numbers.
The owners are a parameter: a function from a matrix type (with numbers for sizes) and
the lanes that share it to a `Distribution`.  A matrix of work-group scope is shared by
all work-items of the work-group, always in row-major order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias, TypeVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import (
    LAYOUT_NUMBERS,
    Layout,
    MatrixType,
    Scope,
    Use,
    chosen,
    default_constants,
)
from coopc.layout.coopmatrix import ELEMENT_BITS, CoopmatrixLayout
from coopc.layout.distribution import Distribution, RowSlices
from coopc.sim.errors import SimulationError
from coopc.sim.values import LANE_AXIS, SUBGROUP_AXIS, Array

T = TypeVar("T")

Provider: TypeAlias = Callable[[MatrixType, int], Distribution]
"""From a matrix type and the lanes that share it to who owns which element."""


def row_slices(matrix: MatrixType, lanes: int) -> Distribution:
    """Elements in row-major order over the lanes."""
    return RowSlices(*matrix.shape, lanes)


def coopmatrix_layout(matrix: MatrixType, lanes: int) -> Distribution:
    """The coopmatrix layout; row slices for elements that it does not have."""
    if matrix.element_bits not in ELEMENT_BITS:
        return row_slices(matrix, lanes)
    use = matrix.use.data
    layout = "acc" if use == Use.NONE else use.value
    assert layout in ("a", "b", "acc")
    return CoopmatrixLayout.of(*matrix.shape, matrix.element_bits, layout, lanes)


PROVIDERS: Mapping[str, Provider] = {
    "coopmatrix": coopmatrix_layout,
    "row_slices": row_slices,
}
"""The distributions that `coopmatrix.distribution` may name as a string, too."""


# Where neither the kernel nor a pass decides who owns which element, the driver does,
# and does not say how: then a result depends on the driver if it is not the same under
# each of `OTHERS`.


def observers(module: ModuleOp) -> Iterator[Operation]:
    """Yield the operations by which a module can tell who holds what."""
    return (op for op in module.walk() if isinstance(op, coopmatrix.ELEMENTS_OF_LANES))


@dataclass(frozen=True, slots=True)
class Reversed(Distribution):
    """Another distribution with lanes and components in reverse, and padding first."""

    of: Distribution

    @property
    def components(self) -> int:
        """One more than the other has."""
        return self.of.components + 1

    def _place(self, lane: Array, component: Array) -> tuple[Array, Array]:
        last = self.of.components
        row, col = self.of.coordinate(
            self.lanes - 1 - lane, np.minimum(last - component, last - 1)
        )
        return np.where(component == 0, self.rows, row), col


def reversed_layout(matrix: MatrixType, lanes: int) -> Distribution:
    """The coopmatrix layout in reverse."""
    found = coopmatrix_layout(matrix, lanes)
    return Reversed(*found.shape, lanes, found)


OTHERS: Mapping[str, Provider] = {
    "row slices": row_slices,
    "the coopmatrix layout reversed": reversed_layout,
}
"""Distributions that a driver might have, beside the simulator's own."""


def provider_of(func: FuncOp) -> Provider:
    """Return the distribution that a kernel names; the coopmatrix layout if none.

    Raises:
        SimulationError: it names one that the simulator does not know.
    """
    return named_provider(func.attributes.get(coopmatrix.DISTRIBUTION))


def named_provider(attr: Attribute | None) -> Provider:
    """Return the distribution that an attribute of a kernel names; see `provider_of`.

    Raises:
        SimulationError: it names one that the simulator does not know.
    """
    match attr:
        case None:
            return coopmatrix_layout
        case StringAttr(data=name) if name in PROVIDERS:
            return PROVIDERS[name]
        case found:
            from coopc.dialects.layout import rule_in  # most kernels name none

            if rule_in(found) is not None:
                return partial(_by_attribute, found)
            raise SimulationError(
                f"expected {coopmatrix.DISTRIBUTION} to be an attribute of layout or "
                f"one of {', '.join(PROVIDERS)}, got {found}"
            )


def _by_attribute(attr: Attribute, matrix: MatrixType, lanes: int) -> Distribution:
    from coopc.dialects.coopmatrix.elements import distribution_of

    try:
        return distribution_of(attr, matrix, lanes)
    except ValueError as error:
        raise SimulationError(f"{error}, for {matrix} by {attr}") from error


@dataclass(frozen=True, slots=True)
class Ownership:
    """A distribution as tables."""

    rows: Array
    """(V, S): the row that each place holds; M where it is padding."""
    cols: Array
    """(V, S): the column; N where it is padding."""
    lanes: Array
    """(M, N): the lane that owns each element."""

    @classmethod
    def of(cls, distribution: Distribution) -> Ownership:
        """Return the tables of a distribution."""
        rows, cols = distribution.table()
        lanes, _ = distribution.owners(
            np.arange(distribution.rows, dtype=np.int64)[:, None],
            np.arange(distribution.cols, dtype=np.int64)[None, :],
        )
        return cls(rows, cols, lanes)

    @property
    def components(self) -> int:
        """V, the places of a lane."""
        return self.rows.shape[0]


@dataclass(slots=True)
class MatrixTypes:
    """What the matrix types of one simulation mean."""

    provider: Provider
    subgroup_size: int
    """Lanes."""
    work_items: int
    """Of a work-group."""
    constants: Mapping[str, int]
    """The specialization constants."""
    _static: dict[MatrixType, MatrixType] = field(default_factory=lambda: {})
    _ownership: dict[MatrixType, Ownership] = field(default_factory=lambda: {})
    _elements: dict[MatrixType, Array] = field(default_factory=lambda: {})

    def static(self, matrix: MatrixType) -> MatrixType:
        """Return a type with numbers for its sizes and its scope."""
        if (found := self._static.get(matrix)) is None:
            try:
                found = matrix.specialised(self.constants)
            except ValueError as error:
                raise SimulationError(str(error)) from error
            self._static[matrix] = found
        return found

    def layout(self, op: coopmatrix.AccessOp) -> Layout:
        """Return the layout of an access, which may name a constant."""
        if not isinstance(op, coopmatrix.PlainAccessOp) or op.layout_name is None:
            return op.layout.data
        try:
            return chosen(op.layout_name, self.constants, LAYOUT_NUMBERS, "a layout")
        except ValueError as error:
            raise SimulationError(str(error)) from error

    def shape(self, matrix: MatrixType) -> tuple[int, int]:
        return self.static(matrix).shape

    def elements(self, matrix: MatrixType) -> Array:
        """Return numbers, from 1 on, of the elements of no other type of matrix."""
        static = self.static(matrix)
        if (found := self._elements.get(static)) is None:
            first = 1 + sum(x.size for x in self._elements.values())
            rows, cols = static.shape
            found = first + np.arange(rows * cols).reshape(rows, cols)
            self._elements[static] = found
        return found

    def scope(self, matrix: MatrixType) -> Scope:
        """Return who holds matrices of a type.

        Raises:
            SimulationError: work-items that are not simulated together.
        """
        scope = self.static(matrix).scope
        assert not isinstance(scope, SymbolRefAttr), scope
        if scope.data not in (Scope.SUBGROUP, Scope.WORKGROUP, Scope.INVOCATION):
            raise SimulationError(f"no simulation of matrices of scope {scope.data}")
        return scope.data

    def axes(self, matrix: MatrixType) -> tuple[int, ...]:
        """Return the axes along which work-items hold a matrix together."""
        axes = {Scope.WORKGROUP: (LANE_AXIS, SUBGROUP_AXIS), Scope.INVOCATION: ()}
        return axes.get(self.scope(matrix), (LANE_AXIS,))

    def ownership(self, matrix: MatrixType) -> Ownership:
        """Return who owns which element."""
        if (found := self._ownership.get(matrix)) is None:
            static = self.static(matrix)
            match self.scope(matrix):
                case Scope.WORKGROUP:
                    distribution = row_slices(static, self.work_items)
                case Scope.INVOCATION:
                    distribution = row_slices(static, 1)
                case _:
                    distribution = self.provider(static, self.subgroup_size)
            found = self._ownership[matrix] = Ownership.of(distribution)
        return found


def constants_of(module: ModuleOp, given: Mapping[str, int]) -> dict[str, int]:
    """Return the specialization constants of a module, with the values given.

    Raises:
        ValueError: a value is given for a constant that the module does not have.
    """
    found = default_constants(module)
    if unknown := sorted(set(given) - set(found)):
        raise ValueError(
            "expected a specialization constant of the module, which has "
            f"{', '.join(found) or 'none'}, got {unknown[0]}"
        )
    return found | dict(given)
