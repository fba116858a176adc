"""How lit runs the tests: which tools they find, and what they may require."""

import importlib.util
import os
import shutil
import sys

import lit.formats

config.name = "coopc"
config.test_format = lit.formats.ShTest()
config.suffixes = [".mlir", ".test"]
config.excludes = ["unit", "device", "inputs", "Inputs"]
config.test_source_root = os.path.dirname(__file__)

# The tools are those of the environment that runs lit, wherever that is; what checks
# their output is what `make toolchain` has unpacked, else what the machine has.
root = os.path.dirname(config.test_source_root)
toolchain = os.environ.get("COOPC_TOOLCHAIN")
config.environment["PATH"] = os.pathsep.join(
    [
        os.path.dirname(sys.executable),
        os.path.join(toolchain or os.path.join(root, ".toolchain"), "bin"),
        os.environ["PATH"],
    ]
)
if toolchain:
    config.environment["COOPC_TOOLCHAIN"] = toolchain
if "PYTHONPATH" in os.environ:  # a checkout that is not installed
    config.environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
config.environment["COOPC_VERIFY"] = "all"
config.substitutions.append(("%root", root))

# Custom format in, generic format between, custom format out: what each op survives.
config.substitutions.append(
    ("%roundtrip", "coopc-opt %s --print-op-generic | coopc-opt | filecheck %s")
)

# `// REQUIRES: spirv-val` names a tool of the toolchain.  Where the toolchain is part
# of the run (CI=true) a missing one is an error, not a skipped test.
for tool in ("spirv-as", "spirv-dis", "spirv-val", "ocloc", "mlir-opt", "llc"):
    if shutil.which(tool, path=config.environment["PATH"]):
        config.available_features.add(tool)
    elif os.environ.get("CI") == "true":
        lit_config.error(f"{tool} is missing: run `make toolchain`")
    else:
        lit_config.note(f"{tool} is missing: the tests that require it are skipped")

# Intel's OpenCL run-time for CPUs is of the packages beside lit.
if importlib.util.find_spec("pyopencl"):
    config.available_features.add("intel-opencl")
elif os.environ.get("CI") == "true":
    lit_config.error("pyopencl is missing")
else:
    lit_config.note("pyopencl is missing: the tests that require it are skipped")
