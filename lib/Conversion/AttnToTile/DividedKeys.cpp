//===- DividedKeys.cpp - few queries, whose keys CTAs divide ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DividedKeys.h"
#include "CaptureReads.h"
#include "MergeSplitsProgram.h"
#include "PositionForms.h"
#include "SdpaProgram.h"
#include "VisibleBlocks.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

/// The most queries of a sequence for which keys are divided: those of a step
/// of decoding, and of the drafts of speculative decoding.
static constexpr int64_t kMostDividedQueries = 16;
/// There is at most one split for so many keys that there is room for, so that
/// loading a split's keys takes longer than what a CTA does once.
static constexpr int64_t kKeysOfSplit = 256;
/// The least number of keys of a split whose keys are fixed. Each split costs
/// its start, and a state that is merged.
static constexpr int64_t kKeysOfFixedSplit = 1024;
/// How many CTAs an SM has one after another, where work tiles are so many that
/// each cannot have several SMs: the more they are, the less time is lost while
/// the last of them run.
static constexpr int64_t kWaves = 4;
/// The number of heads that a dynamic number is taken for.
static constexpr int64_t kUsualHeads = 8;

static std::optional<int64_t> getStaticSize(Value tensor, unsigned dim) {
  int64_t size = cast<ShapedType>(tensor.getType()).getDimSize(dim);
  return ShapedType::isDynamic(size) ? std::nullopt : std::optional(size);
}

/// Returns true if a region computes with the query head, or captures a vector
/// with a number for each: the rows of a tile must have one head then.
static bool dependsOnHead(SdpaOp op) {
  for (auto [i, capture] : llvm::enumerate(op.getCaptures()))
    if (isa<ShapedType>(capture.getType()) && !isTable(op, i))
      return true;
  for (Region *region : {&op.getScoreMod(), &op.getMaskMod()}) {
    // The first argument of a score_mod is the score.
    unsigned first = region == &op.getScoreMod() ? 1 : 0;
    if (!region->empty() && !region->getArgument(first + kHead).use_empty())
      return true;
  }
  return false;
}

/// Returns the number of query heads for each key/value head, if it is known.
static std::optional<int64_t> countHeadsOfGroup(SdpaOp op) {
  unsigned dim = getDimOrder(op.getLayout()).head;
  auto queryHeads = getStaticSize(op.getQ(), dim);
  auto keyHeads = getStaticSize(op.getK(), dim);
  if (!queryHeads || !keyHeads || *keyHeads == 0)
    return std::nullopt;
  return *queryHeads / *keyHeads;
}

/// A split has whole pages, or whole blocks of a list, which are counted where
/// there are any.
static int64_t countFixedBlocks(SdpaOp op, int64_t keys) {
  int64_t least = kKeysOfFixedSplit;
  if (op.getBlockList())
    least = llvm::alignTo(least, op.getBlockSize()[kBlockKeys]);
  else if (op.getPageTable())
    least = std::max(least, getPageSize(op));
  return llvm::divideCeil(least, keys);
}

/// Returns true if query heads that share keys share a list of blocks, too.
static bool sharesList(SdpaOp op) {
  std::optional<int64_t> lists = getStaticSize(op.getBlockList(), kListHeads),
                         heads = getStaticSize(op.getK(), getKeyOrder(op).head);
  return lists == 1 || (lists && heads && *heads % *lists == 0);
}

/// Returns for how many keys a sequence has room, or a list, if that is known.
static std::optional<int64_t> countAllKeys(SdpaOp op,
                                           const TileRequest &request) {
  if (!op.getBlockList())
    return request.allKeys;
  std::optional<int64_t> entries =
      getStaticSize(op.getBlockList(), kListEntries);
  if (!entries)
    return std::nullopt;
  return *entries * op.getBlockSize()[kBlockKeys];
}

