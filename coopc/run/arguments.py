"""Arguments of a kernel from words: `a=rand:256x64xf16`, `n=42`, `c=zeros`, `b=b.npy`.

| word              | for a memref                          | for a number        |
|-------------------|---------------------------------------|---------------------|
| `exact`           | small integers, whose sums are exact  | one of them         |
| `rand`            | floats in [-1, 1), any integers       | one of them         |
| `zeros`, `ones`   | zeros, ones                           | 0, 1                |
| `iota`            | 0, 1, 2, ... in row-major order       | 0                   |
| `x.npy`           | what the file holds                   | its only element    |
| `x.npy,y.npy,..`  | the addresses of what the files hold  |                     |
| a number          | it, everywhere                        | it                  |

A word for a memref may be followed by `:256x64xf16` or `:256x64`: the shape, which must
fit the kernel's.  Without it a dynamic dimension is as long as the one that it must be
as long as, where that is known, and else has `DEFAULT_SIZE` elements, or what the
caller says.  A pointer, a memref of rank 0, takes any shape, and needs one.  Arrays get
the strides that the kernel asks for.  A pointer to integers of 64 bits takes addresses,
too; the arrays are called `a[0]`, `a[1]`, ... then.

Of a type that has powers of two only, as f8E8M0FNU, `exact` and `rand` are exponents.

Without a word `a.shape.0` or `a_shape0` is a size of the array `a`, `a.stride.0` a
stride in elements: Triton's host descriptors take these.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal, cast
from zipfile import BadZipFile

import numpy as np

from coopc.interface import Argument, Buffer, Interface, Scalar
from coopc.interface_call import (
    CODED,
    FIELD,
    Addresses,
    Given,
    check_shape,
    dtype_of,
    field_of,
    strided_zeros,
    why_no_integer,
)
from coopc.rounding import FORMATS, is_scale
from coopc.run.arrays import Array

DEFAULT_SIZE = 64
"""Elements along a dynamic dimension that nobody gives."""
MAX_ELEMENTS = 1 << 40
"""Of an array that coopc makes: more than memory has room for."""
MAKERS = ("exact", "rand", "zeros", "ones", "iota")
EXACT_LIMIT = 2
"""Exact inputs are integers of at most this magnitude."""


@dataclass(frozen=True, slots=True)
class ArgumentWord:
    """What one argument is to be."""

    maker: str
    """One of `MAKERS`, a number, or the name of a file."""
    shape: tuple[int, ...] | None = None
    element: str | None = None


def read_words(words: Sequence[str], interface: Interface) -> dict[str, ArgumentWord]:
    """Read `name=word`, one for each argument that is given.

    Raises:
        ValueError: a word is not of this form, or names no argument or one twice.
    """
    names = [argument.name for argument in interface.arguments]
    found: dict[str, ArgumentWord] = {}
    for word in words:
        name, equals, rest = word.partition("=")
        if not equals or not rest:
            raise ValueError(f"expected name=value, as in a=rand:64x64, got {word!r}")
        if name not in names:
            raise ValueError(
                f"expected an argument of {interface.name}, one of "
                f"{', '.join(names) or 'none'}, got {name!r}"
            )
        if name in found:
            raise ValueError(f"expected argument {name} once")
        found[name] = read_word(rest)
    return found


def read_word(text: str) -> ArgumentWord:
    """Read what stands behind `name=`.

    >>> read_word("rand:256x64xf16")
    ArgumentWord(maker='rand', shape=(256, 64), element='f16')
    """
    maker, colon, rest = text.partition(":")
    if maker not in MAKERS or not colon:
        return ArgumentWord(text)
    sizes: list[int] = []
    element = None
    for part in rest.split("x"):
        if part.isdecimal() and element is None:
            sizes.append(int(part))
        elif element is None and part.isidentifier():
            element = part
        else:
            raise ValueError(f"expected a shape as in 256x64xf16, got {rest!r}")
    return ArgumentWord(maker, tuple(sizes), element)


def read_grid(text: str | None) -> tuple[int, int, int] | None:
    """Read `x`, `x,y` or `x,y,z`.

    Raises:
        ValueError: it is none of them, or not positive.
    """
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) > 3 or not all(part.isdecimal() and int(part) for part in parts):
        raise ValueError(f"expected --grid X,Y,Z, positive numbers, got {text!r}")
    x, y, z = (*map(int, parts), 1, 1)[:3]
    return x, y, z


def read_spec(texts: Sequence[str]) -> dict[str, int]:
    """Read `name=number`s.

    Raises:
        ValueError: one is not of this form, or names what another one does.
    """
    found: dict[str, int] = {}
    for text in texts:
        name, _, number = text.partition("=")
        if name in found:
            raise ValueError(f"expected --spec {name} once")
        try:
            found[name] = int(number, 0)
        except ValueError:
            raise ValueError(f"expected --spec NAME=N, got {text!r}") from None
    return found


def make_arguments(
    interface: Interface,
    words: Mapping[str, ArgumentWord],
    seed: int = 0,
    size: int = DEFAULT_SIZE,
) -> list[Given]:
    """Make every argument of a kernel; `exact` where no word is given.

    Dynamic dimensions that no word gives have `size` elements.

    Raises:
        ValueError: a word does not fit its argument, or a file cannot be read.
    """
    given = {
        name: shape
        for name, word in words.items()
        if (shape := shape_of(word)) is not None
    }
    shapes = default_shapes(interface, given, size)
    found: list[Given] = []
    arrays: dict[str, Given] = {}
    for number, argument in enumerate(interface.arguments):
        word = words.get(argument.name)
        field = FIELD.fullmatch(argument.name)
        if word is None and field is not None and field[1] in arrays:
            known = field_of(arrays[field[1]], field[2], int(field[3]))
            word = None if known is None else ArgumentWord(str(known))
        word = word or ArgumentWord("exact")
        found.append(_make(argument, word, shapes.get(number), (seed, number)))
        arrays[argument.name] = found[-1]
    return found


def default_shapes(
    interface: Interface, given: Mapping[str, tuple[int, ...]], size: int
) -> dict[int, tuple[int, ...]]:
    """The shapes that arrays have by default, by the number of the argument.

    A dimension is as long as its type says, or as one that it must be as long as, by
    the shapes given by name; where nothing is known, `size`.  Pointers have no shape.
    """
    known: dict[tuple[int, int], int] = {}
    for number, argument in enumerate(interface.arguments):
        if isinstance(argument, Buffer):
            shape = given.get(argument.name, argument.shape)
            known |= {(number, at): n for at, n in enumerate(shape) if n is not None}
    pairs = [
        ((each.argument, each.dimension), (each.like_argument, each.like_dimension))
        for each in interface.conditions
        if each.like_argument is not None
    ]
    for _ in pairs:  # as many times as a size can be passed on
        for one, other in pairs:
            if one in known or other in known:
                same = known[one] if one in known else known[other]
                known.setdefault(one, same)
                known.setdefault(other, same)
    return {
        number: tuple(known.get((number, at), size) for at in range(len(each.shape)))
        for number, each in enumerate(interface.arguments)
        if isinstance(each, Buffer) and not each.is_pointer
    }


def shape_of(word: ArgumentWord) -> tuple[int, ...] | None:
    """The shape that a word gives, or the array in the file that it names."""
    if word.maker.endswith(".npy") and "," not in word.maker:
        return read_array(word.maker, "r").shape
    return word.shape


def _make(
    argument: Argument,
    word: ArgumentWord,
    default: tuple[int, ...] | None,
    seed: tuple[int, int],
) -> Given:
    is_number = isinstance(argument, Scalar)
    type = argument.type if is_number else argument.element
    if "," in word.maker and not is_number:
        files = [each for each in word.maker.split(",") if each]
        arrays = [np.ascontiguousarray(read_array(each)) for each in files]
        return Addresses(tuple(arrays))
    if word.maker.endswith(".npy"):
        array = read_array(word.maker)
        if not is_number:
            return laid_out(argument, array)
        if array.size != 1 or array.dtype != dtype_of(type):
            raise ValueError(
                f"expected one {dtype_of(type)} in {word.maker} for {argument.name}, "
                f"got {array.size} of {array.dtype}"
            )
        return array.ravel()[0]
    shape = (1,) if is_number else _shape(argument, word, default)
    if (count := prod(shape)) > MAX_ELEMENTS:
        raise ValueError(
            f"expected {argument.name} to have at most {MAX_ELEMENTS} elements, "
            f"got {count}"
        )
    if word.element not in (None, type):
        raise ValueError(f"expected {argument.name} to hold {type}, got {word.element}")
    if is_number and word.shape:
        got = "x".join(map(str, word.shape))
        raise ValueError(f"expected no shape of {argument.name}, a number, got {got}")
    if word.maker in MAKERS:
        array = _filled(word.maker, type, shape, seed)
    else:
        value = _number(word.maker, type, argument.name)
        array = np.full(shape, value, dtype=value.dtype)
    return array[0] if is_number else laid_out(argument, array)


def read_array(path: str, mode: Literal["r"] | None = None) -> Array:
    """The array in a file; with mode "r" it is mapped, not read.

    Raises:
        ValueError: the file cannot be read, or is no array of numpy.
    """
    try:
        found: object = np.load(path, mmap_mode=mode, allow_pickle=False)
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, EOFError, BadZipFile) as error:
        raise ValueError(f"expected {path} to be an array of numpy") from error
    if not isinstance(found, np.ndarray):
        raise ValueError(f"expected {path} to be one array of numpy, got several")
    return cast("Array", found)


def laid_out(argument: Buffer, array: Array) -> Array:
    """An array with the strides that a memref has; those left open follow the others.

    What cannot have them, having another rank, is left as it is; that of a pointer, in
    row-major order.
    """
    if argument.is_pointer:
        return np.ascontiguousarray(array)
    if argument.strides is None or array.ndim != len(argument.strides):
        return array
    strides: list[int] = []
    step = 1
    for fixed, size in zip(reversed(argument.strides), array.shape[::-1], strict=True):
        strides.insert(0, step if fixed is None else fixed)
        step = max(step, strides[0] * size)
    found = strided_zeros(array.shape, strides, array.dtype)
    found[...] = array
    return found


def _shape(
    argument: Buffer, word: ArgumentWord, default: tuple[int, ...] | None
) -> tuple[int, ...]:
    """The shape that an array is to have; that of a pointer's memory must be given."""
    if default is None:
        if word.shape is None:
            raise ValueError(
                f"expected a shape for {argument.name}, a pointer, as in "
                f"{argument.name}=rand:64x64"
            )
        return word.shape
    if word.shape is None:
        return default
    check_shape(argument, word.shape)
    return word.shape


