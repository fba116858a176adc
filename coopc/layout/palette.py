r"""Colours for lanes: neighbours differ, all are light enough for black text.

Lane p of n has, in the OKLCH space, in which equal steps look equally large,

    hue        START + 360 p / n degrees
    lightness  0.84 for even p, 0.70 for odd p
    chroma     0.10

so the hue shows the order of the lanes, and the lightness tells neighbours apart, also
for who does not see the hue.  More than 32 lanes repeat the colours of 32.

Source of the matrices: Ottosson, "A perceptual color space for image processing", 2020.

Laws (test/unit/test_layout_palette.py checks each by its name):

    different   the colours of up to 32 lanes are all different, neighbours clearly
    readable    black on each of them has a contrast of at least 4.5 (WCAG AA)
"""

from __future__ import annotations

from functools import cache
from math import cos, radians, sin
from typing import TypeAlias

Rgb: TypeAlias = tuple[float, float, float]
"""Red, green and blue, 0 to 1, as screens take them (sRGB)."""

START = 20.0
"""The hue of lane 0, in degrees: red."""
LIGHTNESS = (0.84, 0.70)
CHROMA = 0.10
MOST = 32
"""The lanes that have different colours."""


@cache
def colours(lanes: int) -> tuple[Rgb, ...]:
    """Return the colour of each lane.

    Args:
        lanes: how many, at least 1.
    """
    count = min(lanes, MOST)
    wheel = [
        of_oklch(LIGHTNESS[p % 2], CHROMA, START + 360 * p / count)
        for p in range(count)
    ]
    return tuple(wheel[p % count] for p in range(lanes))


def hexadecimal(colour: Rgb) -> str:
    """Return a colour as terminals and SVG have it.

    >>> hexadecimal((1.0, 0.5, 0.0))
    '#ff8000'
    """
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour)


def of_oklch(lightness: float, chroma: float, hue: float) -> Rgb:
    """Return the colour at a place of the OKLCH space, clipped to what screens have.

    >>> hexadecimal(of_oklch(1.0, 0.0, 0.0)), hexadecimal(of_oklch(0.0, 0.0, 0.0))
    ('#ffffff', '#000000')
    """
    a, b = chroma * cos(radians(hue)), chroma * sin(radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        _encoded(4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short),
        _encoded(-1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short),
        _encoded(-0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short),
    )


def luminance(colour: Rgb) -> float:
    """Return the relative luminance of a colour, 0 for black to 1 for white."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in colour
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _encoded(linear: float) -> float:
    """Return a linear part as sRGB has it, within 0 to 1."""
    linear = min(1.0, max(0.0, linear))
    if linear <= 0.0031308:
        return 12.92 * linear
    return 1.055 * linear ** (1 / 2.4) - 0.055
