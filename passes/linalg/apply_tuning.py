"""apply-tuning: attaches the plans of a tuning file to matrix products.

Before:  functions with one linalg product each, as for `tile-matmul-khr`.
After:   products found in the file have the attribute `coopmatrix.tuned`, which later
         passes follow. A remark per product says what determines its plan.
Fails:   if the file is malformed, or is for another device, driver, version, pipeline
         or number of threads, naming the key; if it has none of the products.

An option of the pipeline takes precedence over the file, the file over the device
table, and the table over the cost model.  If the machine's device cannot be queried,
for instance without a driver, the file is used, with a remark.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from coopc.device import device
from coopc.dialects import coopmatrix, simt
from coopc.passes.linalg.match import matches
from coopc.plan.tuning import PipelineName, Tuning, described, read_tuning, this_machine
from coopc.remarks import remark
from coopc.versions import installed


@dataclass(frozen=True)
class ApplyTuningPass(ModulePass):
    name = "apply-tuning"

    tuning: str
    """The file, in TOML or JSON: `coopc-tune` writes it."""
    pipeline: PipelineName
    """The pipeline that this is a step of."""
    threads: int = 1
    """Threads that share a product, on a CPU."""
    staged: bool = False
    """Whether several subgroups share tiles: the device table then has plans."""
    explicit: str = ""
    """The pipeline option that overrides plans, if one is given."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = simt.target_of(op)
        name = "" if target is None else target.device.data
        flavour = "cpu" if target is None else str(target.flavour.data)
        try:
            found = read_tuning(self.tuning)
        except ValueError as error:
            raise PassFailedException(f"{self.name}: {error}") from error
        reason = found.why_not(
            "this is compiled by",
            coopc=installed("coopc"),
            pipeline=self.pipeline,
            target=name,
            threads=self.threads,
        )
        try:
            here = None if reason else this_machine(flavour, name)
        except ValueError as error:
            text = f"{self.tuning} is for {found.device}, and what this machine has is"
            remark(op, f"{text} not known: {error}", by=self.name)
        else:
            has = {"device": here.device, "driver": here.driver} if here else {}
            reason = reason or found.why_not("this machine has", **has)
        if reason is not None:
            raise PassFailedException(f"{self.name}: {self.tuning}: {reason}")
        self._apply(op, found, name)

    def _apply(self, op: ModuleOp, tuning: Tuning, target: str) -> None:
        has_row = self.staged and bool(target and device(target).gemm_tiles)
        otherwise = f"the device table of {target}" if has_row else "the cost model"
        products = [(func, described(x.problem), x) for func, x in matches(op)]
        has, given = {x.product for x in tuning.products}, {x for _, x, _ in products}
        if not has & given:
            raise PassFailedException(
                f"{self.name}: {self.tuning}: products: expected one of the module, "
                f"{' or '.join(sorted(given)) or 'which has none'}, got "
                f"{' and '.join(sorted(has)) or 'none'}"
            )
        for func, text, found in products:
            choice = tuning.choice(found.problem)
            if self.explicit:
                by = f"the option {self.explicit}, not by {self.tuning}"
            elif choice is None:
                by = f"{otherwise}: {self.tuning} does not have {text}"
            else:
                by = f"{self.tuning}: {choice}"
                text = json.dumps(asdict(choice, dict_factory=_given))
                func.attributes[coopmatrix.TUNED] = StringAttr(text)
            remark(func, f"planned by {by}")


def _given(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in fields if value is not None}
