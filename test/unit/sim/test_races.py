"""A missing barrier is found, though work-items run in step."""

import numpy as np
import pytest
from support.programs import kernel

from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.simulate import simulate

SHARED = "memref<32xi32, #simt.memory<workgroup>>"
MATRIX = "!coopmatrix.matrix<4x8xi32, acc>"
SQUARE = "memref<4x8xi32, #simt.memory<workgroup>>"

STORE = f"memref.store %v, %slm[%id] : {SHARED}"
MATRIX_STORE = (
    f"coopmatrix.store %m, %square[%zero, %zero] row_major : {MATRIX}, {SQUARE}"
)
READS = {
    "own": f"%r = memref.load %slm[%id] : {SHARED}",
    "neighbour": f"%r = memref.load %slm[%next] : {SHARED}",
    "other subgroup": f"%r = memref.load %slm[%far] : {SHARED}",
    "uniform": f"%r = memref.load %slm[%zero] : {SHARED}",
    "matrix": f"%r = coopmatrix.load %square[%zero, %zero] row_major "
    f": {SQUARE} -> {MATRIX}",
}
BARRIERS = {
    "none": "",
    "subgroup": "simt.barrier subgroup",
    "workgroup": "simt.barrier workgroup",
    "halves": "simt.barrier_arrive workgroup\nsimt.barrier_wait workgroup",
}


def run(body: str, *, subgroups: int = 4, lanes: int = 8, races: bool = True) -> None:
    """Run a body with memory of a work-group: %slm, and the same as %square.

    Where there are fewer than 32 work-items they have written all of it before.
    """
    before = MATRIX_STORE.replace("%m", "%zeros")
    start = "" if lanes * subgroups == 32 else f"{before}\nsimt.barrier workgroup"
    module = kernel(
        "%x: memref<32xi32>",
        f"""
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %c8 = arith.constant 8 : index
        %c32 = arith.constant 32 : index
        %slm = memref.alloca() : {SHARED}
        %square = memref.expand_shape %slm [[0, 1]] output_shape [4, 8]
                  : {SHARED} into {SQUARE}
        %id = simt.local_id x : index
        %id1 = arith.addi %id, %one : index
        %next = arith.remui %id1, %c8 : index
        %id8 = arith.addi %id, %c8 : index
        %far = arith.remui %id8, %c32 : index
        %v = memref.load %x[%id] : memref<32xi32>
        %m = coopmatrix.fill %c32 : index -> {MATRIX}
        %zeros = coopmatrix.fill %zero : index -> {MATRIX}
        {start}
        {body}
        """,
        lanes=lanes,
        subgroups=subgroups,
    )
    simulate(module, "f", [np.arange(100, 132, dtype=np.int32)], races=races)


ORDERED = {
    # Read after a write by the lanes: the barrier that orders it, at least.
    "own": "none",
    "neighbour": "workgroup",
    "other subgroup": "workgroup",
    "uniform": "workgroup",
    "matrix": "workgroup",
}


@pytest.mark.parametrize("barrier", BARRIERS)
@pytest.mark.parametrize("read", READS)
def test_read_after_write(read: str, barrier: str) -> None:
    body = f"{STORE}\n{BARRIERS[barrier]}\n{READS[read]}"
    if ORDERED[read] == "none" or barrier in ("workgroup", "halves"):
        run(body)
        return
    with pytest.raises(
        UndefinedBehaviour, match=r"expected a barrier: .* reads element"
    ):
        run(body)
    run(body, races=False)


def test_message() -> None:
    with pytest.raises(UndefinedBehaviour) as caught:
        run(f"{STORE}\n{READS['other subgroup']}")
    assert str(caught.value) == (
        "memref.load: undefined behaviour: race: expected a barrier: lane 0 of "
        "subgroup 0 reads element 8 of %slm, which lane 0 of subgroup 1 wrote"
    )


