"""Dominators: through which nodes of a graph all ways from its root lead."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from xdsl.ir import Block

T = TypeVar("T", bound=Hashable)


def successors(block: Block) -> Sequence[Block]:
    return () if block.last_op is None else block.last_op.successors


def immediate_dominators(root: T, following: Callable[[T], Sequence[T]]) -> dict[T, T]:
    """Return the last node through which all ways lead from the root to each node.

    The root's is itself.  A node comes after those that dominate it; nodes that are not
    reached are left out.

    Source: Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", 2001.
    """
    order = postorder(root, following)
    number = {node: place for place, node in enumerate(order)}
    found: dict[T, T] = {root: root}
    changed = True
    while changed:
        changed = False
        for node in reversed(order):
            for to in following(node):
                if to is root or node not in found:
                    continue
                one, other = node, found.get(to, node)
                while one is not other:
                    while number[one] < number[other]:
                        one = found[one]
                    while number[other] < number[one]:
                        other = found[other]
                if to not in found or found[to] is not one:
                    found[to] = one
                    changed = True
    return found


def postorder(root: T, following: Callable[[T], Sequence[T]]) -> list[T]:
    """The nodes that are reached, each after those that it leads to."""
    order: list[T] = []
    seen = {root}
    open_nodes = [(root, iter(following(root)))]
    while open_nodes:
        node, rest = open_nodes[-1]
        for to in rest:
            if to not in seen:
                seen.add(to)
                open_nodes.append((to, iter(following(to))))
                break
        else:
            open_nodes.pop()
            order.append(node)
    return order
