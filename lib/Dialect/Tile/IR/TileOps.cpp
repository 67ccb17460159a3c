//===- TileOps.cpp - operations of the tile dialect ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/EmptyCall.h"
#include "fa4/Dialect/Tile/IR/Tile.h"
#include "fa4/Support/NestedOps.h"
#include "fa4/Support/OpCheckInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace fa4::tile;

/// Prints all digits of each coefficient. Upstream prints arrays of f32 with
/// seven digits, from which the value cannot always be restored.
static void printCoefficients(OpAsmPrinter &printer, Operation *,
                              DenseF32ArrayAttr coefficients) {
  printer << "[";
  llvm::interleaveComma(coefficients.asArrayRef(), printer, [&](float value) {
    printer.printFloat(APFloat(value));
  });
  printer << "]";
}

static ParseResult parseCoefficients(OpAsmParser &parser,
                                     DenseF32ArrayAttr &coefficients) {
  SmallVector<float> values;
  auto parseOne = [&]() -> ParseResult {
    APFloat value(0.0f);
    if (parser.parseFloat(APFloat::IEEEsingle(), value))
      return failure();
    values.push_back(value.convertToFloat());
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  coefficients = DenseF32ArrayAttr::get(parser.getContext(), values);
  return success();
}

/// The attribute's own printer would begin with a space.
static void printRoleKind(OpAsmPrinter &printer, Operation *,
                          RoleKindAttr kind) {
  printer << stringifyRoleKind(kind.getValue());
}

static std::string listRoleKinds() {
  SmallVector<StringRef> names;
  for (unsigned i = 0; i <= getMaxEnumValForRoleKind(); ++i)
    names.push_back(stringifyRoleKind(RoleKind(i)));
  return llvm::join(names, ", ");
}

static ParseResult parseRoleKind(OpAsmParser &parser, RoleKindAttr &kind) {
  StringRef keyword;
  llvm::SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<RoleKind> value = symbolizeRoleKind(keyword);
  if (!value)
    return parser.emitError(location, "'")
           << keyword << "' is no kind of role; there are " << listRoleKinds();
  kind = RoleKindAttr::get(parser.getContext(), *value);
  return success();
}

#define GET_OP_CLASSES
#include "fa4/Dialect/Tile/IR/TileOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto functionType = [](Builder &builder, ArrayRef<Type> inputs,
                         ArrayRef<Type> results,
                         function_interface_impl::VariadicFlag, std::string &) {
    return builder.getFunctionType(inputs, results);
  };
  if (function_interface_impl::parseFunctionOp(
          parser, result, /*allowVariadic=*/false,
          getFunctionTypeAttrName(result.name), functionType,
          getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name)))
    return failure();
  if (result.regions.front()->empty())
    return parser.emitError(parser.getNameLoc(), "expects a body");
  return success();
}

void KernelOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(
      printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
      getArgAttrsAttrName(), getResAttrsAttrName());
}

const fa4::TargetDescription &KernelOp::getTarget() {
  return *lookupTarget(getChip());
}

StringRef KernelOp::getArgName(unsigned arg) {
  return getArgAttrOfType<StringAttr>(arg, kArgName).getValue();
}

StringRef KernelOp::getDimName(unsigned arg, unsigned dim) {
  auto dims = getArgAttrOfType<ArrayAttr>(arg, kArgDims);
  return cast<StringAttr>(dims[dim]).getValue();
}

std::optional<OutputKind> KernelOp::getOutputKind(unsigned arg) {
  auto kind = getArgAttrOfType<StringAttr>(arg, kArgOutput);
  return kind ? symbolizeOutputKind(kind.getValue()) : std::nullopt;
}

std::optional<OutputKind> fa4::tile::symbolizeOutputKind(StringRef name) {
  return llvm::StringSwitch<std::optional<OutputKind>>(name)
      .Case("once", OutputKind::Once)
      .Case("accumulate", OutputKind::Accumulate)
      .Case("ordered", OutputKind::Ordered)
      .Case("partial", OutputKind::Partial)
      .Default(std::nullopt);
}

std::optional<int64_t> fa4::tile::getStaticSize(StringRef name) {
  int64_t size;
  if (name.getAsInteger(10, size))
    return std::nullopt;
  return size;
}

