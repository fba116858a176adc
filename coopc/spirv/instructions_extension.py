"""The table of extension instructions, KHR, EXT and Intel, in the form of CORE.

Sources: the extension documents of the SPIR-V registry, named by ``ext`` here or
beside the capability in ``enumerants.py``; every line is checked by assembling it.
"""

EXTENSION = """
4416 OpTerminateInvocation cap=Shader
4417 OpTypeUntypedPointerKHR result StorageClass cap=UntypedPointersKHR
4418 OpUntypedVariableKHR type result StorageClass id? id? cap=UntypedPointersKHR
4419 OpUntypedAccessChainKHR type result id id id* cap=UntypedPointersKHR
4420 OpUntypedInBoundsAccessChainKHR type result id id id* cap=UntypedPointersKHR
4423 OpUntypedPtrAccessChainKHR type result id id id id* cap=UntypedPointersKHR
4428 OpSubgroupAllKHR type result id cap=SubgroupVoteKHR
4429 OpSubgroupAnyKHR type result id cap=SubgroupVoteKHR
4430 OpSubgroupAllEqualKHR type result id cap=SubgroupVoteKHR
4431 OpGroupNonUniformRotateKHR type result scope id id id? cap=GroupNonUniformRotateKHR
4450 OpSDot type result id id PackedVectorFormat? cap=DotProduct
4451 OpUDot type result id id PackedVectorFormat? cap=DotProduct
4452 OpSUDot type result id id PackedVectorFormat? cap=DotProduct
4453 OpSDotAccSat type result id id id PackedVectorFormat? cap=DotProduct
4454 OpUDotAccSat type result id id id PackedVectorFormat? cap=DotProduct
4455 OpSUDotAccSat type result id id id PackedVectorFormat? cap=DotProduct
4456 OpTypeCooperativeMatrixKHR result id scope id id id cap=CooperativeMatrixKHR
4457 OpCooperativeMatrixLoadKHR type result id id id? MemoryAccess? \
  cap=CooperativeMatrixKHR
4458 OpCooperativeMatrixStoreKHR id id id id? MemoryAccess? cap=CooperativeMatrixKHR
4459 OpCooperativeMatrixMulAddKHR type result id id id CooperativeMatrixOperands? \
  cap=CooperativeMatrixKHR
4460 OpCooperativeMatrixLengthKHR type result id cap=CooperativeMatrixKHR
5293 OpCooperativeMatrixConvertNV type result id cap=CooperativeMatrixConversionsNV
5366 OpCooperativeMatrixReduceNV type result id CooperativeMatrixReduce id \
  cap=CooperativeMatrixReductionsNV
5369 OpCooperativeMatrixPerElementOpNV type result id id id* \
  cap=CooperativeMatrixPerElementOperationsNV
5390 OpCooperativeMatrixTransposeNV type result id cap=CooperativeMatrixConversionsNV
5571 OpSubgroupShuffleINTEL type result id id cap=SubgroupShuffleINTEL
5572 OpSubgroupShuffleDownINTEL type result id id id cap=SubgroupShuffleINTEL
5573 OpSubgroupShuffleUpINTEL type result id id id cap=SubgroupShuffleINTEL
5574 OpSubgroupShuffleXorINTEL type result id id cap=SubgroupShuffleINTEL
5575 OpSubgroupBlockReadINTEL type result id cap=SubgroupBufferBlockIOINTEL
5576 OpSubgroupBlockWriteINTEL id id cap=SubgroupBufferBlockIOINTEL
5614 OpAtomicFMinEXT type result id scope semantics id \
  cap=AtomicFloat32MinMaxEXT|AtomicFloat16MinMaxEXT|AtomicFloat64MinMaxEXT
5615 OpAtomicFMaxEXT type result id scope semantics id \
  cap=AtomicFloat32MinMaxEXT|AtomicFloat16MinMaxEXT|AtomicFloat64MinMaxEXT
5630 OpAssumeTrueKHR id cap=ExpectAssumeKHR
5631 OpExpectKHR type result id id cap=ExpectAssumeKHR
6035 OpAtomicFAddEXT type result id scope semantics id \
  cap=AtomicFloat32AddEXT|AtomicFloat16AddEXT|AtomicFloat64AddEXT
6116 OpConvertFToBF16INTEL type result id cap=BFloat16ConversionINTEL
6117 OpConvertBF16ToFINTEL type result id cap=BFloat16ConversionINTEL
6142 OpControlBarrierArriveINTEL scope scope semantics cap=SplitBarrierINTEL
6143 OpControlBarrierWaitINTEL scope scope semantics cap=SplitBarrierINTEL
6221 OpSubgroupBlockPrefetchINTEL id id MemoryAccess? cap=SubgroupBufferPrefetchINTEL
6231 OpSubgroup2DBlockLoadINTEL id id id id id id id id id id cap=Subgroup2DBlockIOINTEL
6232 OpSubgroup2DBlockLoadTransformINTEL id id id id id id id id id id \
  cap=Subgroup2DBlockTransformINTEL
6233 OpSubgroup2DBlockLoadTransposeINTEL id id id id id id id id id id \
  cap=Subgroup2DBlockTransposeINTEL
6234 OpSubgroup2DBlockPrefetchINTEL id id id id id id id id id \
  cap=Subgroup2DBlockIOINTEL
6235 OpSubgroup2DBlockStoreINTEL id id id id id id id id id id \
  cap=Subgroup2DBlockIOINTEL
6237 OpSubgroupMatrixMultiplyAccumulateINTEL type result id id id id \
  MatrixMultiplyAccumulateOperands? cap=SubgroupMatrixMultiplyAccumulateINTEL
6401 OpGroupIMulKHR type result scope GroupOperation id cap=GroupUniformArithmeticKHR
6402 OpGroupFMulKHR type result scope GroupOperation id cap=GroupUniformArithmeticKHR
6403 OpGroupBitwiseAndKHR type result scope GroupOperation id \
  cap=GroupUniformArithmeticKHR
6404 OpGroupBitwiseOrKHR type result scope GroupOperation id \
  cap=GroupUniformArithmeticKHR
6405 OpGroupBitwiseXorKHR type result scope GroupOperation id \
  cap=GroupUniformArithmeticKHR
6406 OpGroupLogicalAndKHR type result scope GroupOperation id \
  cap=GroupUniformArithmeticKHR
6407 OpGroupLogicalOrKHR type result scope GroupOperation id \
  cap=GroupUniformArithmeticKHR
6408 OpGroupLogicalXorKHR type result scope GroupOperation id \
  cap=GroupUniformArithmeticKHR
"""
