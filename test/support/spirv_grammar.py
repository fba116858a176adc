"""Writes `coopc/spirv/grammar_table.py` from the grammar files of SPIRV-Headers.

    cd test
    python -m support.spirv_grammar ../.toolchain/root/usr/include/spirv/unified1

The toolchain has the package spirv-headers, in the version of `toolchain.lock`.  What a
module of coopc can declare is chosen by capability: an instruction or enumerant is
written if it needs none, or one of `CAPABILITIES`, and an enumeration if an instruction
takes it.  To use a new extension, add its capabilities and run this again.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

from coopc.spirv import grammar_table

Json = dict[str, Any]

_CAPABILITIES = """
Matrix Shader Addresses Linkage Kernel Vector16 Float16Buffer Float16 Float64 Int64
Int64Atomics Groups Int16 Int8 SubgroupDispatch GroupNonUniform
GroupNonUniformArithmetic GroupNonUniformBallot GroupNonUniformShuffle
GroupNonUniformShuffleRelative StorageBuffer16BitAccess StoragePushConstant16
StorageBuffer8BitAccess StoragePushConstant8 SignedZeroInfNanPreserve BFloat16TypeKHR
BFloat16CooperativeMatrixKHR Float8EXT Float8CooperativeMatrixEXT VulkanMemoryModel
VulkanMemoryModelDeviceScope
PhysicalStorageBufferAddresses SubgroupShuffleINTEL SubgroupBufferBlockIOINTEL
AtomicFloat32MinMaxEXT AtomicFloat64MinMaxEXT AtomicFloat16MinMaxEXT
CooperativeMatrixKHR AtomicFloat32AddEXT AtomicFloat64AddEXT AtomicFloat16AddEXT
BFloat16ConversionINTEL FPFastMathModeINTEL SplitBarrierINTEL Subgroup2DBlockIOINTEL
Subgroup2DBlockTransformINTEL Subgroup2DBlockTransposeINTEL
SubgroupMatrixMultiplyAccumulateINTEL CacheControlsINTEL
CooperativeMatrixReductionsNV CooperativeMatrixConversionsNV
CooperativeMatrixPerElementOperationsNV CooperativeMatrixTensorAddressingNV
TensorAddressingNV CooperativeMatrixReductionsEXT CooperativeMatrixConversionsEXT
CooperativeMatrixPerElementOperationsEXT CooperativeMatrixGetCoordinateEXT
CooperativeMatrixLayoutsARM CooperativeMatrixConversionQCOM
CooperativeMatrixCheckedInstructionsINTEL PackedCooperativeMatrixINTEL
CooperativeMatrixTF32ComponentTypeINTEL CooperativeMatrixBFloat16ComponentTypeINTEL
"""
CAPABILITIES = frozenset(_CAPABILITIES.split())
"""Those that emission has a use for; a kernel needs no other."""
_OLDER_NAMES = """
SplitBarrierINTEL OpControlBarrierArriveINTEL OpControlBarrierWaitINTEL
CooperativeMatrixReductionsNV CooperativeMatrixPerElementOperationsNV
OpCooperativeMatrixReduceNV OpCooperativeMatrixPerElementOpNV
OpCooperativeMatrixConvertNV
"""
BY_OLDER_NAME = frozenset(_OLDER_NAMES.split())
"""Aliases to write, too: modules ask for SPV_INTEL_split_barrier, and for
SPV_NV_cooperative_matrix2 where the device has no extension of all vendors."""
_JOINT_MATRIX = """
Capability CooperativeMatrixCheckedInstructionsINTEL 6192
Capability PackedCooperativeMatrixINTEL 6434
Capability CooperativeMatrixTF32ComponentTypeINTEL 6436
Capability CooperativeMatrixBFloat16ComponentTypeINTEL 6437
CooperativeMatrixLayout PackedINTEL 2 PackedCooperativeMatrixINTEL
CooperativeMatrixOperands MatrixAAndBTF32ComponentsINTEL 0x20 \
CooperativeMatrixTF32ComponentTypeINTEL
CooperativeMatrixOperands MatrixAAndBBFloat16ComponentsINTEL 0x40 \
CooperativeMatrixBFloat16ComponentTypeINTEL
CooperativeMatrixOperands MatrixCBFloat16ComponentsINTEL 0x80 \
CooperativeMatrixBFloat16ComponentTypeINTEL
CooperativeMatrixOperands MatrixResultBFloat16ComponentsINTEL 0x100 \
CooperativeMatrixBFloat16ComponentTypeINTEL
"""
"""What SPIRV-Headers lack of SPV_INTEL_joint_matrix: kind, name, number, capability.

