"""Where tools are found, which versions they have, and what they say of a module."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.toolchain import disassemble_spirv, is_locked

from coopc.run import toolchain
from coopc.run.toolchain import ToolMissing

SCRIPT = toolchain.CHECKOUT / "tools" / "get_toolchain.sh"
VERSIONS = """\
spirv-tools 2026.4-1
spirv-headers 1.6-1
libvulkan-dev 1.4-1
intel-ocloc 26.27-1
libigc2 2.40-1
libigdfcl2 2.40-1
mesa-vulkan-drivers 26.2-1
libc6 2.43-7
"""


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    """A directory that looks like an unpacked toolchain."""
    directory = tmp_path / "toolchain"
    (directory / "bin").mkdir(parents=True)
    (directory / "VERSIONS").write_text(VERSIONS)
    (directory / ".coopc-toolchain").touch()
    (directory / "bin" / "spirv-val").touch()
    return directory


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A checkout without a toolchain, and an empty path."""
    monkeypatch.setattr(toolchain, "CHECKOUT", tmp_path / "checkout")
    monkeypatch.delenv("COOPC_TOOLCHAIN", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))


@pytest.mark.usefixtures("nothing")
def test_order(unpacked: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """The environment's toolchain, then the checkout's, then the path."""
    assert toolchain.find_tool("spirv-val") is None
    on_path = tmp_path / "path" / "spirv-val"
    on_path.parent.mkdir()
    on_path.touch(0o755)
    assert toolchain.find_tool("spirv-val") == on_path
    own = tmp_path / "checkout" / ".toolchain"
    shutil.copytree(unpacked, own)
    assert toolchain.find_tool("spirv-val") == own / "bin" / "spirv-val"
    monkeypatch.setenv("COOPC_TOOLCHAIN", str(unpacked))
    assert toolchain.tool("spirv-val") == unpacked / "bin" / "spirv-val"


@pytest.mark.usefixtures("nothing")
def test_missing_tool_says_what_to_run(tmp_path: Path):
    with pytest.raises(ToolMissing, match=r"val is missing: run `sh .*_toolchain"):
        toolchain.tool("spirv-val")
    (tmp_path / "checkout").mkdir()
    (tmp_path / "checkout" / "Makefile").touch()
    with pytest.raises(ToolMissing, match="spirv-as is missing: run `make toolchain`"):
        toolchain.tool("spirv-as")


@pytest.mark.usefixtures("nothing")
def test_half_unpacked_toolchain_is_none(
    unpacked: Path, monkeypatch: pytest.MonkeyPatch
):
    """VERSIONS is written last."""
    monkeypatch.setenv("COOPC_TOOLCHAIN", str(unpacked))
    (unpacked / "VERSIONS").unlink()
    with pytest.raises(ToolMissing, match="the toolchain is missing"):
        toolchain.toolchain()


@pytest.mark.usefixtures("nothing")
def test_versions_and_lock(
    unpacked: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    assert toolchain.versions() == {}
    assert toolchain.version_report()[0].startswith("no toolchain: run")
    monkeypatch.setenv("COOPC_TOOLCHAIN", str(unpacked))
    assert not is_locked("libigc2")
    (tmp_path / "checkout").mkdir()
    lock = tmp_path / "checkout" / "toolchain.lock"
    lock.write_text("# why\nlibigc2 2.40-1\nspirv-tools 2026.5-1\nllvm-22 22.1\n")
    assert is_locked("libigc2")
    assert not is_locked("libigc2", "spirv-tools")
    assert not is_locked("llvm-22")
    report = toolchain.version_report()
    assert report[0] == "spirv-tools 2026.4-1"
    assert report[-1] == ("toolchain.lock: spirv-tools is 2026.4-1, locked 2026.5-1")
    lock.write_text(VERSIONS)
    assert toolchain.version_report()[-1] == "toolchain.lock: the same versions"


def test_lock_names_every_package():
    """The lock of this checkout holds what the script unpacks."""
    locked = toolchain.locked_versions()
    assert set(toolchain.parse_versions(VERSIONS)) <= set(locked)


def test_valid_module(spirv: Callable[..., bytes]):
    module = spirv("opencl_saxpy")
    assert toolchain.validate_spirv(module, "spv1.4") is None


def test_invalid_module(spirv: Callable[..., bytes]):
    """What is wrong, or for which environment."""
    module = spirv("opencl_saxpy")
    message = toolchain.validate_spirv(module, "vulkan1.3")
    assert message is not None
    assert "Capability Addresses is not allowed by Vulkan" in message
    cut = toolchain.validate_spirv(module[:-4], "spv1.4")
    assert cut is not None
    assert "Missing OpFunctionEnd" in cut


def test_no_validator(monkeypatch: pytest.MonkeyPatch, spirv: Callable[..., bytes]):
    """A driver gets what nothing has checked."""
    cut = spirv("opencl_saxpy")[:-4]
    assert "Missing OpFunctionEnd" in (toolchain.why_invalid(cut, "spv1.4") or "")

    def nothing(name: str) -> None:
        return None

    monkeypatch.setattr(toolchain, "find_tool", nothing)
    assert toolchain.why_invalid(cut, "spv1.4") is None


def test_assembler(tool: Callable[[str], Path]):
    tool("spirv-as")
    text = "OpCapability Kernel\n%9 = OpTypeVoid\n"
    kept = toolchain.assemble_spirv(text, "spv1.4", keep_ids=True)
    assert "%9 = OpTypeVoid" in disassemble_spirv(kept)
    renumbered = toolchain.assemble_spirv(text, "spv1.4")
    assert "%1 = OpTypeVoid" in disassemble_spirv(renumbered)
    with pytest.raises(ValueError, match="Invalid Opcode name 'OpNothing'"):
        toolchain.assemble_spirv("OpNothing", "spv1.4")
    with pytest.raises(ValueError, match="error"):
        disassemble_spirv(b"nothing")


def run_script(*arguments: object, path: str = "/usr/bin:/bin") -> tuple[int, str]:
    """The status and the output of get_toolchain.sh, which finds no archive here."""
    done = subprocess.run(
        ["/bin/sh", SCRIPT, *map(str, arguments)],
        env={"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_script_leaves_a_complete_tree_alone(unpacked: Path, tmp_path: Path):
    lock = tmp_path / "lock"
    status, output = run_script("--lock", lock, unpacked)
    assert status == 0
    assert f"{unpacked} is complete" in output
    assert toolchain.parse_versions(lock.read_text()) == toolchain.parse_versions(
        VERSIONS
    )


def test_script_tells_other_versions(unpacked: Path, tmp_path: Path):
    lock = tmp_path / "lock"
    lock.write_text(VERSIONS)
    assert "note:" not in run_script("--check", lock, unpacked)[1]
    lock.write_text(VERSIONS.replace("2.40-1", "2.41-1").replace("libc6", "libc7"))
    status, output = run_script("--check", lock, unpacked)
    assert status == 0
    assert output.splitlines()[-1] == (
        "note: not the versions of toolchain.lock: libigc2 is 2.40-1, locked 2.41-1; "
        "libigdfcl2 is 2.40-1, locked 2.41-1"
    )


def test_script_refuses_a_directory_of_others(tmp_path: Path):
    (tmp_path / "thesis.txt").touch()
    status, output = run_script(tmp_path)
    assert status == 1
    assert "is neither empty nor a toolchain" in output


def test_script_says_what_a_host_lacks(tmp_path: Path):
    """As on a distribution without apt."""
    for name in ("dirname", "readlink", "uname", "mkdir", "ls", "grep"):
        (tmp_path / name).symlink_to(shutil.which(name) or name)
    status, output = run_script(tmp_path / "new", path=str(tmp_path))
    assert status == 1
    assert "not found: apt-get apt-cache apt-config dpkg-deb" in output
