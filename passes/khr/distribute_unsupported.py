"""distribute-unsupported: distributes kernels whose products the device does not have.

Before:  coopmatrix operations.
After:   kernels that have products, none of which the device multiplies, are code per
         lane, as `distribute-coopmatrix` makes it, if a lane holds at most 128 elements
         of a matrix. Others are unchanged: `legalize-coopmatrix-khr` stages their
         products in work-group memory.
Fails:   never; nothing is changed without `simt.target`.

On lavapipe, a 256 x 256 x 256 matmul of f32 in tiles of 16 x 16 takes 5 ms instead of
108 ms: operands and sums are in registers, whereas staged ones are copied for each
multiplication.  With tiles of 64 x 64, 512 elements a lane, staging is faster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from coopc.device import Device
from coopc.dialects import coopmatrix, simt
from coopc.dialects.layout import CoopmatrixAttr
from coopc.dialects.simt import Kernel
from coopc.ir.control_flow import functions
from coopc.ir.device_option import device_of
from coopc.ir.matrix_size import is_of_lanes
from coopc.layout.family import CoopmatrixFamily
from coopc.passes.coopmatrix.supported_tiles import Product, SupportedTiles
from coopc.remarks import remark

MOST_ELEMENTS = 128
"""Of a matrix that a lane holds: 32 x 32 over 8 lanes."""


def kernels_to_distribute(
    module: ModuleOp, device: Device
) -> Iterator[tuple[Kernel, coopmatrix.MulAddOp]]:
    """Yield each kernel to distribute, with its first product.

    Kernels that call functions, or state another distribution, are left out.
    """
    supported = SupportedTiles(device)
    for kernel in simt.kernels(module):
        func = kernel.func
        inside = list(func.walk())
        products = [x for x in inside if isinstance(x, coopmatrix.MulAddOp)]
        matrices = [y for x in products for y in x.matrices.values()]
        most = MOST_ELEMENTS * (kernel.subgroup_size or device.subgroup_size)
        if (
            products
            and (coopmatrix.DISTRIBUTION not in func.attributes or is_of_lanes(func))
            and not any(isinstance(x, CallOp) for x in inside)
            and all(x.is_static and prod(x.shape) <= most for x in matrices)
            and not any(supported.product(Product.of(x)) for x in products)
        ):
            yield kernel, products[0]


@dataclass(frozen=True)
class DistributeUnsupportedPass(ModulePass):
    name = "distribute-unsupported"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if simt.target_of(op) is None:
            return
        device = device_of(None, op, self.name)
        kernels = list(kernels_to_distribute(op, device))
        # One pass distributes over subgroups of one size.
        sizes = [x.subgroup_size or device.subgroup_size for x, _ in kernels]
        found = {
            kernel.name: product
            for (kernel, product), size in zip(kernels, sizes, strict=True)
            if size == sizes[0]
        }
        stated = {x.sym_name.data for x in functions(op).values() if is_of_lanes(x)}
        if not found or not stated <= {*found}:
            return  # what states it and has supported products would be distributed
        for name in _distributed(ctx, op, list(found), sizes[0]):
            product = found[name]
            what = Product.of(product).unsupported(device)
            remark(
                product,
                f"{device.name} does not multiply {what}: its lanes compute it, as "
                "vectors",
            )


def _distributed(
    ctx: Context, module: ModuleOp, names: Sequence[str], lanes: int
) -> list[str]:
    """Distribute kernels; return those that lanes can hold."""
    from coopc.passes.generic.expand_exchanges import ExpandExchangesPass
    from coopc.passes.lanes.converge_subgroup import ConvergeSubgroupPass
    from coopc.passes.lanes.distribute_coopmatrix.distribute_coopmatrix import (
        DistributeCoopmatrixPass,
    )

    known = functions(module)
    new = [name for name in names if not is_of_lanes(known[name])]
    for name in new:
        family = CoopmatrixAttr(CoopmatrixFamily())
        known[name].attributes[coopmatrix.DISTRIBUTION] = family
    try:
        DistributeCoopmatrixPass(lanes, stated=True).apply(ctx, module)
    except PassFailedException:
        known = functions(module)
        for name in new:
            del known[name].attributes[coopmatrix.DISTRIBUTION]
        if len(names) == 1:
            return []
        return [x for name in names for x in _distributed(ctx, module, [name], lanes)]
    ExpandExchangesPass().apply(ctx, module)
    ConvergeSubgroupPass().apply(ctx, module)
    return [*names]