def _number(text: str, type: str, name: str) -> np.generic:
    try:
        if is_float(type):
            return encode(np.array([float(text)]), type)[0]
        number = int(text, 0)
    except (ValueError, OverflowError) as error:
        raise ValueError(
            f"expected {', '.join(MAKERS)}, a file x.npy or a number of type {type} "
            f"for {name}, got {text!r}"
        ) from error
    dtype = dtype_of(type)
    if (reason := why_no_integer(number, 8 * dtype.itemsize)) is not None:
        raise ValueError(f"expected {name} to be an {type}, got {text}: {reason}")
    return np.array([number]).astype(dtype)[0]


def _filled(
    maker: str, type: str, shape: tuple[int, ...], seed: tuple[int, int]
) -> Array:
    generator = np.random.default_rng(seed)
    count = prod(shape)
    match maker:
        case "zeros" | "ones":
            values = np.full(count, float(maker == "ones"))
        case "iota":
            values = np.arange(count)
        case "rand" if is_float(type):
            values = generator.uniform(-1, 1, count)
        case "rand":
            dtype = dtype_of(type)
            data = generator.bytes(count * dtype.itemsize)
            values = np.frombuffer(data, dtype)
        case _:
            values = generator.integers(-EXACT_LIMIT, EXACT_LIMIT + 1, count)
    if is_scale(type) and maker in ("exact", "rand"):
        values = 2.0**values
    return encode(values, type).reshape(shape)


def is_float(type: str) -> bool:
    return type in FORMATS


def encode(values: Array, type: str) -> Array:
    """Numbers as an element type: rounded, wrapped around, or bits as of bf16."""
    if type in CODED:
        from coopc.sim.numerics import encoded

        return encoded(values.astype(np.float32), type)
    if type == "i1":
        return values.astype(bool)
    if is_float(type):
        with np.errstate(over="ignore"):  # what is too large becomes infinite
            return values.astype(dtype_of(type))
    return values.astype(np.int64).astype(dtype_of(type))