/// Parses `FUNCTION(NAME, NUMBER)`.
static std::optional<DerivedSize> parseDerivedSize(StringRef name,
                                                   StringRef function) {
  DerivedSize size;
  if (!name.consume_front(function) || !name.consume_front("(") ||
      !name.consume_back(")"))
    return std::nullopt;
  StringRef number;
  std::tie(size.name, number) = name.split(", ");
  if (size.name.empty() || size.name.contains('(') ||
      getStaticSize(size.name) || number.getAsInteger(10, size.number) ||
      size.number < 1)
    return std::nullopt;
  return size;
}

std::optional<DerivedSize> fa4::tile::getAlignedSize(StringRef name) {
  return parseDerivedSize(name, "align");
}

std::optional<DerivedSize> fa4::tile::getMultipleSize(StringRef name) {
  return parseDerivedSize(name, "times");
}

std::string fa4::tile::multiplySize(StringRef name, int64_t factor) {
  if (std::optional<int64_t> size = getStaticSize(name))
    return std::to_string(*size * factor);
  return llvm::formatv("times({0}, {1})", name, factor);
}

static constexpr StringLiteral kPlus = " + ";

std::optional<std::pair<StringRef, StringRef>>
fa4::tile::getSummands(StringRef name) {
  auto [first, second] = name.split(kPlus);
  if (second.empty())
    return std::nullopt;
  return std::pair(first, second);
}

std::string fa4::tile::addSizes(StringRef a, StringRef b) {
  auto x = getStaticSize(a), y = getStaticSize(b);
  if (x && y)
    return std::to_string(*x + *y);
  return (a + kPlus + b).str();
}

int64_t SharedSize::of(int64_t count) const {
  count = std::max<int64_t>(count, 1);
  int64_t share = few / count;
  return share >= 2 ? share : std::max<int64_t>(many / count, 1);
}

std::optional<SharedSize> fa4::tile::getSharedSize(StringRef name) {
  if (!name.consume_front("share(") || !name.consume_back(")"))
    return std::nullopt;
  SharedSize size;
  SmallVector<StringRef> parts;
  name.split(parts, ", ");
  if (parts.size() != 3 || parts[0].getAsInteger(10, size.few) ||
      parts[1].getAsInteger(10, size.many) || size.few < 1 || size.many < 1 ||
      parts[2].empty() || parts[2].contains('(') || getStaticSize(parts[2]))
    return std::nullopt;
  size.name = parts[2];
  return size;
}

std::string fa4::tile::nameSharedSize(const SharedSize &size) {
  if (std::optional<int64_t> count = getStaticSize(size.name))
    return std::to_string(size.of(*count));
  return llvm::formatv("share({0}, {1}, {2})", size.few, size.many, size.name);
}

std::optional<std::pair<StringRef, StringRef>>
fa4::tile::getSmallerOf(StringRef name) {
  if (!name.consume_front("min(") || !name.consume_back(")"))
    return std::nullopt;
  // The comma that is in no brackets.
  size_t depth = 0;
  for (auto [i, character] : llvm::enumerate(name)) {
    if (character == '(')
      ++depth;
    else if (character == ')' && depth-- == 0)
      return std::nullopt;
    else if (depth == 0 && name.substr(i).starts_with(", "))
      return std::pair(name.take_front(i), name.substr(i + 2));
  }
  return std::nullopt;
}

std::string fa4::tile::minOfSizes(StringRef a, StringRef b) {
  auto x = getStaticSize(a), y = getStaticSize(b);
  if (x && y)
    return std::to_string(std::min(*x, *y));
  return llvm::formatv("min({0}, {1})", a, b);
}

std::optional<StringRef> fa4::tile::getSizeBehind(StringRef name) {
  auto terms = getSummands(name);
  if (!terms)
    terms = getSmallerOf(name);
  if (terms) {
    for (StringRef term : {terms->first, terms->second})
      if (!getStaticSize(term))
        return getSizeBehind(term).value_or(term);
    return std::nullopt;
  }
  for (StringRef function : {"align", "ceildiv", "times"})
    if (std::optional<DerivedSize> size = parseDerivedSize(name, function))
      return size->name;
  if (std::optional<SharedSize> size = getSharedSize(name))
    return size->name;
  return std::nullopt;
}

std::string fa4::tile::alignSize(StringRef name, int64_t multiple) {
  if (std::optional<int64_t> size = getStaticSize(name))
    return std::to_string(llvm::alignTo(*size, multiple));
  return llvm::formatv("align({0}, {1})", name, multiple);
}

