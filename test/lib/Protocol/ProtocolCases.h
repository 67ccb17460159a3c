//===- ProtocolCases.h - sizes to explore a kernel for ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_LIB_PROTOCOL_PROTOCOLCASES_H
#define FA4_TEST_LIB_PROTOCOL_PROTOCOLCASES_H

#include "Protocol/ProtocolInputs.h"

namespace fa4::tile {

/// All events of a role.
using ProtocolTrace = std::vector<ProtocolEvent>;

/// A number for each of some inputs.
using ProtocolSizes = std::vector<std::pair<ProtocolInput, mlir::TypedAttr>>;

/// A role in one of the CTAs that run it: all CTAs of a cluster, but for a role
/// of the leader.
struct RoleOfCta {
  unsigned role = 0;
  /// The number of the CTA in its cluster.
  unsigned rank = 0;
};

/// The roles of all CTAs of a cluster, or of a CTA alone.
std::vector<RoleOfCta> listRolesOfCtas(const ProtocolModel &model);

/// What the roles do for one choice of sizes.
struct ProtocolCase {
  /// The events of each role of a CTA, as listRolesOfCtas has them.
  std::vector<ProtocolTrace> traces;
  /// The numbers of passes of each loop in the first CTA, one for each time
  /// that it is entered.
  std::vector<llvm::SmallVector<int64_t, 2>> passes;
  /// The sizes, for people.
  std::string sizes;

  /// Returns the sum of the passes of all loops.
  int64_t total() const;
};

/// Small sizes that are tried: one choice of them at least for each way in
/// which the roles may go.
struct ProtocolChoices {
  int64_t maxPasses = 0, maxOuterPasses = 0;
  std::vector<ProtocolSizes> small;
};

struct ProtocolCases {
  /// Those in which no loop makes more passes than is asked for, one of each
  /// kind; those with the fewest passes first.
  std::vector<ProtocolCase> small;
  /// Sizes at which integers wrap around or change their sign, and for which a
  /// loop makes more passes: one choice for each way in which numbers of passes
  /// differ from each other, if no small case has it.
  std::vector<ProtocolSizes> large;
};

/// Cases in which no loop makes more than `maxPasses` passes, and none with
/// loops in it more than `maxOuterPasses`; large ones if `corners` says so.
/// None if there are more than `maxCases`. If `choices` has some, and they are
/// of a kernel that makes the same of sizes, for as many passes, only these are
/// tried. Otherwise it gets those that were of use.
std::optional<ProtocolCases>
findProtocolCases(const ProtocolModel &model, ProtocolInputs &inputs,
                  int64_t maxPasses, int64_t maxOuterPasses, size_t maxCases,
                  bool corners, ProtocolChoices *choices = nullptr);

} // namespace fa4::tile

#endif // FA4_TEST_LIB_PROTOCOL_PROTOCOLCASES_H
