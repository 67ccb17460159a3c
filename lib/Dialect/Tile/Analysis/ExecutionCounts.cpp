//===- ExecutionCounts.cpp - how often operations of a role run ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/ExecutionCounts.h"
#include "fa4/Dialect/Tile/Analysis/IndexRange.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace fa4::tile;
using llvm::DynamicAPInt;

/// Limits of a proof that a polynomial is not negative. Loop bounds are a few
/// operations deep, so a longer search is not worth its time.
static constexpr unsigned kMaxProofDepth = 8;
static constexpr unsigned kMaxProofAttempts = 1000;

/// A larger polynomial is no loop bound that anybody writes. The value is an
/// atom instead.
static constexpr unsigned kMaxMonomials = 32;
static constexpr unsigned kMaxDegree = 8;

/// Integers with more bits are atoms without bounds.
static constexpr unsigned kMaxBits = 64;

//===----------------------------------------------------------------------===//
// Polynomials
//===----------------------------------------------------------------------===//

Polynomial ExecutionCounts::constant(int64_t value) {
  Polynomial result;
  if (value != 0)
    result[{}] = DynamicAPInt(value);
  return result;
}

Polynomial ExecutionCounts::add(const Polynomial &a, const Polynomial &b,
                                int64_t factor) {
  Polynomial result = a;
  for (const auto &[monomial, coefficient] : b) {
    DynamicAPInt &sum = result[monomial];
    sum += factor * coefficient;
    if (sum == 0)
      result.erase(monomial);
  }
  return result;
}

Polynomial ExecutionCounts::multiply(const Polynomial &a, const Polynomial &b) {
  Polynomial result;
  for (const auto &[ma, ca] : a) {
    Polynomial row;
    for (const auto &[mb, cb] : b) {
      std::vector<unsigned> monomial(ma);
      monomial.insert(monomial.end(), mb.begin(), mb.end());
      llvm::sort(monomial);
      row[monomial] += ca * cb;
    }
    result = add(result, row);
  }
  return result;
}

static bool isLarge(const Polynomial &a) {
  return a.size() > kMaxMonomials || llvm::any_of(a, [](const auto &term) {
           return term.first.size() > kMaxDegree;
         });
}

static std::string toString(const Polynomial &a) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const auto &[monomial, coefficient] : a) {
    os << "+" << coefficient;
    for (unsigned atom : monomial)
      os << "*" << atom;
  }
  return text;
}

static DynamicAPInt getPowerOfTwo(unsigned exponent) {
  return DynamicAPInt(APInt::getOneBitSet(exponent + 2, exponent));
}