@pytest.mark.parametrize("read", READS)
def test_write_after_read(read: str) -> None:
    """What another lane has read is changed."""
    place = "%id" if read == "other subgroup" else "%far"
    change = f"""
      %double = arith.addi %v, %v : i32
      memref.store %double, %slm[{place}] : {SHARED}
    """
    start = f"{STORE}\nsimt.barrier workgroup\n{READS[read]}"
    with pytest.raises(UndefinedBehaviour, match=r"writes element .* which .* read"):
        run(f"{start}\n{change}")
    run(f"{start}\nsimt.barrier workgroup\n{change}")


def test_writes_of_two_lanes() -> None:
    change = f"memref.store %v, %slm[%far] : {SHARED}"
    with pytest.raises(UndefinedBehaviour, match=r"which .* wrote"):
        run(f"{STORE}\n{change}")
    run(f"{STORE}\nsimt.barrier workgroup\n{change}")


def test_one_subgroup_needs_a_barrier_of_its_own() -> None:
    """Lanes are not in step on a device, not even those of one subgroup."""
    for read in ("neighbour", "uniform", "matrix"):
        run(f"{STORE}\nsimt.barrier subgroup\n{READS[read]}", subgroups=1)
        with pytest.raises(UndefinedBehaviour, match="expected a barrier"):
            run(f"{STORE}\n{READS[read]}", subgroups=1)


def test_matrices_are_nobody_s_in_particular() -> None:
    run(f"{MATRIX_STORE}\nsimt.barrier subgroup\n{READS['matrix']}", subgroups=1)
    with pytest.raises(UndefinedBehaviour, match="subgroup 0 reads element 0"):
        run(f"{MATRIX_STORE}\n{READS['matrix']}", subgroups=1)


def test_what_each_lane_wrote_is_not_the_subgroup_s() -> None:
    """Each lane may read what all have written, all together may not yet."""
    body = f"""
      {STORE}
      simt.barrier workgroup
      %seven = arith.constant 7 : i32
      memref.store %seven, %slm[%zero] : {SHARED}
    """
    run(f"{body}\n{READS['uniform']}", subgroups=1)
    with pytest.raises(UndefinedBehaviour, match="element 0 of"):
        run(f"{body}\n{READS['matrix']}", subgroups=1)


def test_what_several_lanes_read_none_of_them_may_write() -> None:
    body = f"""
      {STORE}
      simt.barrier workgroup
      %two = arith.constant 2 : index
      %half = arith.divui %id, %two : index
      %r = memref.load %slm[%half] : {SHARED}
    """
    change = f"memref.store %r, %slm[%half] : {SHARED}"
    run(f"{body}\n{change}", subgroups=1)
    double = f"%d = arith.addi %r, %r : i32\n{change.replace('%r', '%d')}"
    with pytest.raises(UndefinedBehaviour, match="which subgroup 0 read"):
        run(f"{body}\n{double}", subgroups=1)


def test_the_first_lane_that_read_may_write_if_no_other_subgroup_did() -> None:
    """As programs of Triton do, whose lanes hold copies of an element."""
    body = """
      %zero = arith.constant 0 : index
      %eight = arith.constant 8 : index
      %r = memref.load %x[%zero] : memref<32xi32>
      %d = arith.addi %r, %r : i32
      %id = simt.local_id x : index
      %writes = arith.cmpi eq, %id, %{lane} : index
      scf.if %writes {{
        memref.store %d, %x[%zero] : memref<32xi32>
      }}
    """
    for lane, subgroups in (("zero", 1), ("eight", 1), ("zero", 2), ("eight", 2)):
        text = body.format(lane=lane)
        module = kernel("%x: memref<32xi32>", text, subgroups=subgroups)
        x = np.arange(100, 132, dtype=np.int32)
        if (lane, subgroups) == ("zero", 1):
            simulate(module, "f", [x])
            assert x[0] == 200
            continue
        with pytest.raises(UndefinedBehaviour, match=r"which .* read"):
            simulate(module, "f", [x])


def test_same_value_by_all_lanes() -> None:
    body = f"""
      %seven = arith.constant 7 : i32
      memref.store %seven, %slm[%zero] : {SHARED}
      %r = memref.load %slm[%zero] : {SHARED}
    """
    run(body, subgroups=1)


