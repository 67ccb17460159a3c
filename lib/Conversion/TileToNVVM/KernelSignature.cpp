//===- KernelSignature.cpp - parameters of a kernel ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelSignature.h"
#include "fa4/Conversion/TileToNVVM/KernelManifest.h"
#include "fa4/Dialect/Tile/Analysis/MemoryMap.h"
#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"
#include "fa4/Dialect/Tile/IR/EmptyCall.h"
#include "fa4/Target/LaunchLimits.h"
#include "fa4/Target/TargetDescription.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

static bool isArgument(Value memref) {
  auto argument = dyn_cast<BlockArgument>(memref);
  return argument && isa<KernelOp>(argument.getOwner()->getParentOp());
}

MemRefType KernelSignature::memrefType(unsigned argument) const {
  return cast<MemRefType>(getKernel().getArgumentTypes()[argument]);
}

/// Returns the stride of a dimension in elements, as an expression over the
/// manifest's sizes.
std::string KernelSignature::strideExpression(unsigned argument,
                                              int64_t dim) const {
  MemRefType type = memrefType(argument);
  SmallVector<int64_t> strides;
  int64_t offset;
  (void)type.getStridesAndOffset(strides, offset);
  if (!ShapedType::isDynamic(strides[dim]))
    return std::to_string(strides[dim]);
  if (!type.getLayout().isIdentity())
    return llvm::formatv("{0}_stride{1}", getKernel().getArgName(argument),
                         dim);
  int64_t number = 1;
  std::string names;
  for (int64_t inner = dim + 1; inner < type.getRank(); ++inner) {
    StringRef name = getKernel().getDimName(argument, inner);
    if (auto size = getStaticSize(name))
      number *= *size;
    else
      names += (names.empty() ? "" : " * ") + name.str();
  }
  return number == 1 ? names : std::to_string(number) + " * " + names;
}

void KernelSignature::addParameter(Type type, ArrayRef<NamedAttribute> entries,
                                   bool isTensorMap) {
  parameters.push_back(
      {type, DictionaryAttr::get(kernel.getContext(), entries), isTensorMap});
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

/// Returns the channel through which the tile of a load or a store goes.
static ChannelOp findChannel(Operation *op) {
  if (isa<LoadOp>(op)) {
    for (Operation *user : op->getUsers())
      if (auto commit = dyn_cast<CommitOp>(user))
        return commit.getChannel().getDefiningOp<ChannelOp>();
    return {};
  }
  for (Value stored : getOrigins(op->getOperand(0), FlowThrough::Views))
    if (auto wait = stored.getDefiningOp<WaitOp>())
      return wait.getChannel().getDefiningOp<ChannelOp>();
  return {};
}

/// Checks that TMA can copy tiles of a tensor of this type.
static LogicalResult checkTensor(Operation *op, MemRefType type,
                                 VectorType tile, ArrayRef<int64_t> tileDims,
                                 bool hasEnd) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) ||
      strides[tileDims.back()] != 1)
    return op->emitOpError("copies a tile whose columns are not contiguous in "
                           "memory: its last dimension must have stride 1 in ")
           << type;
  if (type.getRank() > kMaxTensorMapRank)
    return op->emitOpError("accesses a tensor of ")
           << type.getRank() << " dimensions; TMA supports at most "
           << kMaxTensorMapRank;
  if (hasEnd && type.getRank() == kMaxTensorMapRank)
    return op->emitOpError("says 'to' of a tensor of more than ")
           << kMaxTensorMapRank - 1 << " dimensions; 'to' takes one of TMA's "
           << kMaxTensorMapRank << ", got " << type.getRank();
  if (hasEnd && tileDims.size() != 2)
    return op->emitOpError("says 'to' of a tile of ")
           << tileDims.size() << " dimension that TMA stores; it must have 2";
  int64_t bytes = tile.getElementTypeBitWidth() / 8;
  if (!ShapedType::isDynamic(offset) &&
      offset * bytes % kTensorMapAlignment != 0)
    return op->emitOpError("copies from a tensor that begins ")
           << offset * bytes
           << " bytes behind an aligned address, which is not "
           << "a multiple of " << kTensorMapAlignment;
  return success();
}

