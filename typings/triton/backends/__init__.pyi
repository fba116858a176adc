from dataclasses import dataclass

from triton.backends.compiler import BaseBackend
from triton.backends.driver import DriverBase

@dataclass(frozen=True)
class Backend:
    compiler: type[BaseBackend]
    driver: type[DriverBase]

backends: dict[str, Backend]