std::optional<DividedKeys> fa4::findDividedKeys(SdpaOp op,
                                                const TargetDescription &target,
                                                const TileChoice &choice) {
  TileRequest request = getTileRequest(op, choice);
  std::optional<int64_t> queries = request.queries;
  // Queries that have several lists are none of one tile.
  if (!choice.splitKeys || request.rowsDivide != 0 ||
      getDimOrder(op.getLayout()).isPacked() || !queries || *queries < 1 ||
      *queries > kMostDividedQueries ||
      countAllKeys(op, request).value_or(kKeysOfSplit + 1) <= kKeysOfSplit)
    return std::nullopt;
  // Larger blocks pay where scores take the time; here it is the keys.
  request.isPlain = false;
  int64_t group = countHeadsOfGroup(op).value_or(1);
  SmallVector<int64_t> numbers = {1};
  if (group > 1 && !dependsOnHead(op) && (!op.getBlockList() || sharesList(op)))
    numbers.insert(numbers.begin(), group);
  for (int64_t heads : numbers) {
    DividedKeys divided{*queries, heads,
                        int64_t(llvm::PowerOf2Ceil(uint64_t(heads)))};
    request.queries = divided.countRows();
    divided.tiles = chooseAttentionTiles(target, getHeadDims(op), request);
    // tile-subtile cuts tiles into those of MMAs, between two queries.
    bool isCut = divided.headRows > int64_t(target.mma.rows);
    if (divided.tiles.exceeded.empty() && !isCut &&
        divided.countRows() <= divided.tiles.rows) {
      if (op.getBatchInvariant())
        divided.fixedBlocks = countFixedBlocks(op, divided.tiles.keys);
      return divided;
    }
  }
  return std::nullopt;
}

namespace {
class DividedKeysLaunch {
public:
  DividedKeysLaunch(Conversion &conversion, const DividedKeys &divided)
      : conversion(conversion), op(cast<SdpaOp>(conversion.op.getOperation())),
        divided(divided) {}

  void launchSplits();
  void launchMerge(MutableArrayRef<Value> destinations);

private:
  tile::SharedSize shareCtas(StringRef sequences = "");
  OpFoldResult countSplits();
  /// The units of keys for each of which there may be a split.
  int64_t getUnitsOfSplit() {
    int64_t unit = conversion.getKeysOfUnit();
    return divided.fixedBlocks ? divided.fixedBlocks * divided.tiles.keys / unit
                               : llvm::divideCeil(kKeysOfSplit, unit);
  }
  void createNumbers();
  void nameSplits(const KernelLaunch &launch);
  SmallVector<StringRef> getDims(bool hasColumns);

  Conversion &conversion;
  SdpaOp op;
  const DividedKeys &divided;
  std::string splits, rows, columns; ///< Names of dimensions.
  Value sum, max, normalizer;
};
} // namespace

/// The CTAs that sequences share: those of a head.
tile::SharedSize DividedKeysLaunch::shareCtas(StringRef sequences) {
  unsigned dim = conversion.names.order.head;
  Value matrix = divided.heads == 1 ? op.getQ() : op.getK();
  int64_t heads =
      std::max<int64_t>(getStaticSize(matrix, dim).value_or(kUsualHeads), 1);
  int64_t sms = conversion.target.smCount;
  return {std::max<int64_t>(sms / heads, 1),
          std::max<int64_t>(kWaves * sms / heads, 1), sequences};
}

/// As many as there are CTAs for a head and sequence, and blocks of keys.
OpFoldResult DividedKeysLaunch::countSplits() {
  const DimOrder &order = conversion.names.order;
  OpFoldResult sequences = conversion.getSizes(op.getQ())[*order.batch];
  OpFoldResult most =
      conversion.countBlocks(conversion.countKeyUnits(), getUnitsOfSplit());
  if (divided.fixedBlocks)
    return most;
  return conversion.min(most, conversion.share(shareCtas(), sequences));
}

