"""The laws that coopc/layout/linear.py states, on any columns."""

from hypothesis import given
from hypothesis import strategies as st

from coopc.layout.linear import Echelon, image

columns_of_9_bits = st.lists(st.integers(0, 511), max_size=7)
vectors = st.integers(0, 511)


@given(columns_of_9_bits)
def test_solution(columns: list[int]) -> None:
    echelon = Echelon.of(columns)
    for value in range(1 << len(columns)):
        vector = image(columns, value)
        solution = echelon.solve(vector)
        assert echelon.spans(vector)
        assert image(columns, solution) == vector
        assert not solution & echelon.dependent


@given(columns_of_9_bits, vectors, vectors)
def test_projection(columns: list[int], x: int, y: int) -> None:
    echelon = Echelon.of(columns)
    assert echelon.solve(x ^ y) == echelon.solve(x) ^ echelon.solve(y)


@given(columns_of_9_bits, vectors)
def test_rank(columns: list[int], vector: int) -> None:
    echelon = Echelon.of(columns)
    images = {image(columns, value) for value in range(1 << len(columns))}
    assert len(images) == 1 << echelon.rank
    assert echelon.rank + echelon.dependent.bit_count() == len(columns)
    assert echelon.spans(vector) == (vector in images)
