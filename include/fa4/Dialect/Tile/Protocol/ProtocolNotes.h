//===- ProtocolNotes.h - what belongs to a finding ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_PROTOCOL_PROTOCOLNOTES_H
#define FA4_DIALECT_TILE_PROTOCOL_PROTOCOLNOTES_H

#include "fa4/Dialect/Tile/Protocol/ProtocolFinding.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolModel.h"
#include "llvm/ADT/DenseSet.h"

namespace fa4::tile {

/// Decides for which loops a finding's notes give trip counts: loops around its
/// operations, and loops in which a role it names uses a channel it names. A
/// finding names the roles of its operations, and the roles at both ends of
/// each channel in it.
class FindingConcerns {
public:
  /// The roles and channels are taken from the operations of the finding's
  /// error and of its notes.
  FindingConcerns(const ProtocolModel &model, const ProtocolFinding &finding);
  bool isAbout(const ProtocolLoop &loop) const;
  bool isAboutRole(unsigned role) const { return roles.count(role); }

private:
  void add(mlir::Operation *op);
  void add(unsigned channel);
  bool isAbout(const Step &step) const;

  const ProtocolModel &model;
  llvm::SmallVector<mlir::Operation *> operations;
  llvm::DenseSet<unsigned> roles, channels;
};

/// Adds a note on the sizes for which a fault was found, unless `sizes` is
/// empty.
void noteSizes(const ProtocolModel &model, const std::string &sizes,
               ProtocolFinding &finding);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_PROTOCOL_PROTOCOLNOTES_H