std::string fa4::tile::countBlocks(StringRef name, int64_t block) {
  if (std::optional<int64_t> size = getStaticSize(name))
    return std::to_string(llvm::divideCeil(*size, block));
  if (block == 1)
    return name.str();
  return llvm::formatv("ceildiv({0}, {1})", name, block);
}

bool fa4::tile::fitsChip(VectorType tile) {
  uint64_t elements = 1;
  for (uint64_t size : tile.getShape())
    elements = llvm::SaturatingMultiply(elements, size);
  return elements <= kMaxTileElements;
}

static LogicalResult verifyIfEmpty(KernelOp op, unsigned arg,
                                   MemRefType memref) {
  Attribute attr = op.getArgAttr(arg, kArgIfEmpty);
  if (!attr)
    return success();
  if (!memref || !op.getArgAttr(arg, kArgOutput))
    return op.emitOpError("argument '")
           << op.getArgName(arg) << "': '" << kArgIfEmpty
           << "' is for outputs, but there is no '" << kArgOutput << "'";
  auto number = dyn_cast<FloatAttr>(attr);
  if (!number || !number.getType().isF32() || number.getValue().isNaN())
    return op.emitOpError("argument '")
           << op.getArgName(arg) << "': '" << kArgIfEmpty
           << "' must be an f32 that is no NaN, not " << attr;
  if (!isa<FloatType>(memref.getElementType()) && !number.getValue().isZero())
    return op.emitOpError("argument '")
           << op.getArgName(arg) << "': '" << kArgIfEmpty
           << "' of an output with elements of type " << memref.getElementType()
           << " must be 0";
  return success();
}

/// Returns true for what may be the name of a dimension: brackets and commas
/// stand in the derived sizes alone.
static bool isSizeName(StringRef name) {
  auto terms = getSummands(name);
  if (terms && getSummands(terms->second))
    return false;
  if (!terms)
    terms = getSmallerOf(name);
  if (terms)
    return isSizeName(terms->first) && isSizeName(terms->second) &&
           !(getStaticSize(terms->first) && getStaticSize(terms->second));
  std::optional<StringRef> behind = getSizeBehind(name);
  StringRef plain = behind.value_or(name);
  return !plain.empty() && plain.find_first_of("(),") == StringRef::npos;
}

static LogicalResult verifyKernelArg(KernelOp op, unsigned arg,
                                     llvm::StringSet<> &dimNames) {
  Type type = op.getArgumentTypes()[arg];
  auto name = op.getArgAttrOfType<StringAttr>(arg, kArgName);
  if (!name || name.empty())
    return op.emitOpError("argument ")
           << arg << " needs a '" << kArgName << "' attribute";
  auto memref = dyn_cast<MemRefType>(type);
  if (op.getArgAttr(arg, kArgOutput) && (!memref || !op.getOutputKind(arg)))
    return op.emitOpError("argument '")
           << name.getValue() << "': '" << kArgOutput
           << "' of a memref is \"once\", \"accumulate\", \"ordered\" or "
              "\"partial\"";
  if (failed(verifyIfEmpty(op, arg, memref)))
    return failure();
  if (!memref) {
    if (type.isF32() || type.isInteger(32) || type.isIndex())
      return success();
    return op.emitOpError("argument '")
           << name.getValue() << "' must be a memref, f32, i32 or index, not "
           << type;
  }
  auto dims = op.getArgAttrOfType<ArrayAttr>(arg, kArgDims);
  if (!dims || static_cast<int64_t>(dims.size()) != memref.getRank() ||
      !llvm::all_of(dims, llvm::IsaPred<StringAttr>))
    return op.emitOpError("argument '")
           << name.getValue() << "' needs one name a dimension in '" << kArgDims
           << "'";
  for (auto [size, attr] : llvm::zip(memref.getShape(), dims)) {
    StringRef dim = cast<StringAttr>(attr).getValue();
    if (!isSizeName(dim))
      return op.emitOpError("argument '")
             << name.getValue() << "': dimension name '" << dim
             << "' is neither a name, a number, 'align(NAME, MULTIPLE)', "
                "'ceildiv(NAME, BLOCK)', 'times(NAME, FACTOR)' nor "
                "'share(FEW, MANY, NAME)', nor a sum or the 'min' of two of "
                "these";
    std::optional<int64_t> number = getStaticSize(dim);
    if (!number)
      dimNames.insert(dim);
    if (number ? *number != size : !ShapedType::isDynamic(size))
      return op.emitOpError("argument '")
             << name.getValue() << "': dimension name '" << dim
             << "' does not fit the memref's " << memref;
  }
  return success();
}

