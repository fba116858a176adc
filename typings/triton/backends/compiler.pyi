class GPUTarget:
    backend: str
    arch: int | str
    warp_size: int
    def __init__(self, backend: str, arch: int | str, warp_size: int) -> None: ...

class BaseBackend:
    target: GPUTarget
    def __init__(self, target: GPUTarget) -> None: ...
