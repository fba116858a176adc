"""Arithmetic on numbers of elements.  LLVM finds equal sums by itself."""

from __future__ import annotations

from coopc.emit.index import IndexArithmetic
from coopc.emit.llvm.view import Num, id_of
from coopc.llvm.module import Function
from coopc.llvm.values import Constant, Value


class Index(IndexArithmetic[Value, Value]):
    """Index arithmetic in one function."""

    def __init__(self, function: Function) -> None:
        """Emit into a function."""
        self.function = function

    def num(self, number: Num) -> Num:
        """A number as an int where its value is a constant."""
        if isinstance(number, Constant) and number.number is not None:
            return number.number
        return number

    def emit_sum(self, left: Num, right: Num) -> Value:
        """Emit an add."""
        return self.function.binary("add", id_of(left), id_of(right))

    def emit_product(self, left: Num, right: Num) -> Value:
        """Emit a mul."""
        return self.function.binary("mul", id_of(left), id_of(right))
