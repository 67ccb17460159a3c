//===- AttnOps.cpp - operations of the attn dialect ----------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Attn/IR/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace fa4::attn;

//===----------------------------------------------------------------------===//
// Assembly format
//===----------------------------------------------------------------------===//

/// result-types ::= (`->` type (`,` type)*)?
static ParseResult parseOptionalResultTypes(OpAsmParser &parser,
                                            ArrayRef<Type *> slots) {
  if (failed(parser.parseOptionalArrow()))
    return success();
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<Type> types;
  if (parser.parseTypeList(types))
    return failure();
  if (types.size() > slots.size())
    return parser.emitError(loc, "expected at most ")
           << slots.size() << " result types, got " << types.size();
  for (auto [slot, type] : llvm::zip(slots, types))
    *slot = type;
  return success();
}

static ParseResult parseOptionalResultTypes(OpAsmParser &parser, Type &a,
                                            Type &b) {
  return parseOptionalResultTypes(parser, ArrayRef<Type *>{&a, &b});
}

/// The captures' gradients come last, and are as many as `wrt` says.
static ParseResult parseGradientTypes(OpAsmParser &parser, Type &dq, Type &dk,
                                      Type &dv, Type &dsinks,
                                      SmallVectorImpl<Type> &dcaptures,
                                      DenseI64ArrayAttr wrt) {
  size_t count = wrt ? wrt.size() : 0;
  SmallVector<Type> types(4 + count);
  SmallVector<Type *> slots;
  for (Type &type : types)
    slots.push_back(&type);
  if (parseOptionalResultTypes(parser, slots))
    return failure();
  llvm::erase(types, Type());
  if (types.size() < count)
    count = 0;
  dcaptures.assign(types.end() - count, types.end());
  types.resize(types.size() - count);
  types.resize(std::max<size_t>(types.size(), 4));
  dq = types[0], dk = types[1], dv = types[2], dsinks = types[3];
  dcaptures.append(types.begin() + 4, types.end());
  return success();
}

static void printOptionalResultTypes(OpAsmPrinter &printer,
                                     ArrayRef<Type> types) {
  SmallVector<Type> present(
      llvm::make_filter_range(types, [](Type type) { return bool(type); }));
  if (present.empty())
    return;
  printer << " -> ";
  llvm::interleaveComma(present, printer);
}

static void printOptionalResultTypes(OpAsmPrinter &printer, Operation *, Type a,
                                     Type b) {
  printOptionalResultTypes(printer, {a, b});
}

static void printGradientTypes(OpAsmPrinter &printer, Operation *, Type dq,
                               Type dk, Type dv, Type dsinks,
                               TypeRange dcaptures, DenseI64ArrayAttr) {
  SmallVector<Type> types = {dq, dk, dv, dsinks};
  llvm::append_range(types, dcaptures);
  printOptionalResultTypes(printer, types);
}

/// mod ::= keyword `(` (ssa-name `:` type) list `)` region
static ParseResult parseMod(OpAsmParser &parser, StringRef keyword,
                            Region &region) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  SmallVector<OpAsmParser::Argument> arguments;
  return failure(parser.parseArgumentList(arguments,
                                          OpAsmParser::Delimiter::Paren,
                                          /*allowType=*/true) ||
                 parser.parseRegion(region, arguments,
                                    /*enableNameShadowing=*/true));
}

static ParseResult parseMods(OpAsmParser &parser, Region &scoreMod,
                             Region &maskMod) {
  return failure(parseMod(parser, "score_mod", scoreMod) ||
                 parseMod(parser, "mask_mod", maskMod));
}

