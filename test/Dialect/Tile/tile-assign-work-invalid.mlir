// RUN: fa4-opt %s --split-input-file --verify-diagnostics --mlir-print-op-on-diagnostic=false --pass-pipeline='builtin.module(tile.kernel(tile-assign-work{schedule=clc}))'

// expected-error @+1 {{is for 'sm_90a', whose CTAs cannot ask for the work of other ones (clusterlaunchcontrol): the schedule 'clc' is not possible}}
tile.kernel @chip(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_90a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
}

// -----

tile.kernel @nested(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]}, %n: index {tile.name = "n"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %j = %c0 to %n step %c1 {
    // expected-error @+1 {{is in a region: coordinates of work tiles that a schedule assigns stand at the top of a program}}
    %i = tile.work_tile : index
  }
}
