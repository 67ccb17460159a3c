//===- LaunchSequence.cpp - how the kernels of a function are launched ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Conversion/TileToNVVM/LaunchSequence.h"
#include "fa4/Conversion/TileToNVVM/KernelManifest.h"
#include "fa4/Dialect/Tile/IR/Tile.h"
#include "fa4/Support/NestedOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringSet.h"
#include <map>

using namespace mlir;
using namespace fa4::tile;
namespace json = llvm::json;

namespace {
/// Joins the manifests of the launches of a function, in which one tensor may
/// have several names.
class LaunchSequence {
public:
  LaunchSequence(FunctionOpInterface function, const Manifests &manifests)
      : function(function), manifests(manifests) {}

  FailureOr<json::Object> build();

private:
  LogicalResult add(LaunchOp launch);
  LogicalResult checkOthers();
  LogicalResult addTensor(LaunchOp launch, Value storage, StringRef name,
                          const json::Object &tensor);
  LogicalResult addScalar(LaunchOp launch, Value value, StringRef name);
  std::string nameTensor(Value storage, StringRef name);
  bool isWorkspace(Value value) const;

  FunctionOpInterface function;
  const Manifests &manifests;

  /// The tensors that a launch writes.
  llvm::DenseSet<Value> written;
  /// What the tensors of the sequence are called: those that a launch writes by
  /// their storage, others by their name in a kernel, too. Self-attention has
  /// one value as q, k and v, which are three inputs.
  std::map<std::pair<void *, std::string>, std::string> names;
  llvm::StringSet<> taken;
  llvm::StringMap<Value> scalars;
  /// The names of the launch that is added -> the sequence's.
  llvm::StringMap<std::string> renamed;

  json::Object tensors, sizes;
  json::Array conditions, launches;
};
} // namespace

/// Returns the value that `value` is another name of.
static Value skipCasts(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::CastOp, memref::CastOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Returns the value that stands for the memory behind `value`. A launch on
/// tensors gives a result for each destination, and writes where the
/// destination was written before, by a kernel or by the caller. A destination
/// that holds nothing yet (tensor.empty) may be that of several results, each
/// of which has memory of its own.
static Value findStorage(Value value) {
  value = skipCasts(value);
  while (auto launch = value.getDefiningOp<LaunchOp>()) {
    Value init =
        skipCasts(launch.getTiedOpOperand(cast<OpResult>(value))->get());
    if (!isa<BlockArgument>(init) && !init.getDefiningOp<LaunchOp>())
      break;
    value = init;
  }
  return value;
}

/// Returns the value for the memory behind an operand.
static Value findStorage(LaunchOp launch, OpOperand &operand) {
  if (launch.isDpsInit(&operand) &&
      isa<RankedTensorType>(operand.get().getType()))
    return findStorage(launch.getTiedOpResult(&operand));
  return findStorage(operand.get());
}

/// Returns true for a tensor that exists between the kernels only.
bool LaunchSequence::isWorkspace(Value value) const {
  if (isa<BlockArgument>(value))
    return false;
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (auto launch = dyn_cast<LaunchOp>(user))
      return llvm::all_of(launch.getOutputs(), [&](OpResult result) {
        return launch.getTiedOpOperand(result)->get() != value ||
               isWorkspace(result);
      });
    if (isa<tensor::CastOp, memref::CastOp>(user))
      return isWorkspace(user->getResult(0));
    return isa<memref::DeallocOp, memref::DimOp, tensor::DimOp>(user);
  });
}

/// Returns the name of a tensor, which is that in the first kernel that has it
/// unless another tensor is called so.
std::string LaunchSequence::nameTensor(Value storage, StringRef name) {
  std::string key = written.contains(storage) ? "" : name.str();
  auto [found, isNew] =
      names.insert({{storage.getAsOpaquePointer(), key}, name.str()});
  if (isNew)
    for (unsigned i = 1; !taken.insert(found->second).second; ++i)
      found->second = (name + "_" + Twine(i)).str();
  return found->second;
}

/// Returns the role in the sequence of a tensor that had the role `before` and
/// has the role `now` in the next kernel.
static StringRef joinRoles(StringRef before, StringRef now) {
  return before == "in" && now != "in" ? "inout" : before;
}

LogicalResult LaunchSequence::addTensor(LaunchOp launch, Value storage,
                                        StringRef name,
                                        const json::Object &tensor) {
  std::string ours = nameTensor(storage, name);
  renamed[name] = ours;
  json::Object *known = tensors.getObject(ours);
  if (!known) {
    json::Object added = tensor;
    if (isWorkspace(storage)) {
      added["role"] = "workspace";
      added["fill"] = "undefined";
    }
    tensors[ours] = std::move(added);
    return success();
  }
  for (StringRef key : {"dtype", "shape", "strides"})
    if (const json::Value *a = known->get(key), *b = tensor.get(key);
        (a != nullptr) != (b != nullptr) || (a && *a != *b))
      return launch.emitOpError("passes '")
             << ours << "' with another " << key
             << " than the launch before: its kernel calls it '" << name << "'";
  (*known)["role"] =
      joinRoles(*known->getString("role"), *tensor.getString("role"));
  int64_t alignment = std::max(known->getInteger("alignment").value_or(1),
                               tensor.getInteger("alignment").value_or(1));
  if (alignment > 1)
    (*known)["alignment"] = alignment;
  for (StringRef key : {"exclusive", "ordered"})
    if (tensor.getBoolean(key).value_or(false))
      (*known)[key] = true;
  return success();
}