/// Returns the number from -2^(bits-1) to 2^(bits-1) - 1 that equals `number`
/// modulo 2^bits.
static DynamicAPInt getSignedResidue(const DynamicAPInt &number,
                                     unsigned bits) {
  DynamicAPInt modulus = getPowerOfTwo(bits), half = getPowerOfTwo(bits - 1);
  return mod(number + half, modulus) - half;
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

namespace {
using OptionalInt = std::optional<DynamicAPInt>;
} // namespace

static OptionalInt addBound(const OptionalInt &a, const OptionalInt &b) {
  return a && b ? OptionalInt(*a + *b) : std::nullopt;
}

/// Returns the bounds of the product of a number in [aLow, aHigh] and a number
/// in [bLow, bHigh].
static std::pair<OptionalInt, OptionalInt>
multiplyBounds(const OptionalInt &aLow, const OptionalInt &aHigh,
               const OptionalInt &bLow, const OptionalInt &bHigh) {
  if (aLow && aHigh && bLow && bHigh) {
    DynamicAPInt corners[] = {*aLow * *bLow, *aLow * *bHigh, *aHigh * *bLow,
                              *aHigh * *bHigh};
    return {*llvm::min_element(corners), *llvm::max_element(corners)};
  }
  if (aLow && bLow && *aLow >= 0 && *bLow >= 0)
    return {*aLow * *bLow, std::nullopt};
  return {};
}

ExecutionCounts::Bounds ExecutionCounts::getBounds(const Polynomial &a) const {
  Bounds sum{DynamicAPInt(0), DynamicAPInt(0)};
  for (const auto &[monomial, coefficient] : a) {
    OptionalInt low = DynamicAPInt(1), high = DynamicAPInt(1);
    for (unsigned atom : monomial)
      std::tie(low, high) = multiplyBounds(low, high, atoms[atom].bounds.low,
                                           atoms[atom].bounds.high);
    if (coefficient < 0)
      std::swap(low, high);
    sum.low = addBound(sum.low, low ? OptionalInt(*low * coefficient) : low);
    sum.high =
        addBound(sum.high, high ? OptionalInt(*high * coefficient) : high);
  }
  return sum;
}

/// Returns the least and the largest number of a type with `bits` bits.
static std::pair<DynamicAPInt, DynamicAPInt> getLimits(unsigned bits,
                                                       bool isSigned) {
  if (!isSigned)
    return {DynamicAPInt(0), getPowerOfTwo(bits) - 1};
  return {-getPowerOfTwo(bits - 1), getPowerOfTwo(bits - 1) - 1};
}

/// Returns the bounds that the polynomial of `value` and the type give it, for
/// all passes of the loops around it.
ConstantIntRanges ExecutionCounts::getRange(Value value) {
  unsigned bits = getIntegerBits(value.getType());
  if (bits == 0 || bits > kMaxBits)
    return ConstantIntRanges::maxRange(bits);
  Bounds bounds = getBounds(getValue(value));
  auto [least, most] = getLimits(bits, true);
  if (bounds.low && *bounds.low > least)
    least = *bounds.low;
  if (bounds.high && *bounds.high < most)
    most = *bounds.high;
  if (least > most)
    return ConstantIntRanges::maxRange(bits);
  return ConstantIntRanges::fromSigned(
      APInt(bits, int64_t(least), /*isSigned=*/true),
      APInt(bits, int64_t(most), /*isSigned=*/true));
}

//===----------------------------------------------------------------------===//
// Atoms
//===----------------------------------------------------------------------===//

Polynomial ExecutionCounts::getAtom(const std::string &key, Atom atom) {
  auto [it, isNew] = atomOf.try_emplace(key, atoms.size());
  if (isNew)
    atoms.push_back(std::move(atom));
  Polynomial result;
  result[{it->second}] = DynamicAPInt(1);
  return result;
}

Polynomial ExecutionCounts::getUniqueAtom(Bounds bounds, unsigned depth) {
  return getAtom("#" + std::to_string(atoms.size()),
                 Atom{Atom::Opaque, std::move(bounds), depth});
}

/// A large number is an atom, so that coefficients stay small.
Polynomial ExecutionCounts::getNumberAtom(const APInt &number) {
  if (number.getSignificantBits() <= 32)
    return constant(number.getSExtValue());
  DynamicAPInt value(number);
  std::string key;
  llvm::raw_string_ostream(key) << "number(" << value << ")";
  return getAtom(key, Atom{Atom::Opaque, {value, value}});
}

unsigned ExecutionCounts::getDepth(ArrayRef<unsigned> monomial) const {
  unsigned depth = 0;
  for (unsigned atom : monomial)
    depth = std::max(depth, atoms[atom].depth);
  return depth;
}

unsigned ExecutionCounts::depthOf(const Polynomial &a) const {
  unsigned depth = 0;
  for (const auto &[monomial, coefficient] : a)
    depth = std::max(depth, getDepth(monomial));
  return depth;
}

/// Returns the number of loops around a value that is defined in `region`.
static unsigned countLoops(Region *region) {
  unsigned depth = 0;
  for (; region; region = region->getParentRegion())
    depth += isa_and_nonnull<scf::ForOp, WorkOp>(region->getParentOp());
  return depth;
}

/// Replaces residues by the numbers that they are residues of, where the result
/// is equal modulo 2^bits: 2^bits must divide the modulus of the residue.
Polynomial ExecutionCounts::expandResidues(const Polynomial &a,
                                           unsigned bits) const {
  Polynomial result;
  for (const auto &[monomial, coefficient] : a) {
    Polynomial product;
    product[{}] = coefficient;
    for (unsigned number : monomial) {
      const Atom &atom = atoms[number];
      bool isResidue =
          (atom.kind == Atom::Signed || atom.kind == Atom::Unsigned) &&
          atom.bits >= bits;
      Polynomial factor;
      factor[{number}] = DynamicAPInt(1);
      product = multiply(product, isResidue ? atom.operands[0] : factor);
      if (isLarge(product))
        return a;
    }
    result = add(result, product);
    if (isLarge(result))
      return a;
  }
  return result;
}

Polynomial ExecutionCounts::reduce(const Polynomial &a, unsigned bits) const {
  Polynomial expanded = a;
  // This ends: a residue contains only atoms that are older than itself.
  for (Polynomial last; expanded != last;) {
    last = expanded;
    expanded = expandResidues(last, bits);
  }
  Polynomial result;
  for (const auto &[monomial, coefficient] : expanded)
    if (DynamicAPInt residue = getSignedResidue(coefficient, bits);
        residue != 0)
      result[monomial] = residue;
  return result;
}

Polynomial ExecutionCounts::getResidue(const Polynomial &exact, unsigned bits,
                                       Atom::Kind kind) {
  auto limits = getLimits(bits, kind == Atom::Signed);
  auto fits = [&](const Polynomial &a) {
    Bounds bounds = getBounds(a);
    return bounds.low && bounds.high && *bounds.low >= limits.first &&
           *bounds.high <= limits.second;
  };
  if (fits(exact))
    return exact;
  Polynomial residue = reduce(exact, bits);
  if (fits(residue))
    return residue;
  std::string key = (kind == Atom::Signed ? "signed" : "unsigned") +
                    std::to_string(bits) + "(" + toString(residue) + ")";
  Atom atom{kind, {limits.first, limits.second}, depthOf(residue), bits};
  atom.operands[0] = std::move(residue);
  return getAtom(key, std::move(atom));
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

ExecutionCounts::Pass ExecutionCounts::getPass(scf::ForOp loop) {
  Polynomial lower = getValue(loop.getLowerBound());
  Polynomial step = getValue(loop.getStep());
  int64_t offset = 0;
  auto constantOf = [](const Polynomial &a) {
    auto it = a.find({});
    return it == a.end() ? DynamicAPInt(0) : it->second;
  };
  DynamicAPInt by = constantOf(step), from = constantOf(lower);
  // All constants that are no atoms are small.
  if (step.size() == 1 && step.begin()->first.empty() && by > 0 && from > 0 &&
      from <= std::numeric_limits<int32_t>::max())
    offset = int64_t(from / by);
  lower = add(lower, step, -offset);
  unsigned depth = countLoops(&loop.getRegion());
  std::string key = "pass(" + std::to_string(depth) + "," + toString(lower) +
                    "," + toString(step) + ")";
  // If the loop may wrap around, its induction variable is not `lower + pass *
  // step`, so no other loop shares its passes.
  if (!ranges.isCounted(loop))
    key += llvm::utohexstr(reinterpret_cast<uintptr_t>(loop.getOperation()));
  Polynomial atom =
      getAtom(key, Atom{Atom::Opaque, {DynamicAPInt(0), std::nullopt}, depth});
  return {atom.begin()->first.front(), offset};
}

/// Returns true if equal operands give equal results of `op`, in every role and
/// in every thread.
static bool isFunction(Operation *op) {
  if (!isMemoryEffectFree(op) || op->getNumRegions() != 0)
    return false;
  return isa<memref::DimOp, WorkTileOp, LoadScalarOp>(op) ||
         isa_and_nonnull<arith::ArithDialect, index::IndexDialect,
                         math::MathDialect, affine::AffineDialect>(
             op->getDialect());
}

/// Prints the attributes that tell operations of one name apart. Flags that
/// promise not to wrap are left out, because they do not change a result.
static void printAttributes(Operation *op, llvm::raw_ostream &os) {
  auto attributes =
      dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute());
  if (!attributes)
    return;
  for (NamedAttribute attribute : attributes)
    if (attribute.getName() != "overflowFlags" &&
        attribute.getName() != "isExact")
      os << attribute.getName().getValue() << "=" << attribute.getValue()
         << " ";
}

Polynomial ExecutionCounts::getOperationAtom(OpResult result) {
  Operation *op = result.getOwner();
  bool isShared = isFunction(op);
  SmallVector<ConstantIntRanges> operandRanges;
  for (Value operand : op->getOperands())
    operandRanges.push_back(isShared ? getRange(operand)
                                     : ConstantIntRanges::maxRange(0));
  Bounds bounds;
  if (unsigned bits = getIntegerBits(result.getType());
      bits > 0 && bits <= kMaxBits) {
    ConstantIntRanges range = IntegerRanges::infer(result, operandRanges);
    bounds = {DynamicAPInt(range.smin()), DynamicAPInt(range.smax())};
  }
  if (!isShared)
    return getUniqueAtom(bounds, countLoops(op->getParentRegion()));
  std::string key;
  llvm::raw_string_ostream os(key);
  os << op->getName() << ":" << result.getResultNumber() << " ";
  printAttributes(op, os);
  Atom atom{Atom::Opaque, bounds};
  for (Value operand : op->getOperands()) {
    Polynomial value = getValue(operand);
    os << toString(value) << " : " << operand.getType() << ",";
    atom.depth = std::max(atom.depth, depthOf(value));
  }
  os << " -> " << result.getType();
  return getAtom(key, std::move(atom));
}

Polynomial ExecutionCounts::getMinOrMax(OpResult result, Atom::Kind kind) {
  Operation *op = result.getOwner();
  Polynomial a = getValue(op->getOperand(0)), b = getValue(op->getOperand(1));
  std::string keyA = toString(a), keyB = toString(b);
  if (keyB < keyA)
    std::swap(keyA, keyB);
  Bounds boundsA = getBounds(a), boundsB = getBounds(b);
  bool isMin = kind == Atom::Min;
  auto choose = [](bool lesser, const OptionalInt &x, const OptionalInt &y) {
    return lesser ? std::min(*x, *y) : std::max(*x, *y);
  };
  // An upper bound of either operand bounds a minimum, and a lower bound of
  // either operand a maximum.
  auto combine = [&](const OptionalInt &x, const OptionalInt &y,
                     bool eitherLimits) -> OptionalInt {
    if (x && y)
      return choose(isMin, x, y);
    return eitherLimits ? (x ? x : y) : std::nullopt;
  };
  Atom atom{kind,
            {combine(boundsA.low, boundsB.low, !isMin),
             combine(boundsA.high, boundsB.high, isMin)},
            std::max(depthOf(a), depthOf(b))};
  atom.operands[0] = std::move(a);
  atom.operands[1] = std::move(b);
  std::string name = isMin ? "min(" : "max(";
  return getAtom(name + keyA + "," + keyB + ")", std::move(atom));
}

/// Returns the atom of a work tile's coordinate. All roles work on the same
/// tiles in the same order, so in a given pass of tile.work the coordinate is
/// the same number in all roles.
Polynomial ExecutionCounts::getCoordinate(BlockArgument argument) {
  ConstantIntRanges range = ranges.get(argument);
  return getAtom("work tile " + std::to_string(argument.getArgNumber()),
                 Atom{Atom::Opaque,
                      {DynamicAPInt(range.smin()), DynamicAPInt(range.smax())},
                      countLoops(argument.getParentRegion())});
}

Polynomial ExecutionCounts::computeArgument(BlockArgument argument) {
  unsigned bits = getIntegerBits(argument.getType());
  Bounds bounds;
  if (bits > 0 && bits <= kMaxBits)
    std::tie(bounds.low, bounds.high) = getLimits(bits, true);
  Operation *parent = argument.getOwner()->getParentOp();
  if (isa_and_nonnull<WorkOp>(parent))
    return getCoordinate(argument);
  auto loop = dyn_cast_or_null<scf::ForOp>(parent);
  if (!loop || argument != loop.getInductionVar() || !ranges.isCounted(loop))
    return getUniqueAtom(bounds, countLoops(argument.getParentRegion()));
  Polynomial lower = getValue(loop.getLowerBound());
  Polynomial step = getValue(loop.getStep());
  if (induction == Induction::Whole) {
    // Loops with equal bounds and steps run through the same values, in
    // whichever role they are.
    bounds.low = getBounds(lower).low;
    return getAtom("iv(" + toString(lower) + "," +
                       toString(getValue(loop.getUpperBound())) + "," +
                       toString(step) + ")",
                   Atom{Atom::Opaque, bounds});
  }
  auto [atom, offset] = getPass(loop);
  Polynomial pass;
  pass[{atom}] = DynamicAPInt(1);
  Polynomial value = add(lower, multiply(step, add(pass, constant(-offset))));
  return isLarge(value)
             ? getUniqueAtom(bounds, countLoops(argument.getParentRegion()))
             : value;
}

/// A shift to the left by a constant is a product.
Polynomial ExecutionCounts::getShifted(OpResult result) {
  Operation *op = result.getOwner();
  unsigned bits = getIntegerBits(result.getType());
  APInt shift;
  if (!matchPattern(op->getOperand(1), m_ConstantInt(&shift)) ||
      shift.uge(std::min(bits, 31u)))
    return getOperationAtom(result);
  return getResidue(multiply(getValue(op->getOperand(0)),
                             constant(int64_t(1) << shift.getZExtValue())),
                    bits, Atom::Signed);
}

/// Returns the value of a cast to another width. An unsigned cast gives the
/// same number as a signed one, except where it widens a negative number.
Polynomial ExecutionCounts::getCast(OpResult result, bool isSigned) {
  Value operand = result.getOwner()->getOperand(0);
  unsigned bits = getIntegerBits(result.getType());
  unsigned from = getIntegerBits(operand.getType());
  if (!isSigned && bits > from && !isNonNegative(operand))
    return getResidue(getValue(operand), from, Atom::Unsigned);
  bool isKept =
      bits >= from || (ranges.get(operand).smin().isSignedIntN(bits) &&
                       ranges.get(operand).smax().isSignedIntN(bits));
  return isKept ? getValue(operand)
                : getResidue(getValue(operand), bits, Atom::Signed);
}

/// Returns the size of a tensor's dimension. Dimensions of one name have one
/// size.
Polynomial ExecutionCounts::getSize(OpResult result) {
  std::optional<StringRef> name =
      getSizeName(cast<memref::DimOp>(result.getOwner()));
  if (!name)
    return getOperationAtom(result);
  ConstantIntRanges range = ranges.get(result);
  if (auto size = range.getConstantValue())
    return getNumberAtom(*size);
  return getAtom("size " + name->str(), Atom{Atom::Opaque,
                                             {DynamicAPInt(range.smin()),
                                              DynamicAPInt(range.smax())}});
}

Polynomial ExecutionCounts::computeResult(OpResult result) {
  Operation *op = result.getOwner();
  unsigned bits = getIntegerBits(result.getType());
  auto ofBinary = [&](auto function) {
    Polynomial exact =
        function(getValue(op->getOperand(0)), getValue(op->getOperand(1)));
    if (isLarge(exact))
      return getOperationAtom(result);
    return ranges.isExact(op) ? exact : getResidue(exact, bits, Atom::Signed);
  };
  return llvm::TypeSwitch<Operation *, Polynomial>(op)
      .Case<arith::AddIOp, index::AddOp>([&](auto) {
        return ofBinary([](auto a, auto b) { return add(a, b); });
      })
      .Case<arith::SubIOp, index::SubOp>([&](auto) {
        return ofBinary([](auto a, auto b) { return add(a, b, -1); });
      })
      .Case<arith::MulIOp, index::MulOp>([&](auto) {
        return ofBinary([](auto a, auto b) { return multiply(a, b); });
      })
      .Case<arith::ShLIOp, index::ShlOp>(
          [&](auto) { return getShifted(result); })
      .Case<arith::TruncIOp, arith::ExtSIOp, arith::IndexCastOp,
            index::CastSOp>(
          [&](auto) { return getCast(result, /*isSigned=*/true); })
      .Case<arith::ExtUIOp, arith::IndexCastUIOp, index::CastUOp>(
          [&](auto) { return getCast(result, /*isSigned=*/false); })
      .Case<arith::MinSIOp, index::MinSOp>(
          [&](auto) { return getMinOrMax(result, Atom::Min); })
      .Case<arith::MaxSIOp, index::MaxSOp>(
          [&](auto) { return getMinOrMax(result, Atom::Max); })
      .Case<arith::MinUIOp, index::MinUOp, arith::MaxUIOp, index::MaxUOp>(
          [&](auto) {
            if (!isNonNegative(op->getOperand(0)) ||
                !isNonNegative(op->getOperand(1)))
              return getOperationAtom(result);
            return getMinOrMax(result, isa<arith::MinUIOp, index::MinUOp>(op)
                                           ? Atom::Min
                                           : Atom::Max);
          })
      .Case([&](memref::DimOp) { return getSize(result); })
      .Default([&](Operation *) { return getOperationAtom(result); });
}

/// Returns the value that `wait` gives, if this is the value committed in the
/// same pass of tile.work, or the only value of the kernel. For this, the
/// channel must have one commit, the role one wait, and both must stand
/// directly in the body of the tile.work or of the role. Returns null
/// otherwise.
static Value findCommitted(WaitOp wait) {
  auto role = wait->getParentOfType<RoleOp>();
  CommitOp commit;
  for (Operation *user : wait.getChannel().getUsers()) {
    if (auto other = dyn_cast<CommitOp>(user)) {
      if (commit)
        return {};
      commit = other;
    } else if (isa<WaitOp>(user) && user != wait &&
               user->getParentOfType<RoleOp>() == role) {
      return {};
    }
  }
  if (!commit)
    return {};
  Operation *from = commit->getParentOp(), *to = wait->getParentOp();
  bool isOnce = isa<RoleOp>(from) && isa<RoleOp>(to);
  bool isOnceATile = isa<WorkOp>(from) && isa<WorkOp>(to);
  return isOnce || isOnceATile ? commit.getValue() : Value();
}

Polynomial ExecutionCounts::computeWaited(WaitOp wait) {
  Value committed = findCommitted(wait);
  // Roles that wait for each other's scalars in a circle hang, so there is no
  // value to find.
  if (!committed || !waited.insert(wait).second)
    return getOperationAtom(cast<OpResult>(wait.getValue()));
  Polynomial result = getValue(committed);
  waited.erase(wait);
  return result;
}

Polynomial ExecutionCounts::computeValue(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return computeArgument(argument);
  auto isSmall = [](Type type) {
    unsigned bits = getIntegerBits(type);
    return bits > 0 && bits <= kMaxBits;
  };
  Operation *op = value.getDefiningOp();
  if (auto wait = dyn_cast<WaitOp>(op))
    return computeWaited(wait);
  bool isOfIntegers =
      isSmall(value.getType()) &&
      (isa<memref::DimOp>(op) || llvm::all_of(op->getOperandTypes(), isSmall));
  APInt number;
  if (isOfIntegers && matchPattern(value, m_ConstantInt(&number)))
    return getNumberAtom(number.sextOrTrunc(getIntegerBits(value.getType())));
  return isOfIntegers ? computeResult(cast<OpResult>(value))
                      : getOperationAtom(cast<OpResult>(value));
}

Polynomial ExecutionCounts::getValue(Value value) {
  if (auto known = values.find(value); known != values.end())
    return known->second;
  Polynomial result = computeValue(value);
  values[value] = result;
  return result;
}

//===----------------------------------------------------------------------===//
// Proofs and counts
//===----------------------------------------------------------------------===//

bool ExecutionCounts::isNonNegative(const Polynomial &a, unsigned depth,
                                    unsigned &attempts) {
  if (Bounds bounds = getBounds(a); bounds.low && *bounds.low >= 0)
    return true;
  if (depth > kMaxProofDepth || ++attempts > kMaxProofAttempts)
    return false;
  // max(x, y) is at least x and at least y; -min(x, y) is at least -x and at
  // least -y. So either operand may replace a term of this kind. A term of the
  // other kind equals one of its operands, but which one is unknown, so both
  // must be tried. Terms of the other kind come first: the choices for the
  // first kind may then depend on them, without a second attempt.
  for (bool either : {false, true})
    for (const auto &[monomial, coefficient] : a) {
      if (monomial.size() != 1)
        continue;
      const Atom &atom = atoms[monomial[0]];
      if ((atom.kind != Atom::Min && atom.kind != Atom::Max) ||
          either != ((atom.kind == Atom::Max) == (coefficient > 0)))
        continue;
      Polynomial rest = a, factor;
      rest.erase(monomial);
      factor[{}] = coefficient;
      auto holdsWith = [&](unsigned operand) {
        return isNonNegative(
            add(rest, multiply(factor, atom.operands[operand])), depth + 1,
            attempts);
      };
      if (!either)
        return holdsWith(0) && holdsWith(1);
      if (holdsWith(0) || holdsWith(1))
        return true;
    }
  return false;
}

bool ExecutionCounts::isNonNegative(const Polynomial &a) {
  auto [it, isUnknown] = proofs.try_emplace(a, false);
  unsigned attempts = 0;
  if (isUnknown)
    it->second = isNonNegative(a, 0, attempts);
  return it->second;
}

/// Returns true if the value is proven to be at least 0, by its own bounds or
/// by the bounds of its polynomial.
bool ExecutionCounts::isNonNegative(Value value) {
  return ranges.get(value).smin().isNonNegative() ||
         isNonNegative(getValue(value));
}

bool ExecutionCounts::runsAtLeastOnce(scf::ForOp loop) {
  if (loop.getUnsignedCmp() && !(isNonNegative(loop.getLowerBound()) &&
                                 isNonNegative(loop.getUpperBound())))
    return false;
  Polynomial length =
      add(getValue(loop.getUpperBound()), getValue(loop.getLowerBound()), -1);
  return isNonNegative(add(length, constant(-1)));
}

Polynomial ExecutionCounts::getTripCount(scf::ForOp loop) {
  Polynomial lower = getValue(loop.getLowerBound());
  Polynomial upper = getValue(loop.getUpperBound());
  Polynomial step = getValue(loop.getStep());
  Polynomial length = add(upper, lower, -1);
  Atom trips{Atom::Opaque,
             {DynamicAPInt(0), std::nullopt},
             std::max({depthOf(lower), depthOf(upper), depthOf(step)})};
  if (!ranges.isCounted(loop)) {
    // The number of passes is unknown, but equal in all loops with the same
    // bounds, step and comparison.
    std::string key;
    llvm::raw_string_ostream(key)
        << "trips(" << toString(lower) << "," << toString(upper) << ","
        << toString(step) << "," << loop.getStep().getType() << ","
        << loop.getUnsignedCmp() << ")";
    return getAtom(key, std::move(trips));
  }
  if (step == constant(1) && isNonNegative(length))
    return length;
  return getAtom("trips(" + toString(length) + "," + toString(step) + ")",
                 std::move(trips));
}

Polynomial ExecutionCounts::getTripCount(WorkOp) {
  return getAtom("work tiles",
                 Atom{Atom::Opaque, {DynamicAPInt(0), std::nullopt}});
}

Polynomial ExecutionCounts::getCount(Operation *op) {
  Polynomial count = constant(1);
  Bounds truth{DynamicAPInt(0), DynamicAPInt(1)};
  for (Operation *child = op, *parent = op->getParentOp();
       parent && !isa<RoleOp, KernelOp>(parent);
       child = parent, parent = parent->getParentOp()) {
    if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      count = multiply(count, getTripCount(loop));
    } else if (auto work = dyn_cast<WorkOp>(parent)) {
      count = multiply(count, getTripCount(work));
    } else if (auto branch = dyn_cast<scf::IfOp>(parent)) {
      Polynomial taken =
          getAtom("if(" + toString(getValue(branch.getCondition())) + ")",
                  Atom{Atom::Opaque, truth});
      bool isElse = child->getParentRegion() == &branch.getElseRegion();
      count = multiply(count, isElse ? add(constant(1), taken, -1) : taken);
    } else {
      count =
          multiply(count, getUniqueAtom({DynamicAPInt(0), std::nullopt}, 0));
    }
  }
  return count;
}
