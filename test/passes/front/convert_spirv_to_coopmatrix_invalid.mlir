// RUN: coopc-opt %s -p convert-spirv-to-coopmatrix --split-input-file --verify-diagnostics | filecheck %s

// CHECK: spirv.GlobalVariable: expected an array of numbers, got elements of !spirv.struct<(f32)>
spirv.module Logical Vulkan requires #spirv.vce<v1.6, [Shader], []> {
  "spirv.GlobalVariable"() {sym_name = "m", descriptor_set = 0 : i32, binding = 0 : i32, type = !spirv.ptr<!spirv.struct<(!spirv.rtarray<!spirv.struct<(f32)>, stride=16> [0])>, StorageBuffer>} : () -> ()
  "spirv.func"() ({
    "spirv.Return"() : () -> ()
  }) {sym_name = "k", function_type = () -> (), function_control = #spirv.function_control<None>} : () -> ()
  "spirv.EntryPoint"() {execution_model = #spirv.execution_model<GLCompute>, fn = @k, interface = [@m]} : () -> ()
}

// -----

// CHECK: spirv.GlobalVariable: expected one buffer of each binding, got @m and @words
spirv.module Logical Vulkan requires #spirv.vce<v1.6, [Shader], []> {
  spirv.GlobalVariable @m bind(0, 0) : !spirv.ptr<!spirv.struct<(!spirv.rtarray<f16, stride=2> [0])>, StorageBuffer>
  spirv.GlobalVariable @words bind(0, 0) : !spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0])>, StorageBuffer>
  spirv.func @k() "None" {
    spirv.Return
  }
  spirv.EntryPoint "GLCompute" @k, @m, @words
}

// -----

// CHECK: spirv.PtrAccessChain: not supported: coopc has no operation for it
spirv.module Logical Vulkan requires #spirv.vce<v1.6, [Shader], []> {
  spirv.func @k() "None" {
    %v = spirv.Variable : !spirv.ptr<!spirv.coopmatrix<8x8xf32, Subgroup, MatrixAcc>, Function>
    %i = spirv.Constant 0 : i32
    %p = spirv.AccessChain %v[%i] : !spirv.ptr<!spirv.coopmatrix<8x8xf32, Subgroup, MatrixAcc>, Function>, i32 -> !spirv.ptr<f32, Function>
    %one = spirv.Constant 1 : i32
    %q = spirv.PtrAccessChain %p[%one] : !spirv.ptr<f32, Function>, i32 -> !spirv.ptr<f32, Function>
    spirv.Return
  }
  spirv.EntryPoint "GLCompute" @k
}

// -----

