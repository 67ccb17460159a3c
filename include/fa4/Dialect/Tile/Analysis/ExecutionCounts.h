//===- ExecutionCounts.h - how often operations of a role run ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each role computes its loop bounds for itself. To say that two roles do
// something equally often, counts are compared as polynomials over what the
// bounds are computed from: a loop over [0, n - 1) and what is peeled off it
// together run as often as a loop over [0, n) of another role.
//
// A polynomial is the integer that a value is, as a signed number. The machine
// computes modulo a power of two, so an operation's result is the sum or
// product of its operands only where that cannot leave its type
// (IntegerRanges). Elsewhere it is the residue of the sum or product, an atom
// of its own: two residues are equal if the polynomials are, modulo the same
// power of two. An operation that is not a sum or product is an atom whose name
// has the types and operands of the operation. That holds for tile.load_scalar,
// too, which gives one number for equal indices, whoever reads it.
//
// A scalar that came through a channel is the value that was committed, where
// each commit has one wait in the role: both stand once at the top of the work
// on a tile. Elsewhere it is an atom that nothing else is equal to.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_EXECUTIONCOUNTS_H
#define FA4_DIALECT_TILE_ANALYSIS_EXECUTIONCOUNTS_H

#include "fa4/Dialect/Tile/Analysis/IntegerRanges.h"
#include "fa4/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DynamicAPInt.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringMap.h"
#include <map>
#include <vector>

namespace fa4::tile {

/// A polynomial with integer coefficients over atoms, values that are known
/// only as a whole. A monomial is the sorted list of its atoms; none has the
/// coefficient 0.
using Polynomial = std::map<std::vector<unsigned>, llvm::DynamicAPInt>;

class ExecutionCounts {
public:
  /// What the value of an induction variable is.
  enum class Induction {
    /// An atom of its bounds and step, as sums over the loop need it.
    Whole,
    /// `lower bound + pass * step`, where `pass` is an atom that loops of equal
    /// depth, lower bound and step have in common. Loops that start whole steps
    /// apart (one is peeled) share it too, counted from the first: see Pass.
    Passes,
  };
  explicit ExecutionCounts(Induction induction = Induction::Whole)
      : induction(induction) {}

  /// The atom of the passes of a loop: the number of the first pass, 0 or more,
  /// is `offset`.
  struct Pass {
    unsigned atom;
    int64_t offset;
  };
  Pass getPass(mlir::scf::ForOp loop);

  /// Of how many loops around it, outermost first, the passes decide what the
  /// monomial is. With Induction::Passes only.
  unsigned getDepth(llvm::ArrayRef<unsigned> monomial) const;

  /// How often `op` runs in one run of its role. Equal polynomials mean equal
  /// counts, whatever the values of the atoms; the converse need not hold. A
  /// product of a loop's count and something that depends on its induction
  /// variable stands for the sum over the loop.
  Polynomial getCount(mlir::Operation *op);

  /// Whether the loop's body surely runs at least once each time.
  bool runsAtLeastOnce(mlir::scf::ForOp loop);

  /// How many passes the loop makes each time; an atom where that is not a
  /// polynomial.
  Polynomial getTripCount(mlir::scf::ForOp loop);

  /// On how many work tiles the CTA works: an atom.
  Polynomial getTripCount(WorkOp work);

  /// The value of an index or integer, as a signed number.
  Polynomial getValue(mlir::Value value);

  /// Whether `a >= 0` is proven.
  bool isNonNegative(const Polynomial &a);

  /// Bounds of the integers of the kernel.
  IntegerRanges &getRanges() { return ranges; }

  static Polynomial constant(int64_t value);
  static Polynomial add(const Polynomial &a, const Polynomial &b,
                        int64_t factor = 1);
  static Polynomial multiply(const Polynomial &a, const Polynomial &b);

private:
  /// Bounds of a number; none on a side on which it has no limit.
  struct Bounds {
    std::optional<llvm::DynamicAPInt> low, high;
  };

  /// What is known of an atom beyond its name, wherever it occurs.
  struct Atom {
    enum Kind {
      Opaque,
      Min,
      Max,
      /// The first operand modulo 2^bits, from 0 (Unsigned) or -2^(bits-1) on.
      Unsigned,
      Signed
    } kind = Opaque;
    Bounds bounds = {};
    /// Loops around the value that may decide it.
    unsigned depth = 0;
    unsigned bits = 0;
    Polynomial operands[2] = {};
  };

  Polynomial computeValue(mlir::Value value);
  Polynomial computeWaited(WaitOp wait);
  Polynomial computeArgument(mlir::BlockArgument argument);
  Polynomial getCoordinate(mlir::BlockArgument argument);
  Polynomial computeResult(mlir::OpResult result);
  Polynomial getShifted(mlir::OpResult result);
  Polynomial getCast(mlir::OpResult result, bool isSigned);
  Polynomial getSize(mlir::OpResult result);
  Polynomial getAtom(const std::string &key, Atom atom);
  Polynomial getUniqueAtom(Bounds bounds, unsigned depth);
  Polynomial getNumberAtom(const llvm::APInt &number);
  /// An operation without effects, by its name, attributes, types and operands.
  Polynomial getOperationAtom(mlir::OpResult result);
  Polynomial getMinOrMax(mlir::OpResult result, Atom::Kind kind);
  /// `exact` modulo 2^bits, as a signed or unsigned number.
  Polynomial getResidue(const Polynomial &exact, unsigned bits,
                        Atom::Kind kind);
  /// A polynomial that is equal to `a` modulo 2^bits, the same for all that are
  /// (not for each of them, where it would get large).
  Polynomial reduce(const Polynomial &a, unsigned bits) const;
  Polynomial expandResidues(const Polynomial &a, unsigned bits) const;

  Bounds getBounds(const Polynomial &a) const;
  mlir::ConstantIntRanges getRange(mlir::Value value);
  bool isNonNegative(mlir::Value value);
  bool isNonNegative(const Polynomial &a, unsigned depth, unsigned &attempts);
  unsigned depthOf(const Polynomial &a) const;

  Induction induction;
  IntegerRanges ranges;
  std::vector<Atom> atoms;
  llvm::StringMap<unsigned> atomOf;
  llvm::DenseMap<mlir::Value, Polynomial> values;
  std::map<Polynomial, bool> proofs;
  /// The waits for scalars whose values are being computed.
  llvm::SmallPtrSet<mlir::Operation *, 4> waited;
};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_EXECUTIONCOUNTS_H
