"""What tests ask of the toolchain, beside what coopc does."""

from coopc.run.toolchain import locked_versions, run_filter, versions


def is_locked(*packages: str) -> bool:
    """Whether packages are there in exactly the versions of `toolchain.lock`.

    Counts that depend on a compiler's version are asserted only then.
    """
    present, locked = versions(), locked_versions()
    return all(p in present and present[p] == locked.get(p) for p in packages)


def disassemble_spirv(binary: bytes) -> str:
    """The text that spirv-dis makes of a module, with ids as numbers.

    Raises:
        ToolMissing: there is no spirv-dis.
        ValueError: the bytes are not a module.
    """
    text, message = run_filter("spirv-dis", "--raw-id", "-", data=binary)
    if message is not None:
        raise ValueError(message)
    return text.decode()
