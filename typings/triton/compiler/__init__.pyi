from collections.abc import Mapping
from typing import Any

class ASTSource:
    def __init__(
        self,
        fn: Any,
        signature: Mapping[str, str],
        constexprs: Mapping[str, object] | None = ...,
        attrs: Mapping[tuple[int, ...], Any] | None = ...,
    ) -> None: ...
    def make_ir(self, *arguments: Any) -> Any: ...
