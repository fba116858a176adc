"""What stands for tensors of PyTorch, which tests do without."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class Type:
    def __init__(self, name: str, itemsize: int) -> None:
        self.name, self.itemsize = name, itemsize
        self.is_floating_point = "float" in name

    def __str__(self) -> str:
        return f"torch.{self.name}"


class Tensor:
    """What coopc and Triton ask of a tensor on the processor."""

    def __init__(
        self, array: Array, dtype: str | None = None, device: str = "cpu"
    ) -> None:
        self.array, self.shape, self.device = array, array.shape, device
        self.dtype = Type(dtype or str(array.dtype), array.itemsize)

    def data_ptr(self) -> int:
        return self.array.ctypes.data

    def stride(self) -> tuple[int, ...]:
        return tuple(x // self.array.itemsize for x in self.array.strides)
