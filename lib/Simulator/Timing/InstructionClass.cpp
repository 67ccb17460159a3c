//===- InstructionClass.cpp - how the clock treats an instruction ---------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InstructionClass.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace fa4::sim;
using llvm::StringRef;

namespace {

using Words = llvm::SmallVector<StringRef, 12>;

bool has(const Words &words, StringRef word) {
  return llvm::is_contained(words, word);
}

bool hasAny(const Words &words, llvm::ArrayRef<StringRef> list) {
  return llvm::any_of(list, [&](StringRef word) { return has(words, word); });
}

bool is64Bit(const Words &words) {
  return hasAny(words, {"s64", "u64", "b64"});
}

InstructionClass make(Pipe pipe, float count = 1,
                      ResultSource source = ResultSource::Fixed) {
  InstructionClass result;
  result.pipe = pipe;
  result.count = count;
  result.source = source;
  return result;
}

InstructionClass fence(Pipe pipe, float count = 1,
                       Special special = Special::None) {
  InstructionClass result = make(pipe, count);
  result.special = special;
  result.isFence = true;
  return result;
}

/// add, sub, mul, fma, mad, neg, abs, min, max and the like.
InstructionClass classifyArithmetic(StringRef root, const Words &words) {
  bool isPair = hasAny(words, {"bf16x2", "f16x2", "f16", "bf16"});
  if (has(words, "f64"))
    return make(Pipe::Double, 1, ResultSource::Double);
  bool isSelection = root == "min" || root == "max";
  if (isPair)
    return isSelection ? make(Pipe::Alu)
                       : make(Pipe::Fma, 1, ResultSource::Half);
  if (hasAny(words, {"f32", "f32x2"}) && !isSelection) {
    bool isDivision = root == "div" && !has(words, "approx");
    constexpr float divisionOps = 9;
    return make(has(words, "f32x2") ? Pipe::FmaPair : Pipe::Fma,
                isDivision ? divisionOps : 1);
  }
  bool isWide = is64Bit(words);
  if (root == "mul" || root == "mad")
    return make(Pipe::FmaHeavy, isWide && !has(words, "wide") ? 3 : 1);
  if (root == "div" || root == "rem")
    return make(Pipe::Alu, isWide ? 60 : 20);
  return make(Pipe::Alu, isWide ? 2 : 1);
}

InstructionClass classifyConversion(const Words &words) {
  if (words.size() < 3)
    return make(Pipe::Alu);
  StringRef to = words[words.size() - 2], from = words.back();
  bool fromFloat = from.starts_with("f") || from.starts_with("bf") ||
                   from.starts_with("e") || from.starts_with("tf");
  bool toFloat = to.starts_with("f") || to.starts_with("bf") ||
                 to.starts_with("e") || to.starts_with("tf") ||
                 to.starts_with("ue");
  if (!fromFloat && !toFloat)
    return make(Pipe::Alu, to.ends_with("64") || from.ends_with("64") ? 0 : 1);
  if (fromFloat && toFloat && !to.ends_with("64") && !from.ends_with("64"))
    return make(Pipe::Alu); // F2FP, or a shift.
  return make(Pipe::Convert, 1, ResultSource::Convert);
}

InstructionClass classifyMemory(StringRef root, const Words &words) {
  if (hasAny(words, {"param", "param::entry", "param::func", "const"}))
    return make(Pipe::Alu, 0);
  bool isShared = hasAny(words, {"shared", "shared::cta", "shared::cluster"});
  bool isStore = root == "st" || root == "red";
  InstructionClass result = make(
      Pipe::Lsu, 1, isShared ? ResultSource::Shared : ResultSource::Global);
  if (root == "red" && !isShared)
    result.special = Special::GlobalReduction;
  result.mayCache =
      root == "ld" && !isShared &&
      !hasAny(words, {"cg", "cv", "volatile", "relaxed", "acquire"});
  result.isStore = isStore && isShared;
  if (isStore)
    result.source = ResultSource::Fixed;
  return result;
}

InstructionClass classifyFence(const Words &words) {
  if (hasAny(words, {"proxy"}))
    return fence(Pipe::Control, 1, Special::ProxyFence);
  if (has(words, "mbarrier_init"))
    return fence(Pipe::Control);
  bool isCta = has(words, "cta");
  return fence(Pipe::Control, 1,
               isCta ? Special::MembarCta : Special::MembarGpu);
}

/// Registers of a tcgen05.ld or .st.
unsigned tensorColumns(const Words &words) {
  unsigned repeat = 1;
  for (StringRef word : words)
    if (word.size() > 1 && word[0] == 'x')
      word.drop_front().getAsInteger(10, repeat);
  return repeat * (has(words, "16x128b") ? 2 : has(words, "16x256b") ? 4 : 1);
}

InstructionClass classifyTensor(const Words &words) {
  StringRef op = words.size() > 1 ? words[1] : StringRef();
  if (op == "ld" || op == "st") {
    InstructionClass result =
        make(Pipe::TensorMemory, 1,
             op == "ld" ? ResultSource::TensorMemory : ResultSource::Fixed);
    result.columns = tensorColumns(words);
    result.special = op == "ld" ? Special::TensorLoad : Special::None;
    result.isFence = op == "st";
    return result;
  }
  if (op == "wait::ld")
    return fence(Pipe::Control, 0, Special::TensorWaitLoad);
  if (op == "wait::st")
    return fence(Pipe::Control);
  if (op == "alloc")
    return fence(Pipe::Tensor, 1, Special::TensorAlloc);
  if (op.starts_with("fence"))
    return fence(Pipe::Control, 0);
  return fence(Pipe::Tensor, op == "mma" ? 2 : 1);
}

InstructionClass classifyMbarrier(const Words &words) {
  bool isArrive =
      words.size() > 1 && hasAny(words, {"arrive", "arrive_drop", "expect_tx"});
  if (!isArrive)
    return fence(Pipe::Lsu, 1, Special::None);
  // For a release to the cluster ptxas has a MEMBAR.ALL.GPU before the arrival.
  bool isFence = has(words, "cluster") && !has(words, "relaxed");
  return fence(Pipe::Lsu, 1,
               isFence ? Special::MbarrierRelease : Special::MbarrierArrive);
}

InstructionClass classifyCopy(StringRef root, const Words &words) {
  bool isBulk = has(words, "bulk");
  bool isGroup = hasAny(words, {"commit_group", "wait_group", "wait_all"});
  if (isGroup)
    return fence(Pipe::Control);
  // A bulk copy takes its operands in uniform registers.
  return isBulk || root != "cp" ? fence(Pipe::Uniform, 3) : fence(Pipe::Lsu);
}

InstructionClass classifyMatrix(StringRef root) {
  bool isStore = root == "stmatrix";
  InstructionClass result =
      make(Pipe::Lsu, 1, isStore ? ResultSource::Fixed : ResultSource::Shared);
  result.isStore = isStore;
  return result;
}

} // namespace

