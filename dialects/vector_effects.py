"""Effects of `vector` operations that xDSL 0.74 does not know, so that dead ones go.

Importing this module adds traits to xDSL's classes in place, since whoever has to do
with an operation finds it by its class.
"""

from xdsl.dialects import vector
from xdsl.traits import MemoryReadEffect, Pure

Vector = vector.Vector

for pure in (vector.BitcastOp, vector.CreateMaskOp, vector.ReductionOp):
    pure.traits.add_trait(Pure())
for reading in (vector.LoadOp, vector.MaskedLoadOp, vector.TransferReadOp):
    reading.traits.add_trait(MemoryReadEffect())