def test_one_lane() -> None:
    run(f"{STORE}\n{READS['uniform']}", subgroups=1, lanes=1)


def test_views_are_the_same_memory() -> None:
    bytes, words = (
        f"memref<{size}, #simt.memory<workgroup>>" for size in ("128xi8", "32xi32")
    )
    body = f"""
      %b = memref.alloca() : {bytes}
      %w = "memref.view"(%b, %zero) : ({bytes}, index) -> {words}
      memref.store %v, %w[%id] : {words}
      {{barrier}}
      %r = memref.load %b[%far] : {bytes}
    """
    run(body.replace("{barrier}", "simt.barrier workgroup"))
    with pytest.raises(UndefinedBehaviour, match="expected a barrier"):
        run(body.replace("{barrier}", ""))


GLOBAL = "memref<32xi32>"
WAYS = {
    "view": f'%y = "memref.cast"(%x) : ({GLOBAL}) -> {GLOBAL}',
    "choice": f"%y = arith.select %yes, %x, %x : {GLOBAL}",
    "branch": f"""
      %y = scf.if %yes -> ({GLOBAL}) {{
        scf.yield %x : {GLOBAL}
      }} else {{
        scf.yield %x : {GLOBAL}
      }}
    """,
    "loop": f"""
      %y = scf.for %i = %zero to %one step %one iter_args(%z = %x) -> ({GLOBAL}) {{
        scf.yield %z : {GLOBAL}
      }}
    """,
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_an_argument_may_be_written_in_any_way(way: str) -> None:
    body = f"""
      %yes = arith.constant true
      {way}
      %w = arith.addi %v, %v : i32
      memref.store %w, %y[%id] : {GLOBAL}
      %r = memref.load %x[%next] : {GLOBAL}
    """
    with pytest.raises(UndefinedBehaviour, match=r"expected a barrier: .* reads"):
        run(body)


MATRICES = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = coopmatrix.load %x[%c0, %c0] row_major : memref<9x9xf32> -> MATRIX
"""
ELSEWHERE = {
    "transposed": ("[%c0, %c0] col_major", "8x8xf32, acc"),
    "shifted": ("[%c0, %c1] row_major", "8x8xf32, acc"),
    "use": ("[%c0, %c0] row_major", "8x8xf32, a"),
    "size": ("[%c0, %c0] row_major", "8x4xf32, acc"),
}
"""Where the same place has another element, or one of another type of matrix."""


def run_matrices(body: str) -> None:
    text = (MATRICES + body).replace("MATRIX", "!coopmatrix.matrix<8x8xf32, acc>")
    array = np.arange(81, dtype=np.float32).reshape(9, 9)
    simulate(kernel("%x: memref<9x9xf32>", text), "f", [array])


def test_matrices_are_updated_in_place() -> None:
    run_matrices("""
      %n = coopmatrix.add %m, %m : MATRIX
      coopmatrix.store %n, %x[%c0, %c0] row_major : MATRIX, memref<9x9xf32>
      %o = coopmatrix.load %x[%c0, %c0] row_major : memref<9x9xf32> -> MATRIX
    """)


@pytest.mark.parametrize("where", ELSEWHERE)
def test_elements_of_other_lanes_need_a_barrier(where: str) -> None:
    access, type = ELSEWHERE[where]
    other = f"!coopmatrix.matrix<{type}>"
    read = f"%o = coopmatrix.load %x{access} : memref<9x9xf32> -> {other}"
    for first, second in (("", read), (read, "")):  # after the write, and before
        body = f"""
          {first}
          {{barrier}}
          %n = coopmatrix.add %m, %m : MATRIX
          coopmatrix.store %n, %x[%c0, %c0] row_major : MATRIX, memref<9x9xf32>
          {{barrier}}
          {second}
        """
        run_matrices(body.replace("{barrier}", "simt.barrier subgroup"))
        with pytest.raises(UndefinedBehaviour, match=r"barrier.* as another"):
            run_matrices(body.replace("{barrier}", ""))
