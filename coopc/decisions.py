"""What passes decided, gathered while they run: for `coopc.compile`.

A plan is an attribute until the conversion has followed it; so is the reason why there
is none.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass

from coopc.pipeline import Observer

PLANNING = "plan-block-io"
"""The pass whose decisions are attributes."""


@dataclass
class Decisions(Observer):
    """The decisions of the passes that have run."""

    plans: list[str] = field(default_factory=list[str])
    """As attributes are printed."""
    remarks: list[str] = field(default_factory=list[str])
    """With the place in the source, where it is known."""

    def after(self, step: ModulePass, module: ModuleOp, last: bool) -> None:
        """Gather what the step has decided."""
        if step.name != PLANNING:
            return
        # Triton's dialects are too much to import for what does not plan.
        from coopc.dialects import xe
        from coopc.passes.xe.accesses import takes_any
        from coopc.passes.xe.remarks import placed

        for op in module.walk():
            plan, refusal = (op.attributes.get(x) for x in (xe.PLAN, xe.REFUSAL))
            if plan is not None:
                self.plans.append(str(plan))
            if isinstance(refusal, StringAttr) and not takes_any(op):
                text = f"moved lane by lane: {refusal.data}"
                self.remarks.append(placed(op, text))
