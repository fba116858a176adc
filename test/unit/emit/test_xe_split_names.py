"""The names of split DPAS are those that Intel's OpenCL C front end writes."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from support.toolchain import disassemble_spirv

from coopc.dialects.xe import Precision
from coopc.emit.xe import mangled, split_name

S8, U8, F16, BF16 = Precision.S8, Precision.U8, Precision.F16, Precision.BF16

NAMES = {
    (S8, S8, 8): "_Z42intel_sub_group_i8_i8_split_matrix_mad_k32Dv4_iDv8_iS0_",
    (S8, S8, 4): "_Z42intel_sub_group_i8_i8_split_matrix_mad_k32Dv2_iDv8_iDv4_i",
    (S8, S8, 2): "_Z42intel_sub_group_i8_i8_split_matrix_mad_k32iDv8_iDv2_i",
    (S8, U8, 8): "_Z42intel_sub_group_i8_u8_split_matrix_mad_k32Dv4_iDv8_jDv8_i",
    (S8, U8, 4): "_Z42intel_sub_group_i8_u8_split_matrix_mad_k32Dv2_iDv8_jDv4_i",
    (S8, U8, 2): "_Z42intel_sub_group_i8_u8_split_matrix_mad_k32iDv8_jDv2_i",
    (U8, S8, 8): "_Z42intel_sub_group_u8_i8_split_matrix_mad_k32Dv4_jDv8_iS0_",
    (U8, S8, 4): "_Z42intel_sub_group_u8_i8_split_matrix_mad_k32Dv2_jDv8_iDv4_i",
    (U8, S8, 2): "_Z42intel_sub_group_u8_i8_split_matrix_mad_k32jDv8_iDv2_i",
    (U8, U8, 8): "_Z42intel_sub_group_u8_u8_split_matrix_mad_k32Dv4_jDv8_jDv8_i",
    (U8, U8, 4): "_Z42intel_sub_group_u8_u8_split_matrix_mad_k32Dv2_jDv8_jDv4_i",
    (U8, U8, 2): "_Z42intel_sub_group_u8_u8_split_matrix_mad_k32jDv8_jDv2_i",
    (F16, F16, 8): "_Z44intel_sub_group_f16_f16_split_matrix_mad_k16Dv4_iDv8_iDv8_f",
    (F16, F16, 4): "_Z44intel_sub_group_f16_f16_split_matrix_mad_k16Dv2_iDv8_iDv4_f",
    (F16, F16, 2): "_Z44intel_sub_group_f16_f16_split_matrix_mad_k16iDv8_iDv2_f",
    (
        BF16,
        BF16,
        8,
    ): "_Z46intel_sub_group_bf16_bf16_split_matrix_mad_k16Dv4_iDv8_iDv8_f",
    (
        BF16,
        BF16,
        4,
    ): "_Z46intel_sub_group_bf16_bf16_split_matrix_mad_k16Dv2_iDv8_iDv4_f",
    (BF16, BF16, 2): "_Z46intel_sub_group_bf16_bf16_split_matrix_mad_k16iDv8_iDv2_f",
}
"""All of them, by the precisions of a and b and the repeat count."""

KERNEL = """
__attribute__((intel_reqd_sub_group_size(8)))
kernel void k{n}(global {a} *a, global {b} *b, global {c} *c) {{
  int i = get_global_id(0);
  c[i] = {name}(a[i], b[i], c[i]);
}}
"""


def test_table() -> None:
    assert {key: split_name(key[:2], key[2]) for key in NAMES} == NAMES


def test_substitutions() -> None:
    assert mangled([("i", 8), ("i", 8), ("i", 8)]) == "Dv8_iS_S_"
    assert mangled([("i", 1), ("i", 8), ("f", 8)]) == "iDv8_iDv8_f"
    assert mangled([("i", 2), ("i", 4), ("j", 8), ("j", 8)]) == "Dv2_iDv4_iDv8_jS1_"


def vector(type: str, length: int) -> str:
    return type if length == 1 else f"{type}{length}"


def test_front_end_writes_the_same(tool: Callable[[str], Path], tmp_path: Path) -> None:
    tool("spirv-dis")
    source = ""
    for n, ((a, b, repeat), name) in enumerate(NAMES.items()):
        plain = re.search(r"intel\w+_k(16|32)", name)
        assert plain is not None
        source += KERNEL.format(
            n=n,
            name=plain[0],
            a=vector("uint" if a is U8 else "int", repeat // 2),
            b=vector("uint" if b is U8 else "int", 8),
            c=vector("int" if a.is_integer else "float", repeat),
        )
    path = tmp_path / "split.cl"
    path.write_text(source)
    subprocess.run(
        [
            *(tool("ocloc"), "compile", "-file", path, "-device", "dg2", "-spv_only"),
            *("-options", "-cl-std=CL3.0", "-out_dir", tmp_path),
        ],
        check=True,
        capture_output=True,
        cwd=tmp_path,
    )
    (made,) = tmp_path.glob("*.spv")
    text = disassemble_spirv(made.read_bytes())
    assert set(re.findall(r'"(_Z\d+intel_sub_group\w+)"', text)) == set(NAMES.values())
