"""Where the elements of a matrix are in work-group memory, by its layout there.

| layout    | memref of        | element (row, col) at          |
|-----------|------------------|--------------------------------|
| row_major | M x N            | [row, col]                     |
| col_major | N x M            | [col, row]                     |
| packed    | M / w x (N * w)  | [row / w, col * w + row % w]   |

w is the elements of a channel of 32 bits.
"""

from xdsl.ir import SSAValue

from coopc.device import Device
from coopc.device import Use as DeviceUse
from coopc.dialects.coopmatrix import CHANNEL_BITS, Layout, MatrixType, Use
from coopc.passes.khr.code import Code

DEVICE_USES: dict[Use, DeviceUse] = {Use.A: "a", Use.B: "b", Use.ACC: "acc"}
"""The uses that devices have matrices of."""

PREFERRED = (Layout.ROW_MAJOR, Layout.PACKED, Layout.COL_MAJOR)


def layouts_of(matrix: MatrixType, device: Device) -> tuple[Layout, ...]:
    """The layouts that a device loads and stores a matrix in, the preferred one first.

    None for a matrix of use `none`, whose sizes have names, or that no matrix of the
    device divides.
    """
    use, element = DEVICE_USES.get(matrix.use.data), str(matrix.element_type)
    if use is None or not matrix.is_static:
        return ()
    rows, cols = matrix.shape
    if all(rows % tile[0] or cols % tile[1] for tile in device.held(use, element)):
        return ()
    has = device.layouts(use, element, *matrix.shape)
    return tuple(layout for layout in PREFERRED if str(layout) in has)


def scratch_layout(matrix: MatrixType, device: Device) -> Layout:
    """The layout of a matrix in work-group memory; row major where the device has none.

    >>> from coopc.device import BMG, DG2, INTEL_CPU
    >>> from xdsl.dialects.builtin import i8
    >>> b = MatrixType.of(32, 8, i8, Use.B)
    >>> [str(scratch_layout(b, device)) for device in (BMG, DG2, INTEL_CPU)]
    ['row_major', 'packed', 'packed']
    """
    return next(iter(layouts_of(matrix, device)), Layout.ROW_MAJOR)


def channels(bits: int) -> int:
    """Elements of a channel, of so many bits each."""
    return max(1, CHANNEL_BITS // bits)


def memory_shape(layout: Layout, bits: int, rows: int, cols: int) -> tuple[int, int]:
    """The sizes of the memref of a matrix.

    >>> memory_shape(Layout.PACKED, 8, 32, 16)
    (8, 64)
    """
    match layout:
        case Layout.ROW_MAJOR:
            return rows, cols
        case Layout.COL_MAJOR:
            return cols, rows
        case Layout.PACKED:
            many = channels(bits)
            return rows // many, cols * many


def places(
    code: Code, layout: Layout, bits: int, row: SSAValue, col: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """Insert where an element of a matrix is in its memref."""
    match layout:
        case Layout.ROW_MAJOR:
            return row, col
        case Layout.COL_MAJOR:
            return col, row
        case Layout.PACKED:
            many = channels(bits)
            channel, rest = code.div_mod(row, many)
            return channel, code.add(code.mul(col, many), rest)
