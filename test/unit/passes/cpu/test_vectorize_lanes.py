"""vectorize-subgroup: kernels compute for all lanes at once what they did for each."""

import numpy as np
import pytest
from support.vectorized import LANES, kernel, same
from xdsl.dialects.builtin import ModuleOp


def names(module: ModuleOp) -> list[str]:
    return [x.name for x in module.walk()]


IN = "%a: memref<64xi32>, %b: memref<64xi32>, %out: memref<64xi32>"
A = np.arange(64, dtype=np.int32) * 37 % 29 - 7
B = np.arange(64, dtype=np.int32) * 11 % 23 % 9
OUT = np.full(64, -99, np.int32)


def of_lanes(body: str) -> ModuleOp:
    """A kernel that reads %x and %y by lane and writes %r."""
    return kernel(
        IN,
        f"""
        %x = memref.load %a[%lane] : memref<64xi32>
        %y = memref.load %b[%lane] : memref<64xi32>
        %zero = arith.constant 0 : i32
        %ten = arith.constant 10 : i32
        {body}
        memref.store %r, %out[%lane] : memref<64xi32>
        """,
    )


BODIES = {
    "arithmetic": "%s = arith.muli %x, %y : i32\n %r = arith.subi %s, %ten : i32",
    "select": """%c = arith.cmpi slt, %x, %y : i32
        %r = arith.select %c, %x, %ten : i32""",
    "if": """%c = arith.cmpi slt, %x, %zero : i32
        %r = scf.if %c -> (i32) {
          %s = arith.addi %y, %ten : i32
          scf.yield %s : i32
        } else {
          scf.yield %x : i32
        }""",
    "division by zero in the other lanes": """%c = arith.cmpi ne, %y, %zero : i32
        %r = scf.if %c -> (i32) {
          %s = arith.divsi %x, %y : i32
          scf.yield %s : i32
        } else {
          scf.yield %ten : i32
        }""",
    "store under a mask": """%c = arith.cmpi sgt, %x, %ten : i32
        scf.if %c {
          memref.store %y, %out[%lane] : memref<64xi32>
        }
        %r = memref.load %out[%lane] : memref<64xi32>""",
    "load at the same place under a mask": """%c = arith.cmpi sgt, %x, %ten : i32
        %r = scf.if %c -> (i32) {
          %s = memref.load %a[%c2] : memref<64xi32>
          scf.yield %s : i32
        } else {
          %s = memref.load %b[%lane] : memref<64xi32>
          scf.yield %s : i32
        }""",
    "for, the same trips": """%r = scf.for %i = %c0 to %c2 step %c1
            iter_args(%s = %zero) -> (i32) {
          %t = arith.addi %s, %x : i32
          scf.yield %t : i32
        }""",
    "for, trips of each lane": """%n = arith.index_cast %y : i32 to index
        %r, %u = scf.for %i = %c0 to %n step %c2
            iter_args(%s = %zero, %v = %ten) -> (i32, i32) {
          %j = arith.index_cast %i : index to i32
          %t = arith.addi %s, %j : i32
          %w = arith.addi %v, %ten : i32
          scf.yield %t, %w : i32, i32
        }""",
    "what a loop carries alike but leaves at different times": """
        %n = arith.index_cast %y : i32 to index
        %q, %r = scf.for %i = %c0 to %n step %c1
            iter_args(%s = %zero, %v = %ten) -> (i32, i32) {
          %w = arith.addi %v, %v : i32
          %t = arith.addi %s, %w : i32
          scf.yield %t, %w : i32, i32
        }""",
    "a loop in a branch": """%c = arith.cmpi slt, %x, %ten : i32
        %r = scf.if %c -> (i32) {
          %n = arith.index_cast %y : i32 to index
          %s = scf.for %i = %c0 to %n step %c1 iter_args(%u = %x) -> (i32) {
            %v = arith.muli %u, %ten : i32
            scf.yield %v : i32
          }
          scf.yield %s : i32
        } else {
          scf.yield %y : i32
        }""",
    "while": """%r, %k = scf.while (%u = %x, %n = %y) : (i32, i32) -> (i32, i32) {
          %c = arith.cmpi sgt, %n, %zero : i32
          %v = arith.addi %u, %n : i32
          scf.condition(%c) %v, %n : i32, i32
        } do {
        ^bb0(%u : i32, %n : i32):
          %one = arith.constant 1 : i32
          %m = arith.subi %n, %one : i32
          scf.yield %u, %m : i32, i32
        }""",
    "broadcast": "%r = simt.broadcast %x, %c2 : i32",
    "shuffle xor": "%r = simt.shuffle xor %x, %c2 : i32",
    "shuffle up and down": """%six = arith.constant 6 : index
        %up = simt.shuffle up %x, %c2 : i32
        %is_first = arith.cmpi ult, %lane, %c2 : index
        %p = arith.select %is_first, %x, %up : i32
        %down = simt.shuffle down %x, %c2 : i32
        %is_last = arith.cmpi uge, %lane, %six : index
        %q = arith.select %is_last, %x, %down : i32
        %r = arith.subi %p, %q : i32""",
    "shuffle idx": """%p = arith.constant 3 : index
        %q = arith.addi %lane, %p : index
        %e = arith.constant 7 : index
        %i = arith.andi %q, %e : index
        %r = simt.shuffle idx %x, %i : i32""",
    "reduce": """%p = simt.reduce add %x : i32
        %q = simt.reduce max signed %y : i32
        %u = simt.reduce min %x : i32
        %s = arith.addi %p, %q : i32
        %r = arith.xori %s, %u : i32""",
    "reduce what is the same": "%r = simt.reduce add %ten : i32",
    "strided and gathered": """%i = arith.muli %lane, %c2 : index
        %s = memref.load %a[%i] : memref<64xi32>
        %e = arith.constant 15 : i32
        %m = arith.andi %x, %e : i32
        %j = arith.index_cast %m : i32 to index
        %t = memref.load %b[%j] : memref<64xi32>
        memref.store %t, %out[%j] : memref<64xi32>
        %r = arith.addi %s, %t : i32""",
    "private memory": """%p = memref.alloca() : memref<4xi32>
        memref.store %x, %p[%c0] : memref<4xi32>
        %e = arith.constant 3 : i32
        %m = arith.andi %y, %e : i32
        %j = arith.index_cast %m : i32 to index
        memref.store %y, %p[%j] : memref<4xi32>
        %r = memref.load %p[%c0] : memref<4xi32>""",
    "functions of math": """%f = arith.sitofp %x : i32 to f32
        %g = math.absf %f : f32
        %r = arith.fptosi %g : f32 to i32""",
    "ids": """%s = simt.subgroup_size : index
        %g = simt.workgroup_id x : index
        %l = simt.local_id x : index
        %t = arith.addi %s, %g : index
        %u = arith.addi %t, %l : index
        %r = arith.index_cast %u : index to i32""",
}


