//===- Lanes.cpp - reads and writes of lanes ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoleParts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

/// The largest number of registers of one tcgen05.ld or .st (PTX ISA, shape
/// 32x32b).
static constexpr int64_t kMaxWords = 128;
/// Bytes of one access to shared memory.
static constexpr int64_t kChunk = 16;

/// Waits for loads from tensor memory. Before the wait, their columns must not
/// be overwritten (PTX ISA, tcgen05.wait::ld).
void LaneLowering::finishLoads() {
  if (!pendingLoads.empty())
    NVVM::Tcgen05WaitOp::create(b, NVVM::Tcgen05WaitKind::LOAD);
  pendingLoads.clear();
}

void LaneLowering::finishLoadsFor(Operation *op) {
  if (llvm::any_of(op->getOperands(), [&](Value operand) {
        return pendingLoads.contains(operand);
      }))
    finishLoads();
}

void LaneLowering::finishStores() {
  if (!pendingStores.empty())
    NVVM::Tcgen05WaitOp::create(b, NVVM::Tcgen05WaitKind::STORE);
  pendingStores.clear();
}

void LaneLowering::finish() {
  finishLoads();
  finishStores();
}

static int64_t bytesOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  int64_t bits = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  return bits / 8 * (vector ? vector.getNumElements() : 1);
}

static Type wordsType(OpBuilder &b, int64_t words) {
  Type i32 = b.getI32Type();
  return words == 1 ? i32 : Type(VectorType::get(words, i32));
}

/// Cuts a number of words into the largest possible powers of two.
static SmallVector<int64_t> splitWords(int64_t words) {
  SmallVector<int64_t> parts;
  for (; words != 0; words -= parts.back())
    parts.push_back(
        std::min<int64_t>(llvm::bit_floor<uint64_t>(words), kMaxWords));
  return parts;
}

//===----------------------------------------------------------------------===//
// Tensor memory
//===----------------------------------------------------------------------===//

/// Returns the address of the lanes of the thread's warp. A warp can only
/// access the lanes that belong to its number in the warpgroup (PTX ISA,
/// tcgen05, data movement, access restrictions). An address has the lane in its
/// upper 16 bits.
Value LaneLowering::laneAddress(const Buffer &buffer, Value stage,
                                int64_t column) {
  const TargetDescription &target = layout.target;
  Value quarter = arith::AndIOp::create(
      b, values.warp, constant(target.warpsPerWarpgroup() - 1));
  Value lane = arith::ShLIOp::create(
      b, quarter, constant(16 + llvm::Log2_64(target.warpSize)));
  Value address = tensorAddress(buffer, stage, column);
  Value sum = arith::AddIOp::create(b, address, lane);
  return tensorPointer(sum);
}

static LogicalResult checkTensorAccess(Operation *op, RoleOp role,
                                       const Buffer &buffer, Type type,
                                       int64_t column) {
  const TargetDescription &target = op->getParentOfType<KernelOp>().getTarget();
  if (buffer.lanes() != target.tmemLanes ||
      role.getNumWarps() != target.warpsPerWarpgroup())
    return op->emitOpError("accesses tensor memory of ")
           << buffer.rows << " rows by " << role.getNumWarps() << " warps; "
           << target.tmemLanes << " rows by " << target.warpsPerWarpgroup()
           << " warps are supported";
  if (bytesOf(type) % 4 != 0 || column * buffer.elementBytes % 4 != 0)
    return op->emitOpError(
        "accesses a part of a 32-bit column of tensor memory; column and size "
        "must be multiples of 32 bits");
  return success();
}