/// Sets the dimensions of the map, and how much of each a copy takes.
static LogicalResult setBox(Operation *op, MemRefType type, VectorType tile,
                            ArrayRef<int64_t> tileDims, TensorMap &map) {
  int64_t contiguous = tileDims.back();
  map.dims.push_back(contiguous);
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim)
    if (dim != contiguous)
      map.dims.push_back(dim);
  int64_t bytes = tile.getElementTypeBitWidth() / 8;
  for (int64_t dim : map.dims) {
    const auto *at = llvm::find(tileDims, dim);
    int64_t box =
        at == tileDims.end() ? 1 : tile.getDimSize(at - tileDims.begin());
    if (dim == contiguous && map.span)
      box = map.span / bytes;
    if (box > kMaxTensorMapBox)
      return op->emitOpError("copies ")
             << box << " elements of one dimension at once; TMA copies at most "
             << kMaxTensorMapBox;
    map.box.push_back(box);
  }
  if (map.box.front() * bytes % kTensorMapAlignment)
    return op->emitOpError("copies rows of ")
           << map.box.front() * bytes << " bytes; TMA copies multiples of "
           << kTensorMapAlignment;
  return success();
}

LogicalResult KernelSignature::addMap(Operation *op, Value memref,
                                      VectorType tile,
                                      ArrayRef<int64_t> tileDims, bool hasEnd) {
  if (!isArgument(memref))
    return op->emitOpError(
        "must access a memref that is an argument of the kernel");
  auto type = cast<MemRefType>(memref.getType());
  TensorMap map;
  map.argument = cast<BlockArgument>(memref).getArgNumber();
  ChannelOp channel = findChannel(op);
  map.span = channel ? getSwizzleSpan(channel) : getSwizzleSpan(tile);
  if (failed(checkTensor(op, type, tile, tileDims, hasEnd)) ||
      failed(setBox(op, type, tile, tileDims, map)))
    return failure();
  if (hasEnd) {
    map.second = map.dims.size();
    map.dims.push_back(tileDims.front());
    map.box.push_back(1);
  }
  auto *known = llvm::find(maps, map);
  mapOf[op] = known - maps.begin();
  if (known == maps.end())
    maps.push_back(map);
  return success();
}

/// Returns the memref, the tile's type and its dimensions of an op that copies
/// a tile by TMA. The type is null for other ops.
static std::tuple<Value, VectorType, SmallVector<int64_t>>
copiedTile(Operation *op) {
  using Result = std::tuple<Value, VectorType, SmallVector<int64_t>>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([](LoadOp op) {
        return Result(op.getSource(), op.getPartType(), op.getTileDims());
      })
      .Case<StoreOp, ReduceAddOp>([](auto op) {
        return Result(op.getDest(), op.getTile().getType(), op.getTileDims());
      })
      .Default(Result());
}

LogicalResult KernelSignature::collectMaps() {
  SmallVector<Operation *> ops;
  WalkResult result = kernel.walk([&](Operation *op) {
    auto [memref, tile, dims] = copiedTile(op);
    if (!tile)
      return WalkResult::advance();
    ops.push_back(op);
    auto store = dyn_cast<StoreOp>(op);
    return WalkResult(addMap(op, memref, tile, dims, store && store.getTo()));
  });
  if (result.wasInterrupted())
    return failure();
  SmallVector<unsigned> order =
      llvm::to_vector(llvm::seq<unsigned>(maps.size()));
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::pair(maps[a].argument, a) < std::pair(maps[b].argument, b);
  });
  mapParameters.resize(maps.size());
  auto pointer = LLVM::LLVMPointerType::get(kernel.getContext());
  Builder builder(kernel.getContext());
  for (unsigned index : order) {
    mapParameters[index] = parameters.size();
    addParameter(pointer,
                 builder.getNamedAttr("tensormap", describeMap(maps[index])),
                 /*isTensorMap=*/true);
  }
  return success();
}

static ArrayAttr stringArray(Builder &builder, ArrayRef<std::string> strings) {
  return builder.getArrayAttr(
      llvm::map_to_vector(strings, [&](const std::string &s) -> Attribute {
        return builder.getStringAttr(s);
      }));
}

/// Returns `bytes` times the expression (see strideExpression): a number if the
/// expression is one, else a product of numbers and names.
static std::string timesBytes(int64_t bytes, const std::string &expression) {
  if (auto number = getStaticSize(expression))
    return std::to_string(bytes * *number);
  return std::to_string(bytes) + " * " + expression;
}

