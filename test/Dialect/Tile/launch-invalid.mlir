// A launch must pass what its kernel's arguments ask for. Each disagreement in
// number or type is reported with the argument's name.
//
// RUN: fa4-opt %s --split-input-file --verify-diagnostics

func.func @no_kernel(%x: memref<?xf32>) {
  // expected-error @+1 {{'no_kernel' is not a tile.kernel}}
  tile.launch @no_kernel outs(%x : memref<?xf32>)
  return
}

// -----

tile.kernel @k(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N">]} {
}
func.func @count(%x: memref<?xf32>, %f: f32) {
  // expected-error @+1 {{passes 2 values to a kernel with 1 arguments}}
  tile.launch @k outs(%x : memref<?xf32>) scalars(%f : f32)
  return
}

// -----

tile.kernel @k(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N">]} {
}
func.func @memref_type(%x: memref<?xf32, strided<[2]>>) {
  // expected-error @+1 {{passes 'memref<?xf32, strided<[2]>>' as 'x', which is 'memref<?xf32>'}}
  tile.launch @k outs(%x : memref<?xf32, strided<[2]>>)
  return
}

// -----

tile.kernel @k(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N">]} {
}
func.func @tensor_type(%x: tensor<?xbf16>) {
  // expected-error @+1 {{passes 'tensor<?xbf16>' as 'x', which is 'memref<?xf32>'}}
  tile.launch @k ins(%x : tensor<?xbf16>)
  return
}

// -----

tile.kernel @k(%x: memref<?xf32, strided<[2]>> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N">]} {
}
func.func @strided_argument(%x: tensor<?xf32>) {
  // expected-error @+1 {{passes 'tensor<?xf32>' as 'x', which is 'memref<?xf32, strided<[2]>>'}}
  tile.launch @k ins(%x : tensor<?xf32>)
  return
}

// -----

tile.kernel @k(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N">]} {
}
func.func @results(%x: tensor<?xf32>) {
  // expected-error @+1 {{expected the number of tensor results (0) to be equal to the number of output tensors (1)}}
  tile.launch @k outs(%x : tensor<?xf32>)
  return
}
