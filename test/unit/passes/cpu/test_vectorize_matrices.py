"""vectorize-subgroup: elements of matrices, inserted where lanes part and where not."""

import numpy as np
import pytest
from support.vectorized import LANES, kernel, same, vectorized
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

A = np.arange(64, dtype=np.int32) * 37 % 29 - 7
OUT = np.full(64, -99, np.int32)
M = "!coopmatrix.matrix<5x5xi32, acc>"
MEMORY = "memref<5x5xi32>"
SQUARE = np.arange(25, dtype=np.int32).reshape(5, 5)


def on_elements(body: str, more: str = "") -> ModuleOp:
    """A kernel that makes %r of the matrix %m."""
    return kernel(
        f"%a: {MEMORY}, %out: {MEMORY}",
        f"""
        %k = arith.constant 1000 : i32
        %m = coopmatrix.load %a[%c0, %c0] row_major : {MEMORY} -> {M}
        %n = coopmatrix.length {M} : index
        {body}
        coopmatrix.store %r, %out[%c0, %c0] row_major : {M}, {MEMORY}
        """,
        more=more,
    )


INSERTIONS = {
    "one side": f"""%c = arith.cmpi ult, %lane, %c2 : index
        %r = scf.if %c -> ({M}) {{
          %o = coopmatrix.insert %k, %m[%c1] : {M}
          scf.yield %o : {M}
        }} else {{
          scf.yield %m : {M}
        }}""",
    "both sides": f"""%c = arith.cmpi ult, %lane, %c2 : index
        %r = scf.if %c -> ({M}) {{
          %o = coopmatrix.insert %k, %m[%c1] : {M}
          scf.yield %o : {M}
        }} else {{
          %e = coopmatrix.extract %m[%c0] : {M}
          %o = coopmatrix.insert %e, %m[%c1] : {M}
          scf.yield %o : {M}
        }}""",
    "a loop that lanes leave at different times": f"""
        %c3 = arith.constant 3 : index
        %t = arith.remui %lane, %c3 : index
        %r = scf.for %i = %c0 to %t step %c1 iter_args(%it = %m) -> ({M}) {{
          %j = arith.constant 0 : index
          %o = coopmatrix.insert %k, %it[%j] : {M}
          scf.yield %o : {M}
        }}""",
    "elements that are chosen by their values": f"""
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%it = %m) -> ({M}) {{
          %e = coopmatrix.extract %it[%i] : {M}
          %u = arith.remui %e, %two : i32
          %c = arith.cmpi eq, %u, %zero : i32
          %o = scf.if %c -> ({M}) {{
            %p = coopmatrix.insert %k, %it[%i] : {M}
            scf.yield %p : {M}
          }} else {{
            scf.yield %it : {M}
          }}
          scf.yield %o : {M}
        }}""",
    "slots that differ between lanes": f"""
        %c3 = arith.constant 3 : index
        %i = arith.remui %lane, %c3 : index
        %e = coopmatrix.extract %m[%i] : {M}
        %u = arith.addi %e, %k : i32
        %j = arith.subi %c2, %i : index
        %r = coopmatrix.insert %u, %m[%j] : {M}""",
    "slots that differ, of some lanes": f"""
        %c3 = arith.constant 3 : index
        %i = arith.remui %lane, %c3 : index
        %c = arith.cmpi ult, %i, %c2 : index
        %r = scf.if %c -> ({M}) {{
          %e = coopmatrix.extract %m[%i] : {M}
          %u = arith.addi %e, %k : i32
          %o = coopmatrix.insert %u, %m[%i] : {M}
          scf.yield %o : {M}
        }} else {{
          %o = coopmatrix.insert %k, %m[%c1] : {M}
          scf.yield %o : {M}
        }}""",
    "as many slots as each lane goes through": f"""
        %c3 = arith.constant 3 : index
        %t = arith.remui %lane, %c3 : index
        %r = scf.for %i = %c0 to %t step %c1 iter_args(%it = %m) -> ({M}) {{
          %o = coopmatrix.insert %k, %it[%i] : {M}
          scf.yield %o : {M}
        }}""",
    "a call": f"%r = func.call @twice(%m, %k) : ({M}, i32) -> {M}",
}


@pytest.mark.parametrize("name", INSERTIONS)
def test_insertions(name: str) -> None:
    function = f"""
        func.func @twice(%m: {M}, %k: i32) -> {M} {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %o = coopmatrix.insert %k, %m[%c0] : {M}
          %e = coopmatrix.extract %o[%c1] : {M}
          %f = arith.addi %e, %k : i32
          %p = coopmatrix.insert %f, %o[%c1] : {M}
          func.return %p : {M}
        }}"""
    constants = "%two = arith.constant 2 : i32\n %zero = arith.constant 0 : i32\n"
    same(on_elements(constants + INSERTIONS[name], function), SQUARE, SQUARE * 0)


REFUSED = {
    "expected control flow that is the same for all lanes": f"""
        %c = arith.cmpi ult, %lane, %c2 : index
        scf.if %c {{
          coopmatrix.store %m, %out[%c0, %c0] row_major : {M}, {MEMORY}
        }}
        %r = coopmatrix.add %m, %m : {M}""",
    "expected both sides to insert into the same matrix": f"""
        %o = coopmatrix.add %m, %m : {M}
        %c = arith.cmpi ult, %lane, %c2 : index
        %r = scf.if %c -> ({M}) {{
          scf.yield %o : {M}
        }} else {{
          scf.yield %m : {M}
        }}""",
}


@pytest.mark.parametrize("message", REFUSED)
def test_refusals(message: str) -> None:
    with pytest.raises(PassFailedException, match=message):
        vectorized(on_elements(REFUSED[message]))


def test_subgroups_of_a_work_group_that_shares_a_matrix() -> None:
    """One work-item stands for two subgroups, and keeps them apart."""
    matrix = "!coopmatrix.matrix<5x5xi32, none, scope = workgroup>"
    module = kernel(
        "%a: memref<64xi32>, %out: memref<5x5xi32>, %back: memref<64xi32>",
        f"""
        %l = simt.local_id x : index
        %s = simt.subgroup_id : index
        %x = memref.load %a[%l] : memref<64xi32>
        %u = simt.broadcast %x, %c2 : i32
        %v = simt.shuffle down %x, %c0 : i32
        %w = simt.reduce add %x : i32
        %uv = arith.muli %u, %v : i32
        %r = arith.addi %uv, %w : i32
        %m = coopmatrix.fill %z : i32 -> {matrix}
        %n = coopmatrix.insert %r, %m[%c0] : {matrix}
        %o = coopmatrix.insert %w, %n[%c1] : {matrix}
        simt.barrier workgroup
        coopmatrix.store %o, %out[%c0, %c0] row_major : {matrix}, memref<5x5xi32>
        %e = coopmatrix.extract %o[%c1] : {matrix}
        %i = arith.index_cast %s : index to i32
        %f = arith.addi %e, %i : i32
        memref.store %f, %back[%l] : memref<64xi32>
        """.replace("%m = ", "%z = arith.constant 0 : i32\n %m = "),
        (2 * LANES,),
    )
    same(module, A, np.zeros((5, 5), np.int32), OUT)
