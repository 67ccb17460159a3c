//===- StateSet.h - states that the proof has followed ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_PROTOCOL_STATESET_H
#define FA4_LIB_DIALECT_TILE_PROTOCOL_STATESET_H

#include "ProofLayout.h"
#include "llvm/ADT/Hashing.h"
#include <unordered_set>

namespace fa4::tile::proof {

/// The states that have been followed. Equal states have equal futures: a key
/// has all that can influence the future.
class StateSet {
public:
  StateSet(const ProtocolModel &model, const ProofLayout &layout)
      : model(model), layout(layout) {}

  /// Adds the state. Returns false if an equal one is in the set. Makes the
  /// state forget facts for which no role will ask again.
  bool insert(Machine &machine);
  size_t size() const { return seen.size(); }

private:
  using Key = llvm::SmallVectorImpl<int64_t>;
  struct KeyHash {
    size_t operator()(const std::vector<int64_t> &key) const {
      return llvm::hash_combine_range(key.begin(), key.end());
    }
  };

  void appendNumbers(Machine &machine, Key &key) const;
  void appendChannel(const Machine &machine, unsigned channel, Key &key) const;
  llvm::SmallVector<const int32_t *>
  collectClocks(const Machine &machine) const;
  void appendClocks(const Machine &machine, Key &key) const;

  const ProtocolModel &model;
  const ProofLayout &layout;
  std::unordered_set<std::vector<int64_t>, KeyHash> seen;
  /// Scratch for the lookup of a state in `seen`. A member so that its
  /// allocation is reused.
  llvm::SmallVector<int64_t> key;
};

} // namespace fa4::tile::proof

#endif // FA4_LIB_DIALECT_TILE_PROTOCOL_STATESET_H
