"""What xDSL 0.74 gets wrong or lacks, each gap by name, and how coopc mends it.

| gap | what happens in xDSL | mended by |
|---|---|---|
| hex floats | `dense<0xFF800000>` is 4286578688.0, not -inf | `float_of_hex` |
| large floats | f16 and f32 overflow fails, in folds too; it is inf | `_rounded` |
| splats | `dense<0.0>` makes a Python object of each element | `coopc.parsing` |
| splats of floats | a NaN is none, and 0.0 and -0.0 are the same | `_is_splat` |
| late aliases | `#loc1` before its definition, as in MLIR, fails | `alias_positions` |
| locations | no `fused<..>[..]`, no ranges of a file | `coopc.parsing` |
| resources | of a second module of the same names are empty | the same |
| generic forms | lack what MLIR implies: sizes of segments, `strides` | the same |
| located arguments | `%x: f32 loc(..)` fails, except in blocks | the same |
| one result | `scf.if %c -> i32` and `scf.while :` fail | `coopc.parsing` |
| scalar `arith` | some operations take no tensors | `coopc.dialects.shaped_arith` |
| remainders | no `arith.remf` | the same |
| unsigned indices | no `arith.index_castui` | the same |
| truncations | `arith.trunci` has no `overflow<..>` | the same |
| kinds of floats | no `math.isnan`, .., nor `math.clampf` | `dialects.math_forms` |
| mixed matmul | `linalg.matmul` of f16 into f32 fails | `dialects.linalg_forms` |
| missing operands | those of `linalg.quantized_matmul` are an IndexError | the same |
| maps of matmul | `indexing_maps = [..]` is neither read nor printed | the same |
| named `linalg` | no `batch_matmul`, `div`, `softmax`, `map`, .. | the same |
| `linalg.reduce` | one input; no `{ arith.addf }`; no maps | the same |
| `pooling_nchw_max` | compares with the window, not with the output | the same |
| default steps | `linalg.conv_2d_..` without `strides` fails | the same |
| narrowing fills | `linalg.fill` of f32 into f16 yields f32 | the same |
| unsigned copies | `linalg.copy {cast = ..}` yields its operand as it is | the same |
| scalar operands | `linalg.copy`, `linalg.add`, .. of a scalar assert | the same |
| unchecked results | `linalg.generic` may yield other types | the same |
| several results | `linalg.generic` with `-> (T, T)` fails | `coopc.parsing` |
| `memref.copy`, casts | and `memref.global`: generic only | `dialects.memref_forms` |
| copies of views | `memref.copy` of `?x2` to `16x?` does not verify | the same |
| values of globals | `dense_resource` is none | the same |
| `memref.prefetch` | `memref` lacks it | the same |
| `scf.forall` | `scf` lacks it | `dialects.scf_forms` |
| its slices | nor is there `tensor.parallel_insert_slice` | `dialects.tensor_forms` |
| `tensor.generate` | `tensor` lacks it | the same |
| dynamic reshapes | `tensor.reshape` of `?x6` to `?x4` does not verify | the same |
| unchecked tensors | slices may be outside, indices too few | the same |
| rank 0 | `tensor.expand_shape %x []` does not verify | the same |
| layouts of buffers | `bufferization` takes memrefs without strides | the same |
| unknown effects | unused `arith.extsi`, `vector.bitcast` stay | `dialects.effects` |
| divisions move | `licm` moves a guarded `arith.remsi`, which traps | the same |
| views do not move | nor do `memref.dim` and `vector.shuffle` | the same |
| quadratic `cse` | in the loads of a block | `passes.generic.normalize` |
| `gpu.barrier`, `gpu.func`, .. | they are read generically only | `dialects.gpu_mma` |
| SPIR-V's LLVM | no `!llvm.target`, no `spir_kernelcc` | `dialects.llvm_target` |
| assumptions | no `llvm.intr.assume` | `dialects.llvm_assume` |
| numbered names | `%a_1_5` becomes `%a_1`, which a second `%a` is, too | `NAME_END` |
| open strings | a `"` without its end takes exponential time | `Lexer` |
| slow tokens | each takes several expressions and a table | the same |
| no locations | what a pattern makes has `loc(unknown)` | `keeping_locations` |
| eager formats | formats of operations are parsed on import | `DeferredFormat` |
| error dumps | `emit_error` prints the module and drops the operation | `blaming` |
| unchecked yields | `scf.if` may yield what are not its results | `check_yields` |
| unchecked kinds | `memref.atomic_rmw addf` takes integers | `check_combining` |
| unchecked alignments | `vector.load` takes one of 3 bytes | `check_alignment` |
| unchecked steps | a convolution takes strides of 0 | `check_steps` |
| unplaced symbols | two of a name are refused without their places | `check_symbols` |
| untyped comparisons | those of operations ignore types of results | `_typed` |
| unchecked ranks | vectors have more dimensions than memory | `check_rank` |
| slow symbols | each call walks over all functions | `finding_symbols_once` |
| slow walks | each operation passes through a generator per level | `xdsl_speed` |
| slow traits | each question looks at all traits | the same |
| slow effects | those of nested loops are looked at once a level | the same |
| slow liveness | dead operations are looked for until nothing changes | the same |
| slow patterns | those of a kind of operation are made for each | the same |
| slow isolation | each operand is followed to the function around it | the same |
| slow builders | each part is a list, with sizes that few operations have | the same |
| slow classes | `isinstance` and hashes call Python | the same |
| vector reductions | have the type of the vector | `passes.generic.expand_vector` |
| stale operands | a loop's operand defined in it later is no value | `coopc.parsing` |

What xDSL does not check at all (whether definitions dominate uses) is a check of its
own, `coopc.passes.generic.check_dominance`; where parsed operations get their locations
is `coopc.parsing`.  When a new xDSL closes a gap, `test_xdsl_gaps.py` says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock, get_ident
from typing import TYPE_CHECKING, Any, NoReturn, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    IntegerAttr,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    UnknownLoc,
    VectorType,
)
from xdsl.ir import Block, IRNode, Operation, core
from xdsl.irdl import OpDef
from xdsl.irdl.declarative_assembly_format import FormatProgram
from xdsl.irdl.declarative_assembly_format_parser import FormatParser
from xdsl.traits import (
    SymbolOpInterface,
    SymbolTable,
)
from xdsl.utils.diagnostic import Diagnostic
from xdsl.utils.exceptions import ParseError, PyRDLOpDefinitionError, VerifyException
from xdsl.utils.lexer import Span, Token
from xdsl.utils.mlir_lexer import (
    KIND_BY_PUNCTUATION_SPELLING,
    MLIRLexer,
    MLIRToken,
    MLIRTokenKind,
)

from coopc.rounding import FORMATS
from coopc.xdsl_speed import mend

if TYPE_CHECKING:
    from xdsl.dialects.vector import CombiningKindAttr


@dataclass
class DeferredFormat:
    """The assembly format of an operation, parsed when one is first read or printed.

    This is a third of the time that importing a dialect takes.
    """

    text: str
    op_def: OpDef

    @cached_property
    def program(self) -> FormatProgram:
        try:
            return FormatParser(self.text, self.op_def).parse_format()
        except ParseError as error:
            message = f"assembly format of {self.op_def.name}: {error.msg}"
            raise PyRDLOpDefinitionError(message) from error

    def parse(self, *args: Any) -> Any:
        return self.program.parse(*args)

    def print(self, *args: Any) -> None:
        self.program.print(*args)


def deferred_format(input: str, op_def: OpDef) -> Any:
    return DeferredFormat(input, op_def)


FormatProgram.from_str = deferred_format  # of all operations that are defined later

NAME_END = re.compile(r"(?:_\d+)+$")
"""What a name of a value or block loses: the printer adds such an end, once, and does
not look whether another value has that name."""
setattr(core, "_VALUE_NAME_SUFFIX_PATTERN", NAME_END)  # noqa: B010

ALIAS = re.compile(r"^([#!][A-Za-z_][\w$.-]*)[ \t]*=", re.MULTILINE)
"""How MLIR writes the definition of an alias: of locations at the end of its output."""


class Lexer(MLIRLexer):
    """xDSL's lexer, whose time is linear also for a string that does not end.

    Most tokens are found by one expression.
    """

    _most_tokens = re.compile(
        r"(?://[^\n]*\n?|\s)*+"
        r"(?:([a-zA-Z_][a-zA-Z0-9_$.]*)|(%(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*))"
        r"|[:,()}\[\]<>=+/*?|])",
        re.ASCII,
    )

    def lex(self) -> MLIRToken:
        match = self._most_tokens.match(self.input.content, self.pos)
        if match is None:
            return super().lex()
        end = self.pos = match.end()
        if (group := match.lastindex) is None:
            start, kind = end - 1, KIND_BY_PUNCTUATION_SPELLING[match[0][-1]]
        else:
            names = (MLIRTokenKind.BARE_IDENT, MLIRTokenKind.PERCENT_IDENT)
            start, kind = match.start(group), names[group - 1]
        span = object.__new__(Span)  # frozen: filled at once, not field by field
        vars(span).update(start=start, end=end, input=self.input)
        return Token(kind, span)

    _unescaped_characters_regex = re.compile(
        r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"'
    )


def _rounded(pack: Callable[..., bytes]) -> Any:
    def pack_rounded(self: Float16Type | Float32Type, values: Sequence[float]) -> bytes:
        try:
            return pack(self, values)
        except OverflowError:
            return pack(self, [FORMATS[self.name].round(x) for x in values])

    return pack_rounded


mend(Float16Type, "pack", _rounded)
mend(Float32Type, "pack", _rounded)


def _is_splat(_: Callable[..., bool]) -> Any:
    def is_splat(self: DenseIntOrFPElementsAttr) -> bool:
        data, count = self.data.data, len(self)
        return count > 0 and data == data[: len(data) // count] * count

    return is_splat


mend(DenseIntOrFPElementsAttr, "is_splat", _is_splat)


def _typed(same: Callable[..., bool]) -> Any:
    def is_structurally_equivalent(
        self: Operation, other: IRNode, context: Any = None
    ) -> bool:
        return same(self, other, context) and (
            self.result_types == cast(Operation, other).result_types
        )

    return is_structurally_equivalent


mend(Operation, "is_structurally_equivalent", _typed)


def float_of_hex(literal: str, type: AnyFloat) -> float | None:
    """The float whose bits `literal` gives, or None if it is no hexadecimal literal.

    Raises:
        ValueError: It has more bits than `type`, or a sign.
    """
    if "0x" not in literal[:3].lower():
        return None
    if literal.startswith("-"):
        raise ValueError("expected the bits of a float without a sign")
    size_bytes = type.compile_time_size
    bits = int(literal, 16)
    if bits >> (8 * size_bytes):
        raise ValueError(f"expected {8 * size_bytes} bits for {type}, got {literal}")
    return type.unpack(bits.to_bytes(size_bytes, "little"), 1)[0]


def alias_positions(text: str) -> dict[str, int]:
    """Where in `text` each alias is defined first; it may be used before."""
    found: dict[str, int] = {}
    for match in ALIAS.finditer(text):
        found.setdefault(match[1], match.start())
    return found


@dataclass(frozen=True)
class Replaced:
    """A method that some threads have replaced, each for itself."""

    own: Any
    """As the class has it: a static method is no plain function."""
    plain: Callable[..., Any]
    by_thread: dict[int, list[Callable[..., Any]]] = field(default_factory=lambda: {})
    """What it is in a thread, last, by the thread's number."""

    @property
    def now(self) -> Callable[..., Any]:
        """What it is in this thread."""
        found = self.by_thread.get(get_ident())
        return found[-1] if found else self.plain

    @property
    def method(self) -> Any:
        """What the class has while some thread has replaced it."""

        def call(*args: Any, **kwargs: Any) -> Any:  # bound to an object, as it was
            return self.now(*args, **kwargs)

        return staticmethod(call) if isinstance(self.own, staticmethod) else call


