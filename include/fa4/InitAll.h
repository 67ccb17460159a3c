//===- InitAll.h - registration of everything ----------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_INITALL_H
#define FA4_INITALL_H

#include "fa4/InitAllDialects.h"
#include "fa4/InitAllPasses.h"

#endif // FA4_INITALL_H
