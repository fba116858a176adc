"""LLVM IR as data: types, values, functions, modules; and as text."""
