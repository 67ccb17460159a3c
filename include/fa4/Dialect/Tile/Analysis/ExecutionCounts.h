//===- ExecutionCounts.h - how often operations of a role run ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each role computes its loop bounds for itself. To tell that two roles do
// something equally often, counts are compared as polynomials over the values
// from which the bounds are computed. For example, a loop over [0, n - 1) and
// its peeled last pass together run as often as another role's loop over [0,
// n).
//
// A polynomial stands for the integer that a value is, as a signed number. The
// machine computes modulo a power of two. So an operation's result is the sum
// or product of its operands only if the sum or product fits into the type for
// all operands (IntegerRanges). Otherwise it is the residue of the sum or
// product, an atom of its own. Two residues are equal if their polynomials and
// their powers of two are. Any other operation is an atom whose name has the
// types and operands of the operation. This holds for tile.load_scalar, too: it
// gives the same number for equal indices in every role.
//
// A scalar that comes through a channel is the committed value if each commit
// has one wait in the role: both must stand once at the top of the work on a
// tile. Otherwise it is an atom that equals nothing else.
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
  /// How the value of an induction variable is expressed.
  enum class Induction {
    /// As an atom of the loop's bounds and step: sums over the loop need it.
    Whole,
    /// As `lower bound + pass * step`. The atom `pass` is shared by all loops
    /// of equal depth, lower bound and step. Loops that start whole steps apart
    /// (one is peeled) share it too, counted from the first: see Pass.
    Passes,
  };
  explicit ExecutionCounts(Induction induction = Induction::Whole)
      : induction(induction) {}

  /// The atom that counts the passes of a loop. The first pass has the number
  /// `offset`, which is at least 0.
  struct Pass {
    unsigned atom;
    int64_t offset;
  };
  Pass getPass(mlir::scf::ForOp loop);

  /// Returns how many of the loops around the monomial, outermost first, decide
  /// it by their passes. With Induction::Passes only.
  unsigned getDepth(llvm::ArrayRef<unsigned> monomial) const;

  /// Returns how often `op` runs in one run of its role. Equal polynomials mean
  /// equal counts, whatever the values of the atoms; equal counts may have
  /// different polynomials. A product of a loop's count and a term that depends
  /// on the loop's induction variable stands for the sum over the loop.
  Polynomial getCount(mlir::Operation *op);

  /// Returns true if the loop's body runs at least once each time.
  bool runsAtLeastOnce(mlir::scf::ForOp loop);

  /// Returns how many passes the loop makes each time. This is an atom if it is
  /// not a polynomial.
  Polynomial getTripCount(mlir::scf::ForOp loop);

  /// Returns the atom for the number of work tiles that the CTA works on.
  Polynomial getTripCount(WorkOp work);

  /// Returns the value of an index or integer, as a signed number.
  Polynomial getValue(mlir::Value value);

  /// Returns true if `a >= 0` is proven.
  bool isNonNegative(const Polynomial &a);

  /// Returns the bounds of the integers of the kernel.
  IntegerRanges &getRanges() { return ranges; }

  static Polynomial constant(int64_t value);
  static Polynomial add(const Polynomial &a, const Polynomial &b,
                        int64_t factor = 1);
  static Polynomial multiply(const Polynomial &a, const Polynomial &b);

private:
  /// The bounds of a number; nothing on a side without a limit.
  struct Bounds {
    std::optional<llvm::DynamicAPInt> low, high;
  };

  /// The facts about an atom that hold wherever the atom occurs.
  struct Atom {
    enum Kind {
      Opaque,
      Min,
      Max,
      /// The first operand modulo 2^bits, as a number from 0 on.
      Unsigned,
      Signed
    } kind = Opaque;
    Bounds bounds = {};
    /// The number of loops around the value that may decide it.
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
  /// Returns the atom of an operation without effects. Its name has the
  /// operation's name, attributes, types and operands.
  Polynomial getOperationAtom(mlir::OpResult result);
  Polynomial getMinOrMax(mlir::OpResult result, Atom::Kind kind);
  /// Returns `exact` modulo 2^bits, as a signed or unsigned number.
  Polynomial getResidue(const Polynomial &exact, unsigned bits,
                        Atom::Kind kind);
  /// Returns one polynomial for all polynomials that equal `a` modulo 2^bits.
  /// Two that are equal may get different results if their residues expand to
  /// large polynomials, because the expansion then stops.
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
