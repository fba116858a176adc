"""What is undefined is refused by name, with the operation and who executes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from support.programs import kernel
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.simulate import simulate

SHARED = "memref<64xi32, #simt.memory<workgroup>>"
OWN = "memref<4xi32>"
MATRIX = "!coopmatrix.matrix<8x8xi32, acc>"
FLOATS = "!coopmatrix.matrix<8x8xf32, acc>"
INTS, REALS, SQUARE = "memref<64xi32>", "memref<64xf32>", "memref<8x8xi32>"
PREAMBLE = f"""
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %least = arith.constant -2147483648 : i32
  %most = arith.constant 2147483647 : i32
  %minus = arith.constant -1 : i32
  %by = arith.constant 32 : i32
  %true = arith.constant true
  %huge = arith.constant 1.0e+20 : f32
  %nan = arith.constant 0x7FC00000 : f32
  %lane = simt.lane_id : index
  %sub = simt.subgroup_id : index
  %group = simt.workgroup_id x : index
  %id = simt.local_id x : index
  %l = arith.index_cast %lane : index to i32
  %s = arith.index_cast %sub : index to i32
  %g = arith.index_cast %group : index to i32
  %is0 = arith.cmpi eq, %lane, %c0 : index
  %next = arith.addi %id, %c1 : index
  %slm = memref.alloca() : {SHARED}
  %own = memref.alloca() : {OWN}
"""
"""Lanes, subgroups and work-groups as indices and as numbers, and memory."""

KEEP = f"memref.store %r, %i[%id] : {INTS}"
ADD = f"""
  "memref.atomic_rmw"(%one, %slm, %c0) <{{kind = 1 : i64}}>
  : (i32, {SHARED}, index) -> i32
