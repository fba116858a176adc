"""The shapes of a kernel's arrays that nobody gives, from those that somebody does."""

from collections.abc import Mapping

from coopc.interface import Buffer, Interface


def default_shapes(
    interface: Interface, given: Mapping[str, tuple[int, ...]], size: int
) -> dict[int, tuple[int, ...]]:
    """The shapes that arrays have by default, by the number of the argument.

    A dimension is as long as its type says, or as one that it must be as long as.
    Pointers have no shape.

    Args:
        interface: of the kernel.
        given: shapes that are known, by the name of the argument.
        size: elements along dimensions of which nothing is known.
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
        if isinstance(each, Buffer) and each.shape
    }
