//===- IndexArithmeticTest.cpp - claims about integers, and integers ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random programs of integer arithmetic: what IndexForms says of their
// values, for all sizes, is compared with the values that folding the
// operations gives for some. FA4_DRAWS says how many programs (default: 2000;
// what a change of either side needs: 100000), FA4_SEED where to begin.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/ConcreteFolder.h"
#include "fa4/Dialect/Tile/Analysis/IndexForms.h"
#include "fa4/Dialect/Tile/Analysis/IndexRange.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <random>

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace {

unsigned readNumber(const char *variable, unsigned otherwise) {
  const char *text = std::getenv(variable);
  return text ? std::strtoul(text, nullptr, 10) : otherwise;
}

/// Integers of a program for one choice of what it starts from. A value that
/// divides by zero, or is computed from one that does, is not there.
using Numbers = llvm::DenseMap<Value, TypedAttr>;

class Program {
public:
  Program(MLIRContext &context, unsigned seed);

  void checkValues();
  void checkLoops();

private:
  unsigned draw(unsigned end) { return random() % end; }
  template <typename List> auto pick(List &&list) {
    return list[draw(list.size())];
  }
  Value pickOf(Type type);
  Type pickType();
  void addConstant(Type type);
  void addOperation();
  Value addBinary(Type type);
  Value addCast(Value operand);
  Value addIndexOperation();
  void addLoop();
  APInt pickNumber(unsigned bits);
  Numbers evaluate(Numbers numbers);
  Numbers drawNumbers();
  std::optional<int64_t> countPasses(scf::ForOp loop, const Numbers &numbers);

  std::minstd_rand random;
  OwningOpRef<ModuleOp> module;
  OpBuilder builder;
  Location loc;
  ConcreteFolder folder;
  std::vector<Value> sources, values;
  std::vector<scf::ForOp> loops;
};

constexpr StringLiteral kKernel = R"(
  tile.kernel @k(%x: memref<?x?xf32> {tile.name = "x", tile.dims = ["N", "M"]},
                 %free: index {tile.name = "free"},
                 %wide: i32 {tile.name = "wide"})
      attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?x?xf32>
    %m = memref.dim %x, %c1 : memref<?x?xf32>
    %tile = tile.work_tile : index
  }
)";

} // namespace

Program::Program(MLIRContext &context, unsigned seed)
    : random(seed), module(parseSourceString<ModuleOp>(kKernel, &context)),
      builder(&context), loc(builder.getUnknownLoc()) {
  KernelOp kernel = *module->getOps<KernelOp>().begin();
  Block &body = kernel.getBody().front();
  builder.setInsertionPointToEnd(&body);
  sources = {body.getArgument(1), body.getArgument(2)};
  for (Operation &op : body)
    if (isa<memref::DimOp, WorkTileOp>(op))
      sources.push_back(op.getResult(0));
  values = sources;
  unsigned count = 4 + draw(16);
  for (unsigned i = 0; i < count; ++i)
    addOperation();
  for (unsigned i = 0; i < 3; ++i)
    addLoop();
}

Type Program::pickType() {
  static constexpr unsigned kBits[] = {1, 8, 16, 32, 64};
  unsigned choice = draw(8);
  if (choice >= 5)
    return builder.getIndexType();
  return builder.getIntegerType(kBits[choice]);
}

APInt Program::pickNumber(unsigned bits) {
  switch (draw(4)) {
  case 0:
    return APInt(64, draw(4)).zextOrTrunc(bits);
  case 1:
    return APInt(64, -int64_t(draw(4))).sextOrTrunc(bits);
  case 2: {
    static constexpr unsigned kEnds[] = {7, 8, 15, 16, 29, 31, 32};
    int64_t end = int64_t(1) << pick(ArrayRef(kEnds));
    return APInt(64, end + int64_t(draw(3)) - 1).sextOrTrunc(bits);
  }
  default:
    return APInt(64, int64_t(1) << draw(9)).zextOrTrunc(bits);
  }
}

void Program::addConstant(Type type) {
  APInt number = pickNumber(type.isIndex() ? 64 : type.getIntOrFloatBitWidth());
  values.push_back(arith::ConstantOp::create(
      builder, loc, type, builder.getIntegerAttr(type, number)));
}

/// A value of this type; a new one if there is none.
Value Program::pickOf(Type type) {
  std::vector<Value> fitting;
  for (Value value : values)
    if (value.getType() == type)
      fitting.push_back(value);
  if (fitting.empty() || draw(6) == 0) {
    addConstant(type);
    return values.back();
  }
  return pick(fitting);
}

Value Program::addBinary(Type type) {
  static constexpr StringLiteral kNames[] = {
      "addi",       "subi",  "muli",  "addi",  "subi",      "muli",
      "divsi",      "divui", "remsi", "remui", "ceildivsi", "ceildivui",
      "floordivsi", "andi",  "ori",   "xori",  "shli",      "shrsi",
      "shrui",      "minsi", "minui", "maxsi", "maxui"};
  StringRef name = pick(ArrayRef(kNames));
  OperationState state(loc, ("arith." + name).str());
  Value lhs = pickOf(type);
  state.addOperands({lhs, pickOf(type)});
  state.addTypes(type);
  // A promise not to wrap is not one that anybody keeps here.
  if (draw(4) == 0 && (name == "addi" || name == "subi" || name == "muli"))
    state.addAttribute("overflowFlags", arith::IntegerOverflowFlagsAttr::get(
                                            builder.getContext(),
                                            arith::IntegerOverflowFlags::nsw));
  return builder.create(state)->getResult(0);
}

