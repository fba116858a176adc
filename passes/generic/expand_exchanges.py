"""expand-exchanges: lowers layout changes between lanes to shuffles and selects.

Before:  %r = simt.exchange %v from #rows to #columns : vector<4xi8> -> vector<4xi8>
After:   the steps of a plan: `vector.shuffle` and `arith.select` by the lane number,
         `simt.shuffle` of 32-bit words, and a final `vector.shuffle`.
Fails:   if work-group memory is cheaper than shuffles for the two layouts.

The plan is that of `coopc.layout.exchange`, which `coopc-layout --compare` prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, IntegerType, ModuleOp, VectorType, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc.dialects import simt
from coopc.dialects.narrow import is_vector, length_of, vector_type
from coopc.dialects.simt import MAX_COMPONENTS, ShuffleMode
from coopc.ir.builder import INDEX, Builder, Built, Component, Id
from coopc.ir.device_option import target_device
from coopc.layout.exchange import ABSENT, ExchangePlan, Select, Shuffle, plan_exchange
from coopc.passes.generic.number import Num


@dataclass(frozen=True)
class ExpandExchangesPass(ModulePass):
    name = "expand-exchanges"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = [x for x in op.walk() if isinstance(x, simt.ExchangeOp)]
        for each in found:
            if (plan := plan_of(each)).through_memory:
                reason = (
                    "expected layouts between which shuffles cost less than work-group "
                    f"memory, {plan.cost} here, got {each.source} and {each.target}"
                )
                each.emit_error(reason, PassFailedException(reason))
        built, device = Built(), target_device(op)
        for each in found:
            # Components of the longest vector that may be made.
            if device is not None:
                longest = min(MAX_COMPONENTS, device.limits.max_vector)
            else:
                longest = max(4, *map(length_of, (*each.values, *each.outputs)))
            builder = Builder.at(each, built, unroll=True)
            lowering = ExchangeLowering(builder, plan_of(each), longest)
            results = lowering.run(list(each.values), each.result_types)
            Rewriter.replace_op(each, [], results)


def plan_of(op: simt.ExchangeOp) -> ExchangePlan:
    element = vector_type(op.values[0]).get_element_type()
    bits = element.bitwidth if isinstance(element, IntegerType | AnyFloat) else 64
    return plan_exchange(*op.layouts, element_bits=bits)


@dataclass(frozen=True, slots=True)
class ExchangeLowering:
    """The code of one plan."""

    b: Builder
    plan: ExchangePlan
    longest: int
    """Components of the longest vector."""

    def run(
        self, values: Sequence[SSAValue], types: Sequence[Attribute]
    ) -> list[SSAValue]:
        """Return vectors of some types, of vectors in the layout of the source."""
        file = [(x, at) for x in values for at in range(length_of(x))]
        for step in self.plan.steps:
            if isinstance(step, Select):
                file = self._selected(step, file)
            else:
                file = self._shuffled(step, file)
        wanted = [None if x == ABSENT else file[x] for x in self.plan.places]
        found: list[SSAValue] = []
        for type in types:
            assert is_vector(type)
            length = type.element_count()
            found.append(self.b.gathered(wanted[:length], length, values[0]))
            wanted = wanted[length:]
        return found

    def _selected(self, step: Select, file: list[Component]) -> list[Component]:
        """Choose by the number of the lane, vectors at a time."""
        found = [file[x] for x in step.other]
        groups: dict[tuple[bool, ...], list[int]] = {}
        for number, where in enumerate(step.where):
            if step.taken[number] != step.other[number]:
                groups.setdefault(where, []).append(number)
        for where, numbers in groups.items():
            condition = self._condition(where)
            pieces: list[tuple[list[int], SSAValue]] = []
            # What is taken is mostly the same values in another order.
            now: dict[Component, Component] = {}
            for start in range(0, len(numbers), self.longest):
                chosen = numbers[start : start + self.longest]
                part = [file[step.other[x]] for x in chosen]
                # Of a length that SPIR-V has, perhaps more than is wanted.
                length = 1 << (len(part) - 1).bit_length()
                other = self.b.gathered(part, length, part[0][0])
                pieces.append((chosen, other))
                now |= {old: (other, at) for at, old in enumerate(part)}
            for chosen, other in pieces:
                taken = [file[step.taken[x]] for x in chosen]
                one = self.b.gathered(
                    [now.get(x, x) for x in taken], length_of(other), other
                )
                new = self.b.select(condition, one, other)
                for at, number in enumerate(chosen):
                    found[number] = new, at
        return found

    def _shuffled(self, step: Shuffle, file: list[Component]) -> list[Component]:
        """Read other lanes: what is read of the same ones as words."""
        found = [file[x] for x in step.values]
        for origins, numbers in step.groups().items():
            packed = self.plan.per_word if len(numbers) > 1 else 1
            start = 0
            while start < len(numbers):
                # No word more than there is, but vectors that SPIR-V has.
                words = -(-(len(numbers) - start) // packed)
                words = min(1 << words.bit_length() - 1, self.longest // packed)
                chosen = numbers[start : start + words * packed]
                part = [found[x] for x in chosen]
                value = self.b.gathered(part, words * packed, part[0][0])
                type = vector_type(value)
                if packed > 1:
                    value = self.b.bitcast(value, VectorType(i32, [words]))
                value = self.b.bitcast(self._read(value, origins), type)
                for at, number in enumerate(chosen):
                    found[number] = value, at
                start += len(chosen)
        return found

    # Numbers of lanes

    def _id(self, of: Id) -> Num:
        return Num(self.b, self.b.id(of))

    def _condition(self, where: tuple[bool, ...]) -> SSAValue:
        """Return whether this lane is one of some."""
        size = self.plan.subgroup_size
        for bit in range((len(where) - 1).bit_length()):
            if all(x == bool(lane >> bit & 1) for lane, x in enumerate(where)):
                if (mask := 1 << bit) < size:
                    has = self._id("lane") & mask
                else:
                    has = self._id("warp") & (mask // size)
                return has.compare("ne", 0).value
        return self._looked_up(where).compare("ne", 0).value

    def _looked_up(self, where: Sequence[bool]) -> Num:
        """Return a bit of a constant, by the number of the lane, as 0 or 1."""
        size = self.plan.subgroup_size
        number = self._id("lane")
        if len(where) == size or all(
            where[x] == where[x % size] for x in range(len(where))
        ):
            where = where[:size]
        else:
            number = self._id("warp") * size + number
        type = i32 if len(where) <= i32.width.data else i64
        table = sum(1 << lane for lane, x in enumerate(where) if x)
        table -= (table >> type.width.data - 1) << type.width.data  # signed
        number = number.cast(arith.ExtUIOp, type)
        return (number.like(table) >> number) & 1

    def _read(self, value: SSAValue, origins: tuple[int, ...]) -> SSAValue:
        size = self.plan.subgroup_size
        masks = {lane % size ^ other for lane, other in enumerate(origins)}
        if len(masks) == 1:
            mode, lane = ShuffleMode.XOR, self.b.constant(INDEX, masks.pop())
        elif len(set(origins)) == 1:
            return self.b.pure(
                simt.BroadcastOp, value, self.b.constant(INDEX, origins[0])
            )
        else:
            mode = ShuffleMode.IDX
            lane = self.b.pure(arith.IndexCastOp, self._origin(origins), INDEX)
        return self.b.shuffle(value, lane, mode)

    def _origin(self, origins: tuple[int, ...]) -> SSAValue:
        """Return the lane that this one reads, an i32: by its bits, else looked up."""
        size = self.plan.subgroup_size
        bits = range((size - 1).bit_length())
        turn = origins[0]
        columns = [origins[1 << bit] ^ turn for bit in bits]
        images = [turn] * len(origins)
        for lane in range(len(origins)):
            for bit in bits:
                images[lane] ^= columns[bit] * (lane >> bit & 1)
        terms: list[Num] = []
        if images == list(origins):
            terms += [self._moved(mask, x) for x, mask in _shifted(columns).items()]
            if turn or not terms:
                terms.append(Num(self.b, self.b.constant(i32, turn)))
        else:
            for bit in bits:
                found = self._looked_up([bool(x >> bit & 1) for x in origins])
                found = found.cast(arith.TruncIOp, i32)
                terms.append(found << bit if bit else found)
        return reduce(Num.__xor__, terms).value

    def _moved(self, mask: int, shift: int) -> Num:
        """Return bits of the number of the lane, moved up, or down by less than 0."""
        value = self._id("lane")
        kept = (self.plan.subgroup_size - 1) >> max(0, -shift) << max(0, -shift)
        if mask != kept:
            value = value & mask
        if shift > 0:
            return value << shift
        return value >> -shift if shift else value


def _shifted(columns: Sequence[int]) -> dict[int, int]:
    """Return the bits that a linear map moves by each distance, upwards if positive.

    >>> _shifted([4, 8, 1, 2])
    {2: 3, -2: 12}
    """
    found: dict[int, int] = {}
    for bit, column in enumerate(columns):
        for to in range(column.bit_length()):
            if column >> to & 1:
                found[to - bit] = found.get(to - bit, 0) | 1 << bit
    return found