FailureOr<Value> LaneLowering::readTensorMemory(ReadOp op,
                                                const Buffer &buffer) {
  Type type = op.getValue().getType();
  int64_t column = op.getColumn();
  if (failed(checkTensorAccess(op, role, buffer, type, column)))
    return failure();
  Value stage = lastWaitedStage(buffer);
  int64_t words = bytesOf(type) / 4;
  int64_t first = column * buffer.elementBytes / 4, done = 0;
  Value all;
  SmallVector<int64_t> parts = splitWords(words);
  for (int64_t part : parts) {
    Value value = NVVM::Tcgen05LdOp::create(
        b, wordsType(b, part), /*pack=*/false,
        NVVM::Tcgen05LdStShape::SHAPE_32X32B,
        laneAddress(buffer, stage, first + done), /*offset=*/Value());
    if (parts.size() == 1) {
      all = value;
      break;
    }
    if (!all)
      all = LLVM::PoisonOp::create(b, wordsType(b, words));
    if (part == 1)
      value = vector::BroadcastOp::create(b, VectorType::get(1, b.getI32Type()),
                                          value);
    all = vector::InsertStridedSliceOp::create(
        b, value, all, ArrayRef<int64_t>{done}, ArrayRef<int64_t>{1});
    done += part;
  }
  return all;
}