static void printMod(OpAsmPrinter &printer, StringRef keyword, Region &region) {
  if (region.empty())
    return;
  printer.increaseIndent();
  printer.printNewline();
  printer << keyword << "(";
  llvm::interleaveComma(
      region.getArguments(), printer,
      [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ") ";
  printer.printRegion(region, /*printEntryBlockArgs=*/false);
  printer.decreaseIndent();
}

static void printMods(OpAsmPrinter &printer, Operation *, Region &scoreMod,
                      Region &maskMod) {
  printMod(printer, "score_mod", scoreMod);
  printMod(printer, "mask_mod", maskMod);
}

/// Names the leading arguments of both regions. Captured values keep their
/// numbers.
static void nameBlockArguments(Region &scoreMod, Region &region,
                               OpAsmSetValueNameFn setName) {
  static constexpr StringLiteral names[] = {"score", "b", "h", "i", "j"};
  ArrayRef<StringLiteral> order(names);
  if (&region != &scoreMod)
    order = order.drop_front();
  for (auto [argument, name] : llvm::zip(region.getArguments(), order))
    setName(argument, name);
}

void SdpaOp::getAsmBlockArgumentNames(Region &region,
                                      OpAsmSetValueNameFn setName) {
  nameBlockArguments(getScoreMod(), region, setName);
}

void SdpaBackwardOp::getAsmBlockArgumentNames(Region &region,
                                              OpAsmSetValueNameFn setName) {
  nameBlockArguments(getScoreMod(), region, setName);
}

static void nameResults(ArrayRef<std::pair<Value, StringRef>> names,
                        OpAsmSetValueNameFn setName) {
  for (auto [value, name] : names)
    if (value)
      setName(value, name);
}

void SdpaOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  nameResults({{getOut(), "out"}, {getLse(), "lse"}}, setName);
}

void SdpaBackwardOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  nameResults({{getDq(), "dq"},
               {getDk(), "dk"},
               {getDv(), "dv"},
               {getDsinks(), "dsinks"}},
              setName);
  for (Value result : getDcaptures())
    setName(result, "dcapture");
}

//===----------------------------------------------------------------------===//
// Result types
//===----------------------------------------------------------------------===//

/// Returns the static one of two sizes of the same dimension, or the dynamic
/// size if neither is static.
static int64_t mergeSizes(int64_t a, int64_t b) {
  return ShapedType::isDynamic(a) ? b : a;
}

static RankedTensorType withElementType(Value like, Type elementType) {
  return RankedTensorType::get(cast<ShapedType>(like.getType()).getShape(),
                               elementType);
}

DimOrder fa4::attn::getKeyOrder(AttentionOpInterface op) {
  Layout layout = op.getLayout();
  if (op.getPageTable() && layout == Layout::thd)
    layout = Layout::bshd;
  if (op.getPageTable() && layout == Layout::htd)
    layout = Layout::bhsd;
  return getDimOrder(layout);
}

static int64_t getKeyRows(AttentionOpInterface op) {
  return cast<ShapedType>(op.getK().getType()).getDimSize(getKeyOrder(op).seq);
}

int64_t fa4::attn::getPageSize(AttentionOpInterface op) {
  return getKeyRows(op);
}

int64_t fa4::attn::getKeyCapacity(AttentionOpInterface op) {
  if (!op.getPageTable())
    return getKeyRows(op);
  int64_t size = getPageSize(op);
  int64_t pages =
      cast<ShapedType>(op.getPageTable().getType()).getDimSize(kTablePages);
  if (ShapedType::isDynamic(size) || ShapedType::isDynamic(pages))
    return ShapedType::kDynamic;
  int64_t keys;
  return llvm::MulOverflow(size, pages, keys)
             ? std::numeric_limits<int64_t>::max()
             : keys;
}

/// Returns the type of the result `out` (index 0) or LSE (index 1). `pages` is
/// the type of the page table, or null.
static RankedTensorType inferSdpaType(Layout layout, ShapedType q, ShapedType k,
                                      ShapedType v, ShapedType pages,
                                      unsigned index, Type elementType) {
  DimOrder order = getDimOrder(layout);
  SmallVector<int64_t> out(q.getShape());
  if (std::optional<unsigned> batch = order.batch) {
    int64_t other =
        pages ? pages.getDimSize(kTableSequences)
              : mergeSizes(k.getDimSize(*batch), v.getDimSize(*batch));
    out[*batch] = mergeSizes(out[*batch], other);
  }
  if (index == 0) {
    out[order.dim] = v.getShape().back();
    return RankedTensorType::get(out, elementType);
  }
  SmallVector<int64_t> lse(order.lseRank());
  if (order.batch)
    lse[*order.lseBatch()] = out[*order.batch];
  lse[order.lseHead()] = out[order.head];
  lse[order.lseSeq()] = out[order.seq];
  return RankedTensorType::get(lse, elementType);
}

RankedTensorType SdpaOp::inferResultType(unsigned index, Type elementType) {
  Value pages = getPageTable();
  return inferSdpaType(getLayout(), cast<ShapedType>(getQ().getType()),
                       cast<ShapedType>(getK().getType()),
                       cast<ShapedType>(getV().getType()),
                       pages ? cast<ShapedType>(pages.getType()) : ShapedType(),
                       index, elementType);
}

/// The gradient has no pages.
Value SdpaBackwardOp::getPageTable() { return {}; }

