//===- KernelSignature.h - parameters of a kernel ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_TILETONVVM_KERNELSIGNATURE_H
#define FA4_LIB_CONVERSION_TILETONVVM_KERNELSIGNATURE_H

#include "Formula.h"
#include "KernelLayout.h"
#include "TensorMaps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include <map>
#include <variant>

namespace fa4::tile {

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
    return maps.getMaps()[maps.find(memoryOp)];
  }
  mlir::MemRefType memrefType(unsigned argument) const;
  /// Return the numbers of parameters.
  unsigned mapParameter(mlir::Operation *memoryOp) const {
    return mapParameters[maps.find(memoryOp)];
  }
  unsigned mapBehindParameter(mlir::Operation *load) const {
    return mapParameters[maps.findBehind(load)];
  }
  unsigned pointerParameter(unsigned argument) const {
    return pointers.find(argument)->second;
  }
  unsigned scalarParameter(unsigned argument) const {
    return scalars.find(argument)->second;
  }
  /// Returns the parameter of a size or stride, or the number itself if it is
  /// static.
  std::variant<unsigned, int64_t> size(unsigned argument, int64_t dim) const {
    return find(sizes, getSize(kernel, argument, dim));
  }
  std::variant<unsigned, int64_t> size(llvm::StringRef name) const {
    return find(sizes, Formula::size(name));
  }
  std::variant<unsigned, int64_t> stride(unsigned argument, int64_t dim) const {
    return find(strides, getStride(kernel, argument, dim));
  }

  llvm::ArrayRef<unsigned> tensorMapParameters() const { return mapParameters; }
  /// Creates the kernel's function, without a body, with its parameters, launch
  /// bounds and `fa4.manifest`.
  mlir::LLVM::LLVMFuncOp createFunction(mlir::OpBuilder &builder) const;

private:
  KernelSignature(KernelOp kernel, const KernelLayout &layout, TensorMaps maps)
      : kernel(kernel), layout(layout), maps(std::move(maps)) {}

  struct Parameter {
    mlir::Type type;
    /// The description in the manifest.
    mlir::DictionaryAttr description;
    bool isTensorMap = false;
  };
  /// The parameters that are values of formulas.
  using Numbers = std::map<Formula, unsigned>;

  static std::variant<unsigned, int64_t> find(const Numbers &numbers,
                                              const Formula &formula) {
    if (std::optional<int64_t> number = formula.getNumber())
      return *number;
    return numbers.find(formula)->second;
  }
  void addMaps();
  mlir::LogicalResult addPointers();
  void addScalars();
  mlir::LogicalResult addSizes();
  mlir::LogicalResult addSizesOf(mlir::Operation *op);
  mlir::LogicalResult addSizeOf(mlir::memref::DimOp op);
  /// Adds a parameter for the value of `formula`, unless that is a number or
  /// has one in `numbers`.
  void addNumber(Numbers &numbers, const Formula &formula, mlir::Type type);
  void addSize(const Formula &size);
  void addParameter(mlir::Type type,
                    llvm::ArrayRef<mlir::NamedAttribute> entries,
                    bool isTensorMap = false);

  /// Ops' accessors are not const.
  KernelOp getKernel() const { return kernel; }

  KernelOp kernel;
  const KernelLayout &layout;
  TensorMaps maps;
  mlir::ArrayAttr conditions;
  llvm::SmallVector<Parameter> parameters;
  llvm::SmallVector<unsigned> mapParameters;      ///< By the place of the map.
  std::map<unsigned, unsigned> pointers, scalars; ///< By argument.
  Numbers sizes, strides;
};

} // namespace fa4::tile

#endif // FA4_LIB_CONVERSION_TILETONVVM_KERNELSIGNATURE_H
