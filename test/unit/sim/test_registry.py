"""Every operation that kernels use is simulated, or its absence is stated here."""

import numpy as np
import pytest
from support.programs import module_of
from xdsl.dialects import affine, func, ub, vector
from xdsl.ir import Dialect

from coopc.dialects.coopmatrix import Coopmatrix
from coopc.dialects.linalg_forms import Linalg
from coopc.dialects.math_forms import Math
from coopc.dialects.memref_forms import MemRef
from coopc.dialects.scf_forms import Scf
from coopc.dialects.shaped_arith import Arith
from coopc.dialects.simt import Simt
from coopc.dialects.tensor_forms import Bufferization, Tensor
from coopc.sim.errors import SimulationError
from coopc.sim.interpreter import IMPLEMENTATIONS
from coopc.sim.simulate import DIALECTS as SIMULATED
from coopc.sim.simulate import import_functions, simulate

DIALECTS = (
    Arith,
    Math,
    vector.Vector,
    MemRef,
    Scf,
    ub.UB,
    func.Func,
    affine.Affine,
    Linalg,
    Tensor,
    Bufferization,
    Coopmatrix,
    Simt,
)

NOT_RUN = {
    "func.func",  # what is run is its body
    "coopmatrix.spec_constant",  # read before anything runs
    "memref.global",  # read when it is used
}
NOT_SIMULATED = {
    # Not in kernels, or gone before they are compared.
    "affine.for",
    "affine.parallel",
    "affine.if",
    "affine.store",
    "affine.load",
    "affine.yield",
    "affine.vector_load",
    "affine.vector_store",
    "simt.launch",
    "simt.result",
    "simt.sequence",
    "linalg.pack",  # not read
    "linalg.unpack",
    "memref.alloca_scope",
    "memref.alloca_scope.return",
    "memref.dma_start",
    "memref.dma_wait",
    "memref.extract_aligned_pointer_as_index",
    "scf.parallel",
    "scf.reduce",
    "scf.reduce.return",
    "tensor.parallel_insert_slice",  # by scf.forall
    "ub.unreachable",
    "vector.print",
}


def simulated(dialect: str) -> set[str]:
    import_functions(dialect)
    return {op.name for op in IMPLEMENTATIONS if op.dialect_name() == dialect}


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_each_operation(dialect: Dialect) -> None:
    found = simulated(dialect.name)
    known = {op.name for op in dialect.operations}
    absent = known - found - NOT_RUN
    assert absent == {name for name in NOT_SIMULATED if name in known}
    assert found <= known


def test_each_dialect_of_the_registry_has_functions() -> None:
    for dialect in SIMULATED:
        assert simulated(dialect)


def test_an_operation_without_a_function_is_named() -> None:
    module = module_of(
        """
        func.func @f(%x: memref<4xf32>) {
          %p = "memref.extract_aligned_pointer_as_index"(%x) : (memref<4xf32>) -> index
          func.return
        }
        """
    )
    with pytest.raises(SimulationError, match=r"^memref\.extract_aligned.*not know"):
        simulate(module, "f", [np.zeros(4, np.float32)])