From revision 16, sycl/doc/design/spirv-extensions of github.com/intel/llvm 16fa0ab7."""
_CHECKED = {
    # The pointer, x, y, of a store the object, the layout, height, width, the stride.
    ("OpCooperativeMatrixLoadCheckedINTEL", 6193): (
        *("IdResultType", "IdResult", *["IdRef"] * 6),
    ),
    ("OpCooperativeMatrixStoreCheckedINTEL", 6194): ("IdRef",) * 7,
}
"""Instructions of that extension, their numbers, and operands before optional ones."""
JOINT_MATRIX = "SPV_INTEL_joint_matrix"
BY_ID = {"Scope", "MemorySemantics", "CooperativeMatrixLayout", "CooperativeMatrixUse"}
"""Enumerations whose values are given as constants, which no instruction names."""
LACKING = {"OpMatrixTimesScalar": ("CooperativeMatrixKHR",)}
"""Capabilities that suffice by an extension's document, SPV_KHR_cooperative_matrix, and
that the grammar lacks; a shader that scales such a matrix then need not name Matrix."""
WIDTH = 88
"""Of a line of the table, in characters; a row is never cut."""
CLASSES_LEFT_OUT = {"Image", "Derivative", "Device-Side_Enqueue"}
VENDORS_LEFT_OUT = ("AMD", "ARM", "NV", "QCOM")
"""Of whom only what needs one of their own `CAPABILITIES` is written."""
PAIRS = {
    "PairIdRefIdRef": "IdRef:IdRef",
    "PairIdRefLiteralInteger": "IdRef:LiteralInteger",
    "PairLiteralIntegerIdRef": "LiteralContextDependentNumber:IdRef",
}
"""Kinds of two operands; the literals of OpSwitch are as wide as its selector."""
INSTRUCTION_SETS = {
    "OpenCL.std": "extinst.opencl.std.100.grammar.json",
    "GLSL.std.450": "extinst.glsl.std.450.grammar.json",
}

HEADER = '''\
# Generated by test/support/spirv_grammar.py from SPIRV-Headers: do not edit.
#
{copyright}
# ruff: noqa: E501
# fmt: off
"""Tables of SPIR-V {version}: instructions, enumerations, extended instructions.