InstructionClass fa4::sim::classify(const Inst &inst) {
  if (inst.flags & Inst::Helper)
    return make(Pipe::Alu, 0);
  Words words;
  inst.opcode.split(words, '.');
  StringRef root = words.front();
  if (root == "tcgen05")
    return classifyTensor(words);
  if (root == "wgmma")
    return fence(inst.flags & Inst::Wgmma ? Pipe::Tensor : Pipe::Control);
  if (root == "mbarrier") {
    InstructionClass result = classifyMbarrier(words);
    result.isMbarrierTest = has(words, "test_wait") || has(words, "try_wait");
    return result;
  }
  if (root == "cp" || root == "clusterlaunchcontrol")
    return classifyCopy(root, words);
  if ((root == "bar" || root == "barrier") && has(words, "warp"))
    return fence(Pipe::Control, 1, Special::WarpSync);
  if (root == "fence" || root == "membar")
    return classifyFence(words);
  if (root == "setmaxnreg")
    return fence(Pipe::Control, 1, Special::RegisterChange);
  if (root == "cvt")
    return classifyConversion(words);
  bool isMufu = has(words, "approx") || root == "tanh" || root == "rsqrt";
  if (isMufu && root != "div")
    return make(Pipe::Mufu, 1, ResultSource::Mufu);
  using Kind = InstructionClass;
  return llvm::StringSwitch<llvm::function_ref<Kind()>>(root)
      .Cases({"ld", "ldu", "st", "atom", "red"},
             [&] { return classifyMemory(root, words); })
      .Cases({"ldmatrix", "stmatrix", "movmatrix"},
             [&] { return classifyMatrix(root); })
      .Case("shfl", [] { return make(Pipe::Lsu, 1, ResultSource::Shuffle); })
      .Cases({"bar", "barrier", "griddepcontrol", "nanosleep", "elect"},
             [] { return fence(Pipe::Control); })
      .Cases({"bra", "brx", "ret", "exit", "call", "trap"},
             [] { return fence(Pipe::Control); })
      .Cases({"mov", "cvta", "mapa", "pragma", "prefetch", "prefetchu",
              "createpolicy"},
             [&] { return make(Pipe::Alu, root == "mov" ? 0 : 1); })
      .Cases({"popc", "clz", "bfind", "brev"},
             [] { return make(Pipe::Mufu, 1, ResultSource::Mufu); })
      .Cases({"shl", "shr", "and", "or", "xor", "not", "selp", "setp"},
             [&] {
               return has(words, "f64")
                          ? make(Pipe::Double, 1, ResultSource::Double)
                          : make(Pipe::Alu, is64Bit(words) ? 2 : 1);
             })
      .Cases({"redux"},
             [] { return make(Pipe::Lsu, 2, ResultSource::Shuffle); })
      .Default([&] { return classifyArithmetic(root, words); })();
}

double fa4::sim::resultLatency(const InstructionClass &kind,
                               const TimingParameters &p) {
  using P = TimingParameter;
  if (kind.count == 0 && kind.source == ResultSource::Fixed)
    return 0;
  switch (kind.source) {
  case ResultSource::Fixed:
    return p[P::AluLatency];
  case ResultSource::Half:
    return p[P::HalfLatency];
  case ResultSource::Mufu:
    return p[P::MufuLatency];
  case ResultSource::Convert:
    return p[P::ConvertLatency];
  case ResultSource::Double:
    return p[P::DoubleLatency];
  case ResultSource::Shuffle:
    return p[P::ShuffleLatency];
  case ResultSource::Shared:
    return p[P::SharedLatency];
  case ResultSource::Global:
    return p[P::L1Latency];
  case ResultSource::TensorMemory:
    return p[P::TensorLoadLatency];
  }
  return 0;
}
