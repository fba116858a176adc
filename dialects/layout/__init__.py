"""The `layout` dialect: layouts as attributes, and how kernels name the one they use.

An attribute holds the frozen value of `coopc.layout`, so comparing and hashing two
layouts is comparing and hashing those values.

| attribute | what it is | holds |
|---|---|---|
| `#layout.coopmatrix` | the coopmatrix layout of each type | `CoopmatrixFamily` |
| `#layout.coopmatrix<4x15, lanes = 16>` | of one matrix | `CoopmatrixLayout` |
| `#layout.row_slice` | row-major order over the lanes | `RowSliceFamily` |
| `#layout.row_slice<7x9, lanes = 16>` | of one matrix | `RowSlices` |
| `#layout.dpas` | operands of DPAS, by their use | `DpasFamily` |
| `#layout.linear<(..) -> (..)>` | bases over GF(2) | `LinearLayout` |
| `#layout.strided<(..) -> (..)>` | mixed-radix digits | `StridedLayout` |

On a kernel, `coopmatrix.distribution = #layout.row_slice` fixes who owns which element
of every matrix; Triton's encodings can stand there too.  `rule_in` finds the value in
any such attribute, `coopc.dialects.layout.matrices.distribution_of` applies it.
"""

from xdsl.ir import Dialect

from coopc.dialects.layout.attributes import (
    CoopmatrixAttr,
    DpasAttr,
    LayoutAttr,
    LinearAttr,
    RowSliceAttr,
    StridedAttr,
    attribute_of,
    rule_in,
)

Layout = Dialect(
    "layout", [], [CoopmatrixAttr, DpasAttr, LinearAttr, RowSliceAttr, StridedAttr]
)

__all__ = [
    "CoopmatrixAttr",
    "DpasAttr",
    "Layout",
    "LayoutAttr",
    "LinearAttr",
    "RowSliceAttr",
    "StridedAttr",
    "attribute_of",
    "rule_in",
]
