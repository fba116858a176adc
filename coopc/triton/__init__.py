"""Kernels of Triton 3.9 on coopc's engines, without a GPU: the extra `coopc[triton]`.

    compiled = coopc.triton.compile(kernel, "*fp32, *fp32, i32", {"BLOCK": 128})
    compiled.run(x, y, 1000, grid=8)

    kernel[(8,)](coopc.triton.array(x), coopc.triton.array(y), 1000, BLOCK=128)

The second way needs `COOPC_TRITON=cpu|vulkan|opencl[:DEVICE]` in the environment, or no
other backend of Triton that is active.

Triton imports `compiler` and `driver` whenever it is imported itself: these modules,
and this one, import only Python's library and Triton.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coopc.triton.front_end import compile
    from coopc.triton.tensor import array

__all__ = ["array", "compile"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    homes = {"array": "coopc.triton.tensor", "compile": "coopc.triton.front_end"}
    if name in homes:
        return getattr(import_module(homes[name]), name)
    raise AttributeError(f"module 'coopc.triton' has no attribute '{name}'")