"""
ADD_GLOBAL = ADD.replace("%slm", "%i").replace(SHARED, INTS)
BARRIER = "simt.barrier workgroup"
FILL = f"memref.store %l, %slm[%id] : {SHARED}\n{BARRIER}"


@dataclass(frozen=True)
class Case:
    body: str
    message: str
    """After the name of the operation; a regular expression."""
    op: str = "memref.store"
    subgroups: int = 1
    groups: int = 1


UNDEFINED: dict[str, Case] = {
    # Arithmetic, once something depends on it.
    "shl": Case(
        f"%r = arith.shli %l, %by : i32\n{KEEP}",
        "shift of i32 by 32 bits, by every work-item$",
        "arith.shli",
    ),
    "shr_of_one_lane": Case(
        f"%n = arith.muli %l, %l : i32\n%r = arith.shrui %one, %n : i32\n{KEEP}",
        "shift of i32 by 36 bits, by lane 6$",
        "arith.shrui",
    ),
    "shr_by_negative": Case(
        f"%r = arith.shrsi %l, %minus : i32\n{KEEP}",
        "shift of i32 by 4294967295 bits",
        "arith.shrsi",
    ),
    "shl_of_vector": Case(
        f"""%v = vector.broadcast %by : i32 to vector<2xi32>
        %w = arith.shli %v, %v : vector<2xi32>
        %r = vector.extract %w[1] : i32 from vector<2xi32>\n{KEEP}""",
        "shift of i32 by 32 bits",
        "arith.shli",
    ),
    "shl_of_bytes": Case(
        f"""%b = arith.trunci %by : i32 to i8
        %c = arith.constant 8 : i8
        %d = arith.shli %b, %c : i8
        %r = arith.extsi %d : i8 to i32\n{KEEP}""",
        "shift of i8 by 8 bits",
        "arith.shli",
    ),
    "float_to_signed": Case(
        f"%r = arith.fptosi %huge : f32 to i32\n{KEEP}",
        "conversion of 1.0.*e.20 to a signed i32",
        "arith.fptosi",
    ),
    "nan_to_signed": Case(
        f"%r = arith.fptosi %nan : f32 to i32\n{KEEP}",
        "conversion of nan to a signed i32",
        "arith.fptosi",
    ),
    "negative_to_unsigned": Case(
        f"""%f1 = arith.sitofp %minus : i32 to f32
        %r = arith.fptoui %f1 : f32 to i32\n{KEEP}""",
        "conversion of -1.0 to an unsigned i32",
        "arith.fptoui",
    ),
    "add_nsw": Case(
        f"%r = arith.addi %most, %l overflow<nsw> : i32\n{KEEP}",
        "overflow in spite of nsw: 2147483648 is no i32, by lane 1$",
        "arith.addi",
    ),
    "add_nuw": Case(
        f"%r = arith.addi %minus, %one overflow<nuw> : i32\n{KEEP}",
        "overflow in spite of nuw: 4294967296 is no i32",
        "arith.addi",
    ),
    "sub_nsw": Case(
        f"%r = arith.subi %least, %one overflow<nsw> : i32\n{KEEP}",
        "overflow in spite of nsw: -2147483649",
        "arith.subi",
    ),
    "sub_nuw": Case(
        f"%r = arith.subi %zero, %l overflow<nuw> : i32\n{KEEP}",
        "overflow in spite of nuw: -1 is no i32, by lane 1$",
        "arith.subi",
    ),
    "mul_nsw": Case(
        f"%r = arith.muli %least, %minus overflow<nsw> : i32\n{KEEP}",
        "overflow in spite of nsw: 2147483648",
        "arith.muli",
    ),
    "mul_nuw_of_64_bits": Case(
        f"""%c = arith.constant 4294967296 : i64
        %p = arith.muli %c, %c overflow<nuw> : i64
        %r = arith.trunci %p : i64 to i32\n{KEEP}""",
        "overflow in spite of nuw: 18446744073709551616 is no i64",
        "arith.muli",
    ),
    "shl_nsw": Case(
        f"""%c = arith.constant 30 : i32
        %r = arith.shli %l, %c overflow<nsw> : i32\n{KEEP}""",
        "overflow in spite of nsw: 2147483648 is no i32, by lane 2$",
        "arith.shli",
    ),
    "shl_nsw_by_negative": Case(
        f"%r = arith.shli %one, %minus overflow<nsw, nuw> : i32\n{KEEP}",
        "shift of i32 by 4294967295 bits",
        "arith.shli",
    ),
    "poison_as_index": Case(
        f"""%p = arith.shli %one, %by : i32
        %at = arith.index_cast %p : i32 to index
        %r = memref.load %i[%at] : {INTS}""",
        "shift of i32 by 32 bits",
        "arith.shli",
    ),
    "poison_as_condition": Case(
        f"""%p = arith.shli %one, %by : i32
        %c = arith.cmpi eq, %p, %one : i32
        scf.if %c {{
          memref.store %one, %own[%c0] : {OWN}
        }}""",
        "shift of i32 by 32 bits",
        "arith.shli",
    ),
    "poison_as_divisor": Case(
        """%p = arith.shli %one, %by : i32
        %q = arith.addi %p, %one : i32
        %r = arith.divsi %one, %q : i32""",
        "shift of i32 by 32 bits",
        "arith.shli",
    ),
    "poison_that_one_lane_selects": Case(
        f"""%p = arith.shli %one, %by : i32
        %r = arith.select %is0, %p, %one : i32\n{KEEP}""",
        "shift of i32 by 32 bits",
        "arith.shli",
    ),
    "poison_in_a_vector": Case(
        f"""%p = arith.shli %one, %by : i32
        %v = vector.broadcast %one : i32 to vector<2xi32>
        %w = vector.insert %p, %v[1] : i32 into vector<2xi32>
        vector.store %w, %own[%c0] : {OWN}, vector<2xi32>""",
        "shift of i32 by 32 bits",
        "arith.shli",
    ),
    **{
        f"{op}_by_zero": Case(
            f"%r = arith.{op} %one, %l : i32",
            "division by zero, by lane 0$",
            f"arith.{op}",
        )
        for op in ("divsi", "divui", "remsi", "remui", "ceildivui", "floordivsi")
    },
    **{
        f"{op}_of_the_least": Case(
            f"%r = arith.{op} %least, %minus : i32",
            "overflow: -2147483648, the least i32, divided by -1",
            f"arith.{op}",
        )
        for op in ("divsi", "remsi", "ceildivsi")
    },
    "power_of_zero": Case(
        "%r = math.ipowi %zero, %minus : i32",
        "0 cannot be raised to a negative power",
        "math.ipowi",
    ),
    # Matrices.
    "matrix_shl": Case(
        f"""%m = coopmatrix.fill %by : i32 -> {MATRIX}
        %n = coopmatrix.shl %m, %m : {MATRIX}""",
        "shift of i32 by 32 bits",
        "coopmatrix.shl",
    ),
    "matrix_shr": Case(
        f"""%m = coopmatrix.fill %minus : i32 -> {MATRIX}
        %n = coopmatrix.shr %m, %m : {MATRIX}""",
        "shift of i32 by 4294967295 bits",
        "coopmatrix.shr",
    ),
    "matrix_div": Case(
        f"""%m = coopmatrix.fill %zero : i32 -> {MATRIX}
        %n = coopmatrix.div signed %m, %m : {MATRIX}""",
        "division by zero",
        "coopmatrix.div",
    ),
    "matrix_convert": Case(
        f"""%m = coopmatrix.fill %huge : f32 -> {FLOATS}
        %n = coopmatrix.convert signed %m : {FLOATS} -> {MATRIX}""",
        "conversion of 1.0.*e.20 to a signed i32",
        "coopmatrix.convert",
    ),
    "matrix_fill": Case(
        f"%m = coopmatrix.fill %nan : f32 -> {MATRIX}",
        "conversion of nan to a signed i32",
        "coopmatrix.fill",
    ),
    "saturating_product": Case(
        """%x = arith.constant 127 : i8
        %w = arith.constant 1 : i16
        %a = coopmatrix.fill %x : i8 -> !coopmatrix.matrix<8x8xi8, a>
        %b = coopmatrix.fill %x : i8 -> !coopmatrix.matrix<8x8xi8, b>
        %c = coopmatrix.fill %w : i16 -> !coopmatrix.matrix<8x8xi16, acc>
        %d = coopmatrix.mul_add %a, %b, %c signed(a, b, c, result) saturating
           : !coopmatrix.matrix<8x8xi8, a>, !coopmatrix.matrix<8x8xi8, b>,
             !coopmatrix.matrix<8x8xi16, acc>""",
        "overflow of a product whose sum saturates: 129032 is no i16",
        "coopmatrix.mul_add",
    ),
    # Places in memory.
    "load_outside": Case(
        f"%r = memref.load %i[%c64] : {INTS}",
        "expected an index in dimension 0.* got 64",
        "memref.load",
    ),
    "store_outside": Case(
        f"""%at = arith.muli %id, %c64 : index
        memref.store %one, %i[%at] : {INTS}""",
        "expected an index in dimension 0.* got 64",
    ),
    "matrix_outside": Case(
        f"%r = coopmatrix.load %square[%c1, %c0] row_major : {SQUARE} -> {MATRIX}",
        "expected an index in dimension 0.* got 8",
        "coopmatrix.load",
    ),
    "subview_outside": Case(
        f"""%part = memref.subview %i[60] [8] [1]
           : {INTS} to memref<8xi32, strided<[1], offset: 60>>""",
        "expected a part of .* outside in dimension 0",
        "memref.subview",
    ),
    "vector_position": Case(
        """%v = vector.broadcast %one : i32 to vector<4xi32>
        %r = vector.extract %v[%lane] : i32 from vector<4xi32>""",
        "expected a position below 4, got 4",
        "vector.extract",
    ),
    "matrix_slot": Case(
        f"""%x = coopmatrix.fill %one : i32 -> {MATRIX}
        %r = coopmatrix.extract %x[%c64] : {MATRIX}""",
        "expected a slot below",
        "coopmatrix.extract",
    ),
    "overlapping_strides": Case(
        f"""%x = coopmatrix.fill %one : i32 -> {MATRIX}
        %part = memref.reinterpret_cast %i to
           offset: [0], sizes: [8, 8], strides: [4, 1]
           : {INTS} to memref<8x8xi32, strided<[4, 1]>>
        coopmatrix.store %x, %part[%c0, %c0] row_major
           : {MATRIX}, memref<8x8xi32, strided<[4, 1]>>""",
        "overlapping strides: .* several elements in one",
        "coopmatrix.store",
    ),
    "stride_of_zero": Case(
        f"""%x = coopmatrix.fill %one : i32 -> {MATRIX}
        %part = memref.reinterpret_cast %i to
           offset: [0], sizes: [8, 8], strides: [%c0, 1]
           : {INTS} to memref<8x8xi32, strided<[?, 1]>>
        coopmatrix.store %x, %part[%c0, %c0] row_major
           : {MATRIX}, memref<8x8xi32, strided<[?, 1]>>""",
        "overlapping strides",
        "coopmatrix.store",
    ),
    # Alignment.
    "vector_load_aligned": Case(
        f"%r = vector.load %i[%c1] {{alignment = 8 : i64}} : {INTS}, vector<2xi32>",
        "false alignment: .* multiple of 8 bytes",
        "vector.load",
    ),
    "vector_store_aligned": Case(
        f"""%v = vector.broadcast %one : i32 to vector<2xi32>
        vector.store %v, %i[%id] {{alignment = 8 : i64}} : {INTS}, vector<2xi32>""",
        "false alignment: .* multiple of 8 bytes",
        "vector.store",
    ),
    "matrix_aligned": Case(
        f"""%r = coopmatrix.load %f[%c0, %c1] row_major alignment = 16
           : memref<8x16xf32> -> {FLOATS}""".replace("%f", "%rows"),
        "false alignment: .* multiple of 16 bytes",
        "coopmatrix.load",
    ),
    "assumed_alignment": Case(
        f"""%part = memref.subview %i[2] [8] [1]
           : {INTS} to memref<8xi32, strided<[1], offset: 2>>
        %r = memref.assume_alignment %part, 16
           : memref<8xi32, strided<[1], offset: 2>>""",
        "false alignment: .* multiple of 16 bytes",
        "memref.assume_alignment",
    ),
    # Memory that nothing was written to.
    "work_group_memory": Case(
        f"%r = memref.load %slm[%id] : {SHARED}",
        "uninitialised memory: .* element 0 of %slm",
        "memref.load",
    ),
    "own_memory": Case(
        f"""scf.if %is0 {{
          memref.store %one, %own[%c1] : {OWN}
        }}
        %r = memref.load %own[%c1] : {OWN}""",
        "uninitialised memory: .* element 1 of %own",
        "memref.load",
    ),
    "half_a_vector": Case(
        f"""memref.store %one, %own[%c0] : {OWN}
        %r = vector.load %own[%c0] : {OWN}, vector<2xi32>""",
        "uninitialised memory: .* element 1 of %own",
        "vector.load",
    ),
    "matrix_of_work_group_memory": Case(
        f"""{FILL}
        %tile = memref.expand_shape %slm [[0, 1]] output_shape [8, 8]
           : {SHARED} into memref<8x8xi32, #simt.memory<workgroup>>
        %r = coopmatrix.load %tile[%c0, %c0] row_major
           : memref<8x8xi32, #simt.memory<workgroup>> -> {MATRIX}""",
        "uninitialised memory: .* element 8 of %slm",
        "coopmatrix.load",
    ),
    "atomic_update_of_nothing": Case(
        f"%r = {ADD}", "uninitialised memory: .* element 0 of %slm", "memref.atomic_rmw"
    ),
    # Several values for one place, in one operation.
    "lanes_conflict": Case(
        f"memref.store %l, %i[%c0] : {INTS}",
        "conflicting writes: lane 0 writes another value to element 0 of argument 0",
    ),
    "subgroups_conflict": Case(
        f"memref.store %s, %i[%lane] : {INTS}",
        "conflicting writes: lane 0 of subgroup 0 writes",
        subgroups=2,
    ),
    "work_groups_conflict": Case(
        f"memref.store %g, %i[%id] : {INTS}",
        "conflicting writes: lane 0 of work-group 0 writes",
        groups=2,
    ),
    "matrices_conflict": Case(
        f"""%x = coopmatrix.fill %g : i32 -> {MATRIX}
        coopmatrix.store %x, %square[%c0, %c0] row_major : {MATRIX}, {SQUARE}""",
        "conflicting writes: work-group 0 writes another value",
        "coopmatrix.store",
        groups=2,
    ),
    "conflict_in_work_group_memory": Case(
        f"memref.store %s, %slm[%lane] : {SHARED}",
        "conflicting writes: .* element 0 of %slm",
        subgroups=2,
    ),
    # Races.
    "neighbour_reads": Case(
        f"""memref.store %minus, %i[%id] : {INTS}
        %r = memref.load %i[%next] : {INTS}""",
        "race: expected a barrier: lane 0 .* reads element 1 .* lane 1 .* wrote",
        "memref.load",
    ),
    "neighbour_writes": Case(
        f"""%r = memref.load %i[%id] : {INTS}
        memref.store %minus, %i[%next] : {INTS}""",
        "race: expected a barrier: lane 0 .* writes element 1 of .* lane 1 .* read$",
    ),
    "subgroup_barrier_between_subgroups": Case(
        f"""memref.store %minus, %i[%id] : {INTS}
        simt.barrier subgroup
        %other = arith.xori %id, %c8 : index
        %r = memref.load %i[%other] : {INTS}""",
        "race: expected a barrier: lane 0 of subgroup 0 reads element 8",
        "memref.load",
        subgroups=2,
    ),
    "barrier_of_other_memory": Case(
        f"""memref.store %minus, %i[%id] : {INTS}
        simt.barrier workgroup memory = <workgroup>
        %r = memref.load %i[%next] : {INTS}""",
        "race: expected a barrier",
        "memref.load",
    ),
    "work_group_reads": Case(
        f"""scf.if %is0 {{
          memref.store %minus, %i[%group] : {INTS}
        }}
        {BARRIER}
        %other = arith.xori %group, %c1 : index
        %r = memref.load %i[%other] : {INTS}""",
        "race between work-groups: subgroup 0 of work-group 0 reads element 1 of .*, "
        "which lane 0 of subgroup 0 of work-group 1 wrote",
        "memref.load",
        groups=2,
    ),
    "work_group_writes_later": Case(
        f"""%first = arith.cmpi eq, %group, %c0 : index
        scf.if %first {{
          memref.store %zero, %i[%id] : {INTS}
        }} else {{
          memref.store %one, %i[%id] : {INTS}
        }}""",
        "race between work-groups: .* of work-group 1 writes .* of work-group 0 wrote",
        groups=2,
    ),
    "subgroup_writes_later": Case(
        f"""%first = arith.cmpi eq, %sub, %c0 : index
        scf.if %first {{
          memref.store %minus, %slm[%lane] : {SHARED}
        }} else {{
          memref.store %one, %slm[%lane] : {SHARED}
        }}""",
        "race: .* lane 0 of subgroup 1 writes element 0 .* lane 0 of subgroup 0 wrote",
        subgroups=2,
    ),
    "matrix_of_other_subgroup": Case(
        f"""%x = coopmatrix.fill %minus : i32 -> {MATRIX}
        %first = arith.cmpi eq, %sub, %c0 : index
        scf.if %first {{
          coopmatrix.store %x, %square[%c0, %c0] row_major : {MATRIX}, {SQUARE}
        }}
        %r = coopmatrix.load %square[%c0, %c0] row_major : {SQUARE} -> {MATRIX}""",
        "race: expected a barrier: the work-group reads element 0",
        "coopmatrix.load",
        subgroups=2,
    ),
    "plain_after_atomic": Case(
        f"""{FILL}
        %o = {ADD}
        %r = memref.load %slm[%c0] : {SHARED}""",
        "atomic mixed with plain access, race",
        "memref.load",
    ),
    "atomic_after_plain": Case(
        f"""memref.store %l, %slm[%id] : {SHARED}
        %o = {ADD}""",
        "atomic mixed with plain access, race",
        "memref.atomic_rmw",
    ),
    "plain_in_another_work_group": Case(
        f"""%o = {ADD_GLOBAL}
        {BARRIER}
        %r = memref.load %i[%c0] : {INTS}""",
        "atomic mixed with plain access, race between work-groups",
        "memref.load",
        groups=2,
    ),
    # What lanes do together.
    "divergent_barrier": Case(
        f"""scf.if %is0 {{
          {BARRIER}
        }}""",
        "expected uniform control flow",
        "simt.barrier",
    ),
    "divergent_matrix": Case(
        f"""scf.if %is0 {{
          %r = coopmatrix.load %square[%c0, %c0] row_major : {SQUARE} -> {MATRIX}
        }}""",
        "expected uniform control flow",
        "coopmatrix.load",
    ),
    "other_position_of_each_lane": Case(
        f"""%r = coopmatrix.load %square[%lane, %c0] row_major checked(rows)
           : {SQUARE} -> {MATRIX}""",
        "expected a position to be the same",
        "coopmatrix.load",
    ),
    "wait_without_arrival": Case(
        "simt.barrier_wait workgroup",
        "expected simt.barrier_arrive",
        "simt.barrier_wait",
    ),
    "broadcast_of_no_lane": Case(
        "%r = simt.broadcast %l, %c8 : i32", "expected a lane below 8", "simt.broadcast"
    ),
    "loop_without_step": Case(
        """scf.for %k = %c0 to %c8 step %c0 {
          %x = arith.addi %k, %k : index
        }""",
        "expected a positive step",
        "scf.for",
    ),
}


