"""What unit tests share: tools and run-times, or the reason why there are none.

A tool that is missing skips the test that asks for it, and says which and why.  With
`CI=true` it fails the test, unless `make test` installs no such tool.  A feature that
the CPU lacks only ever skips.
"""

import os
import string
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import settings
from support.khr_kernels import PIPELINE, Array
from support.programs import module_of

import coopc
from coopc.interface_call import pack
from coopc.run import opencl, tiles, toolchain, vulkan
from coopc.run.execute import on_vulkan
from coopc.run.toolchain import ToolMissing
from coopc.run.worker import Worker
from coopc.sim.simulate import simulate

T = TypeVar("T")

# Laws are checked on values, never on the clock: machines are shared.  Each run has the
# same examples, so that a failure is one of the change; `COOPC_LAWS=random` has others.
settings.register_profile(
    "coopc", deadline=None, derandomize=os.environ.get("COOPC_LAWS") != "random"
)
settings.load_profile("coopc")

os.environ["COOPC_VERIFY"] = "all"

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


HANG_SECONDS = 60.0
"""Tests of programs that do not end wait for less."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Run a test again whose driver gave no answer.

    Intel's run-time for CPUs hangs once in some 100,000 programs.
    """
    hangs: list[float] = []
    tell = getattr(Worker, "_too_long")  # noqa: B009

    def note(worker: Worker, seconds: float) -> str:
        if seconds >= HANG_SECONDS:
            hangs.append(seconds)
        return tell(worker, seconds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Worker, "_too_long", note)
        try:
            yield
        except Exception:
            if not hangs:
                raise
            item.add_report_section("call", "hang", f"no answer within {hangs} s")
            item.runtest()


@pytest.fixture(scope="session")
def tool() -> Callable[[str], Path]:
    """The path of a program by its name, such as spirv-val."""
    return lambda name: require(lambda: toolchain.tool(name))


@pytest.fixture(scope="session")
def c_compiler() -> list[str]:
    """The command of a C compiler."""
    return require(tiles.c_compiler)


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


@pytest.fixture
def on_lavapipe(lavapipe: vulkan.Session) -> Callable[..., None]:
    """Compile a kernel, @k, and compare arrays with what is expected of some of them.

    It runs on the driver, and on the simulator as it is written and as it is after the
    pipeline.
    """

    def check(
        text: str,
        arrays: Sequence[Array],
        expected: Mapping[int, Array],
        groups: tuple[int, int, int] = (1, 1, 1),
    ) -> None:
        artifact = coopc.compile(text, PIPELINE)
        call = pack(artifact.interface[0], [x.copy() for x in arrays], groups)
        found = on_vulkan(artifact.bytes, call, session=lavapipe).arrays
        for at, array in expected.items():
            np.testing.assert_array_equal(found[at], array)
        for level in (text, coopc.compile(text, PIPELINE, "mlir").text):
            given = [x.copy() for x in arrays]
            simulate(module_of(level), "k", given, grid=groups, subgroup_size=8)
            for at, array in expected.items():
                np.testing.assert_array_equal(given[at], array, err_msg=level)

    return check


@pytest.fixture(scope="session")
def intel_cpu() -> Iterator[opencl.Session]:
    """Intel's OpenCL run-time for CPUs."""
    with require(opencl.Session.start) as session:
        yield session


@pytest.fixture(scope="session")
def intel_amx() -> Iterator[opencl.Session]:
    """The same with cooperative matrices, on AMX that is emulated."""
    reason = tiles.why_impossible(tiles.cpu_flags())
    if reason is not None:
        pytest.skip(reason)
    with require(lambda: opencl.Session.start(amx=True)) as session:
        yield session