@pytest.mark.parametrize("name", BODIES)
def test_the_same_result(name: str) -> None:
    same(of_lanes(BODIES[name]), A, B, OUT)


def test_consecutive_elements_are_vectors() -> None:
    after, _ = same(of_lanes("%r = arith.addi %x, %y : i32"), A, B, OUT)
    found = names(after)
    assert found.count("vector.load") == 2
    assert found.count("vector.store") == 1
    assert "memref.load" not in found
    assert "scf.for" not in found


@pytest.mark.parametrize("name", ["shuffle xor", "shuffle up and down"])
def test_lanes_that_are_known_are_one_shuffle(name: str) -> None:
    after, _ = same(of_lanes(BODIES[name]), A, B, OUT)
    assert "vector.shuffle" in names(after)
    assert "scf.for" not in names(after)


def test_uniform_values_stay_scalar() -> None:
    body = "%s = arith.muli %ten, %ten : i32\n %r = arith.addi %x, %s : i32"
    after, _ = same(of_lanes(body), A, B, OUT)
    products = [x for x in after.walk() if x.name == "arith.muli"]
    assert [str(x.results[0].type) for x in products] == ["i32"]


def test_several_subgroups_and_a_barrier() -> None:
    module = kernel(
        IN,
        """
        %l = simt.local_id x : index
        %s = simt.subgroup_id : index
        %t = memref.alloca() : memref<32xi32, #simt.memory<workgroup>>
        %x = memref.load %a[%l] : memref<64xi32>
        memref.store %x, %t[%l] : memref<32xi32, #simt.memory<workgroup>>
        simt.barrier workgroup
        %e = arith.constant 31 : index
        %r = arith.subi %e, %l : index
        %y = memref.load %t[%r] : memref<32xi32, #simt.memory<workgroup>>
        %i = arith.index_cast %s : index to i32
        %z = arith.addi %y, %i : i32
        memref.store %z, %out[%l] : memref<64xi32>
        """,
        (4 * LANES,),
    )
    same(module, A, B, OUT)


def test_local_ids_of_two_dimensions() -> None:
    module = kernel(
        IN,
        """
        %x = simt.local_id x : index
        %y = simt.local_id y : index
        %w = simt.workgroup_size x : index
        %t = arith.muli %y, %w : index
        %i = arith.addi %t, %x : index
        %k = arith.muli %x, %y : index
        %v = arith.index_cast %k : index to i32
        memref.store %v, %out[%i] : memref<64xi32>
        """,
        (4, 4),
    )
    same(module, A, B, OUT)