static LogicalResult verifyOrder(KernelOp op,
                                 const llvm::StringSet<> &dimNames) {
  OrderAttr order = op.getOrderAttr();
  if (!order)
    return success();
  if (op.getScheduleOrGrid() == Schedule::Grid)
    return op.emitOpError("has an order, but its schedule is 'grid', in which "
                          "hardware chooses the order");
  if (order.getAxis() < 0 || order.getAxis() >= int64_t(op.getGrid().size()))
    return op.emitOpError("has an order of blocks along axis ")
           << order.getAxis() << ", but the grid has " << op.getGrid().size()
           << " extents";
  if (order.getCacheBytes() < 0 || order.getGroupBytes() < 1)
    return op.emitOpError("has an order with ")
           << order.getCacheBytes() << " bytes of cache for groups of "
           << order.getGroupBytes()
           << " bytes: the first is at least 0, the second at least 1";
  if (order.getFewBlocks() < 0)
    return op.emitOpError("has an order in which ")
           << order.getFewBlocks() << " blocks are few";
  if (order.getSize() && !dimNames.contains(order.getSize().getValue()))
    return op.emitOpError("has an order with the size '")
           << order.getSize().getValue()
           << "', which is not a dimension of an argument";
  return success();
}

static LogicalResult verifyGrid(KernelOp op,
                                const llvm::StringSet<> &dimNames) {
  if (op.getGrid().empty() || op.getGrid().size() > 3)
    return op.emitOpError("needs one to three grid extents");
  for (auto extent : op.getGrid().getAsRange<ExtentAttr>()) {
    if (extent.getTile() < 1)
      return op.emitOpError("grid extent needs a positive tile, not ")
             << extent.getTile();
    if (extent.getTile() > INT32_MAX)
      return op.emitOpError("grid extent has a tile of ")
             << extent.getTile() << ", more than " << INT32_MAX;
    if (!dimNames.contains(extent.getSize()) &&
        !getStaticSize(extent.getSize()))
      return op.emitOpError("grid extent '")
             << extent.getSize() << "' is not a dimension of an argument";
  }
  return success();
}

static LogicalResult verifyCluster(KernelOp op) {
  ClusterAttr cluster = op.getClusterAttr();
  if (!cluster)
    return success();
  if (!op.getTarget().mma.pairs)
    return op.emitOpError("is for '")
           << op.getChip() << "', whose CTAs do not work in clusters";
  if (cluster.getSize() != 2)
    return op.emitOpError("has a cluster of ")
           << cluster.getSize() << " CTAs; an MMA is one of 2 CTAs";
  if (cluster.getAxis() < 0 ||
      cluster.getAxis() >= int64_t(op.getGrid().size()))
    return op.emitOpError("has clusters along axis ")
           << cluster.getAxis() << ", but the grid has " << op.getGrid().size()
           << " extents";
  return success();
}

std::optional<unsigned> KernelOp::getWorkCountArgument() {
  for (unsigned arg = 0; getWorkCount() && arg < getNumArguments(); ++arg)
    if (getArgName(arg) == *getWorkCount())
      return arg;
  return std::nullopt;
}

static LogicalResult verifyWorkCount(KernelOp op) {
  if (!op.getWorkCount())
    return success();
  std::optional<unsigned> argument = op.getWorkCountArgument();
  auto type = argument ? dyn_cast<MemRefType>(op.getArgumentTypes()[*argument])
                       : MemRefType();
  if (!type || type.getRank() != 1 || !type.getElementType().isInteger(32))
    return op.emitOpError("has a work_count of '")
           << *op.getWorkCount()
           << "', which is no argument of one dimension of i32";
  if (op.getOutputKind(*argument))
    return op.emitOpError("writes to '")
           << *op.getWorkCount() << "', its work_count";
  // A pair has two work tiles, of which the second one may be one too many.
  if (op.getCluster())
    return op.emitOpError("has a work_count and a cluster: not supported");
  return success();
}

ExtentAttr KernelOp::getNumberedExtent(unsigned axis) {
  auto extent = cast<ExtentAttr>(getGrid()[axis]);
  ClusterAttr cluster = getClusterAttr();
  if (!cluster || cluster.getAxis() != axis)
    return extent;
  return ExtentAttr::get(getContext(), extent.getSize(),
                         extent.getTile() * cluster.getSize());
}

