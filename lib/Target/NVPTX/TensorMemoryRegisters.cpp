//===- TensorMemoryRegisters.cpp - tensor memory without wide vectors -----===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorMemoryRegisters.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

/// Returns the number of registers of a vector; 0 for one that the back end
/// does not take apart.
static unsigned countRegisters(Type *type) {
  auto *vector = dyn_cast<FixedVectorType>(type);
  return vector && vector->getNumElements() > 2 ? vector->getNumElements() : 0;
}

/// Returns the list of operands `first` to `first + count - 1` of inline
/// assembly.
static std::string listOperands(unsigned first, unsigned count) {
  std::string list;
  for (unsigned i = first; i < first + count; ++i)
    list += (i == first ? "$" : ", $") + utostr(i);
  return list;
}

static std::string repeatConstraint(StringRef constraint, unsigned count) {
  return join(SmallVector<StringRef>(count, constraint), ",");
}

/// Calls inline assembly that all threads of a warp must reach together.
static CallInst *callAssembly(IRBuilder<> &builder, Type *result,
                              ArrayRef<Value *> operands, const Twine &text,
                              const Twine &constraints) {
  SmallVector<Type *> types;
  for (Value *operand : operands)
    types.push_back(operand->getType());
  auto *assembly = InlineAsm::get(FunctionType::get(result, types, false),
                                  text.str(), constraints.str(),
                                  /*hasSideEffects=*/true);
  CallInst *call = builder.CreateCall(assembly, operands);
  call->setConvergent();
  call->setDoesNotThrow();
  return call;
}

static Value *getAddress(IRBuilder<> &builder, Value *pointer) {
  auto *cast = dyn_cast<IntToPtrInst>(pointer);
  if (cast && cast->getSrcTy()->isIntegerTy(32))
    return cast->getOperand(0);
  return builder.CreatePtrToInt(pointer, builder.getInt32Ty());
}