DictionaryAttr KernelSignature::describeMap(const TensorMap &map) const {
  Builder builder(getKernel().getContext());
  SmallVector<std::string> dims, strides;
  int64_t bytes = memrefType(map.argument).getElementTypeBitWidth() / 8;
  for (auto [index, dim] : llvm::enumerate(map.dims)) {
    dims.push_back(getKernel().getDimName(map.argument, dim).str());
    if (index != 0)
      strides.push_back(std::to_string(bytes) + " * " +
                        strideExpression(map.argument, dim));
  }
  SmallVector<NamedAttribute> entries;
  if (map.second != -1) {
    // One coordinate for each row that a store may end at, and for the end.
    std::string &rows = dims[map.second];
    auto number = getStaticSize(rows);
    rows = number ? std::to_string(*number + 1) : rows + " + 1";
    dims[map.getFirst()] = std::to_string(map.getRows());
    std::string stride = strideExpression(map.argument, map.dims[map.second]);
    entries.push_back(builder.getNamedAttr(
        "offset",
        builder.getStringAttr(timesBytes(-map.getRows() * bytes, stride))));
  }
  StringRef swizzle = map.span == 128  ? "128B"
                      : map.span == 64 ? "64B"
                      : map.span == 32 ? "32B"
                                       : "none";
  llvm::append_values(
      entries,
      builder.getNamedAttr("tensor", builder.getStringAttr(
                                         getKernel().getArgName(map.argument))),
      builder.getNamedAttr("dims", stringArray(builder, dims)),
      builder.getNamedAttr("byte_strides", stringArray(builder, strides)),
      builder.getNamedAttr("box", builder.getI64ArrayAttr(map.box)),
      builder.getNamedAttr("swizzle", builder.getStringAttr(swizzle)));
  return builder.getDictionaryAttr(entries);
}

//===----------------------------------------------------------------------===//
// Pointers, scalars, sizes
//===----------------------------------------------------------------------===//

