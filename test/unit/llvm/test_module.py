"""Modules of LLVM IR as data are written as LLVM reads them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.llvm.module import Block, Function, Label, Module, Signature, Typed
from coopc.llvm.text import text
from coopc.llvm.values import (
    DOUBLE,
    FLOAT,
    HALF,
    I1,
    I8,
    I32,
    I64,
    VOID,
    Constant,
    Float,
    Int,
    Vector,
    floating,
    integer,
    quoted,
    symbol,
)

llvm = pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")


def read(module: Module) -> Any:
    """What LLVM makes of the text of a module, which it has checked."""
    found = llvm.parse_assembly(text(module))
    found.verify()
    return found


def returning(value: Constant) -> Module:
    """A module of one function that returns a constant."""
    module = Module("x86_64-unknown-linux-gnu")
    function = module.define(Function(Signature("f", value.type, ())))
    function.do("ret ", Typed(value))
    return module


@given(st.sampled_from((1, 8, 16, 32, 64)), st.integers(-(1 << 70), 1 << 70))
def test_integers_wrap_around(bits: int, number: int) -> None:
    found = integer(Int(bits), number)
    assert found.number is not None
    assert (found.number - number) % (1 << bits) == 0
    assert -(1 << (bits - 1)) <= found.number < 1 << (bits - 1)
    read(returning(found))


@given(st.sampled_from((HALF, FLOAT, DOUBLE)), st.data())
def test_floats_keep_their_bits(type: Float, data: st.DataObject) -> None:
    size = type.bits // 8
    bits = data.draw(st.binary(min_size=size, max_size=size))
    module = Module("x86_64-unknown-linux-gnu")
    to = Int(type.bits)
    function = module.define(Function(Signature("f", to, ())))
    found = function.cast("bitcast", floating(type, int.from_bytes(bits, "little")), to)
    function.do("ret ", Typed(found))
    # Folding the bitcast shows the bits that LLVM has read.
    parsed = read(module)
    machine = llvm_machine()
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(parsed, builder)
    number = int.from_bytes(bits, "little", signed=True)
    assert f"ret {to} {number}\n" in str(parsed)


def llvm_machine() -> Any:
    llvm.initialize_native_target()
    return llvm.Target.from_default_triple().create_target_machine()


@given(st.text(st.characters(exclude_categories=("Cs",)), min_size=1))
def test_any_name_is_a_symbol(name: str) -> None:
    module = Module("x86_64-unknown-linux-gnu")
    function = module.define(Function(Signature(name, VOID, ())))
    function.do("ret void")
    if "\0" not in name:
        read(module)
    assert quoted(name) == name or quoted(name).startswith('"')


def test_equal_names_get_numbers() -> None:
    module = Module("x86_64-unknown-linux-gnu")
    function = module.define(Function(Signature("f", I32, (I32, I32)), ("x", "x")))
    a, b = function.parameters
    sum = function.arithmetic("add", a, b, flags="nsw")
    sum.hint = "0"
    function.do("ret ", Typed(sum))
    read(module)
    assert "@f(i32 %x, i32 %x.0)" in text(module)
    assert "%_0 = add nsw i32 %x, %x.0" in text(module)


def test_phis_take_values_from_later_blocks() -> None:
    module = Module("x86_64-unknown-linux-gnu")
    function = module.define(Function(Signature("f", VOID, (I64,)), ("n",)))
    loop, done = Block("loop"), Block("done")
    entry = function.block
    function.do("br ", Label(loop))
    function.begin(loop)
    at = function.phi(I64, "i")
    after = function.arithmetic("add", at, integer(I64, 1))
    function.arrive(at, integer(I64, 0), entry)
    function.arrive(at, after, loop)
    more = function.compare("icmp slt", after, function.parameters[0])
    function.do("br ", Typed(more), ", ", Label(loop), ", ", Label(done))
    function.begin(done)
    function.do("ret void")
    read(module)
    assert "%i = phi i64 [ 0, %entry ], [ %0, %loop ]" in text(module)


def test_declarations_have_one_type() -> None:
    module = Module("x86_64-unknown-linux-gnu")
    first = module.declare(Signature("g", I8, (I1,)))
    assert module.declare(Signature("g", I8, (I1,))) is first
    with pytest.raises(ValueError, match=r"expected @g with the types that it has"):
        module.declare(Signature("g", I8, (I8,)))


def test_nodes_and_variables() -> None:
    module = Module("x86_64-unknown-linux-gnu")
    one = module.node(integer(I32, 1))
    assert module.node(integer(I32, 1)) == one
    assert module.node(one, one) == one + 1
    loops = [module.loop("llvm.loop.unroll.disable") for _ in range(2)]
    assert loops[0].node != loops[1].node
    found = text(module)
    assert f"!{loops[0].node} = distinct !{{!{loops[0].node}, !{one + 2}}}" in found
    assert f'!{one + 2} = !{{!"llvm.loop.unroll.disable"}}' in found
    again = [module.variable("v", Vector(4, FLOAT), 0, 16) for _ in range(3)]
    assert [each.text for each in again] == ["@v", "@v_0", "@v_1"]
    assert symbol("a b").text == '@"a b"'
    read(module)
