//===- AttnToNVVM.h - attention ops to GPU kernels ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The whole way from attention ops to kernels in the LLVM and NVVM dialects, as
// a sequence of levels. Each level is the IR after one pass, and a place where
// one can stop, look, edit, and go on.

#ifndef FA4_PIPELINES_ATTNTONVVM_H
#define FA4_PIPELINES_ATTNTONVVM_H

#include "fa4/Support/OptionValues.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

namespace fa4 {

namespace tile {
struct TilePlanOptions;
} // namespace tile

/// The options of the pipeline's passes. The defaults are those of the passes.
struct KernelOptions {
  std::string chip = "sm_100a";
  /// Option of attn-to-tile. compile() counts up from it while kernels spill.
  int64_t smallerTiles = 0;
  /// Option of attn-to-tile.
  bool splitKeys = true;
  /// Option of tile-lazy-rescale, in powers of two; 0 rescales with each new
  /// maximum.
  double rescaleThreshold = 8.0;
  /// Option of tile-pair-ctas.
  std::string pairs = "auto";
  /// Option of tile-plan and tile-assign-work.
  std::string schedule = "auto";
  /// Option of tile-plan.
  bool splitArrival = true;
  /// Option of tile-plan.
  bool mmasAhead = false;
  /// tile-split-exp: share of the exponentials that go to the polynomial, or -1
  /// = computed. The largest is 0.75 in rows of 128 columns, since the last 32
  /// columns of a row stay on the special function unit.
  double expFraction = -1.0;
  /// Whether the protocol of the roles is proven before tile-share-buffers and
  /// tile-to-nvvm, or after the last of tile-schedule and tile-allocate that
  /// runs, and before tile-to-nvvm that outputs are written once. Off, what a
  /// file says is compiled as it stands.
  bool verify = true;

  /// Calls `declare(name, description, member)` for each option but the chip.
  /// The pipeline attn-to-nvvm and the command line of fa4-compile make their
  /// options from this one declaration, and a kernel's manifest lists them.
  template <typename Declare> static void declareAll(Declare declare) {
    declare("smaller-tiles",
            "How many of the tiles that have room, the largest first, are "
            "passed over; more are where ptxas finds that kernels spill",
            &KernelOptions::smallerTiles);
    declare("split-keys",
            "Let several CTAs divide the keys of a sequence of at most 16 "
            "queries (default: true)",
            &KernelOptions::splitKeys);
    declare("rescale-threshold",
            "How far, in powers of two, a row's maximum may grow before the "
            "accumulator is rescaled, 0 to 15 for f16 and 0 to 97 for bf16; 0 "
            "= at once",
            &KernelOptions::rescaleThreshold);
    declare("pairs",
            "Whether CTAs work in pairs: auto, on or off (see tile-pair-ctas)",
            &KernelOptions::pairs);
    declare("schedule",
            "Which CTA works on which work tile: auto, grid, static, lpt or "
            "clc (see tile-assign-work)",
            &KernelOptions::schedule);
    declare("split-arrival", "Hand over operands of MMAs in two parts",
            &KernelOptions::splitArrival);
    declare("mmas-ahead",
            "Issue MMAs as soon as the last value in their buffer has been "
            "read, where tensor memory has room",
            &KernelOptions::mmasAhead);
    declare("exp-fraction",
            "Share of the exponentials that a polynomial computes, 0 to 0.75; "
            "-1 = computed from the target's rates",
            &KernelOptions::expFraction);
    declare("verify",
            "Prove that the kernel's roles neither deadlock nor race, and that "
            "its outputs are written once; what is not proven is refused "
            "(default: true)",
            &KernelOptions::verify);
  }

  /// The command line parser of an option of this type.
  template <typename T>
  using Parser = std::conditional_t<std::is_same_v<T, double>, RealParser,
                                    llvm::cl::parser<T>>;

  /// A sentence on the first option that no kernel can have, such as NaN;
  /// nothing if there is none.
  std::optional<std::string> check() const;
};

/// Returns the options with which the pipeline runs tile-plan.
tile::TilePlanOptions getPlanOptions(const KernelOptions &options);

/// One level of the pipeline: a step and the IR that it leaves.
struct KernelLevel {
  /// The name of the level, which is also the name of its pass without the
  /// prefix.
  llvm::StringLiteral name;
  /// A description of the level's IR for people.
  llvm::StringLiteral description;
  void (*addPasses)(mlir::OpPassManager &pm, const KernelOptions &options);
  /// The later level whose proof begins with what this one's ends with; empty
  /// for a level without a proof and for the last proof.
  llvm::StringLiteral provenAgainBy = "";
};

/// Returns the levels in their order. The input of the first one is a module
/// with attention ops.
llvm::ArrayRef<KernelLevel> getKernelLevels();

/// Returns the number of the level with this name, if there is one.
std::optional<unsigned> findKernelLevel(llvm::StringRef name);

/// Adds the passes of the level `level` to a run that ends before the level
/// `end`. The level's proof is left out if a later level of the run proves the
/// same.
void addKernelLevel(mlir::OpPassManager &pm, unsigned level, unsigned end,
                    KernelOptions options);

/// The names of all levels, for messages.
std::string listKernelLevels();

/// The options of the pipeline `attn-to-nvvm`.
struct AttnToNVVMOptions : public mlir::PassPipelineOptions<AttnToNVVMOptions> {
  PassOptions::Option<std::string> chip{
      *this, "chip", llvm::cl::desc("Target: sm_90a, sm_100a, sm_103a"),
      llvm::cl::init(KernelOptions().chip)};
  PassOptions::Option<std::string> from{
      *this, "from", llvm::cl::desc("Level that the input is at"),
      llvm::cl::init("")};
  PassOptions::Option<std::string> to{
      *this, "to", llvm::cl::desc("Last level to go to"), llvm::cl::init("")};

  AttnToNVVMOptions();
  KernelOptions get() const;
  /// A sentence on the first option that is wrong; nothing if there is none.
  std::optional<std::string> check() const;

private:
  /// The options of KernelOptions::declareAll, and what copies their values.
  std::vector<std::shared_ptr<void>> declared;
  std::vector<std::function<void(KernelOptions &)>> copiers;
};

/// Adds the passes of all levels behind `from`, up to and including `to`.
llvm::LogicalResult buildAttnToNVVMPipeline(
    mlir::OpPassManager &pm, const AttnToNVVMOptions &options,
    llvm::function_ref<llvm::LogicalResult(const llvm::Twine &)> emitError);

/// Registers the pipeline `attn-to-nvvm`.
void registerAttnToNVVMPipeline();

} // namespace fa4

#endif // FA4_PIPELINES_ATTNTONVVM_H