LogicalResult KernelSignature::collectPointers() {
  Builder builder(kernel.getContext());
  llvm::SmallSetVector<unsigned, 4> accessed;
  WalkResult result = kernel.walk([&](Operation *op) {
    auto put = dyn_cast<PutOp>(op);
    auto load = dyn_cast<LoadScalarOp>(op);
    auto turn = dyn_cast<AwaitTurnOp>(op);
    if (!put && !load && !turn)
      return WalkResult::advance();
    Value memref = put    ? put.getDest()
                   : load ? load.getSource()
                          : turn.getTurns();
    if (!isArgument(memref))
      return WalkResult(op->emitOpError(
          "must access a memref that is an argument of the kernel"));
    accessed.insert(cast<BlockArgument>(memref).getArgNumber());
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  SmallVector<unsigned> arguments = accessed.takeVector();
  llvm::sort(arguments);
  for (unsigned argument : arguments) {
    MemRefType type = memrefType(argument);
    SmallVector<int64_t> typeStrides;
    int64_t offset;
    if (failed(type.getStridesAndOffset(typeStrides, offset)))
      return kernel.emitOpError("argument of type ")
             << type << " has no strides";
    pointers[argument] = parameters.size();
    addParameter(
        LLVM::LLVMPointerType::get(kernel.getContext(), /*addressSpace=*/1),
        builder.getNamedAttr(
            "tensor", builder.getStringAttr(kernel.getArgName(argument))));
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      std::string expression = strideExpression(argument, dim);
      if (!ShapedType::isDynamic(typeStrides[dim]) || strides.count(expression))
        continue;
      strides[expression] = parameters.size();
      addParameter(
          builder.getI64Type(),
          {builder.getNamedAttr("value", builder.getStringAttr(expression)),
           builder.getNamedAttr("type", builder.getStringAttr("i64"))});
    }
  }
  return success();
}

void KernelSignature::collectScalars() {
  Builder builder(kernel.getContext());
  for (auto [argument, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    if (isa<MemRefType>(type))
      continue;
    scalars[argument] = parameters.size();
    Type lowered = type.isIndex() ? builder.getI32Type() : type;
    addParameter(
        lowered,
        {builder.getNamedAttr(
             "value", builder.getStringAttr(kernel.getArgName(argument))),
         builder.getNamedAttr(
             "type", builder.getStringAttr(type.isF32() ? "f32" : "i32"))});
  }
}

void KernelSignature::addSize(StringRef name) {
  if (getStaticSize(name) || sizes.count(name))
    return;
  Builder builder(kernel.getContext());
  sizes[name] = parameters.size();
  addParameter(builder.getI32Type(),
               {builder.getNamedAttr("value", builder.getStringAttr(name)),
                builder.getNamedAttr("type", builder.getStringAttr("i32"))});
}

LogicalResult KernelSignature::collectSizes() {
  // Coordinates are computed from numbers of work tiles.
  if (kernel.getScheduleOrGrid() != Schedule::Grid) {
    for (auto extent : kernel.getGrid().getAsRange<ExtentAttr>())
      addSize(extent.getSize());
    if (OrderAttr order = kernel.getOrderAttr(); order && order.getSize())
      addSize(order.getSize().getValue());
  }
  WalkResult result = kernel.walk([&](Operation *op) {
    if (auto put = dyn_cast<PutOp>(op))
      addSize(kernel.getDimName(
          cast<BlockArgument>(put.getDest()).getArgNumber(), put.getDim()));
    // A bound of rows behind the end of the tensor counts as the end.
    if (auto store = dyn_cast<StoreOp>(op); store && store.getTo())
      addSize(
          kernel.getDimName(cast<BlockArgument>(store.getDest()).getArgNumber(),
                            store.getTileDims().front()));
    if (auto load = dyn_cast<LoadScalarOp>(op)) {
      unsigned number = cast<BlockArgument>(load.getSource()).getArgNumber();
      for (int64_t dim = 0; dim < memrefType(number).getRank(); ++dim)
        addSize(kernel.getDimName(number, dim));
    }
    auto dim = dyn_cast<memref::DimOp>(op);
    // Upstream's operations, as memref.rank, take any memref.
    if (!dim && !isa_and_nonnull<TileDialect>(op->getDialect()) &&
        llvm::any_of(op->getOperandTypes(), llvm::IsaPred<BaseMemRefType>))
      return WalkResult(op->emitOpError(
          "takes a tensor of the kernel, which only memref.dim and operations "
          "of the tile dialect can"));
    if (!dim)
      return WalkResult::advance();
    auto source = dyn_cast<BlockArgument>(dim.getSource());
    std::optional<int64_t> index = dim.getConstantIndex();
    if (!source || source.getOwner()->getParentOp() != kernel || !index)
      return WalkResult(op->emitOpError(
          "must name a dimension of a kernel argument by a constant index"));
    // memref.dim's verifier allows an index out of bounds, which is undefined
    // behaviour.
    int64_t rank = cast<MemRefType>(source.getType()).getRank();
    if (*index < 0 || *index >= rank)
      return WalkResult(op->emitOpError("asks for the size of dimension ")
                        << *index << " of a tensor of " << rank
                        << " dimensions");
    addSize(kernel.getDimName(source.getArgNumber(), *index));
    return WalkResult::advance();
  });
  return success(!result.wasInterrupted());
}

std::variant<unsigned, int64_t> KernelSignature::size(unsigned argument,
                                                      int64_t dim) const {
  return size(getKernel().getDimName(argument, dim));
}

std::variant<unsigned, int64_t> KernelSignature::size(StringRef name) const {
  if (auto number = getStaticSize(name))
    return *number;
  return sizes.find(name)->second;
}

std::variant<unsigned, int64_t> KernelSignature::stride(unsigned argument,
                                                        int64_t dim) const {
  std::string expression = strideExpression(argument, dim);
  if (auto number = getStaticSize(expression))
    return *number;
  return strides.find(expression)->second;
}

//===----------------------------------------------------------------------===//
// Conditions on sizes
//===----------------------------------------------------------------------===//

/// Adds the condition that `expression` is from `least` to `most`, or checks
/// the condition if `expression` is a number. `what` is the subject of the
/// sentence for people: "size Sq".
LogicalResult KernelSignature::requireRange(StringRef what,
                                            const std::string &expression,
                                            int64_t least, int64_t most) {
  std::string sentence =
      llvm::formatv("{0} must be from {1} to {2}", what, least, most);
  if (auto number = getStaticSize(expression)) {
    if (*number >= least && *number <= most)
      return success();
    return getKernel().emitOpError() << sentence << ", got " << *number;
  }
  requirements.push_back(
      {llvm::formatv("{0} >= {1} && {0} <= {2}", expression, least, most),
       std::move(sentence)});
  return success();
}

/// A number that divides a product of numbers and names, whatever the sizes
/// are.
static int64_t getDivisor(StringRef product) {
  int64_t divisor = 1;
  SmallVector<StringRef> factors;
  product.split(factors, " * ");
  for (StringRef factor : factors) {
    if (auto number = getStaticSize(factor))
      divisor *= *number;
    else if (auto aligned = getAlignedSize(factor))
      divisor *= aligned->multiple;
  }
  return divisor;
}

LogicalResult KernelSignature::requireMultiple(StringRef what,
                                               const std::string &expression,
                                               int64_t factor) {
  std::string sentence =
      llvm::formatv("{0} must be a multiple of {1}", what, factor);
  auto number = getStaticSize(expression);
  if (number && *number % factor)
    return getKernel().emitOpError() << sentence << ", got " << *number;
  if (number || getDivisor(expression) % factor == 0)
    return success();
  requirements.push_back(
      {llvm::formatv("{0} % {1} == 0", expression, factor), sentence});
  return success();
}

bool KernelSignature::mayBeEmpty() const {
  return llvm::any_of(
      llvm::seq<unsigned>(getKernel().getNumArguments()),
      [&](unsigned i) { return bool(getKernel().getArgAttr(i, kArgIfEmpty)); });
}

int64_t KernelSignature::getLeast(StringRef expression) const {
  return mayBeEmpty() && !getStaticSize(expression) ? 0 : 1;
}

/// Positions are computed in 32 bits, and a tensor map has no empty dimensions.
LogicalResult KernelSignature::addSizeConditions() {
  llvm::StringSet<> seen;
  for (auto [argument, type] :
       llvm::enumerate(getKernel().getArgumentTypes())) {
    auto memref = dyn_cast<MemRefType>(type);
    for (int64_t dim = 0; memref && dim < memref.getRank(); ++dim) {
      StringRef name = getKernel().getDimName(argument, dim);
      // What is rounded up from another size is in range where this one is.
      if (getAlignedSize(name) || !seen.insert(name).second)
        continue;
      std::string what = getStaticSize(name)
                             ? llvm::formatv("dimension {0} of '{1}'", dim,
                                             getKernel().getArgName(argument))
                                   .str()
                             : llvm::formatv("size {0}", name).str();
      if (failed(requireRange(what, name.str(), getLeast(name), kMaxSize)))
        return failure();
    }
  }
  return success();
}

static std::string gridExpression(ExtentAttr extent) {
  if (extent.getTile() == 1)
    return extent.getSize().str();
  if (auto number = getStaticSize(extent.getSize()))
    return std::to_string(llvm::divideCeil(*number, extent.getTile()));
  return llvm::formatv("ceildiv({0}, {1})", extent.getSize(), extent.getTile());
}

/// The number of work tiles, or of clusters of them.
static std::string tilesExpression(KernelOp kernel) {
  std::string product;
  uint64_t number = 1;
  bool isNumber = true;
  for (unsigned axis = 0; axis < kernel.getGrid().size(); ++axis) {
    std::string each = gridExpression(kernel.getNumberedExtent(axis));
    product += (product.empty() ? "" : " * ") + each;
    std::optional<int64_t> size = getStaticSize(each);
    isNumber &= size.has_value();
    number = llvm::SaturatingMultiply<uint64_t>(number, size.value_or(1));
  }
  return isNumber ? std::to_string(number) : product;
}

/// The number of CTAs of so many clusters, the last of which may have CTAs
/// without a work tile.
static std::string clusterExpression(StringRef clusters, int64_t size) {
  if (size == 1)
    return clusters.str();
  if (auto number = getStaticSize(clusters))
    return std::to_string(*number * size);
  return llvm::formatv("{0} * {1}", size, clusters);
}

static SmallVector<std::string> gridExpressions(KernelOp kernel) {
  if (kernel.getScheduleOrGrid() == Schedule::Grid) {
    SmallVector<std::string> grid = llvm::map_to_vector(
        kernel.getGrid().getAsRange<ExtentAttr>(), gridExpression);
    if (ClusterAttr cluster = kernel.getClusterAttr())
      grid[cluster.getAxis()] = clusterExpression(
          gridExpression(kernel.getNumberedExtent(cluster.getAxis())),
          cluster.getSize());
    return grid;
  }
  int64_t size = kernel.getClusterSize();
  std::string tiles = tilesExpression(kernel);
  if (kernel.getScheduleOrGrid() == Schedule::Static) {
    std::string sms = kSmCount.str();
    if (size != 1)
      sms = llvm::formatv("{0} / {1}", sms, size);
    tiles = "min(" + sms + ", " + tiles + ")";
  }
  return {clusterExpression(tiles, size)};
}

/// The CTAs of a cluster along the axes of the launch.
static SmallVector<int64_t> clusterShape(KernelOp kernel) {
  SmallVector<int64_t> shape(3, 1);
  bool isGrid = kernel.getScheduleOrGrid() == Schedule::Grid;
  shape[isGrid ? kernel.getClusterAttr().getAxis() : 0] =
      kernel.getClusterSize();
  return shape;
}

LogicalResult KernelSignature::addGridConditions() {
  if (getKernel().getScheduleOrGrid() != Schedule::Grid) {
    // The number of the tile behind the last one fits into 32 bits, too.
    std::string tiles = clusterExpression(tilesExpression(getKernel()),
                                          getKernel().getClusterSize());
    if (getKernel().getScheduleOrGrid() == Schedule::Static &&
        failed(requireRange((kSmCount + ", the number of SMs,").str(),
                            kSmCount.str(), getKernel().getClusterSize(),
                            int64_t(1) << 30)))
      return failure();
    return requireRange(tiles + ", the number of work tiles,", tiles,
                        getLeast(tiles), int64_t(1) << 30);
  }
  for (auto [axis, extent] :
       llvm::enumerate(getKernel().getGrid().getAsRange<ExtentAttr>())) {
    // What addSizeConditions asks for is enough along x.
    if (kMaxGrid[axis] >= kMaxSize)
      continue;
    std::string ctas = gridExpressions(getKernel())[axis];
    std::string what =
        llvm::formatv("{0}, the number of CTAs along {1} of the grid,", ctas,
                      StringRef("xyz").substr(axis, 1));
    if (failed(requireRange(what, ctas, getLeast(ctas), kMaxGrid[axis])))
      return failure();
  }
  return success();
}

/// Strides of tensors that the copy engine reads and writes, and those that
/// lanes compute addresses with.
LogicalResult KernelSignature::addStrideConditions() {
  llvm::SetVector<std::pair<unsigned, int64_t>> copied, written;
  for (const TensorMap &map : maps)
    for (int64_t dim : ArrayRef(map.dims).drop_front())
      copied.insert({map.argument, dim});
  for (auto [argument, parameter] : pointers)
    for (int64_t dim = 0; dim < memrefType(argument).getRank(); ++dim)
      written.insert({argument, dim});
  auto subject = [&](unsigned argument, int64_t dim, StringRef unit) {
    return llvm::formatv("the stride of dimension {0} of '{1}', in {2},", dim,
                         getKernel().getArgName(argument), unit)
        .str();
  };
  for (auto [argument, dim] : copied) {
    int64_t bytes = memrefType(argument).getElementTypeBitWidth() / 8;
    std::string stride = timesBytes(bytes, strideExpression(argument, dim));
    std::string what = subject(argument, dim, "bytes");
    if (failed(requireRange(what, stride, 0, kTensorMapStrideEnd - 1)) ||
        failed(requireMultiple(what, stride, kTensorMapAlignment)))
      return failure();
  }
  for (auto [argument, dim] : written) {
    std::string stride = strideExpression(argument, dim);
    // A product of sizes, which is 0 where the tensor has no elements.
    bool isProduct = memrefType(argument).getLayout().isIdentity();
    if (failed(requireRange(subject(argument, dim, "elements"), stride,
                            isProduct ? getLeast(stride) : 1,
                            kTensorMapStrideEnd - 1)))
      return failure();
  }
  return success();
}

/// Adds the conditions that the program states itself, in `tile.requires`.
LogicalResult KernelSignature::addProgramConditions() {
  Attribute attr = getKernel()->getAttr(kRequiresAttr);
  if (!attr)
    return success();
  auto list = dyn_cast<ArrayAttr>(attr);
  for (Attribute element : list ? list.getValue() : ArrayRef<Attribute>(attr)) {
    auto entry = dyn_cast<DictionaryAttr>(element);
    auto condition = entry ? entry.getAs<StringAttr>("condition") : nullptr;
    auto message = entry ? entry.getAs<StringAttr>("message") : nullptr;
    if (!condition || !message)
      return getKernel().emitOpError("has a '")
             << kRequiresAttr
             << "' that is no array of dictionaries with the strings "
                "'condition' and 'message'";
    requirements.push_back({condition.str(), message.str()});
  }
  return success();
}

LogicalResult KernelSignature::addConditions() {
  return failure(failed(addSizeConditions()) || failed(addGridConditions()) ||
                 failed(addStrideConditions()) ||
                 failed(addProgramConditions()));
}

//===----------------------------------------------------------------------===//
// Manifest and function
//===----------------------------------------------------------------------===//

static StringRef dtypeName(Type type) {
  return llvm::TypeSwitch<Type, StringRef>(type)
      .Case([](BFloat16Type) { return "bf16"; })
      .Case([](Float16Type) { return "f16"; })
      .Case([](Float32Type) { return "f32"; })
      .Case([](Float8E4M3FNType) { return "e4m3"; })
      .Case([](Float8E5M2Type) { return "e5m2"; })
      .Case([](IntegerType type) {
        return type.getWidth() == 64 ? "i64" : "i32";
      })
      .Default([](Type) { return "i32"; });
}

DictionaryAttr KernelSignature::describeTensors() const {
  Builder builder(getKernel().getContext());
  llvm::DenseSet<unsigned> read, written;
  getKernel().walk([&](Operation *inner) {
    auto number = [](Value v) { return cast<BlockArgument>(v).getArgNumber(); };
    llvm::TypeSwitch<Operation *>(inner)
        .Case<LoadOp, LoadScalarOp>(
            [&](auto op) { read.insert(number(op.getSource())); })
        .Case<StoreOp, PutOp>(
            [&](auto op) { written.insert(number(op.getDest())); })
        .Case([&](ReduceAddOp op) {
          read.insert(number(op.getDest()));
          written.insert(number(op.getDest()));
        })
        .Case([&](AwaitTurnOp op) {
          read.insert(number(op.getTurns()));
          written.insert(number(op.getTurns()));
        });
  });
  SmallVector<NamedAttribute> tensors;
  for (auto [argument, type] :
       llvm::enumerate(getKernel().getArgumentTypes())) {
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref)
      continue;
    SmallVector<std::string> shape, strideNames;
    for (int64_t dim = 0; dim < memref.getRank(); ++dim) {
      shape.push_back(getKernel().getDimName(argument, dim).str());
      strideNames.push_back(strideExpression(argument, dim));
    }
    StringRef role = !written.contains(argument) ? "in"
                     : read.contains(argument)   ? "inout"
                                                 : "out";
    SmallVector<NamedAttribute> entries = {
        builder.getNamedAttr(
            "dtype", builder.getStringAttr(dtypeName(memref.getElementType()))),
        builder.getNamedAttr("shape", stringArray(builder, shape)),
        builder.getNamedAttr("role", builder.getStringAttr(role))};
    if (llvm::any_of(maps, [argument = argument](const TensorMap &map) {
          return map.argument == argument;
        }))
      entries.push_back(builder.getNamedAttr(
          "alignment", builder.getI64IntegerAttr(kTensorMapAlignment)));
    if (written.contains(argument))
      entries.push_back(
          builder.getNamedAttr("exclusive", builder.getBoolAttr(true)));
    if (getKernel().getOutputKind(argument) == OutputKind::Ordered)
      entries.push_back(
          builder.getNamedAttr("ordered", builder.getBoolAttr(true)));
    if (!memref.getLayout().isIdentity())
      entries.push_back(
          builder.getNamedAttr("strides", stringArray(builder, strideNames)));
    tensors.push_back(builder.getNamedAttr(getKernel().getArgName(argument),
                                           builder.getDictionaryAttr(entries)));
  }
  return builder.getDictionaryAttr(tensors);
}

/// The number as manifests have it. Infinities are no numbers of JSON.
static Attribute describeNumber(Builder &builder, double number) {
  if (std::isinf(number))
    return builder.getStringAttr(number < 0 ? "-inf" : "inf");
  if (number == 0)
    return builder.getI64IntegerAttr(0);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.9g", number);
  return builder.getStringAttr(text);
}

DictionaryAttr KernelSignature::describeEmpty() const {
  Builder builder(getKernel().getContext());
  llvm::SetVector<StringRef> names;
  SmallVector<Attribute> fills;
  for (auto [argument, type] :
       llvm::enumerate(getKernel().getArgumentTypes())) {
    auto memref = dyn_cast<MemRefType>(type);
    for (int64_t dim = 0; memref && dim < memref.getRank(); ++dim) {
      StringRef name = getKernel().getDimName(argument, dim);
      if (std::optional<AlignedSize> aligned = getAlignedSize(name))
        name = aligned->name;
      if (!getStaticSize(name))
        names.insert(name);
    }
    auto number =
        getKernel().getArgAttrOfType<FloatAttr>(argument, kArgIfEmpty);
    if (number)
      fills.push_back(builder.getDictionaryAttr(
          {builder.getNamedAttr(
               "tensor",
               builder.getStringAttr(getKernel().getArgName(argument))),
           builder.getNamedAttr(
               "value", describeNumber(builder, number.getValueAsDouble()))}));
  }
  if (names.empty())
    return {};
  std::string condition;
  for (StringRef name : names)
    condition += (condition.empty() ? "" : " || ") + name.str() + " == 0";
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("condition", builder.getStringAttr(condition)),
       builder.getNamedAttr("fills", builder.getArrayAttr(fills))});
}

