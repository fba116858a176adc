"""A module as one list of instructions, in the order that the specification asks for.

Capabilities, extensions, imports, the memory model, entry points, execution modes,
debug information, annotations, then types, constants and variables, then functions:
those only declared first.  Ids are numbered here, in the order of their appearance,
which is the order in which spirv-as numbers symbolic ids.
"""

from dataclasses import dataclass

from coopc.spirv.capabilities import capabilities, extensions
from coopc.spirv.grammar import instruction
from coopc.spirv.module import Module
from coopc.spirv.statement import Atom, Id, Statement, atoms


@dataclass(frozen=True)
class Ordered:
    """What the writers write."""

    statements: tuple[tuple[Statement, list[Atom]], ...]
    """Each instruction with its operands."""
    numbers: dict[Id, int]
    """The number of each id, from 1."""

    @property
    def bound(self) -> int:
        """All numbers are less."""
        return len(self.numbers) + 1


def ordered(module: Module) -> Ordered:
    """All instructions of a module, with the derived ones."""
    placed = [(statement, atoms(statement)) for statement in _given(module)]
    body = [found for _, found in placed]
    declared = capabilities(module, placed)
    derived = [
        *(Statement(instruction("OpCapability"), (name,)) for name in declared),
        *(
            Statement(instruction("OpExtension"), (name,))
            for name in extensions(module, placed, declared)
        ),
    ]
    head = [(statement, atoms(statement)) for statement in derived]
    return Ordered((*head, *placed), _numbers(body))


def _given(module: Module) -> list[Statement]:
    functions = sorted(module.functions, key=lambda function: bool(function.body))
    return [
        *module.imports,
        module.memory_model,
        *module.entry_points,
        *module.execution_modes,
        *module.sources,
        *module.names,
        *module.annotations,
        *module.globals,
        *(statement for f in functions for statement in f.statements()),
    ]


def _numbers(body: list[list[Atom]]) -> dict[Id, int]:
    numbers: dict[Id, int] = {}
    for found in body:
        for atom in found:
            if type(atom) is Id and atom not in numbers:
                numbers[atom] = len(numbers) + 1
    for id in numbers:
        assert id.definition is not None, f"{id} is used and nowhere defined"
    return numbers
