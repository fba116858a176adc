"""What unit tests share: tools and run-times, or the reason why there are none.

A tool that is missing skips the test that asks for it, and says which and why.  With
`CI=true` it fails the test, unless `make test` installs no such tool.  A feature that
the CPU lacks only ever skips.
"""

import os
import string
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import settings

from coopc.run import amx, opencl, toolchain, vulkan
from coopc.run.toolchain import ToolMissing

T = TypeVar("T")

# Laws are checked on values, never on the clock: machines are shared.
settings.register_profile("coopc", deadline=None)
settings.load_profile("coopc")

NOT_INSTALLED_BY_MAKE = ("a C compiler",)
SPIRV = Path(__file__).with_name("spirv")


def require(find: Callable[[], T]) -> T:
    """What `find` finds; a ToolMissing skips the test, or fails it in CI."""
    try:
        return find()
    except ToolMissing as e:
        if os.environ.get("CI") == "true" and e.name not in NOT_INSTALLED_BY_MAKE:
            pytest.fail(str(e), pytrace=False)
        pytest.skip(str(e))


@pytest.fixture(scope="session")
def tool() -> Callable[[str], Path]:
    """The path of a program by its name, such as spirv-val."""
    return lambda name: require(lambda: toolchain.tool(name))


@pytest.fixture(scope="session")
def c_compiler() -> list[str]:
    """The command of a C compiler."""
    return require(amx.c_compiler)


@pytest.fixture(scope="session")
def spirv(tool: Callable[[str], Path]) -> Callable[..., bytes]:
    """A valid module of test/unit/spirv by its stem, `$name` replaced by name=..."""
    for name in ("spirv-as", "spirv-val"):
        tool(name)

    def read(stem: str, **values: object) -> bytes:
        text = (SPIRV / f"{stem}.spvasm").read_text()
        code = "\n".join(x for x in text.splitlines() if not x.startswith(";"))
        target_env = "vulkan1.3" if stem.startswith("vulkan") else "spv1.4"
        filled = string.Template(code).substitute(values)
        binary = toolchain.assemble_spirv(filled, target_env)
        assert toolchain.validate_spirv(binary, target_env) is None
        return binary

    return read


@pytest.fixture(scope="session")
def lavapipe() -> Iterator[vulkan.Session]:
    """Mesa's Vulkan driver for CPUs."""
    with require(lambda: vulkan.Session.start("lavapipe")) as session:
        yield session


@pytest.fixture(scope="session")
def intel_cpu() -> Iterator[opencl.Session]:
    """Intel's OpenCL run-time for CPUs."""
    with require(opencl.Session.start) as session:
        yield session


@pytest.fixture(scope="session")
def intel_amx() -> Iterator[opencl.Session]:
    """The same with cooperative matrices, on AMX that is emulated."""
    reason = amx.why_impossible(amx.cpu_flags())
    if reason is not None:
        pytest.skip(reason)
    with require(lambda: opencl.Session.start(amx=True)) as session:
        yield session
