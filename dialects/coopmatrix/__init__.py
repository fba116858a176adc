"""The `coopmatrix` dialect: matrices distributed over work-items, for any device.

A `!coopmatrix.matrix` says what a subgroup holds and for which operand of a
multiplication, not which lane holds what: a kernel fixes that with the attribute
`coopmatrix.distribution`, and each pipeline says which one it uses.
"""

from typing import cast

from xdsl.dialects.builtin import ModuleOp, StringAttr

from coopc.dialects.coopmatrix.arithmetic import *
from coopc.dialects.coopmatrix.elements import *
from coopc.dialects.coopmatrix.fill import *
from coopc.dialects.coopmatrix.memory import *
from coopc.dialects.coopmatrix.types import *
from coopc.dialects.definitions import dialect_of
from coopc.rounding import PrecisionName

DISTRIBUTION = "coopmatrix.distribution"
"""The kernel attribute that says which work-item owns which element."""
PRECISION = "coopmatrix.precision"
"""The attribute of modules that says how exact products of f32 are."""
TUNED = "coopmatrix.tuned"
"""The attribute of functions that says what a tuning file has for their product."""


def precision_of(module: ModuleOp) -> PrecisionName:
    """Return as what a verified module multiplies f32."""
    name = module.attributes.get(PRECISION)
    known = name.data if isinstance(name, StringAttr) else "ieee"
    return cast("PrecisionName", known)


Coopmatrix = dialect_of("coopmatrix", globals())
OPERATIONS = tuple(Coopmatrix.operations)