LogicalResult LaunchSequence::addScalar(LaunchOp launch, Value value,
                                        StringRef name) {
  if (Operation *computes = value.getDefiningOp())
    return launch.emitOpError("passes as '")
           << name << "' what '" << computes->getName()
           << "' computes, which a manifest of launches cannot say";
  Value known = scalars.try_emplace(name, value).first->second;
  if (known != value)
    return launch.emitOpError("passes another value as '")
           << name << "' than the launch before";
  return success();
}

/// Replaces the names of tensors in a parameter.
static void rename(json::Value &value,
                   const llvm::StringMap<std::string> &renamed) {
  if (json::Array *array = value.getAsArray())
    for (json::Value &element : *array)
      rename(element, renamed);
  json::Object *object = value.getAsObject();
  if (!object)
    return;
  for (auto &[key, inner] : *object) {
    if (StringRef(key) != "tensor")
      rename(inner, renamed);
    else if (auto found = renamed.find(inner.getAsString().value_or(""));
             found != renamed.end())
      inner = found->second;
  }
}

LogicalResult LaunchSequence::add(LaunchOp launch) {
  if (launch->getParentOp() != function)
    return launch.emitOpError(
        "is in control flow, which a manifest of launches cannot say");
  auto found = manifests.find(launch.getKernel());
  if (found == manifests.end())
    return launch.emitOpError("launches '")
           << launch.getKernel() << "', which has no manifest";
  const json::Object &manifest = found->second.manifest;
  const json::Object *known = manifest.getObject("tensors");
  renamed.clear();
  for (auto [operand, name] :
       llvm::zip(launch->getOpOperands(), found->second.arguments)) {
    const json::Object *tensor = known->getObject(name);
    if (failed(tensor ? addTensor(launch, findStorage(launch, operand), name,
                                  *tensor)
                      : addScalar(launch, operand.get(), name)))
      return failure();
  }
  for (const auto &[name, value] : *manifest.getObject("sizes"))
    sizes.try_emplace(name, value);
  for (const json::Value &condition : *manifest.getArray("requires"))
    if (!llvm::is_contained(conditions, condition))
      conditions.push_back(condition);
  json::Object entry;
  for (StringRef key :
       {StringRef("ptx"), StringRef("entry"), StringRef("grid"),
        StringRef("block"), StringRef("cluster"), StringRef("dynamic_smem"),
        StringRef(kProgrammatic), StringRef(kEmpty), StringRef("params")})
    if (const json::Value *value = manifest.get(key))
      entry[key] = *value;
  rename(*entry.get("params"), renamed);
  if (json::Value *empty = entry.get(kEmpty))
    rename(*empty, renamed);
  launches.push_back(std::move(entry));
  return success();
}

/// Returns true for an operation that makes memory, names it, ends its life or
/// computes its sizes, which the manifest says by the shapes of tensors.
static bool isOfMemory(Operation *op) {
  if (isa<tensor::EmptyOp, tensor::CastOp, tensor::DimOp, memref::AllocOp,
          memref::DeallocOp, memref::CastOp, memref::DimOp>(op))
    return true;
  auto isIndex = [](Type type) { return type.isIndex(); };
  return isMemoryEffectFree(op) && op->getNumRegions() == 0 &&
         llvm::all_of(op->getResultTypes(), isIndex) &&
         llvm::all_of(op->getOperandTypes(), isIndex);
}

/// Checks that nothing in the function but its launches computes anything.
LogicalResult LaunchSequence::checkOthers() {
  for (Operation &op : function.getFunctionBody().getOps()) {
    bool isUnused = op.use_empty() && isPure(&op);
    if (!isUnused && !isa<LaunchOp>(op) && !isOfMemory(&op) &&
        !(op.hasTrait<OpTrait::IsTerminator>() && op.getNumSuccessors() == 0))
      return op.emitOpError("is in a function of several launches, and a "
                            "manifest of launches cannot say it; host code can "
                            "(attn-to-host)");
  }
  return success();
}

FailureOr<json::Object> LaunchSequence::build() {
  function.walk([&](LaunchOp launch) {
    for (OpOperand &init : launch.getDpsInitsMutable())
      written.insert(findStorage(launch, init));
  });
  auto addLaunch = [&](LaunchOp launch) { return add(launch); };
  if (failed(fa4::checkEach(function, addLaunch)) || failed(checkOthers()))
    return failure();
  return json::Object{{"sizes", std::move(sizes)},
                      {"requires", std::move(conditions)},
                      {"tensors", std::move(tensors)},
                      {"launches", std::move(launches)}};
}

FailureOr<json::Object>
fa4::tile::buildLaunchSequence(FunctionOpInterface function,
                               const Manifests &manifests) {
  return LaunchSequence(function, manifests).build();
}
