"""Disassembly to counts, on text that a reader can count by hand."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.run.isa import (
    CLEAN,
    COUNTS,
    Counts,
    Isa,
    KernelIsa,
    Resources,
    analyse,
    count,
    parse,
    read_ze_info,
)

LOOP = """
.kernel gemm
// some comment
L0:
(W)  mov (1|M0) r4.5<1>:d r2.12<0;1,0>:d {I@4}
     sync.nop null {$1.src}
L16:
(W)  add (1|M0) r2.4<1>:d r2.4<0;1,0>:d 32:w
     send.ugm (1|M0) r5 r4 null:0 {$4} // wr:1+0, rd:31; load_block2d.ugm.d16.a64
     send.ugm (1|M0) r104 r37 null:0 {$5} // wr:1+0, rd:8; load_block2d.ugm.d32t.a64
     send.ugm (1|M0) null r68 null:0 {$6} // wr:1+0, rd:0; load_block2d.ugm.d16.a64
     dpas.8x8 (16|M0) r38:f r38:f r104:hf r5.0:hf {Atomic,Compacted,$2.dst}
     dpas.8x8 (16|M0) r54:f r54:f r104:hf r9.0:hf {Compacted,$1}
(W)  cmp (16|M0) (lt)f0.0 null<1>:d r2.4<0;1,0>:d r1.8<0;1,0>:d
(W&f0.0) jmpi L16
L300:
     send.ugm (16|M0) null r15 r22:8 {$7} // wr:1+8, rd:0; store_block2d.ugm.d32.a64
     send.ugm (16|M0) r90 r0 null:0 {$8} // wr:1+0, rd:2; load.ugm.d32x64t.a32.ss[0x40]
(W)  send.gtwy (1|M0) null r112 null:0 {EOT} // wr:1+0, rd:0; end of thread
     illegal
     illegal
"""


def test_counts_of_a_loop() -> None:
    kernel = analyse(LOOP, Resources(simd=16))
    (inner,) = kernel.loops
    assert inner is kernel.inner
    kinds = {
        "alu.add": 1,
        "alu.cmp": 1,
        "dpas.8x8(16)": 2,
        "dpas.hf.hf.f": 2,
        "load_block2d.d16": 1,
        "load_block2d.d32t": 1,
        "prefetch_block2d.d16": 1,
    }
    assert inner == Counts(
        total=8,
        dpas=2,
        load2d=2,
        prefetch2d=1,
        alu=2,
        control=1,
        # The length of a message that returns 32 registers ends at 31.
        registers_read=32 + 8,
        registers_written=3,
        macs=2 * 8 * 16 * 16,
        kinds=kinds,
    )


def test_padding_is_not_counted() -> None:
    whole = analyse(LOOP, Resources()).whole
    assert whole.total == 13
    assert (whole.nop, whole.send, whole.spill_messages) == (0, 2, 1)
    assert whole.kinds["send.eot"] == 1
    assert whole.kinds["store_block2d.d32"] == 1


def test_outer_loops_are_not_innermost() -> None:
    text = """
L0:
    mov (1|M0) r1.0<1>:d r2.0<0;1,0>:d
L1:
    add (1|M0) r1.0<1>:d r2.0<0;1,0>:d 1:w
    jmpi L1
    mov (1|M0) r3.0<1>:d r2.0<0;1,0>:d
    goto.b (16|M0) L0 L0
"""
    (loop,) = parse(text).innermost_loops()
    assert [each.mnemonic for each in loop] == ["add", "jmpi"]


def test_the_furthest_jump_back_ends_a_loop() -> None:
    text = "L0:\n  nop\n  jmpi L0\n  nop\n  jmpi L0\n  nop\n"
    (loop,) = parse(text).innermost_loops()
    assert len(loop) == 4


def test_busiest_loop() -> None:
    loops = (Counts(total=90), Counts(total=9, dpas=1), Counts(total=8, dpasw=1))
    kernel = KernelIsa(Resources(), Counts(), loops)
    assert kernel.inner == loops[1]


def test_workaround_of_dg2_is_apart() -> None:
    text = """
    dpas.8x8 (8|M0)  r30:f  null:f  r20:hf  r20.0:hf {Atomic}
    dpasw.8x8 (8|M0) r22:f  r22:f   r14:hf  r9.0:hf
    dpas.8x1 (8|M0)  r22:d  r22:d   r14:ub  r9.0:b