PlanAttr KernelOp::getPlanOrFastest() {
  if (PlanAttr plan = getPlanAttr())
    return plan;
  return PlanAttr::get(getContext(), Schedule::Grid, MmaOrder::Early,
                       /*splitArrivals=*/true, /*storeParts=*/1,
                       /*shareStores=*/false, /*divideLoads=*/false,
                       /*overlapStores=*/true, /*maxStages=*/8);
}

LogicalResult KernelOp::verify() {
  if (!lookupTarget(getChip()))
    return emitOpError("is for '")
           << getChip() << "', which is not a known chip; known are "
           << llvm::join(knownTargets(), ", ");
  if (!isPublic())
    return emitOpError("must be public, because it is launched from outside of "
                       "the module");
  if (!getFunctionType().getResults().empty())
    return emitOpError("must have no results, because a kernel writes to its "
                       "arguments");
  // The text of a kernel without arguments and operations would be parsed to a
  // kernel without a block.
  if (getNumArguments() == 0 && getFunctionBody().front().empty())
    return emitOpError("must have an argument or an operation");
  llvm::StringSet<> dimNames, argNames;
  for (unsigned arg = 0; arg < getNumArguments(); ++arg) {
    if (failed(verifyKernelArg(*this, arg, dimNames)))
      return failure();
    if (!argNames.insert(getArgName(arg)).second)
      return emitOpError("has two arguments of the name '")
             << getArgName(arg) << "'";
  }
  for (auto [what, number] : {std::pair("smem_bytes", getSmemBytes()),
                              std::pair("tmem_columns", getTmemColumns())})
    if (number && *number > INT32_MAX)
      return emitOpError("has ") << what << " of " << int64_t(*number)
                                 << ", not from 0 to " << INT32_MAX;
  if (failed(verifyGrid(*this, dimNames)))
    return failure();
  return failure(failed(verifyOrder(*this, dimNames)) ||
                 failed(verifyCluster(*this)) ||
                 failed(verifyWorkCount(*this)));
}

/// Checks the tiles of `op`, which may be an operation of another dialect:
/// passes make code for each column of every tile in a kernel. The verifiers of
/// our own operations and types cannot check this for them, because a tile that
/// only upstream's operations compute with has the builtin type `vector`.
static LogicalResult verifyTileSizes(Operation *op) {
  auto verifyTypes = [&](TypeRange types) -> LogicalResult {
    for (Type type : types)
      if (auto tile = dyn_cast<VectorType>(type); tile && !fitsChip(tile))
        return op->emitOpError("has a tile of more than ")
               << kMaxTileElements << " elements: " << tile;
    return success();
  };
  if (failed(verifyTypes(op->getResultTypes())))
    return failure();
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (failed(verifyTypes(block.getArgumentTypes())))
        return failure();
  return success();
}

