"""Compiles LLVM IR for this processor, in this process, and calls its functions.

    code = Native.compile(text)
    code.call("f", [array, np.int64(3)])

A function takes pointers and numbers.  What of AMX functions say they need has to be in
the processor or to be emulated: `coopc.run.tiles` says which.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coopc.llvm.values import quoted
from coopc.run.arrays import Argument
from coopc.run.toolchain import ToolMissing
from coopc.run.worker import RunFailed

KIND = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
"""A function that takes its arguments from slots."""
SLOT = 8
"""Bytes of an argument on its way to a function."""
PREFIX = "program."
"""What the names of a program's functions begin with here: LLVM calls functions of the
C library by their names, and would call those of the program that are named alike."""
FEATURES = re.compile(r'"target-features"="([^"]*)"')
OPTIONS = ("--break-anti-dependencies=none",)
"""Of LLVM: else it renames registers after it has assigned them, for some processors,
and gives tiles that are not configured."""
STORED_ALONE = re.compile(
    r"(?:tail )?call void @llvm\.masked\.store\.\S+"
    r"\((<\d+ x (i8|i16|i32)>) (%\S+), ptr(?: align (\d+))? (\S+), "
    r"<\d+ x i1> <((?:i1 false, )*)i1 true(?:, i1 false)*>\)[^\n]*"
)
"""A masked store of one component, known by its constant mask."""


@functools.cache
def binding() -> Any:
    """The binding of llvmlite, which has no type hints.

    Raises:
        ToolMissing: it is not installed.
    """
    if importlib.util.find_spec("llvmlite") is None:
        raise ToolMissing("llvmlite", "run `pip install coopc[llvm]`")
    import llvmlite.binding as llvm  # pyright: ignore[reportMissingTypeStubs]

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    found: Any = llvm
    for option in OPTIONS:
        found.set_option("", option)
    return found


def define(name: str, function: Any) -> None:
    """Let compiled code call a function of ctypes by a name, as long as it is kept."""
    binding().add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)


@functools.cache
def processor() -> str:
    """This processor, as LLVM names it."""
    return str(binding().get_host_cpu_name())


@functools.cache
def version() -> str:
    major, minor, _ = binding().llvm_version_info
    return f"LLVM {major}.{minor}"


def needed_features(text: str) -> frozenset[str]:
    """What the functions of LLVM IR say they need, as LLVM names it.

    >>> sorted(needed_features('"target-features"="+amx-bf16,+amx-tile"'))
    ['amx-bf16', 'amx-tile']
    """
    words = ",".join(FEATURES.findall(text)).split(",")
    return frozenset(word.removeprefix("+") for word in words if word)


@dataclass(frozen=True)
class Native:
    """Compiled code."""

    module: Any
    engine: Any
    """Owns the code."""

    @classmethod
    def compile(cls, text: str, *, level: int = 3, cpu: str | None = None) -> Native:
        """Optimise (level 0 to 3) and compile LLVM IR, for this processor or another.

        Raises:
            RunFailed: LLVM does not take the IR.
            ToolMissing: there is no llvmlite.
        """
        module, machine = optimised(text, level, cpu)
        engine = binding().create_mcjit_compiler(module, machine)
        engine.finalize_object()
        return cls(module, engine)

    def types(self, name: str) -> list[str]:
        """The types of the parameters of a function.

        Raises:
            ValueError: there is no such function.
        """
        symbol = self._symbol(name)
        if symbol not in self._types:
            raise ValueError(f"expected a function, got {name!r}")
        return self._types[symbol]

    def only_reads(self, name: str, argument: int) -> bool:
        """Whether LLVM found that a function does not write to memory of a pointer."""
        function = self.module.get_function(self._symbol(name))
        attributes = list(function.arguments)[argument].attributes
        return any(x in (b"readonly", b"readnone") for x in attributes)

    def address(self, name: str) -> int:
        return int(self.engine.get_function_address(name))

    def slots_address(self, name: str) -> int:
        """Where what calls a function is, with its arguments from slots: a `KIND`."""
        return self.address(_slots_name(self._symbol(name)))

    @functools.cached_property
    def _types(self) -> Mapping[str, list[str]]:
        """The types of the parameters of each function."""
        return {
            each.name: [str(argument.type) for argument in each.arguments]
            for each in self.module.functions
        }

    def _symbol(self, name: str) -> str:
        return PREFIX + name if PREFIX + name in self._types else name

    def call(self, name: str, arguments: Sequence[Argument]) -> None:
        packed = slots(arguments)
        assert len(packed) == SLOT * len(self.types(name)), (name, len(packed))
        KIND(self.slots_address(name))(address_of(packed))


def optimised(text: str, level: int = 3, cpu: str | None = None) -> tuple[Any, Any]:
    """The optimised module of LLVM IR, and the machine that it is for.

    Every function `f` has one beside it, `slots.f`, that takes its arguments from
    consecutive slots of memory.
    """
    llvm = binding()
    own = cpu is None
    needed = {f"+{feature}" for feature in needed_features(text)}
    features = llvm.get_host_cpu_features().flatten() if own else ""
    given = ",".join(x for x in (features, *sorted(needed)) if x)
    text = FEATURES.sub(f'"target-features"="{given}"', text)
    try:
        module = llvm.parse_assembly(text)
        module.verify()
        names = [each for each in module.functions if not each.is_declaration]
        extra = "".join(_slots_entry(each) for each in names)
        module = llvm.parse_assembly(text + extra)
        module.verify()
    except RuntimeError as error:
        raise RunFailed(f"LLVM does not take its input: {error}") from error
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=processor() if cpu is None else cpu,
        features=given,
        opt=level,
        codemodel="jitdefault",
        jit=True,
    )
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = level > 1
    options.slp_vectorization = level > 1
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    written = str(module)
    if (plain := stored_alone(written)) != written:
        module = llvm.parse_assembly(plain)
        module.verify()
    return module, machine


def stored_alone(text: str) -> str:
    """LLVM IR without masked stores of one component, which LLVM's passes make, too.

    LLVM 22.1 does not truncate it first where AVX-512 stores truncated components: see
    `coopc.emit.llvm.vector`.
    """
    numbers = itertools.count()

    def scalar(found: re.Match[str]) -> str:
        vector, element, value, align, pointer, before = found.groups()
        at, name = before.count("i1"), f"alone.{next(numbers)}"
        return (
            f"%{name} = extractelement {vector} {value}, i64 {at}\n"
            f"  %{name}.at = getelementptr {element}, ptr {pointer}, i64 {at}\n"
            f"  store {element} %{name}, ptr %{name}.at, align {align or 1}"
        )

    return STORED_ALONE.sub(scalar, text)


def _slots_name(name: str) -> str:
    return f"slots.{name.encode('unicode_escape').decode()}"  # llvmlite takes ASCII


def _slots_entry(function: Any) -> str:
    types = [str(argument.type) for argument in function.arguments]
    lines = [f"define void @{quoted(_slots_name(function.name))}(ptr %slots) {{"]
    for at, type in enumerate(types):
        lines.append(f"  %p{at} = getelementptr i8, ptr %slots, i64 {SLOT * at}")
        lines.append(f"  %a{at} = load {type}, ptr %p{at}")
    given = ", ".join(
        f"{type} {'zeroext ' if type == 'i1' else ''}%a{at}"
        for at, type in enumerate(types)
    )
    result = str(function.global_value_type).split(" (")[0]
    lines += [f"  call {result} @{quoted(function.name)}({given})", "  ret void", "}"]
    return "\n".join(("", *lines, ""))


def slots(arguments: Sequence[Argument]) -> bytearray:
    """The slots of some arguments; arrays are passed by their addresses."""
    found = bytearray()
    for argument in arguments:
        data = (
            argument.ctypes.data.to_bytes(SLOT, "little")
            if isinstance(argument, np.ndarray)
            else np.asarray(argument).tobytes()
        )
        found += data.ljust(SLOT, b"\0")
    return found


def address_of(packed: bytearray) -> int:
    """Where slots are; they must be kept."""
    buffer = (ctypes.c_char * len(packed)).from_buffer(packed)
    return ctypes.addressof(buffer)