LogicalResult LaneLowering::writeTensorMemory(WriteOp op,
                                              const Buffer &buffer) {
  Value value = mapping.lookupOrDefault(op.getValue());
  int64_t column = op.getColumn();
  if (failed(checkTensorAccess(op, role, buffer, value.getType(), column)))
    return failure();
  // The columns may still be read by loads that are under way.
  finishLoads();
  Value stage = stageOf(buffer, RingUse::Commit);
  int64_t words = bytesOf(value.getType()) / 4;
  int64_t first = column * buffer.elementBytes / 4, done = 0;
  // Nothing orders two stores but a wait between them (PTX ISA, "tcgen05 memory
  // consistency model": only tcgen05.wait makes a store's result visible).
  if (llvm::any_of(pendingStores, [&](const ColumnRange &range) {
        return range.channel == op.getChannel() &&
               range.begin < first + words && first < range.end;
      }))
    finishStores();
  Value all = LLVM::BitcastOp::create(b, wordsType(b, words), value);
  SmallVector<int64_t> parts = splitWords(words);
  for (int64_t part : parts) {
    Value piece = all;
    if (parts.size() > 1)
      piece = vector::ExtractStridedSliceOp::create(
          b, all, ArrayRef<int64_t>{done}, ArrayRef<int64_t>{part},
          ArrayRef<int64_t>{1});
    if (parts.size() > 1 && part == 1)
      piece = vector::ExtractOp::create(b, piece, int64_t(0));
    NVVM::Tcgen05StOp::create(b, /*unpack=*/false,
                              NVVM::Tcgen05LdStShape::SHAPE_32X32B,
                              laneAddress(buffer, stage, first + done), piece,
                              /*offset=*/Value());
    done += part;
  }
  pendingStores.push_back({op.getChannel(), first, first + words});
  return success();
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

static LogicalResult checkChunks(Operation *op, const Buffer &buffer, Type type,
                                 int64_t column) {
  if (bytesOf(type) % kChunk != 0 || column * buffer.elementBytes % kChunk != 0)
    return op->emitOpError(
        "accesses a part of a 16-byte piece of a swizzled row; column and size "
        "must be multiples of 16 bytes");
  return success();
}

/// Returns a pointer to 16 bytes of the thread's row in a swizzled matrix.
Value LaneLowering::chunkPointer(const Buffer &buffer, Value stage,
                                 int64_t column) {
  int64_t bytes = column * buffer.elementBytes;
  // Halves of a row that is exchanged lie in different places, where columns
  // have their numbers in the half.
  Value box;
  if (buffer.landed) {
    box = exchangedBox(buffer, column);
    bytes = column % buffer.columns * buffer.elementBytes;
  }
  // The thread's origin is a whole number of boxes from column 0 (see
  // getSwizzleSpan).
  AffineMap origin =
      buffer.valueLayout->getOrigin(b.getContext(), buffer.columns);
  AffineExpr firstBox =
      origin.getResult(1).floorDiv(buffer.span / buffer.elementBytes);
  Value thread = row(), boxOfThread;
  if (!isa<AffineConstantExpr>(firstBox))
    boxOfThread = evaluate(firstBox, thread);
  Value matrixRow = evaluate(origin.getResult(0), thread);
  Value start = arith::MulIOp::create(b, matrixRow, constant(buffer.span));
  Value pattern = swizzlePattern(buffer, start);
  Value swizzled = arith::OrIOp::create(b, start, pattern);
  Value chunk =
      arith::XOrIOp::create(b, swizzled, constant(bytes % buffer.span));
  if (boxOfThread)
    chunk = arith::AddIOp::create(
        b, chunk,
        arith::MulIOp::create(b, boxOfThread, constant(buffer.boxBytes())));
  chunk = addStage(chunk, buffer, stage);
  if (box)
    return sharedPointer(buffer.offset, arith::AddIOp::create(b, chunk, box));
  return sharedPointer(buffer.offset + bytes / buffer.span * buffer.boxBytes(),
                       chunk);
}

/// Returns a pointer to the thread's element of a tile of row values.
Value LaneLowering::rowPointer(const Buffer &buffer, Value stage) {
  Value offset = arith::MulIOp::create(b, row(), constant(buffer.elementBytes));
  return sharedPointer(buffer.offset, addStage(offset, buffer, stage));
}

/// Reads the thread's elements of a vector with one for each column, which lies
/// in order: those in columns side by side at a time.
Value LaneLowering::readColumns(ReadOp op, const Buffer &buffer, Value stage) {
  MLIRContext *context = b.getContext();
  const ValueLayout *held = role.getLayout();
  int64_t columns = op.getChannel().getType().getTileType().getNumElements();
  int64_t first = op.getColumn();
  SmallVector<int64_t> columnOf = held->getColumnsOfThread(context, columns);
  Value origin =
      evaluate(held->getOrigin(context, columns).getResult(1), row());
  Value start =
      addStage(arith::MulIOp::create(b, origin, constant(buffer.elementBytes)),
               buffer, stage);
  auto type = cast<VectorType>(op.getValue().getType());
  Value all = LLVM::PoisonOp::create(b, type);
  for (int64_t begin = 0, end; begin < type.getNumElements(); begin = end) {
    end = begin + 1;
    while (end < type.getNumElements() &&
           columnOf[first + end] == columnOf[first + end - 1] + 1)
      ++end;
    int64_t bytes = columnOf[first + begin] * buffer.elementBytes;
    auto part = VectorType::get(end - begin, type.getElementType());
    int64_t align = std::gcd(kChunk, std::gcd(bytes, bytesOf(part)));
    Value pointer = sharedPointer(buffer.offset + bytes, start);
    Value loaded = LLVM::LoadOp::create(b, part, pointer, align);
    all = vector::InsertStridedSliceOp::create(
        b, loaded, all, ArrayRef<int64_t>{begin}, ArrayRef<int64_t>{1});
  }
  return all;
}

LogicalResult LaneLowering::lower(ReadOp op) {
  if (failed(requireLanes(op)))
    return failure();
  const Buffer &buffer = layout.buffer(op.getChannel());
  Type type = op.getValue().getType();
  int64_t column = op.getColumn();
  if (buffer.tensorMemory) {
    FailureOr<Value> words = readTensorMemory(op, buffer);
    if (failed(words))
      return failure();
    mapping.map(op.getValue(), LLVM::BitcastOp::create(b, type, *words));
    pendingLoads.insert(op.getValue());
    return success();
  }
  Value stage = lastWaitedStage(buffer);
  if (op.getAll() && !role.getLayout()->hasElementsByColumn(b.getContext())) {
    mapping.map(op.getValue(), readColumns(op, buffer, stage));
    return success();
  }
  if (!buffer.span) {
    // Without a swizzle, the elements of a tile are in order.
    bool vector = isa<VectorType>(type);
    Value pointer =
        op.getAll() || vector
            ? stagePointer(buffer, stage, column * buffer.elementBytes)
            : rowPointer(buffer, stage);
    int64_t align =
        std::gcd(kChunk, std::gcd(column * buffer.elementBytes, bytesOf(type)));
    mapping.map(op.getValue(), LLVM::LoadOp::create(b, type, pointer, align));
    return success();
  }
  if (failed(checkChunks(op, buffer, type, column)))
    return failure();
  int64_t words = bytesOf(type) / 4;
  auto chunkType = VectorType::get(kChunk / 4, b.getI32Type());
  Value all = LLVM::PoisonOp::create(b, wordsType(b, words));
  for (int64_t word = 0; word < words; word += kChunk / 4) {
    Value pointer =
        chunkPointer(buffer, stage, column + word * 4 / buffer.elementBytes);
    Value chunk = LLVM::LoadOp::create(b, chunkType, pointer, kChunk);
    all = vector::InsertStridedSliceOp::create(
        b, chunk, all, ArrayRef<int64_t>{word}, ArrayRef<int64_t>{1});
  }
  mapping.map(op.getValue(), LLVM::BitcastOp::create(b, type, all));
  return success();
}

LogicalResult LaneLowering::lower(WriteOp op) {
  if (failed(requireLanes(op)))
    return failure();
  const Buffer &buffer = layout.buffer(op.getChannel());
  int64_t column = op.getColumn();
  if (buffer.tensorMemory)
    return writeTensorMemory(op, buffer);
  Value value = mapping.lookupOrDefault(op.getValue());
  Value stage = stageOf(buffer, RingUse::Commit);
  if (!buffer.span) {
    LLVM::StoreOp::create(b, value, rowPointer(buffer, stage),
                          buffer.elementBytes);
    return success();
  }
  if (failed(checkChunks(op, buffer, value.getType(), column)))
    return failure();
  int64_t words = bytesOf(value.getType()) / 4;
  Value all = LLVM::BitcastOp::create(b, wordsType(b, words), value);
  for (int64_t word = 0; word < words; word += kChunk / 4) {
    Value chunk = vector::ExtractStridedSliceOp::create(
        b, all, ArrayRef<int64_t>{word}, ArrayRef<int64_t>{kChunk / 4},
        ArrayRef<int64_t>{1});
    LLVM::StoreOp::create(
        b, chunk,
        chunkPointer(buffer, stage, column + word * 4 / buffer.elementBytes),
        kChunk);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

LogicalResult LaneLowering::lower(AnyOp op) {
  Value any = NVVM::VoteSyncOp::create(
      b, b.getI1Type(), constant(-1),
      mapping.lookupOrDefault(op.getCondition()), NVVM::VoteSyncKind::any);
  mapping.map(op.getResult(), any);
  return success();
}

LogicalResult LaneLowering::lower(CombineOp op) {
  Type type = op.getType();
  Value value = mapping.lookupOrDefault(op.getValue());
  for (int64_t mask : op.getMasks()) {
    Value other = NVVM::ShflOp::create(
        b, type, constant(-1), value, constant(mask),
        constant(layout.target.warpSize - 1), NVVM::ShflKind::bfly, UnitAttr());
    value =
        vector::makeArithReduction(b, b.getLoc(), op.getKind(), value, other);
  }
  mapping.map(op.getResult(), value);
  return success();
}

LogicalResult LaneLowering::lower(RowOp op) {
  mapping.map(op.getResult(), toIndex(row()));
  return success();
}

/// A loop, because ptxas makes predicated instructions of a branch around few
/// instructions. The condition is made at this place: one that is made once
/// would occupy a register.
LogicalResult LaneLowering::lower(KeepOrderOp op) {
  if (failed(requireLanes(op)))
    return failure();
  repeatWhile([&] {
    Value yes = arith::ConstantIntOp::create(b, b.getI1Type(), 1);
    Value all = NVVM::VoteSyncOp::create(b, b.getI1Type(), constant(-1), yes,
                                         NVVM::VoteSyncKind::all);
    return arith::XOrIOp::create(b, all, yes).getResult();
  });
  return success();
}

LogicalResult LaneLowering::lower(FenceOp op) {
  if (failed(requireLanes(op)))
    return failure();
  fenceSharedMemory();
  return success();
}
