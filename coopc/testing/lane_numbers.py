"""What is done to the elements of matrices: products, arithmetic, conversions."""

from __future__ import annotations

from coopc.testing.lane_kernels import BITS, Kernel, matrix, numbers

_SUMS = {"f16": "f32", "bf16": "f32", "i8": "i32", "i16": "i32"}
"""What is added up in something wider."""
_SAMEBITS = {"f16": "i16", "bf16": "i16", "f32": "i32", "f64": "i64", "i32": "f32"}
_SAMEBITS.update({"i64": "f64", "i16": "f16"})
_CONVERTED = {"f16": "f32", "bf16": "f32", "f32": "f16", "f64": "f32", "i8": "i32"}
_CONVERTED.update({"i16": "f32", "i32": "i8", "i64": "i16"})


def products(k: Kernel) -> None:
    """`mul_add` into what is wider, into the same type, and of other signs."""
    case = k.case
    m, n, depth, t = case.rows, case.cols, case.depth, case.type
    a, b = matrix(m, depth, t, "a"), matrix(depth, n, t, "b")
    k.add(
        f"%a_m = coopmatrix.load %a[%c0, %c0] row_major : memref<{m}x{depth}x{t}> -> "
        f"{a}\n"
        "%b_m = coopmatrix.load %b[%c0, %c0] row_major : "
        f"memref<{depth}x{n}x{t}> -> {b}"
    )
    wide = _SUMS.get(t, t)
    k.add(
        f"%wide = coopmatrix.convert {case.signed}%x_acc : "
        f"{matrix(m, n, t)} -> {matrix(m, n, wide)}"
        if wide != t
        else f"%wide = coopmatrix.neg %x_acc : {matrix(m, n, t)}"
    )
    signs = "signed(a, b, c, result) " if case.signed else ""
    acc = matrix(m, n, wide)
    k.add(f"%d = coopmatrix.mul_add %a_m, %b_m, %wide {signs}: {a}, {b}, {acc}")
    k.keep("d", m, n, wide, "acc")
    narrow = matrix(m, n, t)
    k.add(
        f"%d_to = coopmatrix.mul_add %a_m, %b_m, %wide {signs}: {a}, {b}, {acc}"
        + (f" -> {narrow}" if wide != t else "")
    )
    k.keep("d_to", m, n, t, "acc")
    if case.is_integer:
        mixed = "signed(a, result)" if case.signed else "signed(b, c)"
        k.add(
            f"%d_mixed = coopmatrix.mul_add %a_m, %b_m, %wide {mixed} : {a}, {b}, {acc}"
        )
        k.keep("d_mixed", m, n, wide, "acc")
        k.add(
            f"%far = arith.constant {(1 << (BITS[wide] - 1)) - 3} : {wide}\n"
            f"%limit = coopmatrix.fill %far : {wide} -> {acc}\n"
            f"%d_sat = coopmatrix.mul_add %a_m, %b_m, %limit {signs}saturating : "
            f"{a}, {b}, {acc}"
        )
        k.keep("d_sat", m, n, wide, "acc")


def elementwise(k: Kernel) -> None:
    """What is done to each element."""
    case = k.case
    m, n, t = case.rows, case.cols, case.type
    held = matrix(m, n, t)
    names = ["add", "sub", "mul"]
    signed = ["div", "rem", "min", "max"]
    if case.is_integer:
        names += ["and", "or", "xor"]
        k.add(
            f"%one = arith.constant 1 : {t}\n"
            f"%ones = coopmatrix.fill %one : {t} -> {held}\n"
            f"%e_shl = coopmatrix.shl %x_acc, %ones : {held}\n"
            f"%e_shr = coopmatrix.shr {case.signed}%x_acc, %ones : {held}\n"
            f"%e_not = coopmatrix.not %x_acc : {held}"
        )
        for name in ("shl", "shr", "not"):
            k.keep(f"e_{name}", m, n, t, "acc")
    for name in names + signed:
        sign = case.signed if name in signed else ""
        k.add(f"%e_{name} = coopmatrix.{name} {sign}%x_acc, %y_acc : {held}")
        k.keep(f"e_{name}", m, n, t, "acc")
    value = "3" if case.is_integer else "3.0"
    k.add(
        f"%e_neg = coopmatrix.neg %x_acc : {held}\n"
        f"%e_abs = coopmatrix.abs %x_acc : {held}\n"
        f"%three = arith.constant {value} : {t}\n"
        f"%e_scale = coopmatrix.scale %x_acc, %three : {held}, {t}"
    )
    for name in ("neg", "abs", "scale"):
        k.keep(f"e_{name}", m, n, t, "acc")


def conversions(k: Kernel) -> None:
    """Other types and uses, there and back; bits; fills."""
    case = k.case
    m, n, t = case.rows, case.cols, case.type
    other = _CONVERTED[t]
    use = case.use
    targets = ("a", "b", "acc", "none")
    for to, type in zip(case.some(targets, 3), (t, other, t), strict=True):
        name = f"v_{to}_{type}"
        sign = case.signed if t != type and (case.is_integer or type[0] == "i") else ""
        k.add(
            f"%{name} = coopmatrix.convert {sign}%x_{use} : "
            f"{matrix(m, n, t, use)} -> {matrix(m, n, type, to)}"
        )
        k.keep(name, m, n, type, to)
    if (same := _SAMEBITS.get(t)) is not None:
        k.add(
            f"%bits = coopmatrix.bitcast %x_{use} : {matrix(m, n, t, use)} -> "
            f"{matrix(m, n, same, use)}"
        )
        k.keep("bits", m, n, same, use)
    k.add(
        f"%f_c5 = arith.constant 5 : i32\n"
        f"%f_int = coopmatrix.fill %f_c5 : i32 -> {matrix(m, n, t, 'b')}\n"
        f"%f_c6 = arith.constant 6.0 : f32\n"
        f"%f_float = coopmatrix.fill %f_c6 : f32 -> {matrix(m, n, t, 'a')}"
        if t != "bf16"
        else f"%f_c6 = arith.constant 6.0 : f32\n"
        f"%f_int = coopmatrix.fill %f_c6 : f32 -> {matrix(m, n, t, 'b')}\n"
        f"%f_float = coopmatrix.fill %f_c6 : f32 -> {matrix(m, n, t, 'a')}"
    )
    k.given("pointer", numbers((), t, 14), f"memref<{t}>")
    k.add(f"%f_memory = coopmatrix.fill %pointer : memref<{t}> -> {matrix(m, n, t)}")
    for name, use in (("f_int", "b"), ("f_float", "a"), ("f_memory", "acc")):
        k.keep(name, m, n, t, use)