/// Checks that the kernel writes to no tensor from which it reads scalars.
static LogicalResult verifyScalarSources(KernelOp kernel) {
  llvm::SmallDenseMap<Value, Operation *> writers;
  SmallVector<std::pair<Operation *, Value>> reads;
  kernel.walk([&](Operation *op) {
    if (isa<LoadScalarOp, LoadRowsOp, GatherOp>(op))
      reads.emplace_back(op, op->getOperand(0));
    else if (auto load = dyn_cast<LoadOp>(op); load && load.getPages())
      reads.emplace_back(op, load.getPages());
    else if (auto store = dyn_cast<StoreOp>(op))
      writers.try_emplace(store.getDest(), op);
    else if (auto add = dyn_cast<ReduceAddOp>(op))
      writers.try_emplace(add.getDest(), op);
    else if (auto put = dyn_cast<PutOp>(op))
      writers.try_emplace(put.getDest(), op);
    else if (auto turn = dyn_cast<AwaitTurnOp>(op))
      writers.try_emplace(turn.getTurns(), op);
  });
  for (auto [load, memref] : reads) {
    // A source that is no argument of the kernel is an error of the operation's
    // own verifier.
    auto source = dyn_cast<BlockArgument>(memref);
    if (!source || source.getOwner()->getParentOp() != kernel)
      continue;
    StringRef name = kernel.getArgName(source.getArgNumber());
    if (Operation *writer = writers.lookup(source)) {
      InFlightDiagnostic error = load->emitOpError("reads '")
                                 << name
                                 << "', to which the kernel writes: roles read "
                                    "a scalar at any time, so its tensor must "
                                    "not change";
      error.attachNote(writer->getLoc()) << "it is written here";
      return error;
    }
    if (kernel.getOutputKind(source.getArgNumber()))
      return load->emitOpError("reads '")
             << name << "', which is an output ('" << kArgOutput << "')";
  }
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  Block &body = getBody().front();
  if (!body.getOps<RoleOp>().empty())
    for (Operation &op : body)
      if (!isa<ChannelOp, RoleOp>(op))
        return op.emitOpError(
            "is beside roles: a kernel that has roles has its "
            "channels and roles and nothing else");
  if (failed(fa4::checkEach(*this, verifyTileSizes)) ||
      failed(verifyScalarSources(*this)))
    return failure();
  // A work tile that waits for its turn would wait for ones that nobody works
  // on.
  if (getWorkCount() && fa4::containsOp<AwaitTurnOp>(*this))
    return emitOpError("has a work_count and turns: not supported");
  return fa4::runToolCheck(*this);
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

template <typename Op>
static SmallVector<int64_t> tileDims(Op op, MemRefType memref,
                                     VectorType tile) {
  if (op.getDims())
    return SmallVector<int64_t>(*op.getDims());
  SmallVector<int64_t> dims;
  for (int64_t dim = memref.getRank() - tile.getRank(); dim < memref.getRank();
       ++dim)
    dims.push_back(dim);
  return dims;
}

template <typename Op>
static LogicalResult verifyMemoryOp(Op op, MemRefType memref, VectorType tile) {
  if (memref.getElementType() != tile.getElementType())
    return op.emitOpError("tile of ")
           << tile.getElementType() << ", but the memref holds "
           << memref.getElementType();
  if (static_cast<int64_t>(op.getIndices().size()) != memref.getRank())
    return op.emitOpError("needs ")
           << memref.getRank() << " indices, one a dimension";
  if (tile.getRank() > memref.getRank())
    return op.emitOpError("tile has more dimensions than the memref");
  SmallVector<int64_t> dims = tileDims(op, memref, tile);
  if (static_cast<int64_t>(dims.size()) != tile.getRank())
    return op.emitOpError("needs ")
           << tile.getRank() << " entries in dims, one a tile dimension";
  for (auto [i, dim] : llvm::enumerate(dims)) {
    if (dim < 0 || dim >= memref.getRank())
      return op.emitOpError("dims names dimension ")
             << dim << ", which the memref does not have";
    if (llvm::is_contained(ArrayRef(dims).take_front(i), dim))
      return op.emitOpError("dims names dimension ") << dim << " twice";
  }
  return success();
}

SmallVector<int64_t> LoadOp::getTileDims() {
  return tileDims(*this, getSource().getType(), getTile().getType());
}
template <typename Op> static LogicalResult verifyConstantSource(Op op) {
  auto source = dyn_cast<BlockArgument>(op.getSource());
  if (!source || !isa<KernelOp>(source.getOwner()->getParentOp()))
    return op.emitOpError("must read an argument of a tile.kernel, which does "
                          "not change while the kernel runs");
  int64_t rank = op.getSource().getType().getRank();
  if (static_cast<int64_t>(op.getIndices().size()) != rank)
    return op.emitOpError("needs ") << rank << " indices, one a dimension";
  return success();
}
LogicalResult LoadScalarOp::verify() { return verifyConstantSource(*this); }
LogicalResult GatherOp::verify() {
  if (failed(verifyConstantSource(*this)))
    return failure();
  MemRefType type = getSource().getType();
  if (getElementTypeOrSelf(getType()) != type.getElementType())
    return emitOpError("reads ") << getType() << " from " << type;
  return success();
}
LogicalResult LoadRowsOp::verify() {
  if (failed(verifyConstantSource(*this)))
    return failure();
  MemRefType type = getSource().getType();
  for (int64_t dim : getTileDims())
    if (dim < 0 || dim >= type.getRank())
      return emitOpError("names dimension ")
             << dim << " of a tensor of " << type.getRank();
  if (getTile().getType().getElementType() != type.getElementType())
    return emitOpError("reads ") << getTile().getType() << " from " << type;
  return success();
}
LogicalResult fa4::tile::verifySplit(Operation *op, VectorType tile,
                                     std::optional<uint64_t> split) {
  if (!split)
    return success();
  auto kernel = op->getParentOfType<KernelOp>();
  if (!kernel || !kernel.getCluster())
    return op->emitOpError("says 'split', but is in no kernel with a cluster, "
                           "whose CTAs could have parts of the tile");
  if (!tile || tile.getRank() != 2 || *split > 1)
    return op->emitOpError("splits dimension ")
           << int64_t(*split) << " of a tile; dimensions 0 and 1 of a matrix "
           << "can be split";
  if (tile.getDimSize(*split) % kernel.getClusterSize() != 0)
    return op->emitOpError("splits ")
           << tile.getDimSize(*split) << " rows or columns over "
           << kernel.getClusterSize() << " CTAs";
  return success();
}

VectorType fa4::tile::getPartOf(VectorType tile, int64_t dim, int64_t parts) {
  SmallVector<int64_t> shape(tile.getShape());
  shape[dim] /= parts;
  return VectorType::get(shape, tile.getElementType());
}

VectorType LoadOp::getPartType() {
  VectorType tile = getTile().getType();
  return getSplit()
             ? getPartOf(tile, *getSplit(),
                         (*this)->getParentOfType<KernelOp>().getClusterSize())
             : tile;
}

int64_t LoadOp::getInnerRows() { return getInner() ? getInner()->back() : 1; }

/// Checks `inner`, of a load whose `dims` are checked.
static LogicalResult verifyInner(LoadOp op) {
  std::optional<ArrayRef<int64_t>> inner = op.getInner();
  if (!inner)
    return success();
  VectorType tile = op.getTile().getType();
  if (inner->size() != 2 || tile.getRank() != 2)
    return op.emitOpError("'inner' is a dimension and its number of elements, "
                          "and the tile is a matrix");
  int64_t dim = inner->front(), rows = inner->back();
  if (dim < 0 || dim >= op.getSource().getType().getRank() ||
      llvm::is_contained(op.getTileDims(), dim))
    return op.emitOpError("'inner' names dimension ")
           << dim << ", which must be one of the memref that is not in dims";
  if (rows < 1 || tile.getDimSize(0) % rows != 0)
    return op.emitOpError("a tile of ")
           << tile.getDimSize(0) << " rows has 'inner' of " << rows
           << ", which must divide them";
  if (op.getTo() || op.getSplit() == 0)
    return op.emitOpError("has 'inner' beside 'to' or a split of rows");
  return success();
}

int64_t LoadOp::getPageSize() {
  return getSource().getType().getDimSize(getTileDims().front());
}

int64_t LoadOp::getRowsOfCopy() {
  int64_t rows = getPartType().getDimSize(0);
  return getPages() ? std::gcd(rows, getPageSize()) : rows;
}

/// Checks `pages`, of a load whose `dims` are checked.
static LogicalResult verifyPages(LoadOp op) {
  Value pages = op.getPages();
  if (!pages)
    return success();
  auto argument = dyn_cast<BlockArgument>(pages);
  if (!argument || !isa<KernelOp>(argument.getOwner()->getParentOp()))
    return op.emitOpError("'pages' must be an argument of a tile.kernel, which "
                          "does not change while the kernel runs");
  SmallVector<int64_t> dims = op.getTileDims();
  if (dims.size() != 2 || llvm::is_contained(dims, kPageDim))
    return op.emitOpError("'pages' needs a tile of 2 dimensions, neither of "
                          "which is dimension ")
           << kPageDim << ", that of the pages";
  if (ShapedType::isDynamic(op.getPageSize()) || op.getPageSize() == 0)
    return op.emitOpError("'pages' needs a static number of rows in a page, "
                          "1 or more");
  if (!op.getTo() || op.getInner())
    return op.emitOpError("'pages' needs 'to', and must not have 'inner'");
  return success();
}

LogicalResult LoadOp::verify() {
  if (failed(verifySplit(*this, getTile().getType(), getSplit())) ||
      failed(verifyMemoryOp(*this, getSource().getType(), getTile().getType())))
    return failure();
  return failure(failed(verifyInner(*this)) || failed(verifyPages(*this)));
}
SmallVector<int64_t> StoreOp::getTileDims() {
  return tileDims(*this, getDest().getType(), getTile().getType());
}
LogicalResult StoreOp::verify() {
  return verifyMemoryOp(*this, getDest().getType(), getTile().getType());
}
SmallVector<int64_t> ReduceAddOp::getTileDims() {
  return tileDims(*this, getDest().getType(), getTile().getType());
}
LogicalResult ReduceAddOp::verify() {
  if (getTurn() && getTile().getType().getRank() != 2)
    return emitOpError("adds a value a row in turn; only a matrix can be added "
                       "in turn, because one thread starts to add it");
  return verifyMemoryOp(*this, getDest().getType(), getTile().getType());
}

using MemoryEffectInstance = SideEffects::EffectInstance<MemoryEffects::Effect>;

static bool isInRole(Operation *op) {
  return bool(op->getParentOfType<RoleOp>());
}

/// In a role, `op` starts an access to stages that it does not wait for. All
/// operations on channels order with each other, whichever channel they are on.
static void addStageEffects(Operation *op,
                            SmallVectorImpl<MemoryEffectInstance> &effects) {
  if (!isInRole(op))
    return;
  effects.emplace_back(MemoryEffects::Read::get(), ChannelResource::get());
  effects.emplace_back(MemoryEffects::Write::get(), ChannelResource::get());
}

void LoadOp::getEffects(SmallVectorImpl<MemoryEffectInstance> &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getSourceMutable());
  for (OpOperand &pages : getPagesMutable())
    effects.emplace_back(MemoryEffects::Read::get(), &pages);
  addStageEffects(*this, effects);
}