Value Program::addCast(Value operand) {
  Type from = operand.getType(), to = pickType();
  if (from == to)
    return operand;
  if (from.isIndex() || to.isIndex()) {
    if (draw(2))
      return arith::IndexCastOp::create(builder, loc, to, operand);
    return arith::IndexCastUIOp::create(builder, loc, to, operand);
  }
  if (from.getIntOrFloatBitWidth() > to.getIntOrFloatBitWidth())
    return arith::TruncIOp::create(builder, loc, to, operand);
  if (draw(2))
    return arith::ExtSIOp::create(builder, loc, to, operand);
  return arith::ExtUIOp::create(builder, loc, to, operand);
}

Value Program::addIndexOperation() {
  static constexpr StringLiteral kNames[] = {
      "add",  "sub",  "mul",  "divs", "divu", "ceildivs", "ceildivu",
      "rems", "remu", "maxs", "maxu", "mins", "minu",     "shl",
      "shrs", "shru", "and",  "or",   "xor",  "floordivs"};
  Type type = builder.getIndexType();
  OperationState state(loc, ("index." + pick(ArrayRef(kNames))).str());
  Value lhs = pickOf(type);
  state.addOperands({lhs, pickOf(type)});
  state.addTypes(type);
  return builder.create(state)->getResult(0);
}

void Program::addOperation() {
  Type type = pick(values).getType();
  switch (draw(10)) {
  case 0:
    return addConstant(pickType());
  case 1:
  case 2:
  case 3:
    values.push_back(addCast(pick(values)));
    return;
  case 4: {
    auto predicate = arith::CmpIPredicate(draw(10));
    Value lhs = pickOf(type);
    values.push_back(
        arith::CmpIOp::create(builder, loc, predicate, lhs, pickOf(type)));
    return;
  }
  case 5: {
    Value condition = pickOf(builder.getI1Type()), lhs = pickOf(type);
    values.push_back(
        arith::SelectOp::create(builder, loc, condition, lhs, pickOf(type)));
    return;
  }
  case 6:
    values.push_back(addIndexOperation());
    return;
  default:
    values.push_back(addBinary(type));
  }
}

/// A loop over values of the program, with some arithmetic on its induction
/// variable.
void Program::addLoop() {
  Type type = pick(values).getType();
  if (type.isInteger(1))
    type = builder.getIndexType();
  Value lower = pickOf(type), upper = pickOf(type), step;
  if (draw(3)) {
    step = arith::ConstantOp::create(builder, loc, type,
                                     builder.getIntegerAttr(type, 1 + draw(3)));
  } else {
    step = pickOf(type);
  }
  auto loop = scf::ForOp::create(builder, loc, lower, upper, step);
  loop.setUnsignedCmp(draw(3) == 0);
  loops.push_back(loop);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  auto outside = values;
  values = {loop.getInductionVar(), pickOf(type)};
  for (unsigned i = 0; i < 3; ++i)
    addOperation();
  values = outside;
}

/// Adds the numbers of all that is computed from `numbers`.
Numbers Program::evaluate(Numbers numbers) {
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (OpResult result : op->getResults()) {
      if (numbers.count(result))
        continue;
      SmallVector<TypedAttr> operands;
      for (Value operand : op->getOperands())
        operands.push_back(numbers.lookup(operand));
      if (!llvm::is_contained(operands, TypedAttr()))
        if (TypedAttr number = folder.fold(result, operands))
          numbers[result] = number;
    }
  });
  return numbers;
}

Numbers Program::drawNumbers() {
  Numbers numbers;
  KernelOp kernel = *module->getOps<KernelOp>().begin();
  for (Value source : sources) {
    unsigned bits = getIntegerBits(source.getType());
    APInt number = draw(3) ? pickNumber(bits) : APInt(bits, random());
    if (!isa<BlockArgument>(source)) {
      int64_t last = source.getDefiningOp<WorkTileOp>()
                         ? getLastWorkTile(kernel, 0)
                         : kMaxSize;
      if (number.isNegative() || number.sgt(last))
        number = APInt(bits, draw(3) ? last - draw(3) : draw(1000));
    }
    numbers[source] =
        builder.getIntegerAttr(builder.getIntegerType(bits), number);
  }
  return numbers;
}

static std::optional<APInt> numberOf(Value value, const Numbers &numbers) {
  auto number = dyn_cast_or_null<IntegerAttr>(numbers.lookup(value));
  return number ? std::optional<APInt>(number.getValue()) : std::nullopt;
}