/// Collects the names that an expression may use: sizes, free strides, scalars.
static ArrayAttr collectNames(KernelOp kernel, Builder &builder) {
  SmallVector<Attribute> names;
  llvm::StringSet<> seen;
  auto add = [&](const Twine &twine) {
    std::string name = twine.str();
    if (std::optional<AlignedSize> aligned = getAlignedSize(name))
      name = aligned->name.str();
    if (!getStaticSize(name) && seen.insert(name).second)
      names.push_back(builder.getStringAttr(name));
  };
  for (auto [argument, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref) {
      add(kernel.getArgName(argument));
      continue;
    }
    SmallVector<int64_t> strides;
    int64_t offset;
    (void)memref.getStridesAndOffset(strides, offset);
    for (int64_t dim = 0; dim < memref.getRank(); ++dim) {
      add(kernel.getDimName(argument, dim));
      if (!memref.getLayout().isIdentity() &&
          ShapedType::isDynamic(strides[dim]))
        add(kernel.getArgName(argument) + "_stride" + Twine(dim));
    }
  }
  return builder.getArrayAttr(names);
}

DictionaryAttr KernelSignature::buildManifest() const {
  Builder builder(getKernel().getContext());
  SmallVector<Attribute> conditions;
  for (const Requirement &requirement : requirements)
    conditions.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("condition",
                              builder.getStringAttr(requirement.condition)),
         builder.getNamedAttr("message",
                              builder.getStringAttr(requirement.message))}));
  SmallVector<Attribute> params;
  for (const Parameter &parameter : parameters)
    params.push_back(parameter.description);
  SmallVector<std::string> arguments;
  for (unsigned i = 0; i < getKernel().getNumArguments(); ++i)
    arguments.push_back(getKernel().getArgName(i).str());
  SmallVector<NamedAttribute> registers;
  for (RoleOp role : getKernel().getBody().getOps<RoleOp>())
    if (role.getRegisters())
      registers.push_back(builder.getNamedAttr(
          role.getSymName(), builder.getI64IntegerAttr(*role.getRegisters())));
  auto resources = builder.getDictionaryAttr(
      {builder.getNamedAttr("chip", getKernel().getChipAttr()),
       builder.getNamedAttr("tmem_columns",
                            builder.getI64IntegerAttr(layout.tensorColumns)),
       builder.getNamedAttr("entry_registers",
                            builder.getI64IntegerAttr(layout.entryRegisters)),
       builder.getNamedAttr("role_registers",
                            builder.getDictionaryAttr(registers))});
  SmallVector<NamedAttribute> manifest(
      {builder.getNamedAttr("sizes", collectNames(kernel, builder)),
       builder.getNamedAttr("requires", builder.getArrayAttr(conditions)),
       builder.getNamedAttr("tensors", describeTensors()),
       builder.getNamedAttr("grid",
                            stringArray(builder, gridExpressions(getKernel()))),
       builder.getNamedAttr("block", builder.getI64ArrayAttr({layout.threads})),
       builder.getNamedAttr("dynamic_smem",
                            builder.getI64IntegerAttr(layout.sharedBytes)),
       builder.getNamedAttr("params", builder.getArrayAttr(params)),
       builder.getNamedAttr(kArguments, stringArray(builder, arguments)),
       builder.getNamedAttr("resources", resources)});
  if (getKernel().getCluster())
    manifest.push_back(builder.getNamedAttr(
        "cluster", builder.getI64ArrayAttr(clusterShape(getKernel()))));
  const TargetDescription *target = lookupTarget(getKernel().getChip());
  if (target && getKernel().getScheduleOrGrid() == Schedule::Static)
    manifest.push_back(builder.getNamedAttr(
        kSmCount, builder.getI64IntegerAttr(target->smCount)));
  if (getKernel()->hasAttr(kProgrammaticLaunchAttr))
    manifest.push_back(
        builder.getNamedAttr(kProgrammatic, builder.getBoolAttr(true)));
  if (DictionaryAttr empty = mayBeEmpty() ? describeEmpty() : DictionaryAttr())
    manifest.push_back(builder.getNamedAttr(kEmpty, empty));
  return builder.getDictionaryAttr(manifest);
}

