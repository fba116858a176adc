"""What a device supports of a program's matrices: shapes of products, sizes of tiles.

A product is made up of multiplications of a shape that the device has.  Where it takes
several steps along K, the sums between them need a type that the device adds up in.  A
matrix is made up of tiles that the device holds, of the same use and element type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from xdsl.ir import Attribute

from coopc.device import ELEMENT_BITS, Device, MatrixShape, Use
from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import (
    BLOCKED,
    DEVICE_USES,
    Layout,
    MatrixType,
    Scope,
    ScopeAttr,
    matrix_type,
)
from coopc.ir.device_option import element_name, element_names

Tile = tuple[int, int]
"""The (rows, columns) of a part of a matrix."""

Layouts = frozenset[Layout]
"""The layouts in memory that a matrix is loaded from and stored to."""


@dataclass(frozen=True, slots=True)
class Product:
    """A multiplication of matrices of a subgroup, whose sizes are numbers."""

    m: int
    n: int
    k: int
    elements: tuple[str, str, str, str]
    """The element types of a, b, c and the result, with signs."""
    saturating: bool = False

    @classmethod
    def of(
        cls, op: coopmatrix.MulAddOp, constants: Mapping[str, int] | None = None
    ) -> Product:
        """Return that of an operation; constants are what sizes may name."""
        (m, k), (_, n) = (
            matrix_type(x).specialised(constants or {}).shape for x in (op.a, op.b)
        )
        return cls(m, n, k, element_names(op), op.saturating is not None)

    def __str__(self) -> str:
        """Return `8 x 16 by 16 x 8`."""
        return f"{self.m} x {self.k} by {self.k} x {self.n}"

    @property
    def types(self) -> str:
        a, b, c, result = self.elements
        return f"{a} * {b} + {c} -> {result}" + ", saturating" * self.saturating

    def unsupported(self, device: Device) -> str:
        """Return what of this a device does not multiply: its types, or its sizes."""
        known = device.multiplications(*self.elements, self.saturating)
        return f"{self} of {self.types}" if known else self.types

    def divides_into(self, shape: MatrixShape) -> bool:
        """Whether multiplications of a shape make up this one."""
        return not (self.m % shape.m or self.n % shape.n or self.k % shape.k)


def rows_move(
    op: coopmatrix.ConvertOp | coopmatrix.BitcastOp | coopmatrix.TransposeOp,
    device: Device,
) -> bool:
    """Whether lanes can get rows, of b columns, of a matrix, and make of them another.

    Elements are converted before, where they are converted.
    """
    before, after = matrix_type(op.value), matrix_type(op.result)
    is_b = [x.use.data is coopmatrix.Use.B for x in (before, after)]
    if isinstance(op, coopmatrix.TransposeOp) != (is_b[0] != is_b[1]):
        return False
    needed = [before, after]
    if not isinstance(op, coopmatrix.BitcastOp):
        needed.append(before.with_element(after.element_type))
    return all(
        x.is_static
        and x.scope == coopmatrix.ScopeAttr(coopmatrix.Scope.SUBGROUP)
        and x.use.data in coopmatrix.DEVICE_USES
        and device.rows_to_lanes(
            coopmatrix.DEVICE_USES[x.use.data], str(x.element_type), *x.shape
        )
        for x in needed
    )


def wider(c: str, result: str) -> str:
    """Return the element type for the sums between the steps along K.

    >>> wider("f32", "f16"), wider("s16", "s32")
    ('f32', 's32')
    """
    return c if ELEMENT_BITS[c] > ELEMENT_BITS[result] else result


@dataclass(slots=True)
class SupportedTiles:
    """What one device supports; each question is answered once."""

    device: Device
    products: dict[Product, tuple[MatrixShape, ...]] = field(default_factory=lambda: {})
    matrices: dict[tuple[MatrixType, Layouts], tuple[Tile, ...] | None] = field(
        default_factory=dict[tuple[MatrixType, Layouts], "tuple[Tile, ...] | None"]
    )

    def product(self, product: Product) -> tuple[MatrixShape, ...]:
        """Return the shapes that a multiplication can be cut into, the largest first.

        The largest takes the fewest multiplications.
        """
        if (found := self.products.get(product)) is None:
            several = {(x.m, x.n, x.k) for x in self._several(product)}
            shapes = (
                x
                for x in self._shapes(product)
                if product.divides_into(x)
                and (x.k == product.k or (x.m, x.n, x.k) in several)
            )
            found = tuple(sorted(shapes, key=lambda x: -(x.m * x.n * x.k)))
            self.products[product] = found
        return found

    def matrix(self, type: MatrixType, layouts: Layouts) -> tuple[Tile, ...] | None:
        """Return the tiles that a matrix can be cut into, the largest first.

        Those are preferred that the device loads and stores in all of `layouts`.  None
        where the device holds no matrices of this use and element type that divide it:
        then it is left whole, for memory to hold it.
        """
        if (type, layouts) in self.matrices:
            return self.matrices[type, layouts]
        name = element_name(type.element_type)
        fitting: list[tuple[Use, Tile]] = [
            (use, tile)
            for use, tile in self.held(type)
            if not (type.shape[0] % tile[0] or type.shape[1] % tile[1])
            and not _splits(tile, type, layouts)
        ]
        suited = [
            (use, tile)
            for use, tile in fitting
            if layouts <= set(self.device.layouts(use, name, *tile))
        ]
        tiles = dict.fromkeys(tile for _, tile in suited or fitting)
        found = tuple(sorted(tiles, key=lambda x: -x[0] * x[1])) or None
        self.matrices[type, layouts] = found
        return found

    def shares_tiles(self, op: coopmatrix.ConvertOp) -> bool:
        """Whether the tiles of a conversion can be the same before and after.

        Also where one of the matrices has no tiles, so that memory holds it whole.
        """
        types = matrix_type(op.value), matrix_type(op.result)
        if types[0].use == types[1].use or not all(x.is_static for x in types):
            return True
        before, after = (self.matrix(x, frozenset()) for x in types)
        return not before or not after or not set(before).isdisjoint(after)

    def held(self, type: MatrixType) -> list[tuple[Use, Tile]]:
        """Return the matrices that the device holds of a type's use and elements."""
        name = element_name(type.element_type)
        return [(use, x) for use in uses(type) for x in self.device.held(use, name)]

    def _shapes(self, product: Product) -> tuple[MatrixShape, ...]:
        return self.device.multiplications(*product.elements, product.saturating)

    def _several(self, product: Product) -> Iterable[MatrixShape]:
        """Return the multiplications that can be one of several steps along K.

        The sums between the steps are of the wider of c and the result.  A sum that
        saturates in steps is the sum that saturates once only where all products have
        one sign.
        """
        a, b, c, result = product.elements
        shapes = self._shapes(product)
        if product.saturating and (c != result or "s" in (a[0], b[0])):
            return ()
        if c == result:
            return shapes
        wide = wider(c, result)
        between = self.device.multiplications(a, b, wide, wide)
        sizes = {(x.m, x.n, x.k) for x in between}
        return (x for x in shapes if (x.m, x.n, x.k) in sizes)

    def why_no_product(self, product: Product) -> str:
        """Return why a multiplication cannot be done, alone or with its neighbours."""
        name, shapes = self.device.name, self._shapes(product)
        if not shapes:
            types = "; ".join(self.device.types()) or "nothing"
            return f"{name} does not multiply {product.types}; it multiplies {types}"
        sizes = ", ".join(dict.fromkeys(f"{x.m}x{x.n}x{x.k}" for x in shapes))
        has = f"{name} multiplies {sizes} (M x N x K) for {product.types}"
        if not any(product.divides_into(x) for x in shapes):
            return f"{has}; {product} does not divide into one of them"
        if not self.product(product):
            why = "it would saturate at each"
            if not product.saturating:
                _, _, c, result = product.elements
                why = f"the accumulators between them would be {wider(c, result)}"
            return f"{has}; {product} needs several steps along K, and {why}"
        return (
            f"{has}; none of them suits {product} together with the operations that "
            "it shares matrices with"
        )

    def why_no_matrix(self, type: MatrixType) -> str:
        """Return why a matrix cannot be cut, alone or with its neighbours."""
        rows, cols = type.shape
        tiles = dict.fromkeys(tile for _, tile in self.held(type))
        sizes = ", ".join(f"{x} x {y}" for x, y in tiles)
        use = "" if type.use.data == coopmatrix.Use.NONE else f" of use {type.use.data}"
        return (
            f"{self.device.name} has {element_name(type.element_type)} matrices{use} "
            f"of {sizes}; none of them suits {rows} x {cols} together with the "
            "operations that share it"
        )


