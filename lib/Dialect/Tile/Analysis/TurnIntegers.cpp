//===- TurnIntegers.cpp - forms as integers of a proof ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TurnIntegers.h"
#include "fa4/Target/LaunchLimits.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;
using llvm::DynamicAPInt;

IndexForm TurnIntegers::makeUnknown() {
  return forms->getSymbols().get({Kind::Unique});
}

void TurnIntegers::requireBetween(const IndexForm &number, int64_t least,
                                  int64_t most) {
  require(isAtLeast(number, least));
  require(isAtLeast(most, number));
}

IndexForm TurnIntegers::makeBetween(int64_t least, int64_t most) {
  IndexForm number = makeUnknown();
  requireBetween(number, least, most);
  return number;
}

IndexForm TurnIntegers::sizeNamed(StringRef name) {
  if (std::optional<int64_t> size = getStaticSize(name))
    return *size;
  std::optional<DerivedSize> aligned = getAlignedSize(name);
  if (!aligned) {
    IndexForm size = forms->getSize(name);
    if (isNew(size))
      requireBetween(size, 1, kMaxSize);
    return size;
  }
  IndexForm least = sizeNamed(aligned->name);
  IndexForm multiple =
      forms->getSymbols().get({Kind::CeilDiv, 0, {least, aligned->number}});
  IndexForm size = multiple * aligned->number;
  if (isNew(multiple)) {
    require(isAtLeast(size, least));
    require(isMore(least + aligned->number, size));
  }
  return size;
}

IndexForm TurnIntegers::getMinOrMax(Kind kind, const IndexForm &a,
                                    const IndexForm &b) {
  bool isMax = kind == Kind::Max;
  IndexForm difference = isMax ? a - b : b - a;
  if (auto constant = difference.getConstant())
    return *constant >= 0 ? a : b;
  IndexForm number = forms->getSymbols().getMinOrMax(kind, a, b);
  if (!isNew(number))
    return number;
  for (const IndexForm &each : {a, b})
    require(isMax ? isAtLeast(number, each) : isAtLeast(each, number));
  Conditions isA = isEqual(number, a), isB = isEqual(number, b);
  isA.push_back(difference);
  isB.push_back(isMore(0, difference));
  requireOne({isA, isB});
  return number;
}

//===----------------------------------------------------------------------===//
// Products and quotients
//===----------------------------------------------------------------------===//

void TurnIntegers::addFactor(const IndexForm &factor) {
  products[factor].insert(0);
}

void TurnIntegers::compareProduct(const IndexForm &factor,
                                  const IndexForm &other) {
  auto known = products.find(factor);
  if (known == products.end() || !known->second.insert(other).second)
    return;
  IndexForm product = other * factor;
  for (const IndexForm &x : known->second) {
    if ((other - x).getConstant())
      continue;
    IndexForm p = x * factor;
    Conditions same = isEqual(other, x);
    llvm::append_range(same, isEqual(product, p));
    requireOne({{isMore(other, x), isAtLeast(product, p + factor)},
                {isMore(x, other), isAtLeast(p, product + factor)},
                same});
  }
}

IndexForm TurnIntegers::divide(const IndexForm &number,
                               const DynamicAPInt &divisor) {
  // Terms that the divisor divides leave the quotient exactly, as the number of
  // a cluster does in a coordinate.
  if (getDivisor(number) % divisor == 0) {
    IndexForm quotient;
    for (const auto &[monomial, coefficient] : number)
      quotient.addTerm(monomial, floorDiv(coefficient, divisor));
    return quotient;
  }
  IndexSymbol symbol{Kind::FloorDiv, 0, {number, IndexForm(divisor)}};
  IndexForm quotient = forms->getSymbols().get(std::move(symbol));
  if (isNew(quotient)) {
    IndexForm rest = number - quotient * IndexForm(divisor);
    require(isAtLeast(rest, 0));
    require(isMore(IndexForm(divisor), rest));
  }
  return quotient;
}

