"""How Triton spells encodings: from the values of `coopc.layout` to text.

Keys are in Triton's order, and what follows from the others is printed as Triton does:
A, B and C of `#ttig.dpas` are the shapes of a subgroup's clusters.

>>> spell(BlockedEncoding((1, 2), (2, 2), (1, 1), (1, 0)))[:40]
'#ttg.blocked<{sizePerThread = [1, 2], th'
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from coopc.layout.dpas import DpasEncoding
from coopc.layout.encoding import Bases, Encoding
from coopc.layout.encodings import (
    BlockedEncoding,
    DotOperandEncoding,
    LinearEncoding,
    SliceEncoding,
)

NAMES: dict[type[Encoding], str] = {
    BlockedEncoding: "ttg.blocked",
    SliceEncoding: "ttg.slice",
    LinearEncoding: "ttg.linear",
    DotOperandEncoding: "ttg.dot_op",
    DpasEncoding: "ttig.dpas",
}


def spell(encoding: Encoding) -> str:
    """Return an encoding as the attribute that holds it is printed."""
    return f"#{NAMES[type(encoding)]}{spell_fields(encoding)}"


def spell_fields(encoding: Encoding) -> str:
    """Return the dictionary of an encoding, in its brackets."""
    match encoding:
        case BlockedEncoding():
            items = blocked(encoding)
        case SliceEncoding(dim=dim, parent=parent):
            items = [("dim", str(dim)), ("parent", spell(parent))]
        case LinearEncoding(layout=layout):
            items = [(name, numbers(layout.bases(name))) for name in layout.in_names]
        case DotOperandEncoding(op_idx=index, parent=parent, k_width=width):
            items = [("opIdx", str(index)), ("parent", spell(parent))]
            items += [("kWidth", str(width))] if width else []
        case DpasEncoding():
            items = dpas(encoding)
        case _:
            raise AssertionError(encoding)
    return dictionary(items)


def blocked(encoding: BlockedEncoding) -> list[tuple[str, str]]:
    """Return the keys and values of `#ttg.blocked`."""
    return [
        ("sizePerThread", numbers(encoding.size_per_thread)),
        ("threadsPerWarp", numbers(encoding.threads_per_warp)),
        ("warpsPerCTA", numbers(encoding.warps_per_cta)),
        ("order", numbers(encoding.order)),
        *sharing(encoding.cga),
    ]


def sharing(cga: Bases) -> list[tuple[str, str]]:
    """Return how work-groups share a tensor, if they do."""
    return [("CGALayout", numbers(cga))] if cga else []


def dpas(encoding: DpasEncoding) -> list[tuple[str, str]]:
    """Return the keys and values of `#ttig.dpas`, with those that follow."""
    pack = encoding.fp4_k_pack
    return [
        ("repeatCount", str(encoding.repeat_count)),
        ("systolicDepth", str(encoding.systolic_depth)),
        ("executionSize", str(encoding.execution_size)),
        ("opsPerChan", str(encoding.ops_per_chan)),
        *([] if pack is None else [("fp4KPack", str(pack))]),
        ("threadsPerWarp", str(encoding.threads_per_warp)),
        ("warpsPerCTA", numbers(encoding.warps_per_cta)),
        ("repCluster", numbers(encoding.rep_cluster)),
        ("A", numbers(encoding.cluster_shape("a"))),
        ("B", numbers(encoding.cluster_shape("b"))),
        ("C", numbers(encoding.cluster_shape("c"))),
    ]


def numbers(values: Sequence[int] | Bases) -> str:
    """Return nested lists of integers.

    >>> numbers(((0, 1), (2, 0)))
    '[[0, 1], [2, 0]]'
    """
    return (
        f"[{', '.join(str(x) if isinstance(x, int) else numbers(x) for x in values)}]"
    )


def dictionary(items: Iterable[tuple[str, str]]) -> str:
    """Return keys and values in the brackets of an attribute.

    >>> dictionary([("dim", "1")])
    '<{dim = 1}>'
    """
    return f"<{{{', '.join(f'{key} = {value}' for key, value in items)}}}>"
