"""The table of core SPIR-V instructions: opcode, name, operands, what each needs.

One line an instruction: ``opcode name operands... tags...``.

- ``type`` and ``result`` say that the instruction has a result type and a result.
- An operand is a kind, followed by ``?`` if it is optional and ``*`` if it repeats.
  Lower-case kinds: ``id``, ``scope`` (an id that holds a Scope), ``semantics`` (an id
  that holds MemorySemantics), ``int`` (a 32-bit literal), ``number`` (a literal of
  the result type, or of the selector of OpSwitch), ``string``, ``opcode`` (an
  instruction by its name, followed by that instruction's own operands) and
  ``extinst`` (a member of an instruction set, by its name).  Capitalised kinds are
  enumerations of ``enumerants.py``.  ``a:b`` is a pair.
- ``cap=A|B``: any one of these capabilities suffices; the preferred comes first.
- ``ext=E`` names the extension that brings it, ``since=1.3`` the core version.

Source: the SPIR-V specification 1.6, unified; every line is checked by assembling it.
"""

CORE = """
0 OpNop
1 OpUndef type result
3 OpSource SourceLanguage int id? string?
4 OpSourceExtension string
5 OpName id string
6 OpMemberName id int string
7 OpString result string
8 OpLine id int int
10 OpExtension string
11 OpExtInstImport result string
12 OpExtInst type result id extinst
14 OpMemoryModel AddressingModel MemoryModel
15 OpEntryPoint ExecutionModel id string id*
16 OpExecutionMode id ExecutionMode
17 OpCapability Capability
19 OpTypeVoid result
20 OpTypeBool result
21 OpTypeInt result int int
22 OpTypeFloat result int FPEncoding?
23 OpTypeVector result id int
24 OpTypeMatrix result id int cap=Matrix
28 OpTypeArray result id id
29 OpTypeRuntimeArray result id cap=Shader
30 OpTypeStruct result id*
31 OpTypeOpaque result string cap=Kernel
32 OpTypePointer result StorageClass id
33 OpTypeFunction result id id*
34 OpTypeEvent result cap=Kernel
41 OpConstantTrue type result
42 OpConstantFalse type result
43 OpConstant type result number
44 OpConstantComposite type result id*
46 OpConstantNull type result
48 OpSpecConstantTrue type result
49 OpSpecConstantFalse type result
50 OpSpecConstant type result number
51 OpSpecConstantComposite type result id*
52 OpSpecConstantOp type result opcode
54 OpFunction type result FunctionControl id
55 OpFunctionParameter type result
56 OpFunctionEnd
57 OpFunctionCall type result id id*
59 OpVariable type result StorageClass id?
61 OpLoad type result id MemoryAccess?
62 OpStore id id MemoryAccess?
63 OpCopyMemory id id MemoryAccess? MemoryAccess?
64 OpCopyMemorySized id id id MemoryAccess? MemoryAccess? cap=Addresses
65 OpAccessChain type result id id*
66 OpInBoundsAccessChain type result id id*
67 OpPtrAccessChain type result id id id* \
  cap=Addresses|PhysicalStorageBufferAddresses|VariablePointersStorageBuffer|VariablePointers
68 OpArrayLength type result id int cap=Shader
69 OpGenericPtrMemSemantics type result id cap=Kernel
70 OpInBoundsPtrAccessChain type result id id id* cap=Addresses
71 OpDecorate id Decoration
72 OpMemberDecorate id int Decoration
73 OpDecorationGroup result
74 OpGroupDecorate id id*
77 OpVectorExtractDynamic type result id id
78 OpVectorInsertDynamic type result id id id
79 OpVectorShuffle type result id id int*
80 OpCompositeConstruct type result id*
81 OpCompositeExtract type result id int*
82 OpCompositeInsert type result id id int*
83 OpCopyObject type result id
84 OpTranspose type result id cap=Matrix
109 OpConvertFToU type result id
110 OpConvertFToS type result id
111 OpConvertSToF type result id
112 OpConvertUToF type result id
113 OpUConvert type result id
114 OpSConvert type result id
115 OpFConvert type result id
116 OpQuantizeToF16 type result id cap=Shader
117 OpConvertPtrToU type result id cap=Addresses|PhysicalStorageBufferAddresses
118 OpSatConvertSToU type result id cap=Kernel
119 OpSatConvertUToS type result id cap=Kernel
120 OpConvertUToPtr type result id cap=Addresses|PhysicalStorageBufferAddresses
121 OpPtrCastToGeneric type result id cap=Kernel
122 OpGenericCastToPtr type result id cap=Kernel
123 OpGenericCastToPtrExplicit type result id StorageClass cap=Kernel
124 OpBitcast type result id
126 OpSNegate type result id
127 OpFNegate type result id
128 OpIAdd type result id id
129 OpFAdd type result id id
130 OpISub type result id id
131 OpFSub type result id id
132 OpIMul type result id id
133 OpFMul type result id id
134 OpUDiv type result id id
135 OpSDiv type result id id
136 OpFDiv type result id id
137 OpUMod type result id id
138 OpSRem type result id id
139 OpSMod type result id id
140 OpFRem type result id id
141 OpFMod type result id id
142 OpVectorTimesScalar type result id id
143 OpMatrixTimesScalar type result id id cap=Matrix|CooperativeMatrixKHR
144 OpVectorTimesMatrix type result id id cap=Matrix
145 OpMatrixTimesVector type result id id cap=Matrix
146 OpMatrixTimesMatrix type result id id cap=Matrix
147 OpOuterProduct type result id id cap=Matrix
148 OpDot type result id id
149 OpIAddCarry type result id id
150 OpISubBorrow type result id id
151 OpUMulExtended type result id id
152 OpSMulExtended type result id id
154 OpAny type result id
155 OpAll type result id
156 OpIsNan type result id
157 OpIsInf type result id
158 OpIsFinite type result id cap=Kernel
159 OpIsNormal type result id cap=Kernel
160 OpSignBitSet type result id cap=Kernel
162 OpOrdered type result id id cap=Kernel
163 OpUnordered type result id id cap=Kernel
164 OpLogicalEqual type result id id
165 OpLogicalNotEqual type result id id
166 OpLogicalOr type result id id
167 OpLogicalAnd type result id id
168 OpLogicalNot type result id
169 OpSelect type result id id id
170 OpIEqual type result id id
171 OpINotEqual type result id id
172 OpUGreaterThan type result id id
173 OpSGreaterThan type result id id
174 OpUGreaterThanEqual type result id id
175 OpSGreaterThanEqual type result id id
176 OpULessThan type result id id
177 OpSLessThan type result id id
178 OpULessThanEqual type result id id
179 OpSLessThanEqual type result id id
180 OpFOrdEqual type result id id
181 OpFUnordEqual type result id id
182 OpFOrdNotEqual type result id id
183 OpFUnordNotEqual type result id id
184 OpFOrdLessThan type result id id
185 OpFUnordLessThan type result id id
186 OpFOrdGreaterThan type result id id
187 OpFUnordGreaterThan type result id id
188 OpFOrdLessThanEqual type result id id
189 OpFUnordLessThanEqual type result id id
190 OpFOrdGreaterThanEqual type result id id
191 OpFUnordGreaterThanEqual type result id id
194 OpShiftRightLogical type result id id
195 OpShiftRightArithmetic type result id id
196 OpShiftLeftLogical type result id id
197 OpBitwiseOr type result id id
198 OpBitwiseXor type result id id
199 OpBitwiseAnd type result id id
200 OpNot type result id
201 OpBitFieldInsert type result id id id id cap=Shader|BitInstructions
202 OpBitFieldSExtract type result id id id cap=Shader|BitInstructions
203 OpBitFieldUExtract type result id id id cap=Shader|BitInstructions
204 OpBitReverse type result id cap=Shader|BitInstructions
205 OpBitCount type result id
224 OpControlBarrier scope scope semantics
225 OpMemoryBarrier scope semantics
227 OpAtomicLoad type result id scope semantics
228 OpAtomicStore id scope semantics id
229 OpAtomicExchange type result id scope semantics id
230 OpAtomicCompareExchange type result id scope semantics semantics id id
232 OpAtomicIIncrement type result id scope semantics
233 OpAtomicIDecrement type result id scope semantics
234 OpAtomicIAdd type result id scope semantics id
235 OpAtomicISub type result id scope semantics id
236 OpAtomicSMin type result id scope semantics id
237 OpAtomicUMin type result id scope semantics id
238 OpAtomicSMax type result id scope semantics id
239 OpAtomicUMax type result id scope semantics id
240 OpAtomicAnd type result id scope semantics id
241 OpAtomicOr type result id scope semantics id
242 OpAtomicXor type result id scope semantics id
245 OpPhi type result id:id*
246 OpLoopMerge id id LoopControl
247 OpSelectionMerge id SelectionControl
248 OpLabel result
249 OpBranch id
250 OpBranchConditional id id id int*
251 OpSwitch id id number:id*
252 OpKill cap=Shader
253 OpReturn
254 OpReturnValue id
255 OpUnreachable
256 OpLifetimeStart id int cap=Kernel
257 OpLifetimeStop id int cap=Kernel
259 OpGroupAsyncCopy type result scope id id id id id cap=Kernel
260 OpGroupWaitEvents scope id id cap=Kernel
261 OpGroupAll type result scope id cap=Groups
262 OpGroupAny type result scope id cap=Groups
263 OpGroupBroadcast type result scope id id cap=Groups
264 OpGroupIAdd type result scope GroupOperation id cap=Groups
265 OpGroupFAdd type result scope GroupOperation id cap=Groups
266 OpGroupFMin type result scope GroupOperation id cap=Groups
267 OpGroupUMin type result scope GroupOperation id cap=Groups
268 OpGroupSMin type result scope GroupOperation id cap=Groups
269 OpGroupFMax type result scope GroupOperation id cap=Groups
270 OpGroupUMax type result scope GroupOperation id cap=Groups
271 OpGroupSMax type result scope GroupOperation id cap=Groups
317 OpNoLine
318 OpAtomicFlagTestAndSet type result id scope semantics cap=Kernel
319 OpAtomicFlagClear id scope semantics cap=Kernel
321 OpSizeOf type result id cap=Addresses since=1.1
330 OpModuleProcessed string since=1.1
331 OpExecutionModeId id ExecutionMode since=1.2
332 OpDecorateId id Decoration since=1.2
333 OpGroupNonUniformElect type result scope cap=GroupNonUniform
334 OpGroupNonUniformAll type result scope id cap=GroupNonUniformVote
335 OpGroupNonUniformAny type result scope id cap=GroupNonUniformVote
336 OpGroupNonUniformAllEqual type result scope id cap=GroupNonUniformVote
337 OpGroupNonUniformBroadcast type result scope id id cap=GroupNonUniformBallot
338 OpGroupNonUniformBroadcastFirst type result scope id cap=GroupNonUniformBallot
339 OpGroupNonUniformBallot type result scope id cap=GroupNonUniformBallot
340 OpGroupNonUniformInverseBallot type result scope id cap=GroupNonUniformBallot
341 OpGroupNonUniformBallotBitExtract type result scope id id cap=GroupNonUniformBallot
342 OpGroupNonUniformBallotBitCount type result scope GroupOperation id \
  cap=GroupNonUniformBallot
343 OpGroupNonUniformBallotFindLSB type result scope id cap=GroupNonUniformBallot
344 OpGroupNonUniformBallotFindMSB type result scope id cap=GroupNonUniformBallot
345 OpGroupNonUniformShuffle type result scope id id cap=GroupNonUniformShuffle
346 OpGroupNonUniformShuffleXor type result scope id id cap=GroupNonUniformShuffle
347 OpGroupNonUniformShuffleUp type result scope id id \
  cap=GroupNonUniformShuffleRelative
348 OpGroupNonUniformShuffleDown type result scope id id \
  cap=GroupNonUniformShuffleRelative
349 OpGroupNonUniformIAdd type result scope GroupOperation id id? \
  cap=GroupNonUniformArithmetic|GroupNonUniformClustered
350 OpGroupNonUniformFAdd type result scope GroupOperation id id? \
  cap=GroupNonUniformArithmetic|GroupNonUniformClustered
351 OpGroupNonUniformIMul type result scope GroupOperation id id? \
  cap=GroupNonUniformArithmetic|GroupNonUniformClustered
352 OpGroupNonUniformFMul type result scope GroupOperation id id? \
  cap=GroupNonUniformArithmetic|GroupNonUniformClustered
353 OpGroupNonUniformSMin type result scope GroupOperation id id? \
  cap=GroupNonUniformArithmetic|GroupNonUniformClustered
354 OpGroupNonUniformUMin type result scope GroupOperation id id? \
  cap=GroupNonUniformArithmetic|GroupNonUniformClustered
355 OpGroupNonUniformFMin type result scope GroupOperation id id? \
  cap=GroupNonUniformArithmetic|GroupNonUniformClustered
356 OpGroupNonUniformSMax type result scope GroupOperation id id? \
  cap=GroupNonUniformArithmetic|GroupNonUniformClustered
357 OpGroupNonUniformUMax type result scope GroupOperation id id? \
  cap=GroupNonUniformArithmetic|GroupNonUniformClustered
358 OpGroupNonUniformFMax type result scope GroupOperation id id? \
  cap=GroupNonUniformArithmetic|GroupNonUniformClustered
359 OpGroupNonUniformBitwiseAnd type result scope GroupOperation id id? \
  cap=GroupNonUniformArithmetic|GroupNonUniformClustered
360 OpGroupNonUniformBitwiseOr type result scope GroupOperation id id? \
  cap=GroupNonUniformArithmetic|GroupNonUniformClustered
361 OpGroupNonUniformBitwiseXor type result scope GroupOperation id id? \
  cap=GroupNonUniformArithmetic|GroupNonUniformClustered
362 OpGroupNonUniformLogicalAnd type result scope GroupOperation id id? \
  cap=GroupNonUniformArithmetic|GroupNonUniformClustered
363 OpGroupNonUniformLogicalOr type result scope GroupOperation id id? \
  cap=GroupNonUniformArithmetic|GroupNonUniformClustered
364 OpGroupNonUniformLogicalXor type result scope GroupOperation id id? \
  cap=GroupNonUniformArithmetic|GroupNonUniformClustered
365 OpGroupNonUniformQuadBroadcast type result scope id id cap=GroupNonUniformQuad
366 OpGroupNonUniformQuadSwap type result scope id id cap=GroupNonUniformQuad
400 OpCopyLogical type result id since=1.4
401 OpPtrEqual type result id id since=1.4
402 OpPtrNotEqual type result id id since=1.4
403 OpPtrDiff type result id id \
  cap=Addresses|VariablePointersStorageBuffer|VariablePointers since=1.4
5632 OpDecorateString id Decoration since=1.4
5633 OpMemberDecorateString id int Decoration since=1.4
"""