def run(body: str, subgroups: int, groups: int) -> dict[str, Any]:
    """Run a body; return the arrays that it may have changed."""
    module = kernel(
        f"%i: {INTS}, %f: {REALS}, %square: {SQUARE}, %rows: memref<8x16xf32>",
        f"{PREAMBLE}\n{body}",
        lanes=8,
        subgroups=subgroups,
        grid=(groups,),
    )
    arrays = {
        "i": np.arange(64, dtype=np.int32),
        "f": np.arange(64, dtype=np.float32),
        "square": np.zeros((8, 8), np.int32),
        "rows": np.zeros((8, 16), np.float32),
    }
    simulate(module, "f", list(arrays.values()))
    return arrays


@pytest.mark.parametrize("name", UNDEFINED)
def test_undefined(name: str) -> None:
    case = UNDEFINED[name]
    message = rf"^{case.op}: undefined behaviour: {case.message}"
    with pytest.raises(UndefinedBehaviour, match=f"(?s){message}"):
        run(case.body, case.subgroups, case.groups)


def test_the_place_in_the_source_is_said() -> None:
    module = kernel("", "%c = arith.constant 0 : i32\n%r = arith.divsi %c, %c : i32")
    (division,) = (op for op in module.walk() if op.name == "arith.divsi")
    division.location = FileLineColLoc(StringAttr("a.mlir"), IntAttr(7), IntAttr(3))
    with pytest.raises(UndefinedBehaviour) as caught:
        simulate(module, "f", [])
    assert str(caught.value) == (
        "arith.divsi: undefined behaviour: division by zero, by every work-item, "
        "at a.mlir:7:3"
    )


