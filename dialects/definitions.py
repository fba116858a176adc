"""What a dialect lists: the operations and attributes that its modules define."""

import sys

from xdsl.ir import Attribute, Operation


def defined_in(name: str) -> tuple[list[type[Operation]], list[type[Attribute]]]:
    """Return operations and attributes of a module, or of what a package has imported.

    They are those with a name, so no base class is one.
    """
    classes = [
        found
        for key, module in sys.modules.items()
        if key == name or key.startswith(f"{name}.")
        for found in vars(module).values()
        if isinstance(found, type) and found.__module__ == key and "name" in vars(found)
    ]
    classes.sort(key=lambda found: found.__name__)
    return (
        [found for found in classes if issubclass(found, Operation)],
        [found for found in classes if issubclass(found, Attribute)],
    )
