//===- Integer.h - integer forms of shared opcodes -------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// add, sub, mul, ... exist for integers and for floating point; Float.cpp
// registers them and passes on what has an integer type.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_MACHINE_INTEGER_H
#define FA4_LIB_SIMULATOR_MACHINE_INTEGER_H

#include "Lanes.h"

namespace fa4::sim {

bool decodeIntegerAdd(DecodeContext &);
bool decodeIntegerSub(DecodeContext &);
bool decodeIntegerMul(DecodeContext &);
bool decodeIntegerMad(DecodeContext &);
bool decodeIntegerDiv(DecodeContext &);
bool decodeIntegerAbs(DecodeContext &);
bool decodeIntegerNeg(DecodeContext &);
bool decodeIntegerMinMax(DecodeContext &, bool isMax);

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_MACHINE_INTEGER_H
