"""Names from before a renaming are read as those of today, and printed so."""

import pytest

from coopc.compiler import new_context
from coopc.diagnostic import CompileError
from coopc.options import options_of
from coopc.parsing import parse
from coopc.pipeline import read_passes
from coopc.renamed import RENAMED, canonical_name
from coopc.source import Source
from coopc.universe import DIALECTS, PASSES, TARGETS, everything

OLD = """
#b = #triton_gpu.blocked<{sizePerThread = [1], threadsPerWarp = [16],
  warpsPerCTA = [4], order = [0], CTAsPerCGA = [1], CTASplitNum = [1], CTAOrder = [0]}>
module attributes {"triton_gpu.num-warps" = 4 : i32} {
  %x = "test.op"() {triton_intel_gpu.block_io = "row_major"} : () -> tensor<64xf32, #b>
  %y = triton_gpu.convert_layout %x : tensor<64xf32, #b> -> tensor<64xf32, #b>
  %z = "triton_gpu.convert_layout"(%x) : (tensor<64xf32, #b>) -> tensor<64xf32, #b>
}
"""


def test_old_names_are_read() -> None:
    old = parse(new_context(everything()), Source(OLD))
    new = OLD.replace("triton_gpu", "ttg").replace("triton_intel_gpu", "ttig")
    assert str(old) == str(parse(new_context(everything()), Source(new)))
    assert "triton" not in str(old)


@pytest.mark.parametrize("name", ["arith.addi", "triton_gpu2.x", "x", ""])
def test_other_names_stay(name: str) -> None:
    assert canonical_name(name) == name


def test_late_attributes() -> None:
    late = "\n".join([*OLD.splitlines()[3:], *OLD.splitlines()[:3]])
    assert str(parse(new_context(everything()), Source(late))) == str(
        parse(new_context(everything()), Source(OLD))
    )


@pytest.mark.parametrize("old", RENAMED)
def test_a_row_leads_from_no_name_to_one(old: str) -> None:
    """An old name is nothing's now, and the new one is something's."""
    assert not exists(old)
    assert exists(RENAMED[old])
    assert canonical_name(RENAMED[old]) == RENAMED[old]


def exists(name: str) -> bool:
    owner, _, rest = name.partition(".")
    if owner in PASSES and rest:
        made = everything().all_passes[owner]()
        return rest in options_of(made)
    if owner in DIALECTS and rest:
        found = everything().all_dialects[owner]()
        return name in [x.name for x in (*found.attributes, *found.operations)]
    return name in {*PASSES, *DIALECTS, *TARGETS}


def test_old_names_of_passes_are_refused() -> None:
    with pytest.raises(CompileError) as error:
        read_passes("add-any-entry", everything().all_passes)
    assert error.value.diagnostic.message == (
        "unknown pass 'add-any-entry', did you mean 'add-fallback-entry' (renamed)?"
    )


def test_old_names_of_options_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RENAMED, "split-coopmatrix.gpu", "split-coopmatrix.device")
    with pytest.raises(CompileError) as error:
        read_passes("split-coopmatrix{gpu=bmg}", everything().all_passes)
    assert error.value.diagnostic.message == (
        "unknown option 'gpu' of split-coopmatrix, did you mean 'device' (renamed)?"
    )
