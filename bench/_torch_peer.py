"""Products by PyTorch, and oneDNN beneath it, for `bench.cpu_gemm`: a script.

It needs PyTorch alone, so that any Python that has it can run it.  A line of JSON on
its input says what is multiplied, `run` multiplies: it answers with a name, or with why
it cannot, then with the seconds of each product.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import torch as torch_  # pyright: ignore[reportMissingImports]

torch: Any = torch_
PLAIN = ("mk", "kn")


def matrix(case: dict[str, Any], which: int) -> Any:
    """Return A or B, M x K or K x N, in memory as its map says."""
    map = case["maps"][which]
    shape = [case["sizes"]["mnk".index(x)] for x in map]
    shape = [case["batch"]] * bool(case["batch"]) + shape
    if case["a"] == "i8":
        found = torch.randint(-128, 128, shape, dtype=torch.int8)
    else:
        found = torch.randn(shape).to(torch.bfloat16)
    return found if map == PLAIN[which] else found.transpose(-1, -2)


def product(case: dict[str, Any]) -> tuple[str, Callable[[], object]]:
    """Return what does the product, and what multiplies."""
    a, b = matrix(case, 0), matrix(case, 1)
    m, n, k = case["sizes"]
    if not case["prepacked"]:
        if case["a"] != "i8":
            return "oneDNN", lambda: torch.matmul(a, b)
        if case["batch"]:
            pairs = [*zip(a, b, strict=True)]
            return "oneDNN", lambda: [torch._int_mm(x, y) for x, y in pairs]
        return "oneDNN", lambda: torch._int_mm(a, b)
    weights = b.t().contiguous()
    if case["a"] != "i8":
        pack = torch.ops.mkldnn._reorder_linear_weight
        try:
            packed = pack(weights, m)
        except RuntimeError:
            packed = pack(weights.to_mkldnn(), m)
        linear = torch.ops.mkldnn._linear_pointwise
        return "oneDNN", lambda: linear(a, packed, None, "none", [], "")
    packed = torch.ops.onednn.qlinear_prepack(weights, [m, k])
    scales, zeros = torch.ones(n), torch.zeros(n, dtype=torch.int64)

    def linear_of(x: Any) -> object:
        given: list[Any] = [x, 1.0, 0, packed, scales, zeros, None]
        given += [1.0, 0, torch.float32, "none", [], ""]
        return torch.ops.onednn.qlinear_pointwise(*given)

    try:
        linear_of(a)
    except (RuntimeError, IndexError):  # older versions take no signed A
        a = a.view(torch.uint8)
        return "oneDNN of unsigned A", lambda: linear_of(a)
    return "oneDNN", lambda: linear_of(a)


def main() -> None:
    run: Callable[[], object] = list
    case: dict[str, Any] = {}
    for line in sys.stdin:
        if line.strip() != "run":
            case = json.loads(line)
            torch.set_num_threads(case["threads"])
            try:
                name, run = product(case)
                run()
                print(json.dumps({"name": name}), flush=True)
            except Exception as error:
                print(json.dumps({"error": str(error).split("\n")[0]}), flush=True)
            continue
        clock = time.perf_counter
        if case["threads"] == 1:
            clock = time.process_time
        else:
            time.sleep(case["pause"])
        until = time.perf_counter() + case["warm"]
        while time.perf_counter() < until:
            run()
        begin = clock()
        run()
        print(clock() - begin, flush=True)


if __name__ == "__main__":
    main()
