"""Tiles of A and B in work-group memory, as the text of staged kernels has them.

A tile in registers is a list of names, of what is loaded from memory at a time; in
work-group memory it is rows of pieces, by the `Panel` of the plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from coopc.passes.linalg.kernel_text import Operands
from coopc.plan.gemm import WORD_BYTES, GemmPlan, Source

SPACE = "#simt.memory<workgroup>"
SOURCES: tuple[Source, Source] = ("a", "b")


class Lines:
    """A region of a kernel: operations, and names of their results."""

    def __init__(self, numbers: count[int]) -> None:
        self.numbers = numbers
        self.text: list[str] = []
        self.known: dict[str, str] = {}

    def __str__(self) -> str:
        return "".join(self.text)

    def region(self) -> Lines:
        return Lines(self.numbers)

    def do(self, operation: str) -> None:
        self.text.append(f"\n  {operation}")

    def fresh(self, name: str) -> str:
        return f"%{name}{next(self.numbers)}"

    def new(self, name: str, operation: str) -> str:
        """Add an operation that has effects, and return the name of its result."""
        result = self.fresh(name)
        self.do(f"{result} = {operation}")
        return result

    def let(self, name: str, operation: str) -> str:
        """Return the result of an operation without effects, which is written once."""
        if operation not in self.known:
            self.known[operation] = self.new(name, operation)
        return self.known[operation]

    def index(self, operation: str, x: str, y: str) -> str:
        return self.let("i", f"arith.{operation} {x}, {y} : index")

    def word(self, operation: str, x: str, y: str) -> str:
        return self.let("word", f"arith.{operation} {x}, {y} : i32")

    def number(self, x: int) -> str:
        return self.let("n", f"arith.constant {x} : i32")

    def add(self, x: str, y: int) -> str:
        if x == "%c0":
            return f"%c{y}"
        return self.index("addi", x, f"%c{y}") if y else x

    def mul(self, x: str, y: int) -> str:
        return x if y == 1 else self.index("muli", x, f"%c{y}")

    def div_mod(self, x: str, y: int) -> tuple[str, str]:
        """Return the quotient and the rest of an index that is not negative."""
        if y == 1:
            return x, "%c0"
        return self.index("divui", x, f"%c{y}"), self.index("remui", x, f"%c{y}")


class Tile:
    """The tiles of A or B: where they come from, and where they are."""

    def __init__(self, source: Source, its: Operands, plan: GemmPlan) -> None:
        which = SOURCES.index(source)
        self.source: Source = source
        self.memory = its.a if source == "a" else its.b
        self.panel = plan.panels[which]
        self.work_items = plan.work_items
        self.depth = plan.depth
        """K of a product."""
        self.products = 1 if source == "b" and plan.sliced else plan.products
        """Products of a step that a tile is for."""
        self.k = self.depth if source == "b" and plan.sliced else plan.step
        """K of a tile."""
        rows_along_k = (source == "a") != self.memory.matrix.transposed
        self.along_rows = rows_along_k or self.panel.turned
        """Whether its rows go along K, so that subgroups share out the rows."""
        self.cut = not rows_along_k
        """Whether what is loaded at a time may reach over an edge of C."""
        self.layout = "row_major" if (source == "a") == self.along_rows else "col_major"
        """Of its matrices."""
        panel, part = self.panel, plan.subgroup[which]
        chunk = self.k // plan.split
        count = panel.width // WORD_BYTES
        self.words = "i32" if count == 1 else f"vector<{count}xi32>"
        """The type of a piece in work-group memory: words of 32 bits."""
        self.vector = f"vector<{panel.per_load}x{self.memory.element}>"
        """The type of what is loaded at a time."""
        self.held = "i32" if panel.turned else self.words
        """The type of that in registers."""
        none = f"dense<0> : {self.held}" if self.held != "i32" else "0 : i32"
        self.no_words = f"arith.constant {none}"
        self.k_of_load = 1 if self.cut else panel.per_load
        """K of what is loaded at a time."""
        self.alignment = panel.per_load * panel.element_bytes
        self.type = f"memref<{panel.rows}x{panel.stride}x{self.words}, {SPACE}>"
        """The type of work-group memory: rows x pieces of all copies, and the gap."""
        self.turns = panel.turns // self.work_items
        self.part_shape = chunk, part // panel.per_piece
        """Rows and pieces of a subgroup's part."""
        if self.along_rows:
            self.part_shape = part, chunk // panel.per_piece
        rows, pieces = self.part_shape
        strides = f"strided<[{panel.stride}, 1], offset: ?>"
        self.part_type = f"memref<{rows}x{pieces}x{self.words}, {strides}, {SPACE}>"
        """The type of a view of a subgroup's part."""

    def numbered(self, lines: Lines, number: str) -> tuple[str, str]:
        """Return the row, the first of those at once, and the piece, of a number.

        With `interleaved` rows, eight numbers are the pieces of some rows that are
        `pieces` apart, and after as many times eight numbers come eight more rows.
        """
        pieces = self.panel.pieces
        if self.panel.turned:
            piece, row = lines.div_mod(number, self.panel.turns // pieces)
            return lines.mul(row, self.panel.rows_at_once), piece
        if self.panel.interleaved == 1:
            return lines.div_mod(number, pieces)
        eight, within = lines.div_mod(number, self.panel.period)
        first, within = lines.div_mod(within, 8)
        across, piece = lines.div_mod(within, pieces)
        down = lines.index("addi", first, lines.mul(across, pieces))
        return lines.index("addi", lines.mul(eight, 8), down), piece

    def pieces(self, lines: Lines) -> list[tuple[str, str]]:
        """Return the row, and the piece of it, of all that a work-item copies."""
        turns = range(self.turns)
        if self.panel.turned or self.work_items % self.panel.period:
            numbers = [lines.add("%item", turn * self.work_items) for turn in turns]
            return [self.numbered(lines, number) for number in numbers]
        row, piece = self.numbered(lines, "%item")
        down = self.work_items // self.panel.pieces
        return [(lines.add(row, turn * down), piece) for turn in turns]

    def in_words(self, lines: Lines, piece: str) -> str:
        """Write what is loaded as words."""
        count = self.alignment // WORD_BYTES
        cast = f"vector.bitcast {piece} : {self.vector} to vector<{count}xi32>"
        words = lines.new("words", cast)
        if count > 1:
            return words
        return lines.new("word", f"vector.extract {words}[0] : i32 from vector<1xi32>")

    def rows_at_once(self, lines: Lines, row: str) -> list[str]:
        """Write the rows that pieces are stored to at a time, by the first of them.

        Eight work-items that follow each other begin with different rows of four, so
        that they store to different banks.
        """
        if not self.panel.turned:
            return [row]
        begin, many = self._begin(lines, row), self.panel.rows_at_once
        every = (lines.add(begin, number) for number in range(many))
        return [
            lines.index("addi", row, lines.index("remui", x, f"%c{many}"))
            for x in every
        ]

    def _begin(self, lines: Lines, row: str) -> str:
        eights = lines.index("divui", row, "%c8")
        return lines.index("remui", eights, f"%c{self.panel.rows_at_once}")

    def turned(
        self, lines: Lines, once: Lines, row: str, words: Sequence[str]
    ) -> list[str]:
        """Write pieces of columns, in the order of `rows_at_once`.

        Args:
            lines: to write to.
            once: where what depends on the row alone is written.
            row: the first one in work-group memory.
            words: of rows in memory.
        """
        begin = once.mul(self._begin(once, row), 8)
        right = once.let("bits", f"arith.index_cast {begin} : index to i32")
        left = once.word("subi", once.number(0), right)
        left = once.word("andi", left, once.number(31))
        words = [
            lines.word(
                "ori", lines.word("shrui", x, right), lines.word("shli", x, left)
            )
            for x in words
        ]
        squares = [
            turned_square(lines, words[x : x + WORD_BYTES])
            for x in range(0, len(words), WORD_BYTES)
        ]
        if len(squares) == 1:
            return squares[0]
        found: list[str] = []
        none = lines.let("none", f"arith.constant dense<0> : {self.words}")
        for column in zip(*squares, strict=True):
            piece = none
            for number, word in enumerate(column):
                insert = f"vector.insert {word}, {piece}[{number}]"
                piece = lines.new("piece", f"{insert} : i32 into {self.words}")
            found.append(piece)
        return found


def turned_square(lines: Lines, rows: Sequence[str]) -> list[str]:
    """Write the columns of four rows of four bytes, all of them words."""
    do, number = lines.word, lines.number

    def mixed(x: str, y: str, mask: int) -> str:
        """Return the bits of x that a mask has, and the others of y."""
        ones = do("andi", x, number(mask))
        return do("ori", ones, do("andi", y, number(~mask)))

    def swapped(x: str, y: str, bits: int, mask: int) -> tuple[str, str]:
        """Return words in which every other group of bits has changed places."""
        by = number(bits)
        return mixed(x, do("shli", y, by), mask), mixed(do("shrui", x, by), y, mask)

    pairs = [swapped(rows[x], rows[x + 1], 8, 0x00FF00FF) for x in (0, 2)]
    (x, odd_x), (y, odd_y) = pairs
    (first, third), (second, fourth) = (
        swapped(*each, 16, 0x0000FFFF) for each in ((x, y), (odd_x, odd_y))
    )
    return [first, second, third, fourth]