KnownForm TurnIntegers::getQuotient(const IndexSymbol &symbol,
                                    VisitSymbols &visit) {
  KnownForm x = get(symbol.operands[0], visit),
            y = get(symbol.operands[1], visit);
  if (!x || !y)
    return std::nullopt;
  bool roundsUp = symbol.kind == Kind::CeilDiv;
  std::optional<DynamicAPInt> divisor = y->getConstant();
  if (divisor && *divisor > 0)
    return divide(roundsUp ? *x + IndexForm(*divisor) - 1 : *x, *divisor);
  // Only a quotient of two sizes may be taken for positive.
  bool isOfSizes = llvm::none_of(symbol.operands, [&](const IndexForm &form) {
    return forms->getSymbols().dependsOn(form, [](const IndexSymbol &source) {
      return source.kind == Kind::Induction ||
             (source.operands.empty() && source.kind != Kind::Size);
    });
  });
  if (divisor || roundsUp || !isOfSizes ||
      !forms->isNonNegative(symbol.operands[0]))
    return std::nullopt;
  IndexForm quotient = forms->getSymbols().get({Kind::FloorDiv, 0, {*x, *y}});
  if (isNew(quotient)) {
    requireBetween(quotient, 1, kMaxSize);
    addFactor(quotient);
    compareProduct(quotient, *y);
    require(isAtLeast(*x, *y * quotient));
  }
  return quotient;
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

KnownForm TurnIntegers::getSelect(const IndexSymbol &select,
                                  VisitSymbols &visit) {
  std::optional<unsigned> condition = select.operands[0].getSymbol();
  if (!condition || forms->getSymbol(*condition).kind != Kind::Compare)
    return std::nullopt;
  const IndexSymbol &compare = forms->getSymbol(*condition);
  KnownForm yes = get(select.operands[1], visit),
            no = get(select.operands[2], visit),
            a = get(compare.operands[0], visit),
            b = get(compare.operands[1], visit);
  if (!yes || !no || !a || !b)
    return std::nullopt;
  using Predicate = arith::CmpIPredicate;
  auto predicate = Predicate(compare.number);
  auto isOneOf = [&](std::initializer_list<Predicate> predicates) {
    return llvm::is_contained(predicates, predicate);
  };
  bool less = isOneOf({Predicate::ne, Predicate::slt, Predicate::sle}),
       equal = isOneOf({Predicate::eq, Predicate::sle, Predicate::sge}),
       more = isOneOf({Predicate::ne, Predicate::sgt, Predicate::sge});
  if (!less && !equal && !more)
    return std::nullopt;
  IndexForm number = makeUnknown();
  Conditions isYes = isEqual(number, *yes), isNo = isEqual(number, *no);
  auto with = [](Conditions conditions, const IndexForm &condition) {
    conditions.push_back(condition);
    return conditions;
  };
  Conditions same =
      with(with(equal ? isYes : isNo, isAtLeast(*a, *b)), isAtLeast(*b, *a));
  requireOne({with(less ? isYes : isNo, isMore(*b, *a)), same,
              with(more ? isYes : isNo, isMore(*a, *b))});
  return number;
}

/// Returns the bound that both CTAs of a planned pair will have: the wider one
/// of the bounds of their work tiles.
KnownForm TurnIntegers::getBoundOfPair(Operation *bound,
                                       const VisitSymbols &visit) {
  VisitSymbols first, second;
  first.coordinates = visit.coordinates;
  IndexForm &coordinate = first.coordinates[pair->axis];
  coordinate = divide(coordinate, DynamicAPInt(kPairSize)) * kPairSize;
  second.coordinates = first.coordinates;
  second.coordinates[pair->axis] += 1;
  KnownForm a = get(bound->getOperand(0), first),
            b = get(bound->getOperand(0), second);
  Kind kind = isa<AtMostOp>(bound) ? Kind::Min : Kind::Max;
  return a && b ? KnownForm(getMinOrMax(kind, *a, *b)) : std::nullopt;
}

KnownForm TurnIntegers::compute(const IndexSymbol &symbol,
                                VisitSymbols &visit) {
  switch (symbol.kind) {
  case Kind::WorkCoordinate:
    return visit.coordinates[symbol.number];
  case Kind::ClusterNumber:
    return divide(visit.coordinates[symbol.number], DynamicAPInt(clusterSize));
  case Kind::Size:
    return sizeNamed(symbol.name);
  case Kind::Min:
  case Kind::Max: {
    KnownForm a = get(symbol.operands[0], visit),
              b = get(symbol.operands[1], visit);
    return a && b ? KnownForm(getMinOrMax(symbol.kind, *a, *b)) : std::nullopt;
  }
  case Kind::FloorDiv:
  case Kind::CeilDiv:
    return getQuotient(symbol, visit);
  case Kind::Select:
    return getSelect(symbol, visit);
  case Kind::SignedResidue: {
    KnownForm sum = get(symbol.operands[0], visit);
    if (sum && !exact.count(symbol.operands[0]))
      mayWrap.push_back({*sum, symbol.number});
    return sum;
  }
  case Kind::Scalar:
  case Kind::Opaque: {
    Operation *bound = symbol.value ? symbol.value.getDefiningOp() : nullptr;
    if (pair && isa_and_nonnull<AtMostOp, AtLeastOp>(bound))
      return getBoundOfPair(bound, visit);
    // An element of a tensor, or an argument of the kernel.
    if (symbol.value &&
        !isa_and_nonnull<KernelOp>(symbol.getParentOfArgument()))
      return std::nullopt;
    IndexSymbol own = symbol;
    for (IndexForm &index :
         llvm::drop_begin(own.operands, own.operands.empty() ? 0 : 1)) {
      KnownForm known = get(index, visit);
      if (!known)
        return std::nullopt;
      index = *known;
    }
    IndexForm number = forms->getSymbols().get(std::move(own));
    IndexBounds bounds = forms->getSymbols().getBounds(number);
    if (!bounds.low || !bounds.high)
      return std::nullopt;
    if (isNew(number)) {
      require(isAtLeast(number, IndexForm(*bounds.low)));
      require(isAtLeast(IndexForm(*bounds.high), number));
    }
    return number;
  }
  default:
    return std::nullopt;
  }
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

/// Returns a product of symbols. All but one must be factors or constants.
KnownForm TurnIntegers::getProduct(ArrayRef<unsigned> monomial,
                                   VisitSymbols &visit) {
  IndexForm product = 1;
  for (unsigned symbol : monomial) {
    auto it = visit.known.find(symbol);
    if (it == visit.known.end()) {
      KnownForm computed = compute(forms->getSymbol(symbol), visit);
      it = visit.known.try_emplace(symbol, computed).first;
    }
    if (!it->second)
      return std::nullopt;
    const IndexForm &next = *it->second;
    auto isLinear = [&](const IndexForm &factor) {
      return factor.getConstant() || products.count(factor);
    };
    if (!isLinear(product) && !isLinear(next))
      return std::nullopt;
    product = product * next;
  }
  return product;
}

KnownForm TurnIntegers::get(const IndexForm &form, VisitSymbols &visit) {
  IndexForm sum;
  for (const auto &[monomial, coefficient] : form) {
    KnownForm product = getProduct(monomial, visit);
    if (!product)
      return std::nullopt;
    sum += *product * IndexForm(coefficient);
  }
  for (const auto &[factor, others] : products)
    if (std::optional<unsigned> symbol = factor.getSymbol())
      if (IndexForm other = sum.getMultiplier(*symbol); other != 1)
        compareProduct(factor, other);
  return sum;
}

void TurnIntegers::requireExact(VisitSymbols &visit) {
  for (const IndexForm &form : exact)
    if (KnownForm product = get(form, visit))
      require(isAtLeast(INT32_MAX, *product));
}

bool TurnIntegers::isExact() const {
  return llvm::all_of(mayWrap, [&](const auto &result) {
    IndexBounds limits =
        IndexSymbols::getLimits(result.second, /*isSigned=*/true);
    return isImpossible({isMore(result.first, IndexForm(*limits.high))}) &&
           isImpossible({isMore(IndexForm(*limits.low), result.first)});
  });
}
