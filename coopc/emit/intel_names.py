"""Names of the builtins of Intel's compiler, which both emitters call.

A name that the compiler does not know stays a call, with no more than a warning, so
names are made of checked parts only.  Split DPAS is Intel's OpenCL builtin, of which
DG2 has these; the names are mangled by the Itanium rules, a u8 operand is of unsigned
integers:

    intel_sub_group_{s}_{t}_split_matrix_mad_k32(a, b, c), s and t of i8, u8
    intel_sub_group_{t}_{t}_split_matrix_mad_k16(a, b, c), t of f16, bf16

Names of payloads' builtins are not mangled: the block's shape is in the name.
"""

from __future__ import annotations

from collections.abc import Sequence

from coopc.dialects.xe import Precision
from coopc.plan.block_shape import BlockMode, BlockShape

PAYLOAD_PREFIX = "__builtin_IB_subgroup_"

_MODES = {
    BlockMode.PLAIN: "",
    BlockMode.TRANSFORM: "_transform",
    BlockMode.TRANSPOSE: "_transpose",
}


def payload_name(operation: str, shape: BlockShape) -> str:
    """The name of a builtin that uses a payload.

    >>> payload_name("read_ap", BlockShape(32, 16, 8, 1, BlockMode.TRANSPOSE))
    '__builtin_IB_subgroup_block_read_ap_transpose_u32_m16k8v1'
    """
    size = f"u{shape.bits}_m{shape.height}k{shape.width}v{shape.count}"
    return f"{PAYLOAD_PREFIX}block_{operation}{_MODES[shape.mode]}_{size}"


def split_name(precisions: tuple[Precision, Precision], repeat: int) -> str:
    """The mangled name of a builtin of split DPAS.

    >>> split_name((Precision.F16, Precision.F16), 8)
    '_Z44intel_sub_group_f16_f16_split_matrix_mad_k16Dv4_iDv8_iDv8_f'
    >>> split_name((Precision.S8, Precision.S8), 2)
    '_Z42intel_sub_group_i8_i8_split_matrix_mad_k32iDv8_iDv2_i'
    """
    a, b = (
        {Precision.S8: "i8"}.get(precision, precision.value) for precision in precisions
    )
    name = f"intel_sub_group_{a}_{b}_split_matrix_mad_k{precisions[0].k}"
    letters = ["j" if p is Precision.U8 else "i" for p in precisions]
    letters.append("i" if precisions[0].is_integer else "f")
    lengths = (repeat // 2, 8, repeat)
    return f"_Z{len(name)}{name}{mangled(list(zip(letters, lengths, strict=True)))}"


def mangled(parameters: Sequence[tuple[str, int]]) -> str:
    """Vectors of a builtin type as the Itanium C++ ABI mangles them.

    A vector that occurred before is `S_`, `S0_`, `S1_` and so on, counted in the order
    in which they first occur; a single number is no vector.

    >>> mangled([("i", 4), ("i", 8), ("i", 8)])
    'Dv4_iDv8_iS0_'
    """
    seen: list[tuple[str, int]] = []
    text = ""
    for letter, length in parameters:
        if length == 1:
            text += letter
        elif (letter, length) in seen:
            at = seen.index((letter, length))
            text += f"S{at - 1 if at else ''}_"
        else:
            seen.append((letter, length))
            text += f"Dv{length}_{letter}"
    return text
