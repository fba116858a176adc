from typing import Any

ir: Any
passes: Any
