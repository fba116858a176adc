"""Kernels of Triton compiled ahead of a launch, by Triton's own front end."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from coopc.compiler import Artifact
from coopc.diagnostic import CompileError, Diagnostic, Kind, Place
from coopc.explain import usage_errors, wrong_call
from coopc.launcher import Build, LaunchTarget, build
from coopc.remarks import remarks_to
from coopc.source import Source
from coopc.triton.version import why_not

if TYPE_CHECKING:
    from coopc.run.arrays import Outcome
    from coopc.run.executable import Grid

TOOL = __name__.rpartition(".")[0]
"""What diagnostics call it: this package."""
HINTS = {"": (), "16": (("tt.divisibility", 16),)}
"""What may stand behind the colon of a type, beside 1."""
Signature: TypeAlias = "str | Mapping[str, str]"
"""Types of the arguments, as `triton.tools.compile` spells them: `*fp16:16, i32, 3`."""


@dataclass(frozen=True, kw_only=True)
class TritonArtifact(Artifact):
    """A compiled kernel, which runs where it was compiled for."""

    built: Build = field(repr=False, compare=False)

    def run(self, *arguments: object, grid: Grid | None = None, **how: Any) -> Outcome:
        return self.built.executable.run(*arguments, grid=grid, **how)


def compile(
    kernel: Any,
    signature: Signature,
    constexprs: Mapping[str, object] | None = None,
    *,
    on: str = "cpu",
    device: str | None = None,
    pipeline: str | None = None,
    num_warps: int | None = None,
    num_stages: int = 2,
    debug: bool = False,
    tiles: str = "auto",
    threads: int = 1,
) -> Artifact:
    """Compile a function of `@triton.jit`; `run` takes arrays, numbers and descriptors.

    Args:
        kernel: The function.
        signature: The types of its arguments, without its constexprs or with their
            values, or types by name.  `:16` says that 16 divides an address or a
            number, `:1` that a number is 1 and no argument.
        constexprs: Values by name.
        on: cpu, sim, vulkan or opencl.
        device: What it is compiled for, as for `coopc.launch`.
        pipeline: Passes, instead of the device's.
        num_warps: Subgroups of a program, where layouts are for several; by default
            what suits its tensors.
        num_stages: An option of Triton, for the front end.
        debug: Likewise: whether the kernel has its `tl.device_assert`.
        tiles: Of AMX, on cpu: auto, amx, emulated or none.
        threads: Of cpu.

    Raises:
        CompileError: Triton is missing, or it or coopc refuses the kernel.
    """
    text = ttir(kernel, signature, constexprs or {}, num_warps, num_stages, debug)
    remarks: list[str] = []
    with usage_errors(TOOL), remarks_to(remarks.append):
        target = LaunchTarget(on, device, pipeline, tiles, threads)
        built = build(Source(text, f"{kernel.__name__}.ttir"), target)
        code = built.code
    return TritonArtifact(code, built.interface, remarks=tuple(remarks), built=built)


def ttir(
    kernel: Any,
    signature: Signature,
    constexprs: Mapping[str, object],
    num_warps: int | None = None,
    num_stages: int = 2,
    debug: bool = False,
) -> str:
    """Return the IR that Triton's front end makes of a function.

    Raises:
        CompileError: Triton is missing, or refuses the function.
    """
    if (reason := why_not()) is not None:
        raise CompileError(Diagnostic(Kind.USAGE, reason, Place(TOOL)))
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.compiler.errors import CompilationError
    from triton.runtime.jit import JITFunction

    from coopc.triton.compiler import TORCH_DEVICE, CoopcBackend, make_ttir

    with usage_errors(TOOL):
        if not isinstance(kernel, JITFunction):
            what = type(kernel).__name__
            raise ValueError(f"expected a function of @triton.jit, got {what}")
        defaults = defaults_of(kernel)
        types, values, attributes = arguments_of(
            kernel.arg_names, signature, constexprs, defaults
        )
    backend = CoopcBackend(GPUTarget(TORCH_DEVICE, "cpu", 1))
    options = backend.parse_options(
        {"num_warps": num_warps, "num_stages": num_stages, "debug": debug}
    )
    source = ASTSource(kernel, types, values, attributes)
    context = ir.context()
    ir.load_dialects(context)
    functions = backend.get_codegen_implementation(options)
    try:
        module = source.make_ir(
            backend.target, options, functions, backend.get_module_map(), context
        )
        return str(make_ttir(module, {}, num_warps))
    except KeyError as error:  # of the signature: Triton names the place of others
        message = f"expected types of Triton, as in '*fp16, i32', got {error}"
        raise wrong_call(TOOL, message) from error
    except (CompilationError, RuntimeError) as error:
        # The first line of Triton's own says where, the last what.
        lines = [x for x in str(error).splitlines() if x.strip()] or ["no reason"]
        place = re.match(r"at (\d+):(\d+):", lines[0])
        file, line = kernel.file_name, kernel.starting_line_number
        where = Place(file) if place is None else Place(file, line + int(place[1]) - 1)
        message = f"Triton refuses {kernel.__name__}: {lines[-1].strip()}"
        raise CompileError(Diagnostic(Kind.PARSE, message, where)) from error


def defaults_of(kernel: Any) -> dict[str, object]:
    """Return the default values of a kernel's constexpr parameters."""
    known: list[Any] = kernel.params
    found = (x for x in known if x.is_constexpr and x.has_default)
    return {x.name: x.default for x in found}