LLVM::LLVMFuncOp KernelSignature::createFunction(OpBuilder &builder) const {
  MLIRContext *context = builder.getContext();
  auto types = llvm::map_to_vector(parameters, [](auto &p) { return p.type; });
  auto function = LLVM::LLVMFuncOp::create(
      builder, getKernel().getLoc(), getKernel().getSymName(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types));
  auto mapType = LLVM::LLVMArrayType::get(builder.getI8Type(), 128);
  for (auto [index, parameter] : llvm::enumerate(parameters)) {
    if (!parameter.isTensorMap)
      continue;
    function.setArgAttr(index, LLVM::LLVMDialect::getByValAttrName(),
                        TypeAttr::get(mapType));
    function.setArgAttr(index, LLVM::LLVMDialect::getAlignAttrName(),
                        builder.getI64IntegerAttr(128));
    function.setArgAttr(index, NVVM::NVVMDialect::getGridConstantAttrName(),
                        builder.getUnitAttr());
  }
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                    builder.getUnitAttr());
  // ptxas ignores setmaxnreg unless it knows the number of registers at entry,
  // which it computes from these two attributes.
  function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                    builder.getDenseI32ArrayAttr(
                        {static_cast<int32_t>(layout.threads), 1, 1}));
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    builder.getI32IntegerAttr(1));
  if (getKernel().getCluster())
    function->setAttr(
        NVVM::NVVMDialect::getClusterDimAttrName(),
        builder.getDenseI32ArrayAttr(llvm::map_to_vector(
            clusterShape(getKernel()), [](int64_t n) { return int32_t(n); })));
  function->setAttr(kManifestAttr, buildManifest());
  return function;
}

FailureOr<KernelSignature>
KernelSignature::compute(KernelOp kernel, const KernelLayout &layout) {
  KernelSignature signature(kernel, layout);
  if (failed(signature.collectMaps()) || failed(signature.collectPointers()))
    return failure();
  signature.collectScalars();
  if (failed(signature.collectSizes()) || failed(signature.addConditions()))
    return failure();
  return signature;
}
