//===- ShadowTest.cpp - cells of blocks, words and bytes ------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the checker finds does not depend on how cells are kept, but its speed
// does: these tests count cells and questions.
//
//===----------------------------------------------------------------------===//

#include "../../../../lib/Simulator/Check/Shadow.h"
#include "gtest/gtest.h"

using namespace fa4::sim;

namespace {

constexpr Stamp first{1, 5, 10}, second{2, 6, 11}, third{3, 7, 12};

/// The cells that stand for something, each with its first byte.
std::vector<std::pair<size_t, Stamp>> writesOf(Shadow &shadow) {
  std::vector<std::pair<size_t, Stamp>> writes;
  shadow.forEachCell([&](const Cell &cell, size_t byte) {
    if (cell.write.component)
      writes.push_back({byte, cell.write});
  });
  return writes;
}

TEST(Shadow, BlockIsOneCellUntilAPartIsAccessed) {
  Shadow shadow(2 * Shadow::blockWords);
  shadow.block(0).write = first;
  shadow.block(1).write = second;
  EXPECT_EQ(writesOf(shadow).size(), 2u);

  Cell *words = shadow.wordsOf(shadow.block(0));
  EXPECT_TRUE(shadow.block(0).isSplit());
  EXPECT_FALSE(shadow.block(1).isSplit());
  for (unsigned word = 0; word < Shadow::blockWords; ++word)
    EXPECT_EQ(words[word].write, first);
  words[3].write = third;
  auto writes = writesOf(shadow);
  ASSERT_EQ(writes.size(), Shadow::blockWords + 1u);
  EXPECT_EQ(writes[2].second, first);
  EXPECT_EQ(writes[3].first, 12u);
  EXPECT_EQ(writes[3].second, third);
  EXPECT_EQ(shadow.wordsOf(shadow.block(0)), words) << "split twice";

  shadow.mergeWords(shadow.block(0), second);
  EXPECT_EQ(writesOf(shadow).size(), 2u);
  EXPECT_EQ(shadow.wordsOf(shadow.block(1)), words) << "cells are used again";
}

TEST(Shadow, WordHasACellForEachByteOfAPart) {
  Shadow shadow(Shadow::blockWords);
  Cell *words = shadow.wordsOf(shadow.block(0));
  words[1].write = first;
  Cell *bytes = shadow.bytesOf(words[1]);
  bytes[2].write = second;
  auto writes = writesOf(shadow);
  ASSERT_EQ(writes.size(), 4u);
  EXPECT_EQ(writes[2].first, 6u);
  EXPECT_EQ(writes[2].second, second);
  EXPECT_EQ(writes[3].second, first);
  shadow.mergeBytes(words[1], third);
  EXPECT_EQ(writesOf(shadow).size(), 1u);
}

/// Each part gets a list of its own: a read of one is none of the others.
TEST(Shadow, PartsHaveTheReadsOfTheWhole) {
  Shadow shadow(Shadow::blockWords);
  uint32_t list = shadow.makeList();
  shadow.list(list).add(first);
  shadow.list(list).add(second);
  shadow.block(0).read = {Cell::listed, list, 0};
  Cell *words = shadow.wordsOf(shadow.block(0));
  shadow.list(words[0].read.step).add(third);
  EXPECT_EQ(shadow.list(words[0].read.step).stamps().size(), 3u);
  EXPECT_EQ(shadow.list(words[15].read.step).stamps().size(), 2u);
  EXPECT_EQ(shadow.list(words[15].read.step).find(third.component), nullptr);
}

TEST(Shadow, ClearForgetsAllParts) {
  Shadow shadow(4 * Shadow::blockWords);
  for (size_t block = 0; block < 4; ++block)
    shadow.block(block).write = first;
  Cell *words = shadow.wordsOf(shadow.block(1));
  shadow.bytesOf(words[7])[1].write = second;
  uint32_t list = shadow.makeList();
  shadow.list(list).add(first);
  words[8].read = {Cell::listed, list, 0};
  shadow.clear(Shadow::blockWords, 2 * Shadow::blockWords);
  auto writes = writesOf(shadow);
  ASSERT_EQ(writes.size(), 2u);
  EXPECT_EQ(writes[0].first, 0u);
  EXPECT_EQ(writes[1].first, 3u * Shadow::blockBytes);
  EXPECT_EQ(shadow.makeList(), list) << "the list of reads is kept";
  EXPECT_TRUE(shadow.list(list).stamps().empty());
}

TEST(Shadow, FindsWhatIsUnwritten) {
  Shadow shadow(4 * Shadow::blockWords);
  shadow.block(3).write = first;
  shadow.wordsOf(shadow.block(1))[7].write = first;
  EXPECT_TRUE(shadow.isUnwritten(0, 23));
  EXPECT_FALSE(shadow.isUnwritten(0, 24));
  EXPECT_TRUE(shadow.isUnwritten(24, 24));
  EXPECT_FALSE(shadow.isUnwritten(24, 25));
}

TEST(Shadow, RemembersStoredValuesAcrossBlocks) {
  Shadow shadow(64 * Shadow::blockWords);
  std::vector<uint8_t> memory(shadow.size() * Shadow::wordBytes);
  for (size_t i = 0; i < memory.size(); ++i)
    memory[i] = i * 7 + 1;
  shadow.store(33, 200, &memory[33]);
  EXPECT_TRUE(shadow.hasStored(64, 64, &memory[64]));
  EXPECT_TRUE(shadow.hasStored(232, 1, &memory[232]));
  EXPECT_FALSE(shadow.hasStored(233, 1, &memory[233]));
  EXPECT_FALSE(shadow.hasStored(64, 4, &memory[65]));
}

TEST(ReadList, FindsReadsByComponent) {
  ReadList list;
  for (uint32_t i = 0; i < 300; ++i)
    list.add({(7u << 16) | (1000 - i), i, 0});
  for (uint32_t i = 0; i < 300; ++i)
    EXPECT_EQ(list.find((7u << 16) | (1000 - i))->step, i);
  EXPECT_EQ(list.find((7u << 16) | 700), nullptr);
  EXPECT_EQ(list.find((7u << 16) | 2000), nullptr);
  list.removeIf(nullptr, 0, [](const Stamp &s) { return s.step % 3 == 0; });
  ASSERT_EQ(list.stamps().size(), 200u);
  EXPECT_EQ(list.stamps()[1].step, 2u) << "order is kept";
  EXPECT_EQ(list.find((7u << 16) | 997), nullptr);
  EXPECT_EQ(list.find((7u << 16) | 996)->step, 4u);
  list.clear();
  EXPECT_EQ(list.find((7u << 16) | 996), nullptr);
}

/// 32 lanes of a warp that know the same ask once for each read.
TEST(ReadList, AsksOnceForEachReaderAndKnowledge) {
  ReadList list;
  for (uint32_t i = 1; i <= 100; ++i)
    list.add({i, 1, 0});
  int reader = 0, other = 0;
  unsigned asked = 0;
  auto known = [&](const Stamp &) {
    ++asked;
    return false;
  };
  for (uint32_t lane = 0; lane < 32; ++lane) {
    list.removeIf(&reader, 1, known);
    list.add({200 + lane, 1, 0});
  }
  EXPECT_EQ(asked, 100u + 31);
  list.removeIf(&reader, 2, known);
  EXPECT_EQ(asked, 131u + 132) << "more knowledge";
  list.removeIf(&other, 2, known);
  EXPECT_EQ(asked, 263u + 132) << "another reader";
  list.removeIf(nullptr, 2, known);
  list.removeIf(nullptr, 2, known);
  EXPECT_EQ(asked, 395u + 264) << "nobody in particular";
}

} // namespace
