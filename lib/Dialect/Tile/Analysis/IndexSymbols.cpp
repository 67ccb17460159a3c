//===- IndexSymbols.cpp - the unknowns of forms ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/IndexSymbols.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace mlir;
using namespace fa4::tile;
using llvm::DynamicAPInt;

/// Limits of a proof that a form is not negative. Loop bounds are a few
/// operations deep, so a longer search is not worth its time.
static constexpr unsigned kMaxProofDepth = 8;
static constexpr unsigned kMaxProofAttempts = 1000;

/// A larger form is no loop bound that anybody writes.
static constexpr unsigned kMaxMonomials = 32;
static constexpr unsigned kMaxDegree = 8;

bool IndexSymbol::operator<(const IndexSymbol &other) const {
  const void *ownValue = value.getAsOpaquePointer(),
             *otherValue = other.value.getAsOpaquePointer();
  return std::tie(kind, number, name, ownValue, identity, operands) <
         std::tie(other.kind, other.number, other.name, otherValue,
                  other.identity, other.operands);
}

Operation *IndexSymbol::getParentOfArgument() const {
  auto argument = dyn_cast_if_present<BlockArgument>(value);
  return argument ? argument.getOwner()->getParentOp() : nullptr;
}

bool IndexSymbols::isLarge(const IndexForm &form) {
  return form.size() > kMaxMonomials ||
         llvm::any_of(form, [](const auto &term) {
           return term.first.size() > kMaxDegree;
         });
}

IndexForm IndexSymbols::get(IndexSymbol symbol) {
  if (symbol.kind == Kind::Unique)
    symbol.number = symbols.size();
  auto [it, isNew] = numberOf.try_emplace(std::move(symbol), symbols.size());
  if (isNew)
    symbols.push_back(&it->first);
  return IndexForm::ofSymbol(it->second);
}

unsigned IndexSymbols::getDepth(ArrayRef<unsigned> monomial) const {
  unsigned depth = 0;
  for (unsigned symbol : monomial)
    depth = std::max(depth, symbols[symbol]->depth);
  return depth;
}

unsigned IndexSymbols::getDepth(const IndexForm &form) const {
  unsigned depth = 0;
  for (const auto &[monomial, coefficient] : form)
    depth = std::max(depth, getDepth(monomial));
  return depth;
}

bool IndexSymbols::dependsOn(
    const IndexForm &form,
    llvm::function_ref<bool(const IndexSymbol &)> matches) const {
  SmallVector<const IndexForm *> worklist = {&form};
  llvm::SmallDenseSet<unsigned> seen;
  while (!worklist.empty())
    for (const auto &term : *worklist.pop_back_val())
      for (unsigned number : term.first) {
        if (!seen.insert(number).second)
          continue;
        if (matches(*symbols[number]))
          return true;
        for (const IndexForm &operand : symbols[number]->operands)
          worklist.push_back(&operand);
      }
  return false;
}

bool IndexSymbols::dependsOnCoordinate(const IndexForm &form,
                                       unsigned axis) const {
  return dependsOn(form, [&](const IndexSymbol &symbol) {
    return symbol.kind == Kind::WorkCoordinate && symbol.number == axis;
  });
}

std::optional<unsigned>
IndexSymbols::getAxis(const IndexForm::Monomial &monomial) const {
  if (monomial.size() != 1)
    return std::nullopt;
  const IndexSymbol &symbol = *symbols[monomial.front()];
  return symbol.kind == Kind::WorkCoordinate ? std::optional(symbol.number)
                                             : std::nullopt;
}

