"""coopc-device: what it prints is read again, and what it refuses."""

from pathlib import Path

import pytest

from coopc.device import DEVICES, device
from coopc.run import vulkan
from coopc.tools.coopc_device import main


@pytest.mark.parametrize("name", DEVICES)
def test_a_printed_device_is_the_device(name: str, tmp_path: Path) -> None:
    file = tmp_path / "device.toml"
    assert main([name, "-o", str(file)]) == 0
    assert device(str(file)) == device(name)


def test_a_driver_and_what_it_does_not_tell(
    lavapipe: vulkan.Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, file = "driver{loader=lavapipe}", tmp_path / "device.toml"
    assert main([name, "-o", str(file)]) == 0
    assert device(str(file)) == device(name)
    assert lavapipe.info.driver in file.read_text()
    assert f"{name}: unknown: zero_matrix, " in capsys.readouterr().err


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--list"])
    lines = capsys.readouterr().out.partition("\n\n")[0].splitlines()
    assert len(lines) == len(DEVICES) + 2
    (rdna3,) = (x for x in lines if x.split()[0] == "rdna3")
    assert rdna3.endswith("32 lanes, 16x16x16, not run")
    assert lines[0].endswith(", run")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "expected the name of a device or --from-driver, got neither"),
        (["bmg", "--from-driver"], "of a device or --from-driver, got both"),
        (["bgm"], "unknown device 'bgm', did you mean 'bmg'?"),
        (["bmg", "-o", "bmg.json"], "expected a .toml file, got bmg.json"),
        (["any"], "any: expected option subgroup-size"),
        (["driver{loader=lavapipe index=9}"], "got 9"),
    ],
)
def test_mistakes(
    args: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(args) == 1
    assert message in capsys.readouterr().err