_replaced: dict[tuple[type, str], Replaced] = {}
_replacing = Lock()


@contextmanager
def replacing(
    owner: type, name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> Generator[None]:
    """While this holds, the method `name` of `owner` is what `wrap` makes of it.

    That is so in this thread: others may compile, too.
    """
    key, thread = (owner, name), get_ident()
    with _replacing:
        if (found := _replaced.get(key)) is None:
            found = Replaced(owner.__dict__[name], getattr(owner, name))
            _replaced[key] = found
            setattr(owner, name, found.method)
        stack = found.by_thread.setdefault(thread, [])
    stack.append(wrap(found.now))
    try:
        yield
    finally:
        stack.pop()
        with _replacing:
            if not stack:
                del found.by_thread[thread]
            if not found.by_thread:
                del _replaced[key]
                setattr(owner, name, found.own)


@contextmanager
def keeping_locations() -> Generator[None]:
    """While this holds, a pattern's new operations stand where the matched one stood.

    The one place where locations pass from old operations to new ones; what is made
    without a pattern gets its neighbour's by `locate_by_neighbour`.
    """
    from xdsl.pattern_rewriter import PatternRewriter

    def wrap(insert: Callable[..., Any]) -> Callable[..., Any]:
        def insert_located(self: PatternRewriter, op: Any, *args: Any, **kwargs: Any):
            matched = self._current_operation  # pyright: ignore[reportPrivateUsage]
            if matched is not None and not isinstance(matched.location, UnknownLoc):
                for new in (op,) if isinstance(op, Operation) else op:
                    for nested in new.walk():
                        if isinstance(nested.location, UnknownLoc):
                            nested.location = matched.location
            return insert(self, op, *args, **kwargs)

        return insert_located

    with replacing(PatternRewriter, "insert", wrap):
        yield


@contextmanager
def counting_operations(placed: Callable[[], None]) -> Generator[None]:
    """While this holds, `placed` is called for each operation put into a block."""

    def wrap(attach: Callable[..., None]) -> Callable[..., None]:
        def attach_counted(self: Block, operation: Operation) -> None:
            placed()
            attach(self, operation)

        return attach_counted

    with replacing(Block, "_attach_op", wrap):
        yield


@contextmanager
def finding_symbols_once() -> Generator[None]:
    """While this holds, and nothing changes, symbols are looked up in tables."""
    tables: dict[Operation, dict[str, Operation]] = {}

    def wrap(lookup: Callable[..., Operation | None]) -> Any:
        def look_up(op: Operation, name: str | StringAttr | SymbolRefAttr) -> Any:
            if not isinstance(name, SymbolRefAttr):
                name = SymbolRefAttr(name)
            around: Operation | None = op
            while around is not None and not around.has_trait(SymbolTable):
                around = around.parent_op()
            if around is None or name.nested_references.data:
                return lookup(op, name)
            if around not in tables:
                tables[around] = symbols(around)
            return tables[around].get(name.root_reference.data)

        return staticmethod(look_up)

    with replacing(SymbolTable, "lookup_symbol", wrap):
        yield


def symbols(table: Operation) -> dict[str, Operation]:
    """The operations directly in `table` that have names; the first of each name."""
    found: dict[str, Operation] = {}
    for op in table.regions[0].block.ops:
        trait = op.get_trait(SymbolOpInterface)
        name = None if trait is None else trait.get_sym_attr_name(op)
        if name is not None:
            found.setdefault(name.data, op)
    return found


def locate_by_neighbour(top: Operation) -> None:
    """Give each operation in `top` without a location that of the one before it.

    The first of a block gets its parent's.
    """
    for op in top.walk():
        if type(op.location) is UnknownLoc:
            near = op.prev_op or op.parent_op()
            if near is not None:
                op.location = near.location


def check_yields(op: Operation) -> None:
    """Check that `scf.if` and `scf.execute_region` yield their results.

    Raises:
        VerifyException: they do not.
    """
    if op.name not in ("scf.if", "scf.execute_region"):
        return
    if op.name == "scf.if" and any(len(each.blocks) > 1 for each in op.regions):
        raise VerifyException("expected regions of one block, got several")
    ends = [block.last_op for region in op.regions for block in region.blocks]
    if op.name == "scf.if" and op.results and len(ends) < 2:
        raise VerifyException("expected an else, since there are results, got none")
    expected = ", ".join(str(type) for type in op.result_types) or "nothing"
    for end in ends:
        if end is None or end.name != "scf.yield":
            continue
        if end.operand_types != op.result_types:
            found = ", ".join(str(type) for type in end.operand_types) or "nothing"
            raise VerifyException(f"expected {expected} to be yielded, got {found}")


UPDATES = (
    *("addf", "addi", "assign", "maximumf", "maxs", "maxu", "minimumf", "mins"),
    *("minu", "mulf", "muli", "ori", "andi", "maxnumf", "minnumf", "xori"),
)
"""The kinds of `memref.atomic_rmw`, by number: those of floats end in f."""


def check_symbols(op: Operation) -> None:
    """Refuse a second symbol of a name where it is.

    Raises:
        VerifyException: there is one.
    """
    if not op.has_trait(SymbolTable):
        return
    known: dict[StringAttr, Operation] = {}
    for each in (x for block in op.regions[0].blocks for x in block.ops):
        name = each.get_attr_or_prop("sym_name")
        if isinstance(name, StringAttr) and known.setdefault(name, each) is not each:
            message = f"redefinition of symbol '{name.data}'"
            error = VerifyException(message)
            blame(error, each, message)
            note_at(error, known[name], "the first definition is here")
            raise error


def check_steps(op: Operation) -> None:
    """Check that a convolution or pooling has a step for each dimension of its image.

    Raises:
        VerifyException: it has not, or a step is less than 1.
    """
    image = re.match(r"linalg\.(?:depthwise_)?(?:conv_\d+d|pooling)_(n[a-z]+)", op.name)
    if image is None:
        return
    count = sum(letter in "dhw" for letter in image[1])
    for name in ("strides", "dilations"):
        steps = op.properties.get(name)
        if not isinstance(steps, DenseIntOrFPElementsAttr):
            continue
        given = [*steps.get_values()]
        if len(given) != count or min(given) < 1:
            wanted = f"expected {count} {name} of 1 or more"
            raise VerifyException(f"{wanted}, got {steps}")


def check_combining(op: Operation) -> None:
    """Check that an update or a reduction is of a kind for its elements.

    Raises:
        VerifyException: it is not.
    """
    if op.name == "vector.reduction":
        found = cast("CombiningKindAttr", op.properties["kind"]).data
        kind, kinds = str(found), tuple(map(str, type(found)))
    elif op.name == "memref.atomic_rmw":
        number = cast("IntegerAttr", op.properties["kind"]).value.data
        kind = UPDATES[number] if 0 <= number < len(UPDATES) else str(number)
        kinds = UPDATES
    else:
        return
    element = op.results[0].type
    is_of_floats = isinstance(element, AnyFloat)
    any_number = ("assign",) if "assign" in kinds else ("add", "mul")
    wanted = [x for x in kinds if x in any_number or x.endswith("f") == is_of_floats]
    if kind not in wanted:
        names = ", ".join(wanted)
        raise VerifyException(f"expected kind {names} for {element}, got {kind}")


ACCESSES = ("vector.load", "vector.store", "vector.maskedload", "vector.maskedstore")


def check_rank(op: Operation) -> None:
    """Check the rank of the memory that an update or an access of a vector is to.

    An update has an index for each dimension.  A vector has at most as many dimensions
    as the memory.

    Raises:
        VerifyException: it is not so.
    """
    if op.name == "memref.atomic_rmw":
        rank = cast("MemRefType", op.operands[1].type).get_num_dims()
        if (given := len(op.operands) - 2) != rank:
            wanted = f"expected {rank} indices, one a dimension"
            raise VerifyException(f"{wanted}, got {given}")
    if op.name not in ACCESSES:
        return
    types = [x.type for x in (*op.results, *reversed(op.operands))]
    memory = cast("MemRefType", next(x for x in types if x.name == "memref"))
    vector = cast("VectorType", next(x for x in types if x.name == "vector"))
    if memory.get_num_dims() < vector.get_num_dims():
        wanted = f"expected memory with the dimensions of {vector}"
        raise VerifyException(f"{wanted}, got {memory}")


ALIGNED = ("memref", "vector", "llvm", "coopmatrix")
"""Dialects whose operations may state an alignment."""
MAX_ALIGNMENT = 1 << 31
"""What SPIR-V and LLVM IR have room for."""


def check_alignment(op: Operation) -> None:
    """Check that an alignment, in bytes, is a power of two that targets have room for.

    Raises:
        VerifyException: it is not.
    """
    if op.dialect_name() not in ALIGNED:
        return
    if (given := op.get_attr_or_prop("alignment")) is None:
        return
    number = given.value.data if isinstance(given, IntegerAttr) else -1
    if number == 0 and op.dialect_name() == "llvm":  # that of the type
        return
    if not 1 <= number <= MAX_ALIGNMENT or number & (number - 1):
        what = "expected an alignment that is a power of two"
        raise VerifyException(f"{what}, at most {MAX_ALIGNMENT}, got {given}")


@contextmanager
def blaming() -> Generator[None]:
    """While this holds, `emit_error` leaves the operation for `blamed` to find."""

    def wrap(_: Callable[..., Any]) -> Callable[..., Any]:
        def raise_blaming(
            self: Diagnostic, ir: IRNode, underlying_error: Exception
        ) -> NoReturn:
            for op, messages in self.op_messages.items():
                blame(underlying_error, op, messages[0])
            raise underlying_error

        return raise_blaming

    with replacing(Diagnostic, "raise_exception", wrap):
        yield


def blame(error: Exception, op: Operation, message: str) -> None:
    """Note that `error` is about `op`, unless it is known to be about another."""
    error.__dict__.setdefault("blamed", (op, message))


def note_at(error: Exception, op: Operation, message: str) -> None:
    error.__dict__.setdefault("noted", []).append((op, message))


def notes_at(error: BaseException) -> list[tuple[Operation, str]]:
    return error.__dict__.get("noted", [])


def blamed(error: BaseException) -> tuple[Operation, str] | None:
    return error.__dict__.get("blamed")
