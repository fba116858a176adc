"""What xDSL 0.74 does slowly, and the same done faster.

`coopc.xdsl_gaps` lists these among the gaps, and imports this module.  Nothing here
changes a result: `test_xdsl_gaps.py` compares each with what xDSL does.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import ModuleType
from typing import Any, Literal, NamedTuple, TypeAlias

from xdsl import traits as xdsl_traits
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import (
    Attribute,
    Block,
    Operation,
    OpResult,
    Region,
    SSAValue,
    SSAValues,
    core,
)
from xdsl.irdl import IRDLOperation, OpDef, VarOperandDef, operations
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriterListener,
    PatternRewriteWalker,
    RewritePattern,
)
from xdsl.traits import (
    HasCanonicalizationPatternsTrait,
    HasFolder,
    IsolatedFromAbove,
    IsTerminator,
    MemoryEffect,
    MemoryEffectKind,
    MemoryReadEffect,
    NoMemoryEffect,
    OpTrait,
    Pure,
    RecursiveMemoryEffect,
    SymbolOpInterface,
)
from xdsl.transforms import canonicalize, dead_code_elimination


def mend(owner: type | ModuleType, name: str, wrap: Callable[..., Any]) -> None:
    """Replace what `owner` has by a name with what `wrap` makes of it."""
    setattr(owner, name, wrap(getattr(owner, name)))


class Concrete(ABCMeta):
    """Of classes that no others are registered for, as abstract base classes allow."""

    __instancecheck__ = type.__instancecheck__


def _make_concrete(cls: type) -> None:
    if type(cls) is ABCMeta:
        cls.__class__ = Concrete  # and so of those derived later
    for each in type.__subclasses__(cls):
        _make_concrete(each)


for _each in (core._IRNode, SSAValue, Attribute):  # pyright: ignore[reportPrivateUsage]
    _make_concrete(_each)


def walk_nested(ops: Iterator[Operation]) -> Iterator[Operation]:
    """Yield operations, each before what is in it, in the order of `Operation.walk`."""
    for top in ops:
        yield top
        if top.regions:
            yield from _walk_in(top)


def _walk_in(top: Operation) -> Iterator[Operation]:
    around: list[tuple[Iterator[Block], Operation | None]] = []
    blocks, op = _blocks_in(top), None
    while True:
        if op is not None:
            following = op.next_op
            yield op
            if op.regions:
                around.append((blocks, following))
                blocks, op = _blocks_in(op), None
            else:
                op = following
        elif (block := next(blocks, None)) is not None:
            op = block.first_op
        elif around:
            blocks, op = around.pop()
        else:
            return


def _blocks_in(op: Operation) -> Iterator[Block]:
    for region in op.regions:
        yield from region.blocks


def _walk(walk: Callable[..., Iterator[Operation]]) -> Any:
    def walk_fast(
        self: Operation | Block, *, reverse: bool = False, region_first: bool = False
    ) -> Iterator[Operation]:
        if reverse or region_first:
            return walk(self, reverse=reverse, region_first=region_first)
        return walk_nested(iter((self,) if isinstance(self, Operation) else self.ops))

    return walk_fast


Asked: TypeAlias = tuple[frozenset[OpTrait], list[OpTrait]]
_asked: dict[tuple[type[Operation], Any], Asked] = {}
"""The traits of an operation, and those of a kind among them."""


def traits_of_type(cls: type[Operation], kind: type[OpTrait]) -> list[OpTrait]:
    """The traits of an operation that are of a kind."""
    traits, found = cls.traits.traits, _asked.get((cls, kind))
    if found is None or found[0] is not traits:
        those = [trait for trait in traits if isinstance(trait, kind)]
        found = _asked[cls, kind] = traits, those
    return found[1]


def _known(cls: type[Operation], kind: Any) -> list[OpTrait] | None:
    """The traits of an operation that are of a kind, if that was asked before."""
    found = _asked.get((cls, kind))
    if found is None or found[0] is not cls.traits.__dict__["_traits"]:
        return None
    return found[1]


def _get_trait(get: Any) -> Any:
    def get_trait(cls: type[Operation], trait: Any) -> OpTrait | None:
        if (known := _known(cls, trait)) is None:
            if not isinstance(trait, type):
                return get.__func__(cls, trait)
            known = traits_of_type(cls, trait)
        return known[0] if known else None

    return classmethod(get_trait)


def _has_trait(_: Any) -> Any:
    def has_trait(
        cls: type[Operation], trait: Any, *, value_if_unregistered: bool = True
    ) -> bool:
        if (known := _known(cls, trait)) is None:
            return cls.get_trait(trait) is not None
        return bool(known)

    return classmethod(has_trait)


mend(Operation, "walk", _walk)
mend(Block, "walk", _walk)
mend(Operation, "get_trait", _get_trait)
mend(Operation, "has_trait", _has_trait)
setattr(Operation, "get_traits_of_type", classmethod(traits_of_type))  # noqa: B010

_by_name: Any = core.IRWithName
_by_name.extract_valid_name = classmethod(
    lru_cache(4096)(_by_name.extract_valid_name.__func__)
)
_by_identity: Any = (SSAValue, core._IRNode, IRDLOperation)  # pyright: ignore[reportPrivateUsage]
for _each in _by_identity:
    # As xDSL compares them, but without a call.
    _each.__hash__, _each.__eq__ = object.__hash__, object.__eq__


def _create(_: Callable[..., None]) -> Any:
    def create(
        self: Any,
        *,
        operands: Sequence[SSAValue] = (),
        result_types: Sequence[Attribute] = (),
        properties: Mapping[str, Attribute] = {},
        attributes: Mapping[str, Attribute] = {},
        location: LocationAttr | None = None,
        successors: Sequence[Block] = (),
        regions: Sequence[Region] = (),
    ) -> None:
        if operands:
            self.operands = operands
        if result_types:
            self.results = SSAValues(
                [OpResult(type, self, at) for at, type in enumerate(result_types)]
            )
        self.properties = dict(properties)
        self.attributes = dict(attributes)
        self.location = UNKNOWN_LOC if location is None else location
        if successors:
            self.successors = successors
        for region in regions:
            self.add_region(region)
        self.__post_init__()

    return create


LISTS: tuple[Any, ...] = (list, tuple, SSAValues)


def _flat(given: Sequence[Any], defs: Sequence[Any], kind: type) -> list[Any] | None:
    """What is given for definitions, in one list; None where that takes more care."""
    found: list[Any] = []
    if len(given) != len(defs):
        return None
    for one, (_, definition) in zip(given, defs, strict=True):
        is_result = isinstance(one, Operation) and len(one.results) == 1
        each: Any = one.results if is_result else one
        if isinstance(each, kind):
            found.append(each)
        elif type(each) in LISTS and (
            len(each) == 1 or type(definition) is VarOperandDef
        ):
            found += each
        else:
            return None
    return found


def _build(build: Callable[..., None]) -> Any:
    def build_plain(self: IRDLOperation, op_def: OpDef, **parts: Any) -> None:
        operands = _flat(parts["operands"], op_def.operands, SSAValue)
        types = _flat(parts["result_types"], op_def.results, Attribute)
        regions = _flat(parts["regions"], op_def.regions, Region)
        if (
            op_def.options
            or parts["successors"]
            or operands is None
            or types is None
            or regions is None
            or not all([isinstance(x, SSAValue) for x in operands])
            or not all([isinstance(x, Region) for x in regions])
        ):
            return build(self, op_def, **parts)
        return Operation.__init__(
            self,
            operands=operands,
            result_types=types,
            properties={x: y for x, y in parts["properties"].items() if y is not None},
            attributes={x: y for x, y in parts["attributes"].items() if y is not None},
            regions=regions,
        )

    return build_plain


mend(operations, "irdl_op_init", _build)
mend(Operation, "__init__", _create)


def _isolated(verify: Callable[..., None]) -> Any:
    def verify_isolated(self: IsolatedFromAbove, op: Operation) -> None:
        defined: set[SSAValue] = set()
        used: set[SSAValue] = set()
        regions = [*op.regions]
        while regions:
            for block in regions.pop().blocks:
                defined.update(block.args)
                for child in block.ops:
                    used.update(child.operands)
                    defined.update(child.results)
                    if child.regions and not child.has_trait(IsolatedFromAbove):
                        regions += child.regions
        if not used <= defined:
            verify(self, op)  # says which

    return verify_isolated


mend(IsolatedFromAbove, "verify", _isolated)


class Effects(NamedTuple):
    """What is known of the effects of a kind of operation."""

    traits: frozenset[OpTrait]
    """Its traits then; it may get others."""
    kind: Literal["none", "reads", "nested", "unknown", "others"]
    """`nested` are those of what is in it."""
    stays: bool
    """Whether it is no operation to delete, whatever its effects are."""


_effects: dict[type[Operation], Effects] = {}


def effects_of_type(cls: type[Operation]) -> Effects:
    traits, found = cls.traits.traits, _effects.get(cls)
    if found is None or found.traits is not traits:
        kinds = {type(x) for x in traits_of_type(cls, MemoryEffect)}
        stays = any(
            cls.has_trait(x, value_if_unregistered=False)
            for x in (IsTerminator, SymbolOpInterface)
        )
        kind = "others"
        if kinds <= {NoMemoryEffect, Pure}:
            kind = "none" if kinds else "unknown"
        elif kinds <= {NoMemoryEffect, Pure, MemoryReadEffect}:
            kind = "reads"
        elif kinds == {RecursiveMemoryEffect}:
            kind = "nested"
        found = _effects[cls] = Effects(traits, kind, stays)
    return found


def _get_effects(ask: Callable[..., Any]) -> Any:
    def get_effects(op: Operation) -> Any:
        kind = effects_of_type(type(op)).kind
        if kind == "none" or kind == "unknown":
            return frozenset[Any]() if kind == "none" else None
        return ask(op)

    return get_effects


mend(xdsl_traits, "get_effects", _get_effects)


def _only_results(ask: Callable[[Operation], bool]) -> Any:
    def only_results(op: Operation, root: Operation | None = None) -> bool:
        kind = effects_of_type(type(op)).kind
        if kind == "nested":
            return all(only_results(x, root or op) for x in _directly_in(op))
        if kind != "others":
            return kind != "unknown"
        if root is None:
            return ask(op)
        effects = xdsl_traits.get_effects(op)
        return effects is not None and all(
            x.kind == MemoryEffectKind.READ
            or (
                x.kind == MemoryEffectKind.ALLOC
                and isinstance(x.value, SSAValue)
                and root.is_ancestor(x.value.owner)
            )
            for x in effects
        )

    return only_results


def _would_be_dead(_: Any) -> Any:
    def would_be_dead(op: Operation) -> bool:
        _, kind, stays = effects_of_type(type(op))
        if stays or kind == "unknown":
            return False
        return kind in ("none", "reads") or dead_code_elimination.result_only_effects(
            op
        )

    return would_be_dead


def _is_dead(_: Any) -> Any:
    def is_dead(op: Operation) -> bool:
        for each in op.results:
            if each.first_use is not None:
                return False
        return dead_code_elimination.would_be_trivially_dead(op)

    return is_dead


def region_dce(region: Region, listener: PatternRewriterListener | None = None) -> bool:
    """Look at uses before definitions once, where regions have no branches."""
    if len(region.blocks) > 1:
        return dead_code_elimination.region_dce(region, listener)
    changed = False
    for block in region.blocks:
        for op in reversed(block.ops):
            if dead_code_elimination.is_trivially_dead(op):
                if listener is not None:
                    listener.handle_operation_removal(op)
                block.erase_op(op, safe_erase=False)
                changed = True
                continue
            for each in op.regions:
                changed |= region_dce(each, listener)
    return changed


def _region_dce(_: Any) -> Any:
    return region_dce


mend(dead_code_elimination, "result_only_effects", _only_results)
mend(dead_code_elimination, "would_be_trivially_dead", _would_be_dead)
mend(dead_code_elimination, "is_trivially_dead", _is_dead)
mend(canonicalize, "region_dce", _region_dce)

_patterns: dict[type[Operation], tuple[frozenset[OpTrait], RewritePattern | None]] = {}
"""The traits of an operation, and what canonicalizes it."""


def pattern_of_type(cls: type[Operation]) -> RewritePattern | None:
    traits, found = cls.traits.traits, _patterns.get(cls)
    if found is None or found[0] is not traits:
        kinds: Any = traits_of_type(cls, HasCanonicalizationPatternsTrait)
        each = [x for kind in kinds for x in kind.get_patterns(cls)]
        all_of_them = GreedyRewritePatternApplier(each) if each else None
        found = traits, each[0] if len(each) == 1 else all_of_them
        _patterns[cls] = found
    return found[1]


def _rewrite(_: Any) -> Any:
    def match_and_rewrite(self: Any, op: Operation, rewriter: PatternRewriter) -> None:
        if (pattern := pattern_of_type(type(op))) is not None:
            pattern.match_and_rewrite(op, rewriter)

    return match_and_rewrite


def _is_idle(op: Operation) -> bool:
    """Whether no pattern, fold or deletion is for an operation as it is."""
    if pattern_of_type(type(op)) is not None or op.has_trait(HasFolder):
        return False
    return not dead_code_elimination.is_trivially_dead(op)


def _populate(populate: Callable[..., None]) -> Any:
    def populate_some(self: Any, region: Region) -> None:
        """Leave out what is idle; where it dies, its users tell, or `region_dce`."""
        if self.post_walk_func is not region_dce:
            return populate(self, region)
        ops = [op for block in region.blocks for op in block.walk()]
        for op in reversed(ops):
            if not _is_idle(op):
                self._worklist.push(op)
        return None

    return populate_some


mend(PatternRewriteWalker, "_populate_worklist", _populate)
mend(canonicalize.CanonicalizationRewritePattern, "match_and_rewrite", _rewrite)


def _directly_in(op: Operation) -> Iterator[Operation]:
    return (x for block in _blocks_in(op) for x in block.ops)
