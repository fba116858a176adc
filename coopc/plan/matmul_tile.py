"""How large a tile of C a subgroup computes, where nobody says: by the device.

A tile is one matrix multiplication of the device, or two of them along M and along N
where that is no more than 32: then each matrix of A and of B is used twice.

>>> from coopc.device import INTEL_CPU, LAVAPIPE, NVIDIA
>>> [matmul_tile(d, ("f16", "f16", "f32")) for d in (LAVAPIPE, NVIDIA, INTEL_CPU)]
[(16, 16, 8), (32, 32, 16), (32, 32, 32)]
"""

from coopc.device import Device, MatrixShape, signless

ANY = (32, 32, 16)
"""M, N and K where there is no device to ask."""
LANES = (16, 16, 16)
"""M, N and K of types that the device does not multiply, so that its lanes do."""
MOST = 32
"""Rows or columns of C that are worth more than one matrix."""


def matmul_tile(device: Device, elements: tuple[str, str, str]) -> tuple[int, int, int]:
    """Return M, N and K of a tile.

    Args:
        device: for which it is.
        elements: types of A, B and C as `coopc.device` names them, with signs.
    """
    a, b, c = elements
    shapes = device.multiplications(a, b, c, c) or _of_other_signs(device, elements)
    if not shapes:
        return LANES
    best = max(shapes, key=lambda shape: shape.m * shape.n * shape.k)
    m, n = (x if x > MOST // 2 else 2 * x for x in (best.m, best.n))
    return m, n, best.k


def _of_other_signs(
    device: Device, elements: tuple[str, str, str]
) -> tuple[MatrixShape, ...]:
    """Return multiplications of these types but for signs, which matrices lack."""
    wanted = tuple(signless(x) for x in elements)
    return tuple(
        shape
        for shape in device.matrix_shapes
        if tuple(signless(x) for x in shape.elements[:3]) == wanted
    )