// CHECK: spirv.GlobalVariable: expected elements 4 bytes apart, got 16
spirv.module Logical Vulkan requires #spirv.vce<v1.6, [Shader], []> {
  "spirv.GlobalVariable"() {sym_name = "m", descriptor_set = 0 : i32, binding = 0 : i32, type = !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=16> [0])>, StorageBuffer>} : () -> ()
  "spirv.func"() ({
    "spirv.Return"() : () -> ()
  }) {sym_name = "k", function_type = () -> (), function_control = #spirv.function_control<None>} : () -> ()
  "spirv.EntryPoint"() {execution_model = #spirv.execution_model<GLCompute>, fn = @k, interface = [@m]} : () -> ()
}

// -----

// CHECK: spirv.GlobalVariable: expected a struct of one array, got !spirv.struct<(f32 [0], f32 [4])>
spirv.module Logical Vulkan requires #spirv.vce<v1.6, [Shader], []> {
  "spirv.GlobalVariable"() {sym_name = "m", descriptor_set = 0 : i32, binding = 0 : i32, type = !spirv.ptr<!spirv.struct<(f32 [0], f32 [4])>, StorageBuffer>} : () -> ()
  "spirv.func"() ({
    "spirv.Return"() : () -> ()
  }) {sym_name = "k", function_type = () -> (), function_control = #spirv.function_control<None>} : () -> ()
  "spirv.EntryPoint"() {execution_model = #spirv.execution_model<GLCompute>, fn = @k, interface = [@m]} : () -> ()
}

// -----

// CHECK: spirv.GlobalVariable: expected a built-in that is read, got FragCoord
spirv.module Logical Vulkan requires #spirv.vce<v1.6, [Shader], []> {
  "spirv.GlobalVariable"() {sym_name = "f", built_in = "FragCoord", type = !spirv.ptr<vector<4xf32>, Input>} : () -> ()
  "spirv.func"() ({
    %p = "spirv.mlir.addressof"() {variable = @f} : () -> !spirv.ptr<vector<4xf32>, Input>
    %x = "spirv.Load"(%p) : (!spirv.ptr<vector<4xf32>, Input>) -> vector<4xf32>
    "spirv.Return"() : () -> ()
  }) {sym_name = "k", function_type = () -> (), function_control = #spirv.function_control<None>} : () -> ()
  "spirv.EntryPoint"() {execution_model = #spirv.execution_model<GLCompute>, fn = @k, interface = []} : () -> ()
}

// -----

// CHECK: spirv.FunctionCall: expected a function @f in the module, got none
spirv.module Logical Vulkan requires #spirv.vce<v1.6, [Shader], []> {
  "spirv.func"() ({
    "spirv.FunctionCall"() {callee = @f} : () -> ()
    "spirv.Return"() : () -> ()
  }) {sym_name = "k", function_type = () -> (), function_control = #spirv.function_control<None>} : () -> ()
  "spirv.EntryPoint"() {execution_model = #spirv.execution_model<GLCompute>, fn = @k, interface = []} : () -> ()
}

// -----

// CHECK: spirv.CompositeConstruct: expected matrices of a subgroup, got !spirv.coopmatrix<16x16xf32, Workgroup, MatrixAcc>
spirv.module Logical Vulkan requires #spirv.vce<v1.6, [Shader], []> {
  "spirv.func"() ({
    %x = "spirv.Constant"() {value = 0.0 : f32} : () -> f32
    %m = "spirv.CompositeConstruct"(%x) : (f32) -> !spirv.coopmatrix<16x16xf32, Workgroup, MatrixAcc>
    "spirv.Return"() : () -> ()
  }) {sym_name = "k", function_type = () -> (), function_control = #spirv.function_control<None>} : () -> ()
  "spirv.EntryPoint"() {execution_model = #spirv.execution_model<GLCompute>, fn = @k, interface = []} : () -> ()
}

// -----

// CHECK: spirv.ExecutionMode: expected LocalSize or SubgroupSize, got OriginUpperLeft
spirv.module Logical Vulkan requires #spirv.vce<v1.6, [Shader], []> {
  "spirv.func"() ({
    "spirv.Return"() : () -> ()
  }) {sym_name = "k", function_type = () -> (), function_control = #spirv.function_control<None>} : () -> ()
  "spirv.EntryPoint"() {execution_model = #spirv.execution_model<GLCompute>, fn = @k, interface = []} : () -> ()
  "spirv.ExecutionMode"() {execution_mode = #spirv.execution_mode<OriginUpperLeft>, fn = @k, values = []} : () -> ()
}

// -----

// CHECK: spirv.ControlBarrier: expected Workgroup or Subgroup, got Device
spirv.module Logical Vulkan requires #spirv.vce<v1.6, [Shader], []> {
  "spirv.func"() ({
    "spirv.ControlBarrier"() {execution_scope = #spirv.scope<Device>, memory_scope = #spirv.scope<Device>, memory_semantics = #spirv.memory_semantics<AcquireRelease>} : () -> ()
    "spirv.Return"() : () -> ()
  }) {sym_name = "k", function_type = () -> (), function_control = #spirv.function_control<None>} : () -> ()
  "spirv.EntryPoint"() {execution_model = #spirv.execution_model<GLCompute>, fn = @k, interface = []} : () -> ()
}

// -----

// CHECK: spirv.func: expected one definition of @k, got two
spirv.module Logical Vulkan requires #spirv.vce<v1.6, [Shader], []> {
  spirv.GlobalVariable @k bind(0, 0) : !spirv.ptr<!spirv.struct<(!spirv.rtarray<f16, stride=2> [0])>, StorageBuffer>
  spirv.func @k() "None" {
    spirv.Return
  }
  spirv.EntryPoint "GLCompute" @k, @k
}

// -----

// CHECK: spirv.Return: expected a called function to return only at its end
spirv.module Logical Vulkan requires #spirv.vce<v1.6, [Shader], []> {
  spirv.func @early(%c: i1) "None" {
    spirv.mlir.selection {
      spirv.BranchConditional %c, ^yes, ^done
    ^yes:
      spirv.Return
    ^done:
      spirv.mlir.merge
    }
    spirv.Return
  }
  spirv.func @k() "None" {
    %c = spirv.Constant true
    spirv.FunctionCall @early(%c) : (i1) -> ()
    spirv.Return
  }
  spirv.EntryPoint "GLCompute" @k
}

// -----

// CHECK: spirv.FunctionCall: recursion is not supported: @f calls itself
spirv.module Logical Vulkan requires #spirv.vce<v1.6, [Shader], []> {
  spirv.func @f() "None" {
    spirv.FunctionCall @f() : () -> ()
    spirv.Return
  }
  spirv.func @k() "None" {
    spirv.FunctionCall @f() : () -> ()
    spirv.Return
  }
  spirv.EntryPoint "GLCompute" @k
}

// -----

// CHECK: spirv.VectorShuffle: expected components below 4, got 4
spirv.module Logical Vulkan requires #spirv.vce<v1.6, [Shader], []> {
  spirv.func @k() "None" {
    %u = spirv.Undef : vector<2xf32>
    %s = spirv.VectorShuffle [4: i32, 1: i32] %u, %u : vector<2xf32>, vector<2xf32> -> vector<2xf32>
    spirv.Return
  }
  spirv.EntryPoint "GLCompute" @k
}

// -----

// CHECK: spirv.FunctionCall: expected @f to be a function of these arguments
spirv.module Logical Vulkan requires #spirv.vce<v1.6, [Shader], []> {
  spirv.func @f(%x: i32) "None" {
    spirv.Return
  }
  spirv.func @k() "None" {
    spirv.FunctionCall @f() : () -> ()
    spirv.Return
  }
  spirv.EntryPoint "GLCompute" @k
}

// -----

// CHECK: spirv.FunctionCall: expected @f to return f32
spirv.module Logical Vulkan requires #spirv.vce<v1.6, [Shader], []> {
  spirv.func @f() "None" {
    spirv.Return
  }
  spirv.func @k() "None" {
    %x = spirv.FunctionCall @f() : () -> f32
    spirv.Return
  }
  spirv.EntryPoint "GLCompute" @k
}
