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

AffineSum TurnIntegers::makeBetween(int64_t least, int64_t most) {
  AffineSum number = makeVariable();
  require(isAtLeast(number, least));
  require(isAtLeast(most, number));
  return number;
}

AffineSum TurnIntegers::sizeNamed(StringRef name) {
  if (std::optional<int64_t> size = getStaticSize(name))
    return AffineSum(*size);
  if (auto it = sizes.find(name); it != sizes.end())
    return it->second;
  AffineSum size;
  if (std::optional<AlignedSize> aligned = getAlignedSize(name)) {
    AffineSum exactSize = sizeNamed(aligned->name);
    size = makeVariable() * aligned->multiple;
    require(isAtLeast(size, exactSize));
    require(isMore(exactSize + aligned->multiple, size));
  } else {
    size = makeBetween(1, kMaxSize);
  }
  return sizes[name] = size;
}

/// Returns the larger or the smaller of two numbers.
AffineSum TurnIntegers::makeChoice(const AffineSum &a, const AffineSum &b,
                                   bool isMax) {
  AffineSum difference = isMax ? a - b : b - a;
  if (difference.isConstant())
    return difference.constant >= 0 ? a : b;
  AffineSum number = makeVariable();
  for (const AffineSum &each : {a, b})
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

/// Returns the product of a number and a factor: a sum of products of single
/// unknowns, each of which is an unknown of its own.
AffineSum TurnIntegers::scale(const AffineSum &number,
                              const AffineSum &factor) {
  AffineSum product = factor * number.constant;
  for (auto [variable, multiple] : number.terms) {
    std::vector<AffineSum> key = {factor, AffineSum()};
    key.back().terms[variable] = 1;
    auto [it, isNew] = opaque.try_emplace({&products, std::move(key)});
    if (isNew)
      it->second = makeVariable();
    product.add(it->second, multiple);
  }
  return product;
}

void TurnIntegers::addFactor(const AffineSum &factor) {
  products[factor].try_emplace(AffineSum(0), AffineSum(0));
}

KnownSum TurnIntegers::multiply(const AffineSum &a, const AffineSum &b) {
  bool isFactorA = products.count(a), isFactorB = products.count(b);
  // If both are factors, the choice must not depend on their order.
  bool takesB = isFactorA && isFactorB ? b < a : isFactorB;
  const AffineSum &factor = takesB ? b : a, &other = takesB ? a : b;
  if (!isFactorA && !isFactorB) {
    if (a.isConstant())
      return b * a.constant;
    return b.isConstant() ? KnownSum(a * b.constant) : std::nullopt;
  }
  std::map<AffineSum, AffineSum> &known = products[factor];
  if (auto it = known.find(other); it != known.end())
    return it->second;
  AffineSum product = scale(other, factor);
  for (const auto &[x, p] : known) {
    if (x.isConstant() && other.isConstant())
      continue;
    Conditions same = isEqual(other, x);
    llvm::append_range(same, isEqual(product, p));
    requireOne({{isMore(other, x), isAtLeast(product, p + factor)},
                {isMore(x, other), isAtLeast(p, product + factor)},
                same});
  }
  known[other] = product;
  return product;
}

/// Returns the number divided by a constant, rounded down.
AffineSum TurnIntegers::divide(const AffineSum &number, int64_t divisor) {
  // Terms that the divisor divides leave the quotient exactly, as the number of
  // a cluster does in a coordinate.
  if (llvm::all_of(number.terms,
                   [&](auto &term) { return term.second % divisor == 0; })) {
    AffineSum quotient(llvm::divideFloorSigned(number.constant, divisor));
    for (auto [variable, multiple] : number.terms)
      quotient.terms[variable] = multiple / divisor;
    return quotient;
  }
  auto [it, isNew] =
      opaque.try_emplace({&opaque, {number, AffineSum(divisor)}});
  if (isNew) {
    it->second = makeVariable();
    require(isAtLeast(number, it->second * divisor));
    require(isMore((it->second + AffineSum(1)) * divisor, number));
  }
  return it->second;
}

KnownSum TurnIntegers::getQuotient(const IndexSymbol &symbol,
                                   VisitSymbols &visit) {
  KnownSum x = get(symbol.operands[0], visit),
           y = get(symbol.operands[1], visit);
  if (!x || !y)
    return std::nullopt;
  bool roundsUp = symbol.kind == Kind::CeilDiv;
  if (y->isConstant() && y->constant > 0)
    return divide(*x + AffineSum(roundsUp ? y->constant - 1 : 0), y->constant);
  // A quotient of two sizes. The divisor is not 0.
  IndexBounds bounds = forms->getSymbols().getBounds(symbol.operands[0]);
  if (y->isConstant() || roundsUp || !bounds.low || *bounds.low < 0)
    return std::nullopt;
  auto [it, isNew] = opaque.try_emplace({nullptr, {*x, *y}});
  if (isNew) {
    AffineSum quotient = it->second = makeBetween(1, kMaxSize);
    addFactor(quotient);
    require(isAtLeast(*x, *multiply(*y, quotient)));
  }
  return it->second;
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

KnownSum TurnIntegers::getScalar(const IndexSymbol &symbol,
                                 VisitSymbols &visit) {
  std::vector<AffineSum> indices;
  for (const IndexForm &index : llvm::drop_begin(symbol.operands)) {
    KnownSum known = get(index, visit);
    if (!known)
      return std::nullopt;
    indices.push_back(*known);
  }
  std::optional<unsigned> tensor = symbol.operands[0].getSymbol();
  const void *source =
      tensor ? forms->getSymbol(*tensor).value.getAsOpaquePointer() : nullptr;
  if (!source || symbol.bounds.low != llvm::DynamicAPInt(INT32_MIN))
    return std::nullopt;
  auto [it, isNew] = opaque.try_emplace({source, indices});
  if (isNew)
    it->second = makeBetween(INT32_MIN, INT32_MAX);
  return it->second;
}

KnownSum TurnIntegers::getSelect(const IndexSymbol &select,
                                 VisitSymbols &visit) {
  std::optional<unsigned> condition = select.operands[0].getSymbol();
  if (!condition || forms->getSymbol(*condition).kind != Kind::Compare)
    return std::nullopt;
  const IndexSymbol &compare = forms->getSymbol(*condition);
  KnownSum yes = get(select.operands[1], visit),
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
  AffineSum number = makeVariable();
  Conditions isYes = isEqual(number, *yes), isNo = isEqual(number, *no);
  auto with = [](Conditions conditions, const AffineSum &condition) {
    conditions.push_back(condition);
    return conditions;
  };
  Conditions same =
      with(with(equal ? isYes : isNo, isAtLeast(*a, *b)), isAtLeast(*b, *a));
  requireOne({with(less ? isYes : isNo, isMore(*b, *a)), same,
              with(more ? isYes : isNo, isMore(*a, *b))});
  return number;
}

KnownSum TurnIntegers::compute(const IndexSymbol &symbol, VisitSymbols &visit) {
  auto operand = [&](unsigned i) { return get(symbol.operands[i], visit); };
  switch (symbol.kind) {
  case Kind::WorkCoordinate:
    return visit.coordinates[symbol.number];
  case Kind::ClusterNumber:
    return divide(visit.coordinates[symbol.number], clusterSize);
  case Kind::Size:
    return sizeNamed(symbol.name);
  case Kind::Scalar:
    return getScalar(symbol, visit);
  case Kind::Min:
  case Kind::Max: {
    KnownSum a = operand(0), b = operand(1);
    return a && b ? KnownSum(makeChoice(*a, *b, symbol.kind == Kind::Max))
                  : std::nullopt;
  }
  case Kind::FloorDiv:
  case Kind::CeilDiv:
    return getQuotient(symbol, visit);
  case Kind::Select:
    return getSelect(symbol, visit);
  case Kind::SignedResidue: {
    KnownSum sum = operand(0);
    if (sum && !exact.count(symbol.operands[0]))
      mayWrap.push_back({*sum, symbol.number});
    return sum;
  }
  case Kind::Opaque: {
    if (!isa_and_nonnull<KernelOp>(symbol.getParentOfArgument()) ||
        !isa<IndexType, IntegerType>(symbol.value.getType()))
      return std::nullopt;
    auto [it, isNew] =
        opaque.try_emplace({symbol.value.getAsOpaquePointer(), {}});
    if (isNew)
      it->second = makeBetween(INT32_MIN, INT32_MAX);
    return it->second;
  }
  default:
    return std::nullopt;
  }
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

/// Returns a term of a form. The coefficient belongs to the number that a
/// factor multiplies, so that the product is compared with others as a whole.
KnownSum TurnIntegers::getProduct(ArrayRef<unsigned> monomial,
                                  int64_t coefficient, VisitSymbols &visit) {
  AffineSum product(std::abs(coefficient));
  for (unsigned symbol : monomial) {
    auto it = visit.known.find(symbol);
    if (it == visit.known.end()) {
      KnownSum computed = compute(forms->getSymbol(symbol), visit);
      it = visit.known.try_emplace(symbol, computed).first;
    }
    KnownSum next = it->second;
    if (next && !(product == AffineSum(1)))
      next = multiply(product, *next);
    if (!next)
      return std::nullopt;
    product = *next;
  }
  return coefficient < 0 ? product * -1 : product;
}

KnownSum TurnIntegers::get(const IndexForm &form, VisitSymbols &visit) {
  AffineSum sum;
  for (const auto &[monomial, coefficient] : form) {
    // Larger numbers could overflow in sums.
    constexpr int64_t limit = int64_t(1) << 32;
    if (coefficient > limit || coefficient < -limit)
      return std::nullopt;
    KnownSum product = getProduct(monomial, int64_t(coefficient), visit);
    if (!product)
      return std::nullopt;
    sum.add(*product, 1);
  }
  return sum;
}

void TurnIntegers::requireExact(VisitSymbols &visit) {
  for (const IndexForm &form : exact)
    if (KnownSum product = get(form, visit))
      require(isAtLeast(INT32_MAX, *product));
}

bool TurnIntegers::isExact() const {
  return llvm::all_of(mayWrap, [&](const auto &result) {
    const auto &[sum, bits] = result;
    return isImpossible({isMore(sum, llvm::maxIntN(bits))}) &&
           isImpossible({isMore(llvm::minIntN(bits), sum)});
  });
}
