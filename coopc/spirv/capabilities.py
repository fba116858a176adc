"""The capabilities and extensions that a module must declare, from what it uses.

Each use asks for any one of some capabilities (`Needs`).  Asks for one are met first;
then the others, in order, by what is declared or implied already, else by the first
that suits the kind of module (kernel or shader), preferably one of the core.  A
capability that is only implied by a declared one is not declared.  The result is in the
order of their numbers.
"""

from collections.abc import Iterable, Iterator
from functools import cache

from coopc.spirv.grammar import Enumerant, Needs, Version, enumeration
from coopc.spirv.module import Module
from coopc.spirv.special_needs import special_needs
from coopc.spirv.statement import Atom, Instruction, Selected, Statement

Placed = Iterable[tuple[Statement, list[Atom]]]
Alternatives = tuple[str, ...]


def capabilities(module: Module, placed: Placed) -> list[str]:
    """The capabilities to declare."""
    asked: dict[Alternatives, None] = {(name,): None for name in module.capabilities}
    for needs in _needs(placed):
        if needs.capabilities:
            asked[needs.capabilities] = None
    for alternatives in special_needs(module, placed):
        asked[alternatives] = None
    declared = {choices[0] for choices in asked if len(choices) == 1}
    reached = _closure(declared)
    for choices in sorted(asked, key=lambda choices: (len(choices), choices)):
        if reached.isdisjoint(choices):
            declared.add(_choose(choices, reached, module.version))
            reached = _closure(declared)
    return sorted(declared, key=lambda name: _capability(name).value)


def extensions(module: Module, placed: Placed, declared: list[str]) -> list[str]:
    """The extensions to declare, beside those capabilities."""
    found = set(module.extensions)
    needs = [*_needs(placed), *(_capability(name).needs for name in declared)]
    for need in needs:
        extension = need.extension_in(module.version)
        if extension is not None:
            found.add(extension)
    return sorted(found)


def _needs(placed: Placed) -> Iterator[Needs]:
    for statement, found in placed:
        yield statement.facts.needs
        for atom in found:
            if isinstance(atom, Selected):
                yield from (member.needs for member in atom.members)
            elif isinstance(atom, Instruction):
                yield atom.needs


def _choose(choices: Alternatives, reached: set[str], version: Version) -> str:
    """The first choice that does not make a kernel a shader, or the other way."""
    foreign = {"Shader"} if "Kernel" in reached else {"Kernel"}

    def rank(name: str) -> tuple[bool, bool]:
        suits = foreign.isdisjoint({name, *_implied(name)})
        return not suits, not _capability(name).needs.is_core(version)

    return min(choices, key=rank)


def _closure(declared: Iterable[str]) -> set[str]:
    return {name for outer in declared for name in (outer, *_implied(outer))}


@cache
def _implied(name: str) -> frozenset[str]:
    """All capabilities that one implies, not itself."""
    direct = _capability(name).needs.capabilities
    return frozenset(_closure(direct))


def _capability(name: str) -> Enumerant:
    (member,) = enumeration("Capability").select(name)
    return member