DEFINED: dict[str, Case] = {
    "copies_that_the_first_lane_stores": Case(
        f"""%x = memref.load %i[%c0] : {INTS}
        %y = arith.addi %x, %one : i32
        scf.if %is0 {{
          memref.store %y, %i[%c0] : {INTS}
        }}""",
        "",
    ),
    "what_is_not_selected": Case(
        f"""%fits = arith.cmpi ult, %l, %by : i32
        %n = arith.muli %l, %by : i32
        %small = arith.cmpi ult, %n, %by : i32
        %p = arith.shli %one, %n : i32
        %q = arith.addi %p, %one : i32
        %r = arith.select %small, %q, %zero : i32\n{KEEP}""",
        "",
    ),
    "what_is_in_no_branch": Case(
        f"""%n = arith.muli %l, %by : i32
        %small = arith.cmpi ult, %n, %by : i32
        scf.if %small {{
          %p = arith.shli %one, %n : i32
          memref.store %p, %i[%id] : {INTS}
        }}""",
        "",
    ),
    "what_nobody_uses": Case("%r = arith.fptosi %nan : f32 to i32", ""),
    "what_is_stored_by_those_who_have_it": Case(
        f"""%n = arith.muli %l, %by : i32
        %small = arith.cmpi ult, %n, %by : i32
        %p = arith.shli %one, %n : i32
        scf.if %small {{
          memref.store %p, %i[%id] : {INTS}
        }}""",
        "",
    ),
    "elements_that_are_not_taken": Case(
        f"""%p = arith.shli %one, %by : i32
        %v = vector.broadcast %one : i32 to vector<2xi32>
        %w = vector.insert %p, %v[1] : i32 into vector<2xi32>
        %r = vector.extract %w[0] : i32 from vector<2xi32>\n{KEEP}""",
        "",
    ),
    "wrapping_around": Case(
        f"%x = arith.addi %most, %one : i32\n%r = arith.muli %x, %x : i32\n{KEEP}", ""
    ),
    "the_greatest_that_fits": Case(
        f"""%x = arith.addi %most, %zero overflow<nsw, nuw> : i32
        %r = arith.subi %minus, %one overflow<nuw> : i32\n{KEEP}""",
        "",
    ),
    "barrier_between": Case(
        f"""{FILL}
        %other = arith.subi %c7, %lane : index
        %r = memref.load %slm[%other] : {SHARED}\n{KEEP}""",
        "",
    ),
    "memory_used_again": Case(
        f"""{FILL}
        %other = arith.subi %c7, %lane : index
        %x = memref.load %slm[%other] : {SHARED}
        {BARRIER}
        memref.store %x, %slm[%id] : {SHARED}
        {BARRIER}
        %r = memref.load %slm[%other] : {SHARED}\n{KEEP}""",
        "",
    ),
    "one_value_of_all": Case(f"memref.store %one, %i[%c0] : {INTS}", "", groups=2),
    "one_matrix_of_all": Case(
        f"""%x = coopmatrix.fill %one : i32 -> {MATRIX}
        coopmatrix.store %x, %square[%c0, %c0] row_major : {MATRIX}, {SQUARE}""",
        "",
        subgroups=2,
        groups=2,
    ),
    "what_is_there_again": Case(
        f"""memref.store %one, %i[%c0] : {INTS}
        {BARRIER}
        memref.store %one, %i[%c0] : {INTS}""",
        "",
        subgroups=2,
        groups=2,
    ),
    "parts_of_one_array": Case(
        f"""%at = arith.muli %group, %c8 : index
        %mine = arith.addi %at, %lane : index
        %x = memref.load %i[%mine] : {INTS}
        %r = arith.addi %x, %x : i32
        memref.store %r, %i[%mine] : {INTS}""",
        "",
        groups=4,
    ),
    "all_read_what_nobody_writes": Case(
        f"%x = memref.load %f[%c0] : {REALS}\nmemref.store %one, %i[%id] : {INTS}",
        "",
        groups=2,
    ),
    "matrix_in_place": Case(
        f"""%x = coopmatrix.load %square[%c0, %c0] row_major : {SQUARE} -> {MATRIX}
        %one_each = coopmatrix.fill %one : i32 -> {MATRIX}
        %y = coopmatrix.add %x, %one_each : {MATRIX}
        coopmatrix.store %y, %square[%c0, %c0] row_major : {MATRIX}, {SQUARE}
        %z = coopmatrix.load %square[%c0, %c0] row_major : {SQUARE} -> {MATRIX}
        coopmatrix.store %z, %square[%c0, %c0] row_major : {MATRIX}, {SQUARE}""",
        "",
    ),
    "atomics_of_all": Case(f"%o = {ADD_GLOBAL}", "", subgroups=2, groups=2),
    "atomics_between_barriers": Case(
        f"""{FILL}
        %o = {ADD}
        {BARRIER}
        %r = memref.load %slm[%c0] : {SHARED}\n{KEEP}""",
        "",
    ),
    "last_work_group_reads": Case(
        f"""memref.store %l, %i[%place] : {INTS}
        {BARRIER}
        %o = "memref.atomic_rmw"(%one, %square, %c0, %c0) <{{kind = 1 : i64}}>
           {{simt.ordering = "acquire_release"}} : (i32, {SQUARE}, index, index) -> i32
        {BARRIER}
        %x = memref.load %i[%id] : {INTS}""".replace("%i[%place]", "%i[%mine]").replace(
            "memref.store",
            """%at = arith.muli %group, %c8 : index
            %mine = arith.addi %at, %lane : index
            memref.store""",
            1,
        ),
        "",
        groups=2,
    ),
    "aligned": Case(
        f"%x = vector.load %i[%c8] {{alignment = 32 : i64}} : {INTS}, vector<2xi32>", ""
    ),
    "one_row_of_a_load_for_all": Case(
        f"""%part = memref.reinterpret_cast %i to
           offset: [0], sizes: [8, 8], strides: [%c0, 1]
           : {INTS} to memref<8x8xi32, strided<[?, 1]>>
        %x = coopmatrix.load %part[%c0, %c0] row_major
           : memref<8x8xi32, strided<[?, 1]>> -> {MATRIX}""",
        "",
    ),
    "nobody_divides": Case(
        f"""%no = arith.cmpi slt, %l, %zero : i32
        scf.if %no {{
          %r = arith.divsi %one, %zero : i32
          memref.store %r, %i[%c64] : {INTS}
        }}""",
        "",
    ),
    "own_memory_of_each_lane": Case(
        f"""memref.store %l, %own[%c0] : {OWN}
        %r = memref.load %own[%c0] : {OWN}\n{KEEP}""",
        "",
    ),
}


@pytest.mark.parametrize("name", DEFINED)
def test_defined(name: str) -> None:
    case = DEFINED[name]
    run(case.body, case.subgroups, case.groups)
