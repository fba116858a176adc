"""Methods of dataclasses are as they would be without coopc's tools."""

import dataclasses
import inspect
from dataclasses import dataclass, field
from typing import Any

import pytest

from coopc.tools import when_called


@pytest.fixture(params=[False, True])
def later(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without."""
    create: Any = getattr(dataclasses, "_create_fn", None)
    if create is None:
        pytest.skip("this Python compiles the methods of a class together")
    create = inspect.getclosurevars(create).nonlocals.get("create", create)
    chosen = when_called(create) if request.param else create
    monkeypatch.setattr(dataclasses, "_create_fn", chosen)


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("slots", [False, True])
def test_methods_compiled_later_are_the_same(slots: bool) -> None:
    @dataclass(frozen=True, slots=slots, order=True)
    class Point:
        x: int
        y: int = field(default=2, compare=False)

    class Other(Point):
        pass

    for _ in range(2):
        assert Point(1) == Point(1, 3) != Point(2)
        assert Point(1).__eq__(Other(1)) is NotImplemented
        assert Point(1) < Point(2)
        assert len({Point(1), Point(1, 5), Point(2)}) == 2
        assert repr(Point(1)).endswith("Point(x=1, y=2)")
        assert repr(Other(1)).endswith("Other(x=1, y=2)")
        with pytest.raises(dataclasses.FrozenInstanceError, match="'x'"):
            setattr(Point(1), "x", 2)  # noqa: B010
        with pytest.raises(dataclasses.FrozenInstanceError, match="'x'"):
            delattr(Point(1), "x")
        with pytest.raises(TypeError, match="'x'"):
            Point()  # pyright: ignore[reportCallIssue]
        assert dataclasses.replace(Point(1), y=3).y == 3
    assert Point.__eq__.__qualname__.endswith("Point.__eq__")