void StoreOp::getEffects(SmallVectorImpl<MemoryEffectInstance> &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), &getDestMutable());
  addStageEffects(*this, effects);
}

void ReduceAddOp::getEffects(SmallVectorImpl<MemoryEffectInstance> &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getDestMutable());
  effects.emplace_back(MemoryEffects::Write::get(), &getDestMutable());
  addStageEffects(*this, effects);
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

void MmaOp::getEffects(SmallVectorImpl<MemoryEffectInstance> &effects) {
  addStageEffects(*this, effects);
}

Speculation::Speculatability MmaOp::getSpeculatability() {
  return isInRole(*this) ? Speculation::NotSpeculatable
                         : Speculation::Speculatable;
}

LogicalResult MmaOp::verify() {
  VectorType a = getA().getType(), b = getB().getType(),
             result = getResultType();
  if (getAccumulate() && !getAcc())
    return emitOpError("has a condition but nothing to accumulate to");
  if (getAcc() && getOnto())
    return emitOpError("adds to two tiles ('acc' and 'onto')");
  if (getOnto() && (!getOnto().getDefiningOp<MmaOp>() ||
                    getOnto().getParentBlock() != (*this)->getBlock()))
    return emitOpError("must add to the product of a tile.mma of its own "
                       "block: no MMA may be under way where control flow "
                       "meets");
  if (a.getElementType() != b.getElementType())
    return emitOpError("multiplies ")
           << a.getElementType() << " with " << b.getElementType();
  int64_t k = b.getDimSize(getTransposeB() ? 1 : 0);
  if (getK() != k)
    return emitOpError("A has ")
           << getK() << " columns but B has " << k << " rows";
  int64_t m = a.getDimSize(getTransposeA() ? 1 : 0);
  int64_t n = b.getDimSize(getTransposeB() ? 0 : 1);
  if (getM() != m || getN() != n)
    return emitOpError("result must be ")
           << m << "x" << n << ", not " << result;
  return success();
}