def arguments_of(
    names: list[str],
    signature: Signature,
    constexprs: Mapping[str, object],
    defaults: Mapping[str, object] | None = None,
) -> tuple[dict[str, str], dict[str, object], dict[tuple[int], list[list[Any]]]]:
    """Return types, values of constexprs, and attributes by position.

    `defaults` are values of constexprs that are not given.

    Raises:
        ValueError: they are not what the kernel has.

    >>> arguments_of(["x", "n", "B"], "*fp16:16, i32:1", {"B": 8})[:2]
    ({'x': '*fp16', 'n': 'constexpr', 'B': 'constexpr'}, {'B': 8, 'n': 1})
    """
    if unknown := [x for x in constexprs if x not in names]:
        raise ValueError(
            f"expected constexprs among {', '.join(names)}, got {unknown[0]}"
        )
    words, values = words_of(names, signature, constexprs, defaults or {})
    types = dict.fromkeys(names, "constexpr")
    attributes: dict[tuple[int], list[list[Any]]] = {}
    for name, word in words.items():
        type, _, hint = word.partition(":")
        number = value_of(word)
        if hint == "1" or number is not None:
            values.setdefault(name, 1 if number is None else number)
        elif name not in values:
            if hint not in HINTS:
                raise ValueError(f"expected :16 or :1 behind a type, got {word!r}")
            types[name] = type
            if hint:
                attributes[(names.index(name),)] = [[*x] for x in HINTS[hint]]
    return types, values, attributes


def words_of(
    names: list[str],
    signature: Signature,
    constexprs: Mapping[str, object],
    defaults: Mapping[str, object],
) -> tuple[Mapping[str, str], dict[str, object]]:
    """Return what a signature says of each argument, and the values of constexprs.

    Raises:
        ValueError: it says nothing of one, or something of another.
    """
    known = {**defaults, **constexprs}
    if not isinstance(signature, str):
        known = {x: known[x] for x in known if x in constexprs or x not in signature}
        if wrong := set(signature) ^ {x for x in names if x not in known}:
            raise ValueError(
                f"expected a type or a value for each of {', '.join(names)}, got a "
                f"difference in {', '.join(sorted(wrong))}"
            )
        return signature, known
    words = [x.strip() for x in re.split(r",(?![^\[]*\])", signature)]
    words = words if signature.strip() else []
    for given in (constexprs, known, {}):
        taken = [x for x in names if x not in given]
        if len(words) == len(taken):
            return dict(zip(taken, words, strict=True)), dict(given or constexprs)
    taken = [x for x in names if x not in known]
    raise ValueError(
        f"expected {len(taken)} types, for {', '.join(taken)}, got {len(words)} in "
        f"{signature!r}"
    )


def value_of(text: str) -> int | float | None:
    """Return the number that a word is, or None."""
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return None
