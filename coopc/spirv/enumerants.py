"""The table of SPIR-V enumerations: values, their own operands, what each needs.

``enum Name`` or ``mask Name`` opens an enumeration; then one line an enumerant:
``name value operands... tags...``, with operands and tags as in ``instructions.py``.
A mask is written ``A|B``; the operands of its bits follow in the order of the bits.
For a Capability, ``cap=A`` names those that it implies.

Source: the SPIR-V specification 1.6, unified; every line is checked by assembling it.
"""

ENUMERANTS = """
enum SourceLanguage
Unknown 0
GLSL 2
OpenCL_C 3
OpenCL_CPP 4

enum ExecutionModel
GLCompute 5 cap=Shader
Kernel 6 cap=Kernel

enum AddressingModel
Logical 0
Physical32 1 cap=Addresses
Physical64 2 cap=Addresses
PhysicalStorageBuffer64 5348 cap=PhysicalStorageBufferAddresses

enum MemoryModel
Simple 0 cap=Shader
GLSL450 1 cap=Shader
OpenCL 2 cap=Kernel
Vulkan 3 cap=VulkanMemoryModel

enum ExecutionMode
LocalSize 17 int int int
LocalSizeHint 18 int int int cap=Kernel
VecTypeHint 30 int cap=Kernel
ContractionOff 31 cap=Kernel
SubgroupSize 35 int cap=SubgroupDispatch
SubgroupsPerWorkgroup 36 int cap=SubgroupDispatch
SubgroupsPerWorkgroupId 37 id cap=SubgroupDispatch
LocalSizeId 38 id id id since=1.2
LocalSizeHintId 39 id id id cap=Kernel since=1.2
DenormPreserve 4459 int cap=DenormPreserve
DenormFlushToZero 4460 int cap=DenormFlushToZero
SignedZeroInfNanPreserve 4461 int cap=SignedZeroInfNanPreserve
RoundingModeRTE 4462 int cap=RoundingModeRTE
RoundingModeRTZ 4463 int cap=RoundingModeRTZ
MaximallyReconvergesKHR 6023 cap=Shader ext=SPV_KHR_maximal_reconvergence
FPFastMathDefault 6028 id id cap=FloatControls2
MaximumRegistersINTEL 6461 int cap=RegisterLimitsINTEL
MaximumRegistersIdINTEL 6462 id cap=RegisterLimitsINTEL
NamedMaximumRegistersINTEL 6463 NamedMaximumNumberOfRegisters cap=RegisterLimitsINTEL

enum NamedMaximumNumberOfRegisters
AutoINTEL 0 cap=RegisterLimitsINTEL

enum StorageClass
UniformConstant 0
Input 1
Uniform 2 cap=Shader
Output 3 cap=Shader
Workgroup 4
CrossWorkgroup 5
Private 6 cap=Shader
Function 7
Generic 8 cap=GenericPointer
PushConstant 9 cap=Shader
StorageBuffer 12 cap=Shader ext=SPV_KHR_storage_buffer_storage_class since=1.3
PhysicalStorageBuffer 5349 cap=PhysicalStorageBufferAddresses

enum FPEncoding
BFloat16KHR 0 cap=BFloat16TypeKHR

enum FPRoundingMode
RTE 0
RTZ 1
RTP 2
RTN 3

mask FPFastMathMode
NotNaN 0x1
NotInf 0x2
NSZ 0x4
AllowRecip 0x8
Fast 0x10
AllowContract 0x10000 cap=FloatControls2
AllowReassoc 0x20000 cap=FloatControls2
AllowTransform 0x40000 cap=FloatControls2

enum LinkageType
Export 0 cap=Linkage
Import 1 cap=Linkage

enum FunctionParameterAttribute
Zext 0 cap=Kernel
Sext 1 cap=Kernel
ByVal 2 cap=Kernel
Sret 3 cap=Kernel
NoAlias 4 cap=Kernel
NoCapture 5 cap=Kernel
NoWrite 6 cap=Kernel
NoReadWrite 7 cap=Kernel

enum Decoration
RelaxedPrecision 0 cap=Shader
SpecId 1 int cap=Shader|Kernel
Block 2 cap=Shader
BufferBlock 3 cap=Shader
RowMajor 4 cap=Matrix
ColMajor 5 cap=Matrix
ArrayStride 6 int cap=Shader
MatrixStride 7 int cap=Matrix
CPacked 10 cap=Kernel
BuiltIn 11 BuiltIn
Restrict 19
Aliased 20
Volatile 21
Constant 22 cap=Kernel
Coherent 23
NonWritable 24
NonReadable 25
Uniform 26 cap=Shader|UniformDecoration
UniformId 27 scope cap=Shader|UniformDecoration since=1.4
SaturatedConversion 28 cap=Kernel
Binding 33 int cap=Shader
DescriptorSet 34 int cap=Shader
Offset 35 int cap=Shader
FuncParamAttr 38 FunctionParameterAttribute cap=Kernel
FPRoundingMode 39 FPRoundingMode
FPFastMathMode 40 FPFastMathMode cap=Kernel|FloatControls2
LinkageAttributes 41 string LinkageType cap=Linkage
NoContraction 42 cap=Shader
Alignment 44 int cap=Kernel
MaxByteOffset 45 int cap=Addresses
AlignmentId 46 id cap=Kernel since=1.2
NoSignedWrap 4469 ext=SPV_KHR_no_integer_wrap_decoration since=1.4
NoUnsignedWrap 4470 ext=SPV_KHR_no_integer_wrap_decoration since=1.4
NonUniform 5300 cap=ShaderNonUniform
RestrictPointer 5355 cap=PhysicalStorageBufferAddresses
AliasedPointer 5356 cap=PhysicalStorageBufferAddresses
UserSemantic 5635 string since=1.4 ext=SPV_GOOGLE_hlsl_functionality1
CacheControlLoadINTEL 6442 int LoadCacheControl cap=CacheControlsINTEL
CacheControlStoreINTEL 6443 int StoreCacheControl cap=CacheControlsINTEL

enum LoadCacheControl
UncachedINTEL 0 cap=CacheControlsINTEL
CachedINTEL 1 cap=CacheControlsINTEL
StreamingINTEL 2 cap=CacheControlsINTEL
InvalidateAfterReadINTEL 3 cap=CacheControlsINTEL
ConstCachedINTEL 4 cap=CacheControlsINTEL

enum StoreCacheControl
UncachedINTEL 0 cap=CacheControlsINTEL
WriteThroughINTEL 1 cap=CacheControlsINTEL
WriteBackINTEL 2 cap=CacheControlsINTEL
StreamingINTEL 3 cap=CacheControlsINTEL

enum BuiltIn
NumWorkgroups 24
WorkgroupSize 25
WorkgroupId 26
LocalInvocationId 27
GlobalInvocationId 28
LocalInvocationIndex 29
WorkDim 30 cap=Kernel
GlobalSize 31 cap=Kernel
EnqueuedWorkgroupSize 32 cap=Kernel
GlobalOffset 33 cap=Kernel
GlobalLinearId 34 cap=Kernel
SubgroupSize 36 cap=GroupNonUniform|Kernel|SubgroupBallotKHR
SubgroupMaxSize 37 cap=Kernel
NumSubgroups 38 cap=GroupNonUniform|Kernel
NumEnqueuedSubgroups 39 cap=Kernel
SubgroupId 40 cap=GroupNonUniform|Kernel
SubgroupLocalInvocationId 41 cap=GroupNonUniform|Kernel|SubgroupBallotKHR
SubgroupEqMask 4416 cap=GroupNonUniformBallot|SubgroupBallotKHR
SubgroupGeMask 4417 cap=GroupNonUniformBallot|SubgroupBallotKHR
SubgroupGtMask 4418 cap=GroupNonUniformBallot|SubgroupBallotKHR
SubgroupLeMask 4419 cap=GroupNonUniformBallot|SubgroupBallotKHR
SubgroupLtMask 4420 cap=GroupNonUniformBallot|SubgroupBallotKHR

enum Scope
CrossDevice 0
Device 1
Workgroup 2
Subgroup 3
Invocation 4
QueueFamily 5 cap=VulkanMemoryModel

mask MemorySemantics
Acquire 0x2
Release 0x4
AcquireRelease 0x8
SequentiallyConsistent 0x10
UniformMemory 0x40 cap=Shader
SubgroupMemory 0x80
WorkgroupMemory 0x100
CrossWorkgroupMemory 0x200
ImageMemory 0x800
OutputMemory 0x1000 cap=VulkanMemoryModel
MakeAvailable 0x2000 cap=VulkanMemoryModel
MakeVisible 0x4000 cap=VulkanMemoryModel
Volatile 0x8000 cap=VulkanMemoryModel

mask MemoryAccess
Volatile 0x1
Aligned 0x2 int
Nontemporal 0x4
MakePointerAvailable 0x8 scope cap=VulkanMemoryModel
MakePointerVisible 0x10 scope cap=VulkanMemoryModel
NonPrivatePointer 0x20 cap=VulkanMemoryModel

mask FunctionControl
Inline 0x1
DontInline 0x2
Pure 0x4
Const 0x8

mask SelectionControl
Flatten 0x1
DontFlatten 0x2

mask LoopControl
Unroll 0x1
DontUnroll 0x2
DependencyInfinite 0x4 since=1.1
DependencyLength 0x8 int since=1.1
MinIterations 0x10 int since=1.4
MaxIterations 0x20 int since=1.4
IterationMultiple 0x40 int since=1.4
PeelCount 0x80 int since=1.4
PartialCount 0x100 int since=1.4

enum GroupOperation
Reduce 0 cap=Kernel|GroupNonUniformArithmetic|GroupNonUniformBallot
InclusiveScan 1 cap=Kernel|GroupNonUniformArithmetic|GroupNonUniformBallot
ExclusiveScan 2 cap=Kernel|GroupNonUniformArithmetic|GroupNonUniformBallot
ClusteredReduce 3 cap=GroupNonUniformClustered

enum PackedVectorFormat
PackedVectorFormat4x8Bit 0

mask CooperativeMatrixOperands
MatrixASignedComponentsKHR 0x1
MatrixBSignedComponentsKHR 0x2
MatrixCSignedComponentsKHR 0x4
MatrixResultSignedComponentsKHR 0x8
SaturatingAccumulationKHR 0x10

enum CooperativeMatrixLayout
RowMajorKHR 0
ColumnMajorKHR 1
RowBlockedInterleavedARM 4202 cap=CooperativeMatrixLayoutsARM
ColumnBlockedInterleavedARM 4203 cap=CooperativeMatrixLayoutsARM

enum CooperativeMatrixUse
MatrixAKHR 0
MatrixBKHR 1
MatrixAccumulatorKHR 2

mask CooperativeMatrixReduce
Row 0x1
Column 0x2
2x2 0x4

mask MatrixMultiplyAccumulateOperands
MatrixASignedComponentsINTEL 0x1
MatrixBSignedComponentsINTEL 0x2
MatrixCBFloat16INTEL 0x4
MatrixResultBFloat16INTEL 0x8
MatrixAPackedInt8INTEL 0x10
MatrixBPackedInt8INTEL 0x20
MatrixAPackedInt4INTEL 0x40
MatrixBPackedInt4INTEL 0x80
MatrixATF32INTEL 0x100
MatrixBTF32INTEL 0x200
MatrixAPackedFloat16INTEL 0x400
MatrixBPackedFloat16INTEL 0x800
MatrixAPackedBFloat16INTEL 0x1000
MatrixBPackedBFloat16INTEL 0x2000
"""
