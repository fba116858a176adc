"""The GPU of this machine, through its own Vulkan driver."""

from collections.abc import Iterator

import pytest

from coopc.run.toolchain import ToolMissing
from coopc.run.vulkan import Session
from coopc.run.worker import RunFailed


@pytest.fixture(scope="module")
def gpu() -> Iterator[Session]:
    """A session with it; tests are skipped where there is none."""
    try:
        with Session.start("system") as session:
            if not session.info.matrix_shapes:
                pytest.skip(f"{session.info.name} has no cooperative matrices")
            yield session
    except (ToolMissing, RunFailed) as error:
        pytest.skip(f"no GPU: {error}")