void DividedKeysLaunch::createNumbers() {
  OpBuilder &b = conversion.builder;
  const DimOrder &order = conversion.names.order;
  SmallVector<OpFoldResult> sizes = {
      conversion.getSizes(op.getQ())[*order.batch],
      conversion.getSizes(divided.heads == 1 ? op.getQ()
                                             : op.getK())[order.head],
      countSplits(), b.getIndexAttr(divided.countRows())};
  max = conversion.createWorkspace(sizes, b.getF32Type());
  normalizer = conversion.createWorkspace(sizes, b.getF32Type());
  sizes.push_back(b.getIndexAttr(getHeadDims(op).v));
  sum = conversion.createWorkspace(sizes, b.getF32Type());
}

/// Sets the names of dimensions by the kernel's q and k.
void DividedKeysLaunch::nameSplits(const KernelLaunch &launch) {
  const DimOrder &order = conversion.names.order;
  splits = tile::countBlocks(launch.getKeyUnitsName(), getUnitsOfSplit());
  if (!divided.fixedBlocks)
    splits = tile::minOfSizes(splits, tile::nameSharedSize(shareCtas(
                                          launch.getDim(0, *order.batch))));
  rows = std::to_string(divided.countRows());
  columns = std::to_string(getHeadDims(op).v);
}

SmallVector<StringRef> DividedKeysLaunch::getDims(bool hasColumns) {
  SmallVector<StringRef> dims = {"B", divided.heads == 1 ? "Hq" : "Hkv", splits,
                                 rows};
  if (hasColumns)
    dims.push_back(columns);
  return dims;
}

void DividedKeysLaunch::launchSplits() {
  createNumbers();
  std::optional<VisibleBlocks> visible =
      launchVisibleBlocks(conversion, {MaskSide::Queries, kGroup});
  KernelLaunch launch(conversion);
  launch.addMatrices();
  launch.addBlockList();
  launch.addCapturedVectors();
  if (visible)
    addVisibleBlocks(launch, *visible);
  nameSplits(launch);
  unsigned first = launch.getNumArguments();
  launch.addOutput(kSplitSum, sum, getDims(/*hasColumns=*/true), kOnce, 0.0f);
  launch.addOutput(kSplitMax, max, getDims(false), kOnce,
                   -std::numeric_limits<float>::infinity());
  launch.addOutput(kSplitNormalizer, normalizer, getDims(false), kOnce, 0.0f);
  launch.addCapturedScalars();
  // Numbers of a split have it in the place of a row.
  launch.emit("_kernel", launch.countNumbers(first, /*rows=*/1),
              [&](tile::KernelOp kernel) {
                buildSdpaProgram(op, kernel, divided.tiles, divided);
              });
}

void DividedKeysLaunch::launchMerge(MutableArrayRef<Value> destinations) {
  const DimNames &names = conversion.names;
  KernelLaunch launch(conversion);
  launch.addInput(kSplitSum, sum, getDims(/*hasColumns=*/true));
  launch.addInput(kSplitMax, max, getDims(false));
  launch.addInput(kSplitNormalizer, normalizer, getDims(false));
  if (op.getSinks())
    launch.addSinks(op.getSinks());
  launch.addOutput("out", destinations[0], names.queries(), kPartial, 0.0f);
  if (op.hasLse())
    launch.addOutput("lse", destinations[1], names.rows(), kPartial,
                     -std::numeric_limits<float>::infinity());
  SmallVector<Attribute> grid = launch.countNumbers(0, /*rows=*/1);
  grid.front() = tile::ExtentAttr::get(
      op.getContext(), std::to_string(countMergedTiles(op, divided)),
      /*tile=*/1);
  launch.emit("_merge_kernel", grid, [&](tile::KernelOp kernel) {
    buildMergeSplitsProgram(op, kernel, divided);
  });
}

void fa4::convertDividedKeys(Conversion &conversion, const DividedKeys &divided,
                             MutableArrayRef<Value> destinations) {
  DividedKeysLaunch launch(conversion, divided);
  launch.launchSplits();
  launch.launchMerge(destinations);
}
