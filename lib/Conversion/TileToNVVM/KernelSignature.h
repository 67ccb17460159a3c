//===- KernelSignature.h - parameters of a kernel ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_TILETONVVM_KERNELSIGNATURE_H
#define FA4_LIB_CONVERSION_TILETONVVM_KERNELSIGNATURE_H

#include "KernelLayout.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringMap.h"
#include <variant>

namespace fa4::tile {

/// A tensor map: it describes how tiles of one shape are copied to and from a
/// tensor.
struct TensorMap {
  unsigned argument = 0;
  /// The dimensions of the memref in the map's order, with the contiguous one
  /// first.
  llvm::SmallVector<int64_t> dims;
  llvm::SmallVector<int64_t> box;
  int64_t span = 0;
  /// The place in `dims` at which the dimension of rows stands for the second
  /// time, for stores that end at a row (`to`), or -1. The map begins as many
  /// rows in front of the tensor as a box has, R, so that (i, j) is row
  /// i + j - R. i has extent R: with j at the row that the store ends at, rows
  /// behind that are out of bounds, and no coordinate is negative, which stores
  /// must not have.
  int second = -1;

  /// Returns the place in `dims` at which the dimension of rows stands first.
  /// There must be a second one.
  unsigned getFirst() const {
    return llvm::find(dims, dims[second]) - dims.begin();
  }
  /// Returns R.
  int64_t getRows() const { return box[getFirst()]; }

  bool operator==(const TensorMap &other) const {
    return argument == other.argument && dims == other.dims &&
           box == other.box && span == other.span && second == other.second;
  }
};

/// The parameters of a kernel, in this order: tensor maps by argument and then
/// first use; for arguments that threads access a pointer and the strides that
/// they need, in elements; scalars; the sizes that the kernel asks for, by
/// first use.
class KernelSignature {
public:
  /// Computes the signature. Emits an error on an op whose access cannot be
  /// described.
  static mlir::FailureOr<KernelSignature> compute(KernelOp kernel,
                                                  const KernelLayout &layout);

  const TensorMap &tensorMap(mlir::Operation *memoryOp) const {
    return maps[mapOf.find(memoryOp)->second];
  }
  mlir::MemRefType memrefType(unsigned argument) const;
  /// Return the numbers of parameters.
  unsigned mapParameter(mlir::Operation *memoryOp) const {
    return mapParameters[mapOf.find(memoryOp)->second];
  }
  unsigned pointerParameter(unsigned argument) const {
    return pointers.find(argument)->second;
  }
  unsigned scalarParameter(unsigned argument) const {
    return scalars.find(argument)->second;
  }
  /// Returns the parameter of a size or stride, or the number itself if it is
  /// static.
  std::variant<unsigned, int64_t> size(unsigned argument, int64_t dim) const;
  std::variant<unsigned, int64_t> size(llvm::StringRef name) const;
  std::variant<unsigned, int64_t> stride(unsigned argument, int64_t dim) const;

  llvm::ArrayRef<unsigned> tensorMapParameters() const { return mapParameters; }
  /// Creates the kernel's function, without a body, with its parameters, launch
  /// bounds and `fa4.manifest`.
  mlir::LLVM::LLVMFuncOp createFunction(mlir::OpBuilder &builder) const;

private:
  explicit KernelSignature(KernelOp kernel, const KernelLayout &layout)
      : kernel(kernel), layout(layout) {}

  struct Parameter {
    mlir::Type type;
    /// The description in the manifest.
    mlir::DictionaryAttr description;
    bool isTensorMap = false;
  };

  mlir::LogicalResult collectMaps();
  mlir::LogicalResult addMap(mlir::Operation *op, mlir::Value memref,
                             mlir::VectorType tile,
                             llvm::ArrayRef<int64_t> tileDims, bool hasEnd);
  mlir::LogicalResult collectPointers();
  void collectScalars();
  mlir::LogicalResult collectSizes();
  void addSize(llvm::StringRef name);
  void addParameter(mlir::Type type,
                    llvm::ArrayRef<mlir::NamedAttribute> entries,
                    bool isTensorMap = false);
  /// Collects `requirements`. An error for static sizes that break one.
  mlir::LogicalResult addConditions();
  mlir::LogicalResult addSizeConditions();
  mlir::LogicalResult addGridConditions();
  mlir::LogicalResult addStrideConditions();
  mlir::LogicalResult addProgramConditions();
  mlir::LogicalResult requireRange(llvm::StringRef what,
                                   const std::string &expression, int64_t least,
                                   int64_t most);
  mlir::LogicalResult requireMultiple(llvm::StringRef what,
                                      const std::string &expression,
                                      int64_t factor);
  mlir::DictionaryAttr describeMap(const TensorMap &map) const;
  mlir::DictionaryAttr describeTensors() const;
  /// Whether calls may have sizes of 0 (`tile.if_empty`), and what is done
  /// then.
  bool mayBeEmpty() const;
  mlir::DictionaryAttr describeEmpty() const;
  /// The least value of a size, or of a product of sizes, in a call.
  int64_t getLeast(llvm::StringRef expression) const;
  mlir::DictionaryAttr buildManifest() const;
  std::string strideExpression(unsigned argument, int64_t dim) const;

  KernelOp getKernel() const { return kernel; }

  KernelOp kernel;
  const KernelLayout &layout;
  /// What sizes must be like, as the manifest has it.
  struct Requirement {
    std::string condition, message;
  };
  llvm::SmallVector<Requirement> requirements;
  llvm::SmallVector<TensorMap> maps;
  llvm::SmallVector<unsigned> mapParameters;
  llvm::DenseMap<mlir::Operation *, unsigned> mapOf;
  llvm::SmallVector<Parameter> parameters;
  llvm::DenseMap<unsigned, unsigned> pointers, scalars;
  llvm::StringMap<unsigned> sizes, strides;
};

} // namespace fa4::tile

#endif // FA4_LIB_CONVERSION_TILETONVVM_KERNELSIGNATURE_H
