"""A dialect, from the names of the module that defines it."""

from collections.abc import Mapping

from xdsl.ir import Attribute, Dialect, Operation


def dialect_of(name: str, names: Mapping[str, object]) -> Dialect:
    """Return the dialect of operations and attributes whose names begin with its."""
    operations: list[type[Operation]] = []
    attributes: list[type[Attribute]] = []
    for _, found in sorted(names.items()):
        if isinstance(found, type) and str(vars(found).get("name")).startswith(
            f"{name}."
        ):
            if issubclass(found, Operation):
                operations.append(found)
            elif issubclass(found, Attribute):
                attributes.append(found)
    return Dialect(name, operations, attributes)