/// Returns true for a cast of each element of a vector.
static bool isElementCast(Value *value) {
  auto *cast = dyn_cast<BitCastInst>(value);
  return cast && countRegisters(cast->getSrcTy()) &&
         countRegisters(cast->getSrcTy()) == countRegisters(cast->getDestTy());
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

namespace {

/// Replaces the uses of a loaded vector by uses of the registers. A register
/// must not be read before the wait behind the load, so that what is built of
/// registers is built where it is used.
class LoadedRegisters {
public:
  LoadedRegisters(IRBuilder<> &builder, Value *loaded, unsigned count)
      : builder(builder) {
    for (unsigned i = 0; i < count; ++i)
      registers.push_back(builder.CreateExtractValue(loaded, i));
  }

  /// Replaces the uses of `vector`, the loaded one or an element cast of it.
  void replace(Instruction *vector) {
    SmallSetVector<User *, 32> users(vector->user_begin(), vector->user_end());
    for (User *user : users)
      replaceIn(*cast<Instruction>(user), vector);
    vector->eraseFromParent();
  }

private:
  void replaceIn(Instruction &user, Instruction *vector) {
    builder.SetInsertPoint(&user);
    if (isElementCast(&user))
      return replace(&user);
    if (Value *value = getValue(user, vector)) {
      user.replaceAllUsesWith(value);
      user.eraseFromParent();
      return;
    }
    auto *phi = dyn_cast<PHINode>(&user);
    for (Use &use : user.operands()) {
      if (use != vector)
        continue;
      if (phi)
        builder.SetInsertPoint(phi->getIncomingBlock(use)->getTerminator());
      use = build(vector->getType(), seq<int>(registers.size()));
    }
  }

  /// Returns the value of a user of `vector`, or null if it needs a vector.
  Value *getValue(Instruction &user, Instruction *vector) {
    if (auto *extract = dyn_cast<ExtractElementInst>(&user)) {
      auto *index = dyn_cast<ConstantInt>(extract->getIndexOperand());
      if (index && index->getZExtValue() < registers.size())
        return builder.CreateBitCast(registers[index->getZExtValue()],
                                     user.getType());
    }
    auto *shuffle = dyn_cast<ShuffleVectorInst>(&user);
    if (shuffle && shuffle->getOperand(0) == vector &&
        isa<PoisonValue>(shuffle->getOperand(1)))
      return build(shuffle->getType(), shuffle->getShuffleMask());
    return nullptr;
  }

  /// Builds a vector of the registers that `mask` numbers, poison where it has
  /// another number.
  template <typename Range> Value *build(Type *type, Range &&mask) {
    Value *vector = PoisonValue::get(type);
    for (auto [position, number] : enumerate(mask))
      if (number >= 0 && unsigned(number) < registers.size())
        vector = builder.CreateInsertElement(
            vector,
            builder.CreateBitCast(registers[number], type->getScalarType()),
            uint64_t(position));
    return vector;
  }

  IRBuilder<> &builder;
  SmallVector<Value *> registers;
};

} // namespace

static void replaceLoad(IntrinsicInst *load, unsigned count) {
  IRBuilder<> builder(load);
  auto isFloats = [](User *user) {
    return isElementCast(user) && user->getType()->getScalarType()->isFloatTy();
  };
  bool floats = all_of(load->users(), isFloats);
  Type *type = floats ? builder.getFloatTy() : builder.getInt32Ty();
  CallInst *call = callAssembly(
      builder,
      StructType::get(load->getContext(), SmallVector<Type *>(count, type)),
      getAddress(builder, load->getArgOperand(0)),
      "tcgen05.ld.sync.aligned.32x32b.x" + Twine(count) + ".b32 {" +
          listOperands(0, count) + "}, [$" + Twine(count) + "];",
      repeatConstraint(floats ? "=f" : "=r", count) + ",r,~{memory}");
  LoadedRegisters(builder, call, count).replace(load);
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

/// Returns the bits of a small vector as a number, if that is what the only
/// element of a vector of one element is.
static Value *getBits(IRBuilder<> &builder, Value *element) {
  auto *extract = dyn_cast<ExtractElementInst>(element);
  if (!extract || !isa<BitCastInst>(extract->getVectorOperand()) ||
      cast<FixedVectorType>(extract->getVectorOperandType())
              ->getNumElements() != 1)
    return element;
  auto *cast = llvm::cast<BitCastInst>(extract->getVectorOperand());
  return builder.CreateBitCast(cast->getOperand(0), element->getType());
}

/// Returns the elements of a vector, as the scalars from which it was built as
/// far as they are known.
static SmallVector<Value *> getElements(IRBuilder<> &builder, Value *vector,
                                        unsigned count) {
  SmallVector<Value *> elements(count);
  Value *rest = vector;
  while (auto *insert = dyn_cast<InsertElementInst>(rest)) {
    auto *index = dyn_cast<ConstantInt>(insert->getOperand(2));
    if (!index || index->getZExtValue() >= count)
      break;
    Value *&element = elements[index->getZExtValue()];
    element = element ? element : getBits(builder, insert->getOperand(1));
    rest = insert->getOperand(0);
  }
  for (auto [position, element] : enumerate(elements))
    if (!element)
      element = builder.CreateExtractElement(rest, uint64_t(position));
  return elements;
}

static void replaceStore(IntrinsicInst *store, unsigned count) {
  IRBuilder<> builder(store);
  Value *vector = store->getArgOperand(1);
  if (isElementCast(vector) &&
      cast<BitCastInst>(vector)->getSrcTy()->getScalarType()->isFloatTy())
    vector = cast<BitCastInst>(vector)->getOperand(0);
  bool floats = vector->getType()->getScalarType()->isFloatTy();
  SmallVector<Value *> operands{getAddress(builder, store->getArgOperand(0))};
  append_range(operands, getElements(builder, vector, count));
  callAssembly(builder, builder.getVoidTy(), operands,
               "tcgen05.st.sync.aligned.32x32b.x" + Twine(count) +
                   ".b32 [$0], {" + listOperands(1, count) + "};",
               "r," + repeatConstraint(floats ? "f" : "r", count) +
                   ",~{memory}");
  Value *stored = store->getArgOperand(1);
  store->eraseFromParent();
  RecursivelyDeleteTriviallyDeadInstructions(stored);
}

//===----------------------------------------------------------------------===//
// All calls
//===----------------------------------------------------------------------===//

void fa4::useTensorMemoryRegisters(Module &module) {
  for (Function &intrinsic : make_early_inc_range(module)) {
    bool isLoad =
        intrinsic.getName().starts_with("llvm.nvvm.tcgen05.ld.32x32b.x");
    bool isStore =
        intrinsic.getName().starts_with("llvm.nvvm.tcgen05.st.32x32b.x");
    unsigned count = isLoad    ? countRegisters(intrinsic.getReturnType())
                     : isStore ? countRegisters(intrinsic.getArg(1)->getType())
                               : 0;
    if (!count)
      continue;
    for (User *user : make_early_inc_range(intrinsic.users())) {
      auto *call = dyn_cast<IntrinsicInst>(user);
      // The last argument asks for two halves of 16 bits a register.
      if (!call || !cast<ConstantInt>(call->getArgOperand(call->arg_size() - 1))
                        ->isZero())
        continue;
      if (isLoad)
        replaceLoad(call, count);
      else
        replaceStore(call, count);
    }
  }
}
