//===- LaunchConditions.cpp - what calls must be like ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchConditions.h"
#include "Formula.h"
#include "TensorMaps.h"
#include "fa4/Conversion/TileToNVVM/KernelManifest.h"
#include "fa4/Dialect/Tile/IR/EmptyCall.h"
#include "fa4/Target/LaunchLimits.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace {
class ConditionCollector {
public:
  ConditionCollector(KernelOp kernel, const TensorMaps &maps,
                     ArrayRef<unsigned> pointers)
      : kernel(kernel), maps(maps), pointers(pointers) {}

  FailureOr<ArrayAttr> collect();

private:
  LogicalResult addSizes();
  LogicalResult addWorkTiles();
  LogicalResult addGrid();
  LogicalResult addCopiedStrides();
  LogicalResult addPointerStrides();
  LogicalResult addProgramConditions();
  LogicalResult requireRange(const Twine &subject, const Formula &value,
                             int64_t least, int64_t most);
  LogicalResult requireMultiple(const Twine &subject, const Formula &value,
                                int64_t factor);
  void add(StringRef condition, StringRef message);
  std::string describeStride(unsigned argument, int64_t dim, StringRef unit);
  /// The least value of a size, or of a product of sizes, in a call.
  int64_t getLeast(const Formula &value) {
    return mayBeEmpty(kernel) && !value.getNumber() ? 0 : 1;
  }
  MemRefType getType(unsigned argument) {
    return cast<MemRefType>(kernel.getArgumentTypes()[argument]);
  }

  KernelOp kernel;
  const TensorMaps &maps;
  ArrayRef<unsigned> pointers;
  SmallVector<Attribute> conditions;
};
} // namespace

bool fa4::tile::mayBeEmpty(KernelOp kernel) {
  return llvm::any_of(
      llvm::seq<unsigned>(kernel.getNumArguments()),
      [&](unsigned i) { return bool(kernel.getArgAttr(i, kArgIfEmpty)); });
}

void ConditionCollector::add(StringRef condition, StringRef message) {
  Builder builder(kernel.getContext());
  conditions.push_back(builder.getDictionaryAttr(
      {builder.getNamedAttr("condition", builder.getStringAttr(condition)),
       builder.getNamedAttr("message", builder.getStringAttr(message))}));
}

/// Adds the condition that a value is from `least` to `most`, or checks the
/// condition if the value is a number. `subject` is that of the sentence for
/// people: "size Sq".
LogicalResult ConditionCollector::requireRange(const Twine &subject,
                                               const Formula &value,
                                               int64_t least, int64_t most) {
  std::string sentence =
      llvm::formatv("{0} must be from {1} to {2}", subject, least, most);
  std::optional<int64_t> number = value.getNumber();
  if (number && (*number < least || *number > most))
    return kernel.emitOpError()
           << sentence << ", got "
           << (*number == INT64_MAX ? "2^63 or more" : std::to_string(*number));
  if (!number)
    add(value.isFrom(least, most), sentence);
  return success();
}

LogicalResult ConditionCollector::requireMultiple(const Twine &subject,
                                                  const Formula &value,
                                                  int64_t factor) {
  std::string sentence =
      llvm::formatv("{0} must be a multiple of {1}", subject, factor);
  std::optional<int64_t> number = value.getNumber();
  if (number && *number % factor)
    return kernel.emitOpError() << sentence << ", got " << *number;
  if (value.getDivisor() % factor)
    add(value.isMultipleOf(factor), sentence);
  return success();
}

