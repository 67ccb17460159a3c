//===- IndexSymbols.h - the unknowns of forms -------------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The symbols of an IndexForm, and the facts about them. A symbol is an integer
// that a form does not take apart: a coordinate of the work tile, the size of a
// tensor, the minimum of two forms. Two symbols with the same description are
// one, so that two forms are the same number if they are equal.
//
// A form stands for an integer without a limit. The machine computes modulo a
// power of two. A number that may have wrapped around is a residue, a symbol
// whose operand is the form that the number equals modulo 2^bits. Two residues
// are one if their forms are equal modulo their power of two.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_INDEXSYMBOLS_H
#define FA4_DIALECT_TILE_ANALYSIS_INDEXSYMBOLS_H

#include "fa4/Dialect/Tile/Analysis/IndexForm.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace fa4::tile {

/// The bounds of a number; nothing on a side without a limit.
struct IndexBounds {
  std::optional<llvm::DynamicAPInt> low, high;
};

struct IndexSymbol {
  enum class Kind {
    /// The coordinate of the work tile along axis `number`. All roles work on
    /// the same tiles in the same order, so in a given pass of tile.work the
    /// coordinate is the same number in all roles.
    WorkCoordinate,
    /// The number of the cluster along axis `number`: the coordinate divided by
    /// the size of a cluster. It is the same in all CTAs of a cluster.
    ClusterNumber,
    /// The pass of a loop with `number` loops around its body. The operands are
    /// the lower bound and the step.
    Pass,
    /// The induction variable of a loop. The operands are the bounds and the
    /// step.
    Induction,
    /// The number of passes of a loop. The operands are the length and the
    /// step, or the bounds and the step of a loop that may wrap around.
    Trips,
    /// The number of work tiles of a CTA.
    WorkTiles,
    /// 1 if the condition (operand 0) of an `scf.if` holds, 0 otherwise.
    Branch,
    /// The size `name` of tensors.
    Size,
    /// A number (operand 0) that is too large for a coefficient.
    Number,
    /// An element of a tensor. Operand 0 is the tensor, the others are indices.
    Scalar,
    /// The smaller or larger of two numbers.
    Min,
    Max,
    /// Operand 0 divided by operand 1, rounded down or up.
    FloorDiv,
    CeilDiv,
    /// Operand 0 compared with operand 1; `number` is the
    /// arith::CmpIPredicate.
    Compare,
    /// Operand 1 if operand 0 holds, else operand 2.
    Select,
    /// The operand modulo 2^number, as a number from 0 on or a signed number.
    UnsignedResidue,
    SignedResidue,
    /// Another function of the operands.
    Function,
    /// The number `value`, about which nothing else is known.
    Opaque,
    /// A number that nothing else equals.
    Unique,
  };

  Kind kind;
  unsigned number = 0;
  std::vector<IndexForm> operands = {};
  /// The name of a size, from an attribute of the kernel.
  llvm::StringRef name = {};
  /// The value of an opaque symbol.
  mlir::Value value = {};
  /// Tells symbols apart that agree in everything above: the operation, its
  /// attributes and its types.
  std::vector<const void *> identity = {};

  /// The facts that hold wherever the symbol occurs. They tell no symbols
  /// apart.
  IndexBounds bounds = {};
  /// The number of loops around the value that may decide it.
  unsigned depth = 0;

  /// Returns the operation of whose block `value` is an argument, or null.
  mlir::Operation *getParentOfArgument() const;

  bool operator<(const IndexSymbol &other) const;
};

class IndexSymbols {
public:
  using Kind = IndexSymbol::Kind;

  IndexSymbols() = default;
  IndexSymbols(IndexSymbols &&) = default;
  IndexSymbols &operator=(IndexSymbols &&) = default;

  /// Returns the form that is this symbol. The facts of the first symbol of a
  /// description are kept.
  IndexForm get(IndexSymbol symbol);
  /// A symbol has a larger number than the symbols of its operands.
  const IndexSymbol &operator[](unsigned number) const {
    return *symbols[number];
  }

  size_t size() const { return symbols.size(); }

  /// Returns the smaller (Kind::Min) or larger (Kind::Max) of two numbers.
  IndexForm getMinOrMax(Kind kind, IndexForm a, IndexForm b);
  /// Returns `exact` modulo 2^bits, as a signed or unsigned number.
  IndexForm getResidue(const IndexForm &exact, unsigned bits, bool isSigned);

  IndexBounds getBounds(const IndexForm &form) const;
  /// Returns true if `form >= 0` is proven.
  bool isNonNegative(const IndexForm &form);

  /// Returns how many of the loops around, outermost first, decide the number
  /// by their passes.
  unsigned getDepth(llvm::ArrayRef<unsigned> monomial) const;
  unsigned getDepth(const IndexForm &form) const;

  /// Returns true if `matches` holds for a symbol of the form, or for one from
  /// which a symbol of the form is computed.
  bool dependsOn(const IndexForm &form,
                 llvm::function_ref<bool(const IndexSymbol &)> matches) const;
  /// Returns true if the form depends on the coordinate of the work tile along
  /// `axis`. The number of a cluster does not.
  bool dependsOnCoordinate(const IndexForm &form, unsigned axis) const;

  /// Returns the axis if the monomial is a coordinate of the work tile.
  std::optional<unsigned> getAxis(const IndexForm::Monomial &monomial) const;
  /// Removes the coordinate of the work tile along `axis` from the sum, and
  /// returns its coefficient.
  llvm::DynamicAPInt takeCoordinate(IndexForm &form, unsigned axis) const;

  /// Returns the least and the largest number of a type with `bits` bits.
  static IndexBounds getLimits(unsigned bits, bool isSigned);
  /// Returns true for a form that no loop bound or index has. A value with such
  /// a form should be a symbol instead.
  static bool isLarge(const IndexForm &form);

private:
  IndexForm reduce(const IndexForm &form, unsigned bits) const;
  IndexForm expandResidues(const IndexForm &form, unsigned bits) const;
  bool prove(const IndexForm &form, unsigned depth, unsigned &attempts) const;

  /// The symbols by their descriptions. The map owns them.
  std::map<IndexSymbol, unsigned> numberOf;
  std::vector<const IndexSymbol *> symbols;
  std::map<IndexForm, bool> proofs;
};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_INDEXSYMBOLS_H