"""
    counts = count(parse(text).instructions)
    assert (counts.dpas, counts.dpasw, counts.dpas_workaround) == (1, 1, 1)
    assert counts.kinds["dpas.b.ub.d"] == 1
    assert counts.multiplications == 2
    assert counts.macs == 8 * 8 * 16 + 1 * 8 * 32


MNEMONICS = ("mov", "add", "sync.nop", "nop", "jmpi", "call", "dpas.8x8", "send.ugm")


@given(st.lists(st.sampled_from(MNEMONICS)))
def test_total_is_the_sum_of_the_counts(opcodes: list[str]) -> None:
    text = "\n".join(f"  {opcode} (16|M0) r1 r2" for opcode in opcodes)
    counts = count(parse(text).instructions)
    parts = (
        *("dpas", "dpasw", "dpas_workaround", "load2d", "prefetch2d", "store2d"),
        *("send", "mov", "alu", "sync", "control", "nop"),
    )
    assert counts.total == len(opcodes) == sum(getattr(counts, p) for p in parts)
    assert counts.calls == opcodes.count("call")


ZE_INFO = """
version: '1.60'
kernels:
  - name:            gemm
    execution_env:
      barrier_count:   1
      eu_thread_count: 4
      grf_count:       256
      simd_size:       16
      slm_size:        4096
      spill_size:      512
    payload_arguments:
      - arg_type:        arg_bypointer
        size:            8
    per_thread_memory_buffers:
      - type:            scratch
        usage:           single_space
        size:            8192
      - type:            global
        usage:           private_space
        size:            1024
  - name:            other
    execution_env:
      simd_size:       32
functions:
  - name:            helper
    execution_env:
      simd_size:       8
"""


def test_resources() -> None:
    assert read_ze_info(ZE_INFO) == {
        "gemm": Resources(16, 256, 4, 512, 8192, 1024, 4096, 1),
        "other": Resources(simd=32),
    }


KERNEL = KernelIsa(Resources(simd=16), Counts(dpas=4, total=9), (Counts(dpas=2),))


def test_check() -> None:
    isa = Isa("bmg", {"a": KERNEL, "b": replace(KERNEL, loops=())})
    assert isa.check({**CLEAN, "simd": 16, "dpas": 4}, {"total": 9}) == ()
    assert isa.check({"inner.dpas": 2}) == (
        "bmg: b: expected inner.dpas = 2, got no loop",
    )
    assert isa.check({"b:dpas": 3, "load_block2d.d16": 1}, {"a:total": 8}) == (
        "bmg: a: expected load_block2d.d16 = 1, got 0",
        "bmg: a: expected total <= 8, got 9",
        "bmg: b: expected load_block2d.d16 = 1, got 0",
        "bmg: b: expected dpas = 3, got 4",
    )


@pytest.mark.parametrize("name", COUNTS)
def test_every_count_has_a_name(name: str) -> None:
    assert KERNEL.figure(name) == getattr(KERNEL.whole, name)
    assert KERNEL.figure(f"inner.{name}") == getattr(KERNEL.loops[0], name)


def test_unknown_names() -> None:
    with pytest.raises(ValueError, match="unknown figure 'dpass', did you mean 'dpas'"):
        KERNEL.figure("dpass")
    with pytest.raises(ValueError, match="expected a kernel of a, got 'c'"):
        Isa("bmg", {"a": KERNEL}).check({"c:dpas": 1})