A row is `(number, operands, capabilities, extension, since)`.  Operands are kinds of
the grammar, `?` for optional, `*` for any number, `a:b` for a pair.  Any one of the
capabilities suffices (a capability implies all of its own).  The extension is needed in
versions before `since`, or in all.  Of an extended instruction: number, operand count.
"""

Row = tuple[int, str, tuple[str, ...], str | None, tuple[int, int] | None]
'''


class _Grammar:
    """The part of the core grammar that is written."""

    def __init__(self, core: Json) -> None:
        self.kinds: dict[str, Json] = {
            kind["kind"]: kind for kind in core["operand_kinds"]
        }
        for line in _JOINT_MATRIX.strip().splitlines():
            kind, name, value, *of = line.split()
            brought = {"capabilities": of} if of else {"extensions": [JOINT_MATRIX]}
            row = {"enumerant": name, "value": value, "version": "None", **brought}
            self.kinds[kind]["enumerants"].append(row)
        for (name, opcode), operands in _CHECKED.items():
            row = {
                "opname": name,
                "class": "Memory",
                "opcode": opcode,
                "capabilities": ["CooperativeMatrixCheckedInstructionsINTEL"],
                "version": "None",
                "operands": [
                    *({"kind": kind} for kind in operands),
                    {"kind": "IdRef", "quantifier": "?"},
                    {"kind": "MemoryAccess", "quantifier": "?"},
                ],
            }
            core["instructions"].append(row)
        capabilities = self.kinds["Capability"]
        older = {
            each["enumerant"]: alias
            for each in capabilities["enumerants"]
            for alias in each.get("aliases", [])
            if alias in BY_OLDER_NAME
        }
        for table, key in (
            (core["instructions"], "opname"),
            (capabilities["enumerants"], "enumerant"),
        ):
            table[:] = [x for each in table for x in _by_each_name(each, key, older)]
        self.capabilities: dict[str, Json] = {
            each["enumerant"]: each
            for each in capabilities["enumerants"]
            if each["enumerant"] in CAPABILITIES
        }
        capabilities["enumerants"] = [*self.capabilities.values()]
        missing = CAPABILITIES.difference(map(_name, self.capabilities.values()))
        assert not missing, f"not in this grammar: {missing}"
        self.instructions: list[Json] = [
            each
            for each in core["instructions"]
            if self._is_usable(each)
            and each["class"] not in CLASSES_LEFT_OUT
            and not any(word in each["opname"] for word in ("Image", "Sampler"))
        ]

    def instruction_rows(self) -> dict[str, str]:
        """The row of each instruction, by its name."""
        return {
            _name(each): self._row(each, each["opcode"], each.get("operands", []))
            for each in self.instructions
        }

    def enumeration_rows(self, *, masks: bool) -> dict[str, dict[str, str]]:
        """The rows of the enumerations, or of the masks, that an instruction takes."""
        taken = BY_ID | {
            operand["kind"]
            for each in self.instructions
            for operand in each.get("operands", [])
        }
        taken |= {
            operand["kind"]
            for name in taken
            for each in self._enumerants(self.kinds.get(name, {}))
            for operand in each.get("parameters", [])
        }
        category = "BitEnum" if masks else "ValueEnum"
        return {
            name: {
                _name(each): self._row(each, _value(each), each.get("parameters", []))
                for each in self._enumerants(kind)
            }
            for name, kind in self.kinds.items()
            if name in taken and kind["category"] == category
        }

    def _enumerants(self, kind: Json) -> list[Json]:
        """Those that are usable; no bits at all are no bit of a mask."""
        return [
            each
            for each in kind.get("enumerants", [])
            if self._is_usable(each)
            and (_value(each) != 0 or kind["category"] == "ValueEnum")
        ]

    def _is_usable(self, each: Json) -> bool:
        if self._is_capability(each):
            return True
        needed = [_name(capability) for capability in self._needed(each)]
        for vendor in VENDORS_LEFT_OUT:
            if _name(each).endswith(vendor):
                return any(name.endswith(vendor) for name in needed)
        return bool(needed) or not each.get("capabilities")

    def _is_capability(self, each: Json) -> bool:
        return self.capabilities.get(each.get("enumerant", "")) is each

    def _needed(self, each: Json) -> list[Json]:
        asked: list[str] = each.get("capabilities", [])
        return [self.capabilities[name] for name in asked if name in self.capabilities]

    def _row(self, each: Json, number: int, operands: list[Json]) -> str:
        needed = self._needed(each)
        capabilities = (*map(_name, needed), *LACKING.get(_name(each), ()))
        extension, since = _extension(each), _version(each)
        if extension and any(map(_extension, needed)) and not self._is_capability(each):
            extension = since = None  # the capability brings it
        kinds = " ".join(
            PAIRS.get(operand["kind"], operand["kind"]) + operand.get("quantifier", "")
            for operand in operands
        )
        return repr((number, kinds, capabilities, extension, since))


def _name(each: Json) -> str:
    name: str = each["opname"] if "opname" in each else each["enumerant"]
    return name


def _by_each_name(each: Json, key: str, older: dict[str, str]) -> list[Json]:
    """Return a row, and those of its older names, with the capabilities of a vendor."""
    found = [each]
    for alias in each.get("aliases", []):
        if alias in BY_OLDER_NAME:
            vendors = [older.get(x, x) for x in each.get("capabilities", [])]
            found.append({**each, key: alias, "capabilities": vendors})
    if len(found) > 1:
        for x in found:
            (end,) = re.findall("[A-Z]+$", x[key])
            x["capabilities"] = [
                name for name in x.get("capabilities", []) if name.endswith(end)
            ]
    return found


def _value(enumerant: Json) -> int:
    return int(str(enumerant["value"]), 0)  # a mask's is text, as 0x0001


def _version(each: Json) -> tuple[int, int] | None:
    """The version from which on the core has it, if it has not always had it."""
    version: str = each.get("version", "1.0")
    if version in ("1.0", "None"):
        return None
    major, minor = version.split(".")
    return int(major), int(minor)


def _extension(each: Json) -> str | None:
    """The extension that brings it; of several, its own vendor's, then Khronos's."""
    if each.get("version", "1.0") == "1.0":
        return None

    def rank(extension: str) -> tuple[bool, bool]:
        vendor = extension.split("_")[1]
        return not _name(each).endswith(vendor), vendor != "KHR"

    return min(each.get("extensions", []), key=rank, default=None)


def _extended_rows(grammar: Json) -> dict[str, str]:
    """`(number, count of operands)` of those that take ids alone; None: one or more."""
    rows: dict[str, str] = {}
    for each in grammar["instructions"]:
        operands: list[Json] = each.get("operands", [])
        by_ids = all(operand["kind"] == "IdRef" for operand in operands)
        if by_ids and not set(each.get("capabilities", [])) - CAPABILITIES:
            repeats = any("quantifier" in operand for operand in operands)
            count = None if repeats else len(operands)
            rows[each["opname"]] = repr((each["opcode"], count))
    return rows


def _dictionary(rows: dict[str, str]) -> str:
    """The text of a dictionary, as many rows on a line as it takes."""
    lines = [""]
    for name, row in rows.items():
        entry = f'"{name}": {row},'
        joined = f"{lines[-1]} {entry}".strip()
        if len(joined) <= WIDTH:
            lines[-1] = joined
        else:
            lines.append(entry)
    return "{\n" + "\n".join(line for line in lines if line) + "\n}"


def _table(name: str, inner: str, table: dict[str, dict[str, str]]) -> str:
    bodies = "\n".join(f'"{k}": {_dictionary(rows)},' for k, rows in table.items())
    return f"{name}: dict[str, dict[str, {inner}]] = {{\n{bodies}\n}}\n"


def generate(directory: Path) -> str:
    """The text of `grammar_table.py`.

    Args:
        directory: `include/spirv/unified1` of SPIRV-Headers.
    """

    def read(name: str) -> Json:
        return json.loads((directory / name).read_text())

    core = read("spirv.core.grammar.json")
    grammar = _Grammar(core)
    copyright_lines = [f"# {line}".rstrip() for line in core["copyright"]]
    version = "{major_version}.{minor_version}, revision {revision}".format(**core)
    sets = {name: _extended_rows(read(file)) for name, file in INSTRUCTION_SETS.items()}
    return "\n".join(
        [
            HEADER.format(copyright="\n".join(copyright_lines), version=version),
            "INSTRUCTIONS: dict[str, Row] = "
            + _dictionary(grammar.instruction_rows())
            + "\n",
            _table("ENUMERATIONS", "Row", grammar.enumeration_rows(masks=False)),
            _table("MASKS", "Row", grammar.enumeration_rows(masks=True)),
            _table("EXTENDED_INSTRUCTIONS", "tuple[int, int | None]", sets),
        ]
    )


if __name__ == "__main__":
    Path(grammar_table.__file__).write_text(generate(Path(sys.argv[1])))