def uses(type: MatrixType) -> tuple[Use, ...]:
    """Return the uses of matrices that a device may hold a matrix as."""
    use = DEVICE_USES.get(type.use.data)
    return ("acc", "a", "b") if use is None else (use,)


def _splits(tile: Tile, type: MatrixType, layouts: Layouts) -> bool:
    """Whether a tile would split the channels of a packed matrix."""
    per_channel = coopmatrix.CHANNEL_BITS // type.element_bits
    return Layout.PACKED in layouts and tile[0] % per_channel != 0


@dataclass(frozen=True, slots=True)
class HeldMatrices:
    """Which matrices a device has, as a module's constants are by default."""

    device: Device
    constants: Mapping[str, int]
    """The specialization constants of the module, as they are by default."""
    for_lanes: bool = False
    """Whether lanes hold all matrices whose sizes and scope are numbers."""
    _spilled: dict[MatrixType, bool] = field(
        default_factory=dict[MatrixType, bool], compare=False
    )
    _layouts: dict[MatrixType, tuple[Layout, ...]] = field(
        default_factory=dict[MatrixType, tuple[Layout, ...]], compare=False
    )

    def is_spilled(self, matrix: Attribute) -> bool:
        """Whether there are no matrices of a type, so that memory holds them.

        Of a type with names for sizes, scope or use, those by default decide: another
        value that the device has is for who sets it to choose.
        """
        if not isinstance(matrix, MatrixType):
            return False
        if (found := self._spilled.get(matrix)) is None:
            found = self._spilled[matrix] = self._is_lacking(matrix)
        return found

    def _is_lacking(self, matrix: MatrixType) -> bool:
        static = matrix.specialised(self.constants)
        if self.for_lanes or static.scope != ScopeAttr(Scope.SUBGROUP):
            return self.for_lanes and not matrix.is_static
        use = DEVICE_USES.get(matrix.use.data)
        if use is None or not matrix.specialises <= self.device.specialised:
            return True
        return static.shape not in self.device.held(use, str(matrix.element_type))

    def layouts(self, matrix: MatrixType) -> tuple[Layout, ...]:
        """The layouts that a device loads and stores a matrix in, preferred ones first.

        None for a matrix of use `none`, that no matrix of the device divides, or whose
        sizes may be other ones than the device has.
        """
        if (found := self._layouts.get(matrix)) is None:
            found = self._layouts[matrix] = self._layouts_of(matrix)
        return found

    def _layouts_of(self, matrix: MatrixType) -> tuple[Layout, ...]:
        use, element = DEVICE_USES.get(matrix.use.data), str(matrix.element_type)
        if use is None or (not matrix.is_static and self.is_spilled(matrix)):
            return ()
        static = matrix.specialised(self.constants)
        assert isinstance(static.scope, ScopeAttr), static
        rows, cols = static.shape
        held = self.device.held(use, element, static.scope.data)
        if all(rows % tile[0] or cols % tile[1] for tile in held):
            return ()
        has = self.device.layouts(use, element, rows, cols)
        preferred = (Layout.ROW_MAJOR, Layout.PACKED, Layout.COL_MAJOR, *BLOCKED)
        return tuple(layout for layout in preferred if str(layout) in has)

    def shared_layout(self, matrix: MatrixType) -> Layout:
        """The layout in work-group memory; row major where the device has none.

        >>> from coopc.device import BMG, DG2, INTEL_CPU
        >>> from coopc.dialects.coopmatrix import Use
        >>> from xdsl.dialects.builtin import i8
        >>> b = MatrixType.of(32, 8, i8, Use.B)
        >>> devices = BMG, DG2, INTEL_CPU
        >>> [str(HeldMatrices(x, {}).shared_layout(b)) for x in devices]
        ['row_major', 'packed', 'packed']
        """
        return next(iter(self.layouts(matrix)), Layout.ROW_MAJOR)