DynamicAPInt IndexSymbols::takeCoordinate(IndexForm &form,
                                          unsigned axis) const {
  for (const auto &[monomial, coefficient] : form)
    if (getAxis(monomial) == axis) {
      DynamicAPInt taken = coefficient;
      form.addTerm(IndexForm::Monomial(monomial), -taken);
      return taken;
    }
  return DynamicAPInt(0);
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

static DynamicAPInt getPowerOfTwo(unsigned exponent) {
  return DynamicAPInt(APInt::getOneBitSet(exponent + 2, exponent));
}

IndexBounds IndexSymbols::getLimits(unsigned bits, bool isSigned) {
  if (!isSigned)
    return {DynamicAPInt(0), getPowerOfTwo(bits) - 1};
  return {-getPowerOfTwo(bits - 1), getPowerOfTwo(bits - 1) - 1};
}

namespace {
using OptionalInt = std::optional<DynamicAPInt>;
} // namespace

static OptionalInt addBound(const OptionalInt &a, const OptionalInt &b) {
  return a && b ? OptionalInt(*a + *b) : std::nullopt;
}

/// Returns the bounds of the product of two numbers.
static IndexBounds multiplyBounds(const IndexBounds &a, const IndexBounds &b) {
  if (a.low && a.high && b.low && b.high) {
    DynamicAPInt corners[] = {*a.low * *b.low, *a.low * *b.high,
                              *a.high * *b.low, *a.high * *b.high};
    return {*llvm::min_element(corners), *llvm::max_element(corners)};
  }
  if (a.low && b.low && *a.low >= 0 && *b.low >= 0)
    return {*a.low * *b.low, std::nullopt};
  return {};
}

IndexBounds IndexSymbols::getBounds(const IndexForm &form) const {
  IndexBounds sum{DynamicAPInt(0), DynamicAPInt(0)};
  for (const auto &[monomial, coefficient] : form) {
    IndexBounds product{DynamicAPInt(1), DynamicAPInt(1)};
    for (unsigned symbol : monomial)
      product = multiplyBounds(product, symbols[symbol]->bounds);
    auto &[low, high] = product;
    if (coefficient < 0)
      std::swap(low, high);
    sum.low = addBound(sum.low, low ? OptionalInt(*low * coefficient) : low);
    sum.high =
        addBound(sum.high, high ? OptionalInt(*high * coefficient) : high);
  }
  return sum;
}

bool IndexSymbols::prove(const IndexForm &form, unsigned depth,
                         unsigned &attempts) const {
  if (IndexBounds bounds = getBounds(form); bounds.low && *bounds.low >= 0)
    return true;
  if (depth > kMaxProofDepth || ++attempts > kMaxProofAttempts)
    return false;
  // max(x, y) is at least x and at least y; -min(x, y) is at least -x and at
  // least -y. So either operand may replace a term of this kind. A term of the
  // other kind equals one of its operands, but which one is unknown, so both
  // must be tried. Terms of the other kind come first: the choices for the
  // first kind may then depend on them, without a second attempt.
  std::vector<IndexForm> choices;
  for (const auto &[monomial, coefficient] : form) {
    if (monomial.size() != 1)
      continue;
    const IndexSymbol &symbol = *symbols[monomial.front()];
    if (symbol.kind != Kind::Min && symbol.kind != Kind::Max)
      continue;
    IndexForm factor(coefficient),
        rest = form - factor * IndexForm::ofSymbol(monomial.front()),
        first = rest + factor * symbol.operands[0],
        second = rest + factor * symbol.operands[1];
    bool isEither = (symbol.kind == Kind::Max) == (coefficient > 0);
    if (!isEither)
      return prove(first, depth + 1, attempts) &&
             prove(second, depth + 1, attempts);
    choices.push_back(std::move(first));
    choices.push_back(std::move(second));
  }
  // An operand that cancels other terms is the most promising one.
  llvm::sort(choices, [](const IndexForm &a, const IndexForm &b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  return llvm::any_of(choices, [&](const IndexForm &choice) {
    return prove(choice, depth + 1, attempts);
  });
}

bool IndexSymbols::isNonNegative(const IndexForm &form) {
  auto [it, isUnknown] = proofs.try_emplace(form, false);
  unsigned attempts = 0;
  if (isUnknown)
    it->second = prove(form, 0, attempts);
  return it->second;
}

//===----------------------------------------------------------------------===//
// Symbols of forms
//===----------------------------------------------------------------------===//

IndexForm IndexSymbols::getMinOrMax(Kind kind, IndexForm a, IndexForm b) {
  if (b < a)
    std::swap(a, b);
  bool isMin = kind == Kind::Min;
  // An upper bound of either operand bounds a minimum, and a lower bound of
  // either operand a maximum.
  auto combine = [&](const OptionalInt &x, const OptionalInt &y,
                     bool eitherLimits) -> OptionalInt {
    if (x && y)
      return isMin ? std::min(*x, *y) : std::max(*x, *y);
    return eitherLimits ? (x ? x : y) : std::nullopt;
  };
  IndexBounds boundsA = getBounds(a), boundsB = getBounds(b);
  IndexSymbol symbol{kind};
  symbol.bounds = {combine(boundsA.low, boundsB.low, !isMin),
                   combine(boundsA.high, boundsB.high, isMin)};
  symbol.depth = std::max(getDepth(a), getDepth(b));
  symbol.operands = {std::move(a), std::move(b)};
  return get(std::move(symbol));
}

/// Returns the number from -2^(bits-1) to 2^(bits-1) - 1 that equals `number`
/// modulo 2^bits.
static DynamicAPInt getSignedResidue(const DynamicAPInt &number,
                                     unsigned bits) {
  DynamicAPInt modulus = getPowerOfTwo(bits), half = getPowerOfTwo(bits - 1);
  return mod(number + half, modulus) - half;
}

/// Replaces residues by the numbers that they are residues of, where the result
/// is equal modulo 2^bits: 2^bits must divide the modulus of the residue.
IndexForm IndexSymbols::expandResidues(const IndexForm &form,
                                       unsigned bits) const {
  IndexForm result;
  for (const auto &[monomial, coefficient] : form) {
    IndexForm product(coefficient);
    for (unsigned number : monomial) {
      const IndexSymbol &symbol = *symbols[number];
      bool isResidue = (symbol.kind == Kind::SignedResidue ||
                        symbol.kind == Kind::UnsignedResidue) &&
                       symbol.number >= bits;
      product = product *
                (isResidue ? symbol.operands[0] : IndexForm::ofSymbol(number));
      if (isLarge(product))
        return form;
    }
    result += product;
    if (isLarge(result))
      return form;
  }
  return result;
}

/// Returns one form for all forms that equal `form` modulo 2^bits. Two that are
/// equal may get different results if their residues expand to large forms,
/// because the expansion then stops.
IndexForm IndexSymbols::reduce(const IndexForm &form, unsigned bits) const {
  IndexForm expanded = form;
  // This ends: a residue contains only symbols that are older than itself.
  for (IndexForm last; expanded != last;) {
    last = expanded;
    expanded = expandResidues(last, bits);
  }
  IndexForm result;
  for (const auto &[monomial, coefficient] : expanded)
    result.addTerm(monomial, getSignedResidue(coefficient, bits));
  return result;
}

IndexForm IndexSymbols::getResidue(const IndexForm &exact, unsigned bits,
                                   bool isSigned) {
  IndexBounds limits = getLimits(bits, isSigned);
  auto fits = [&](const IndexForm &form) {
    IndexBounds bounds = getBounds(form);
    return bounds.low && bounds.high && *bounds.low >= *limits.low &&
           *bounds.high <= *limits.high;
  };
  if (fits(exact))
    return exact;
  IndexForm residue = reduce(exact, bits);
  if (fits(residue))
    return residue;
  IndexSymbol symbol{
      isSigned ? Kind::SignedResidue : Kind::UnsignedResidue, bits, {residue}};
  symbol.bounds = limits;
  symbol.depth = getDepth(residue);
  return get(std::move(symbol));
}
