"""The `tt` dialect: Triton's tensors, pointers and programs, as Triton prints them.

Encodings of tensors are in the dialects `ttg` and `ttig`; what they mean is in
`coopc.layout`, and `tt.types.layout_of` leads there from a type.
"""

from coopc.dialects.definitions import dialect_of
from coopc.dialects.tt.arithmetic import *
from coopc.dialects.tt.descriptors import *
from coopc.dialects.tt.functions import *
from coopc.dialects.tt.pointers import *
from coopc.dialects.tt.shapes import *
from coopc.dialects.tt.types import *

Tt = dialect_of("tt", globals())
