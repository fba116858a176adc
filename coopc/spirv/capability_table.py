"""The table of SPIR-V capabilities: value, those implied, the extension that brings it.

An enumeration in the form of ``enumerants.py``; a file of its own for its size.
"""

CAPABILITIES = """
enum Capability
Matrix 0
Shader 1 cap=Matrix
Addresses 4
Linkage 5
Kernel 6
Vector16 7 cap=Kernel
Float16Buffer 8 cap=Kernel
Float16 9
Float64 10
Int64 11
Int64Atomics 12 cap=Int64
Groups 18
Int16 22
GenericPointer 38 cap=Addresses
Int8 39
SubgroupDispatch 58
GroupNonUniform 61
GroupNonUniformVote 62 cap=GroupNonUniform
GroupNonUniformArithmetic 63 cap=GroupNonUniform
GroupNonUniformBallot 64 cap=GroupNonUniform
GroupNonUniformShuffle 65 cap=GroupNonUniform
GroupNonUniformShuffleRelative 66 cap=GroupNonUniform
GroupNonUniformClustered 67 cap=GroupNonUniform
GroupNonUniformQuad 68 cap=GroupNonUniform
UniformDecoration 71
SubgroupBallotKHR 4423 ext=SPV_KHR_shader_ballot
SubgroupVoteKHR 4431 ext=SPV_KHR_subgroup_vote
StorageBuffer16BitAccess 4433 ext=SPV_KHR_16bit_storage since=1.3
UniformAndStorageBuffer16BitAccess 4434 \
  cap=StorageBuffer16BitAccess ext=SPV_KHR_16bit_storage since=1.3
StoragePushConstant16 4435 ext=SPV_KHR_16bit_storage since=1.3
StorageInputOutput16 4436 ext=SPV_KHR_16bit_storage since=1.3
VariablePointersStorageBuffer 4441 cap=Shader ext=SPV_KHR_variable_pointers since=1.3
VariablePointers 4442 \
  cap=VariablePointersStorageBuffer ext=SPV_KHR_variable_pointers since=1.3
StorageBuffer8BitAccess 4448 ext=SPV_KHR_8bit_storage since=1.5
UniformAndStorageBuffer8BitAccess 4449 \
  cap=StorageBuffer8BitAccess ext=SPV_KHR_8bit_storage since=1.5
StoragePushConstant8 4450 ext=SPV_KHR_8bit_storage since=1.5
DenormPreserve 4464 ext=SPV_KHR_float_controls since=1.4
DenormFlushToZero 4465 ext=SPV_KHR_float_controls since=1.4
SignedZeroInfNanPreserve 4466 ext=SPV_KHR_float_controls since=1.4
RoundingModeRTE 4467 ext=SPV_KHR_float_controls since=1.4
RoundingModeRTZ 4468 ext=SPV_KHR_float_controls since=1.4
UntypedPointersKHR 4473 ext=SPV_KHR_untyped_pointers
CooperativeMatrixLayoutsARM 4201 ext=SPV_ARM_cooperative_matrix_layouts
WorkgroupMemoryExplicitLayoutKHR 4428 \
  cap=Shader ext=SPV_KHR_workgroup_memory_explicit_layout
WorkgroupMemoryExplicitLayout8BitAccessKHR 4429 \
  cap=WorkgroupMemoryExplicitLayoutKHR ext=SPV_KHR_workgroup_memory_explicit_layout
WorkgroupMemoryExplicitLayout16BitAccessKHR 4430 \
  cap=WorkgroupMemoryExplicitLayoutKHR ext=SPV_KHR_workgroup_memory_explicit_layout
BFloat16TypeKHR 5116 ext=SPV_KHR_bfloat16
BFloat16DotProductKHR 5117 cap=BFloat16TypeKHR ext=SPV_KHR_bfloat16
BFloat16CooperativeMatrixKHR 5118 \
  cap=BFloat16TypeKHR|CooperativeMatrixKHR ext=SPV_KHR_bfloat16
ShaderNonUniform 5301 cap=Shader since=1.5 ext=SPV_EXT_descriptor_indexing
VulkanMemoryModel 5345 ext=SPV_KHR_vulkan_memory_model since=1.5
VulkanMemoryModelDeviceScope 5346 ext=SPV_KHR_vulkan_memory_model since=1.5
PhysicalStorageBufferAddresses 5347 \
  cap=Shader ext=SPV_KHR_physical_storage_buffer since=1.5
CooperativeMatrixReductionsNV 5430 ext=SPV_NV_cooperative_matrix2
CooperativeMatrixConversionsNV 5431 ext=SPV_NV_cooperative_matrix2
CooperativeMatrixPerElementOperationsNV 5432 ext=SPV_NV_cooperative_matrix2
SubgroupShuffleINTEL 5568 ext=SPV_INTEL_subgroups
SubgroupBufferBlockIOINTEL 5569 ext=SPV_INTEL_subgroups
AtomicFloat32MinMaxEXT 5612 ext=SPV_EXT_shader_atomic_float_min_max
AtomicFloat64MinMaxEXT 5613 ext=SPV_EXT_shader_atomic_float_min_max
AtomicFloat16MinMaxEXT 5616 ext=SPV_EXT_shader_atomic_float_min_max
ExpectAssumeKHR 5629 ext=SPV_KHR_expect_assume
DotProductInputAll 6016 since=1.6 ext=SPV_KHR_integer_dot_product
DotProductInput4x8Bit 6017 cap=Int8 since=1.6 ext=SPV_KHR_integer_dot_product
DotProductInput4x8BitPacked 6018 since=1.6 ext=SPV_KHR_integer_dot_product
DotProduct 6019 since=1.6 ext=SPV_KHR_integer_dot_product
CooperativeMatrixKHR 6022 ext=SPV_KHR_cooperative_matrix
BitInstructions 6025 ext=SPV_KHR_bit_instructions
GroupNonUniformRotateKHR 6026 cap=GroupNonUniform ext=SPV_KHR_subgroup_rotate
FloatControls2 6029 ext=SPV_KHR_float_controls2
AtomicFloat32AddEXT 6033 ext=SPV_EXT_shader_atomic_float_add
AtomicFloat64AddEXT 6034 ext=SPV_EXT_shader_atomic_float_add
AtomicFloat16AddEXT 6095 ext=SPV_EXT_shader_atomic_float16_add
BFloat16ConversionINTEL 6115 ext=SPV_INTEL_bfloat16_conversion
SplitBarrierINTEL 6141 ext=SPV_INTEL_split_barrier
SubgroupBufferPrefetchINTEL 6220 ext=SPV_INTEL_subgroup_buffer_prefetch
Subgroup2DBlockIOINTEL 6228 ext=SPV_INTEL_2d_block_io
Subgroup2DBlockTransformINTEL 6229 cap=Subgroup2DBlockIOINTEL ext=SPV_INTEL_2d_block_io
Subgroup2DBlockTransposeINTEL 6230 cap=Subgroup2DBlockIOINTEL ext=SPV_INTEL_2d_block_io
SubgroupMatrixMultiplyAccumulateINTEL 6236 \
  ext=SPV_INTEL_subgroup_matrix_multiply_accumulate
GroupUniformArithmeticKHR 6400 ext=SPV_KHR_uniform_group_instructions
CacheControlsINTEL 6441 ext=SPV_INTEL_cache_controls
RegisterLimitsINTEL 6460 ext=SPV_INTEL_maximum_registers
"""
