// RUN: not fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-lazy-rescale{threshold=-1}))' 2>&1 | FileCheck --dump-input=never %s

// CHECK: error: tile-lazy-rescale: the threshold must not be negative, got -1
tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %i = tile.work_tile : index
}
