"""`gpu.barrier`, as MLIR prints it: xDSL 0.74 reads operations of `gpu` generically.

Importing this module changes xDSL's class in place, since whoever has to do with an
operation finds it by its class.
"""

from typing import Any

from xdsl.dialects import gpu
from xdsl.parser import Parser
from xdsl.printer import Printer

Gpu = gpu.GPU


def parse_barrier(cls: type[gpu.BarrierOp], parser: Parser) -> gpu.BarrierOp:
    """Parse attributes, if there are some."""
    return cls.create(attributes=parser.parse_optional_attr_dict())


def print_barrier(self: Any, printer: Printer) -> None:
    printer.print_op_attributes(self.attributes)


setattr(gpu.BarrierOp, "parse", classmethod(parse_barrier))  # noqa: B010
setattr(gpu.BarrierOp, "print", print_barrier)  # noqa: B010