RankedTensorType SdpaBackwardOp::inferResultType(unsigned index,
                                                 Type elementType) {
  if (index >= getFirstDcapture())
    return RankedTensorType::get(
        {cast<ShapedType>(getQ().getType())
             .getDimSize(getDimOrder(getLayout()).head)},
        elementType);
  Value like[] = {getQ(), getK(), getV(), getSinks()};
  return withElementType(like[index], elementType);
}

void SdpaOp::build(OpBuilder &builder, OperationState &state, Value q, Value k,
                   Value v, Layout layout, MaskAttr mask, bool withLse) {
  auto qType = cast<RankedTensorType>(q.getType());
  auto kType = cast<RankedTensorType>(k.getType());
  auto vType = cast<RankedTensorType>(v.getType());
  auto infer = [&](unsigned index, Type element) {
    return inferSdpaType(layout, qType, kType, vType, /*pages=*/{}, index,
                         element);
  };
  Type out = infer(0, getDefaultOutputType(qType.getElementType()));
  Type lse = withLse ? infer(1, builder.getF32Type()) : Type();
  build(builder, state, out, lse, q, k, v, /*page_table=*/{},
        /*block_list=*/{}, /*block_counts=*/{}, /*cu_seqlens_q=*/{},
        /*cu_seqlens_k=*/{}, /*seqlens_k=*/{},
        /*sinks=*/{}, /*captures=*/{},
        /*inits=*/{}, layout, mask, /*scale=*/{}, /*block_size=*/{},
        /*batch_invariant=*/false);
}

//===----------------------------------------------------------------------===//
// Result shapes as values
//===----------------------------------------------------------------------===//

static OpFoldResult dimOf(OpBuilder &builder, Location loc, Value value,
                          unsigned dim) {
  return tensor::getMixedSize(builder, loc, value, dim);
}

LogicalResult SdpaOp::reifyResultShapes(OpBuilder &builder,
                                        ReifiedRankedShapedTypeDims &shapes) {
  if (!getOut())
    return failure();
  DimOrder order = getDimOrder(getLayout());
  SmallVector<OpFoldResult> out =
      tensor::getMixedSizes(builder, getLoc(), getQ());
  SmallVector<OpFoldResult> lse(order.lseRank());
  if (order.batch)
    lse[*order.lseBatch()] = out[*order.batch];
  lse[order.lseHead()] = out[order.head];
  lse[order.lseSeq()] = out[order.seq];
  out[order.dim] = dimOf(builder, getLoc(), getV(), getKeyOrder(*this).dim);
  shapes.push_back(std::move(out));
  if (getLse())
    shapes.push_back(std::move(lse));
  return success();
}

LogicalResult
SdpaBackwardOp::reifyResultShapes(OpBuilder &builder,
                                  ReifiedRankedShapedTypeDims &shapes) {
  if (!getDq())
    return failure();
  Value like[] = {getQ(), getK(), getV(), getSinks()};
  for (unsigned i = 0, e = getFirstDcapture(); i != e; ++i)
    shapes.push_back(tensor::getMixedSizes(builder, getLoc(), like[i]));
  OpFoldResult heads =
      dimOf(builder, getLoc(), getQ(), getDimOrder(getLayout()).head);
  shapes.append(getWrt().size(), {heads});
  return success();
}

//===----------------------------------------------------------------------===//
// Memory effects and folding
//===----------------------------------------------------------------------===//

/// Memref operands are read. Destinations are written and never read.
static void
getEffects(AttentionOpInterface op,
           SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  MutableOperandRange inits = op.getInitsMutable();
  auto isInit = [&](OpOperand &operand) {
    return llvm::any_of(inits,
                        [&](OpOperand &init) { return &init == &operand; });
  };
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<BaseMemRefType>(operand.get().getType()))
      continue;
    if (isInit(operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand,
                           SideEffects::DefaultResource::get());
    else
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           SideEffects::DefaultResource::get());
  }
}

void SdpaOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  ::getEffects(*this, effects);
}

void SdpaBackwardOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  ::getEffects(*this, effects);
}

LogicalResult SdpaOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &) {
  return memref::foldMemRefCast(*this);
}

LogicalResult SdpaBackwardOp::fold(FoldAdaptor,
                                   SmallVectorImpl<OpFoldResult> &) {
  return memref::foldMemRefCast(*this);
}

#include "fa4/Dialect/Attn/IR/AttnInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "fa4/Dialect/Attn/IR/AttnOps.cpp.inc"