MmaOp AwaitOp::getMma() { return getPending().getDefiningOp<MmaOp>(); }

SmallVector<MmaOp, 2> AwaitOp::getMmas() {
  SmallVector<MmaOp, 2> mmas = {getMma()};
  while (Value onto = mmas.back().getOnto())
    mmas.push_back(onto.getDefiningOp<MmaOp>());
  return mmas;
}

LogicalResult AwaitOp::verify() {
  auto mma = getPending().getDefiningOp<MmaOp>();
  if (!mma || mma->getBlock() != (*this)->getBlock())
    return emitOpError("must wait for a tile.mma of its own block: no MMA may "
                       "be under way where control flow meets");
  if (!mma->hasOneUse())
    return emitOpError("must be the only use of the pending tile");
  return success();
}

LogicalResult RescaleOp::verify() {
  VectorType factor = getFactor().getType();
  if (factor.getDimSize(0) != getValue().getType().getDimSize(0))
    return emitOpError("factor must have one element for each row of ")
           << getValue().getType() << ", not " << factor;
  return success();
}

LogicalResult Exp2Op::verify() {
  if (getCoefficients().empty())
    return emitOpError("needs at least one coefficient of its polynomial");
  int64_t columns = getOperand().getType().getShape().back();
  int64_t previous = -1;
  for (int64_t pair : getPairs()) {
    if (pair <= previous || pair >= columns / 2)
      return emitOpError("pairs must be ascending column pairs of ")
             << getOperand().getType();
    previous = pair;
  }
  return success();
}