/// Positions are computed in 32 bits, and a tensor map has no empty dimensions.
LogicalResult ConditionCollector::addSizes() {
  llvm::StringSet<> seen;
  for (auto [argument, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    auto memref = dyn_cast<MemRefType>(type);
    for (int64_t dim = 0; memref && dim < memref.getRank(); ++dim) {
      StringRef name = kernel.getDimName(argument, dim);
      // What is computed from another size is in range where this one is.
      if (getSizeBehind(name) || !seen.insert(name).second)
        continue;
      Formula size = Formula::size(name);
      std::string subject = size.getNumber()
                                ? llvm::formatv("dimension {0} of '{1}'", dim,
                                                kernel.getArgName(argument))
                                      .str()
                                : ("size " + name).str();
      if (failed(requireRange(subject, size, getLeast(size), kMaxSize)))
        return failure();
    }
  }
  return success();
}

/// The number of the tile behind the last one fits into 32 bits, too.
LogicalResult ConditionCollector::addWorkTiles() {
  constexpr int64_t kMost = int64_t(1) << 30;
  Formula tiles = countWorkTiles(kernel);
  if (kernel.getScheduleOrGrid() == Schedule::Static &&
      failed(requireRange(kSmCount + ", the number of SMs,",
                          Formula::name(kSmCount), kernel.getClusterSize(),
                          kMost)))
    return failure();
  return requireRange(tiles.str() + ", the number of work tiles,", tiles,
                      getLeast(tiles), kMost);
}

/// What addSizes asks for is enough along x.
LogicalResult ConditionCollector::addGrid() {
  if (kernel.getScheduleOrGrid() != Schedule::Grid)
    return addWorkTiles();
  for (auto [axis, ctas] : llvm::enumerate(getGrid(kernel))) {
    if (kMaxGrid[axis] >= kMaxSize)
      continue;
    std::string subject =
        llvm::formatv("{0}, the number of CTAs along {1} of the grid,",
                      ctas.str(), StringRef("xyz").substr(axis, 1));
    if (failed(requireRange(subject, ctas, getLeast(ctas), kMaxGrid[axis])))
      return failure();
  }
  return success();
}

std::string ConditionCollector::describeStride(unsigned argument, int64_t dim,
                                               StringRef unit) {
  return llvm::formatv("the stride of dimension {0} of '{1}', in {2},", dim,
                       kernel.getArgName(argument), unit);
}

/// Strides of tensors that the copy engine reads and writes.
LogicalResult ConditionCollector::addCopiedStrides() {
  llvm::SetVector<std::pair<unsigned, int64_t>> copied;
  for (const TensorMap &map : maps.getMaps())
    for (int64_t dim : ArrayRef(map.dims).drop_front())
      copied.insert({map.argument, dim});
  for (auto [argument, dim] : copied) {
    int64_t bytes = getType(argument).getElementTypeBitWidth() / 8;
    Formula stride = Formula(bytes) * getStride(kernel, argument, dim);
    std::string subject = describeStride(argument, dim, "bytes");
    if (failed(requireRange(subject, stride, 0, kTensorMapStrideEnd - 1)) ||
        failed(requireMultiple(subject, stride, kTensorMapAlignment)))
      return failure();
  }
  return success();
}

/// Strides that lanes compute addresses with.
LogicalResult ConditionCollector::addPointerStrides() {
  for (unsigned argument : pointers) {
    MemRefType type = getType(argument);
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      Formula stride = getStride(kernel, argument, dim);
      // A product of sizes is 0 where the tensor has no elements.
      int64_t least = type.getLayout().isIdentity() ? getLeast(stride) : 1;
      if (failed(requireRange(describeStride(argument, dim, "elements"), stride,
                              least, kTensorMapStrideEnd - 1)))
        return failure();
    }
  }
  return success();
}

/// Adds the conditions that the program states itself, in `tile.requires`.
LogicalResult ConditionCollector::addProgramConditions() {
  Attribute attr = kernel->getAttr(kRequiresAttr);
  if (!attr)
    return success();
  auto list = dyn_cast<ArrayAttr>(attr);
  for (Attribute element : list ? list.getValue() : ArrayRef<Attribute>(attr)) {
    auto entry = dyn_cast<DictionaryAttr>(element);
    auto condition = entry ? entry.getAs<StringAttr>("condition") : nullptr;
    auto message = entry ? entry.getAs<StringAttr>("message") : nullptr;
    if (!condition || !message)
      return kernel.emitOpError("has a '")
             << kRequiresAttr
             << "' that is no array of dictionaries with the strings "
                "'condition' and 'message'";
    add(condition, message);
  }
  return success();
}

FailureOr<ArrayAttr> ConditionCollector::collect() {
  if (failed(addSizes()) || failed(addGrid()) || failed(addCopiedStrides()) ||
      failed(addPointerStrides()) || failed(addProgramConditions()))
    return failure();
  return ArrayAttr::get(kernel.getContext(), conditions);
}

FailureOr<ArrayAttr>
fa4::tile::collectLaunchConditions(KernelOp kernel, const TensorMaps &maps,
                                   ArrayRef<unsigned> pointers) {
  return ConditionCollector(kernel, maps, pointers).collect();
}
