//===- ProtocolNotes.h - what belongs to a finding ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_PROTOCOL_PROTOCOLNOTES_H
#define FA4_DIALECT_TILE_PROTOCOL_PROTOCOLNOTES_H

#include "fa4/Dialect/Tile/Protocol/ProtocolVerifier.h"
#include "llvm/ADT/DenseSet.h"

namespace fa4::tile {

/// Of which loops a finding tells how many passes they make: those around the
/// operations that it is about, and those in which one of its roles uses one of
/// its channels. Its roles are those of the operations, and those that have an
/// end of a channel that the finding names.
class FindingConcerns {
public:
  /// What the finding's error and notes stand on.
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

/// Adds a note on the sizes for which something is found, if it takes any.
void noteSizes(const ProtocolModel &model, const std::string &sizes,
               ProtocolFinding &finding);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_PROTOCOL_PROTOCOLNOTES_H