/// As the machine does, one pass after the other; -1 for many. None if a bound
/// is not there.
std::optional<int64_t> Program::countPasses(scf::ForOp loop,
                                            const Numbers &numbers) {
  auto lower = numberOf(loop.getLowerBound(), numbers);
  auto upper = numberOf(loop.getUpperBound(), numbers);
  auto step = numberOf(loop.getStep(), numbers);
  if (!lower || !upper || !step)
    return std::nullopt;
  int64_t passes = 0;
  auto goesOn = [&] {
    return loop.getUnsignedCmp() ? lower->ult(*upper) : lower->slt(*upper);
  };
  for (; goesOn(); ++passes, *lower += *step)
    if (passes == 1000)
      return -1;
  return passes;
}

void Program::checkValues() {
  IndexForms forms;
  // Values of one form.
  std::map<IndexForm, std::vector<Value>> classes;
  std::vector<Value> natural;
  for (Value value : values) {
    IndexForm form = forms.get(value);
    classes[form].push_back(value);
    if (forms.isNonNegative(form))
      natural.push_back(value);
  }
  for (unsigned trial = 0; trial < 12; ++trial) {
    Numbers numbers = evaluate(drawNumbers());
    for (const auto &[form, equal] : classes) {
      std::optional<APInt> first;
      for (Value value : equal) {
        auto number = numberOf(value, numbers);
        if (!number)
          continue;
        APInt wide = number->sext(128);
        ASSERT_TRUE(!first || *first == wide)
            << "not equal: " << llvm::toString(*first, 10, true) << " and "
            << llvm::toString(wide, 10, true);
        first = wide;
        if (auto constant = form.getConstant()) {
          ASSERT_TRUE(*constant == llvm::DynamicAPInt(wide))
              << "not constant: " << llvm::toString(wide, 10, true);
        }
      }
    }
    for (Value value : natural)
      if (auto number = numberOf(value, numbers)) {
        ASSERT_FALSE(number->isNegative()) << "negative";
      }
  }
}

void Program::checkLoops() {
  IndexForms forms(IndexForms::Induction::Passes);
  std::map<IndexForm, std::vector<scf::ForOp>> classes;
  for (scf::ForOp loop : loops)
    classes[forms.getTripCount(loop)].push_back(loop);
  for (unsigned trial = 0; trial < 12; ++trial) {
    Numbers numbers = evaluate(drawNumbers());
    for (const auto &[form, equal] : classes) {
      std::optional<int64_t> first;
      for (scf::ForOp loop : equal) {
        auto passes = countPasses(loop, numbers);
        if (!passes)
          continue;
        ASSERT_TRUE(!first || *first == *passes)
            << "not as many passes: " << *first << " and " << *passes;
        first = passes;
        if (forms.runsAtLeastOnce(loop)) {
          ASSERT_NE(*passes, 0) << "no pass";
        }
        if (forms.isNonNegative(form - 1)) {
          ASSERT_NE(*passes, 0) << "no pass, but a positive number of them";
        }
        std::optional<llvm::DynamicAPInt> constant = form.getConstant();
        if (constant && *passes != -1) {
          ASSERT_TRUE(*constant == *passes);
        }
      }
    }
    // Loops of one number of a pass are at the same one, counted from the
    // first.
    std::map<IndexForm, APInt> inBodies;
    int64_t pass = draw(3) ? draw(4) : 200;
    for (scf::ForOp loop : loops) {
      auto passes = countPasses(loop, numbers);
      int64_t own = pass - forms.getPass(loop).offset;
      if (!passes || own < 0 || (*passes != -1 && own >= *passes) || own > 999)
        continue;
      Numbers inLoop = numbers;
      APInt start = *numberOf(loop.getLowerBound(), numbers);
      APInt step = *numberOf(loop.getStep(), numbers);
      APInt iv = start + step * APInt(64, own).zextOrTrunc(step.getBitWidth());
      inLoop[loop.getInductionVar()] =
          builder.getIntegerAttr(builder.getIntegerType(iv.getBitWidth()), iv);
      inLoop = evaluate(inLoop);
      loop.getBody()->walk([&](Operation *op) {
        for (OpResult result : op->getResults()) {
          auto number = numberOf(result, inLoop);
          if (!number)
            continue;
          IndexForm value = forms.get(result);
          auto [it, isNew] = inBodies.try_emplace(value, number->sext(128));
          ASSERT_EQ(it->second, number->sext(128)) << "not equal in loops";
          if (forms.isNonNegative(value)) {
            ASSERT_FALSE(number->isNegative()) << "negative in a loop";
          }
        }
      });
    }
  }
}

TEST(IndexArithmeticTest, claimsHold) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<TileDialect, arith::ArithDialect, index::IndexDialect,
                      memref::MemRefDialect, scf::SCFDialect>();
  unsigned first = readNumber("FA4_SEED", 1);
  unsigned draws = readNumber("FA4_DRAWS", 2000);
  for (unsigned seed = first; seed < first + draws; ++seed) {
    SCOPED_TRACE("FA4_DRAWS=1 FA4_SEED=" + std::to_string(seed));
    Program program(context, seed);
    program.checkValues();
    program.checkLoops();
    ASSERT_FALSE(::testing::Test::HasFatalFailure());
  }
}
