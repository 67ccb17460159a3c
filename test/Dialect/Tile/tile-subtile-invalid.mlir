// Programs whose rows cannot be cut without changing their meaning are refused
// on the operation that mixes the parts.
//
// RUN: fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-subtile))' --split-input-file --verify-diagnostics

tile.kernel @rows(%q: memref<?x64xbf16> {tile.name = "q", tile.dims = ["M", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 192>]} {
  %c0 = arith.constant 0 : index
  %tq = tile.load %q[%c0, %c0] : memref<?x64xbf16> -> vector<192x64xbf16>
  %tk = tile.load %q[%c0, %c0] : memref<?x64xbf16> -> vector<64x64xbf16>
  // expected-error @+1 {{has 192 rows, which is no multiple of the target's 128}}
  %s = tile.mma %tq, transpose %tk : vector<192x64xbf16>, vector<64x64xbf16> -> vector<192x64xf32>
}

// -----

tile.kernel @unknown_op(%q: memref<?x64xbf16> {tile.name = "q", tile.dims = ["M", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 256>]} {
  %c0 = arith.constant 0 : index
  %tq = tile.load %q[%c0, %c0] : memref<?x64xbf16> -> vector<256x64xbf16>
  %tk = tile.load %q[%c0, %c0] : memref<?x64xbf16> -> vector<64x64xbf16>
  // expected-note @+1 {{the MMA is here}}
  %s = tile.mma %tq, transpose %tk : vector<256x64xbf16>, vector<64x64xbf16> -> vector<256x64xf32>
  // expected-error @+1 {{cannot be cut into 2 parts, which an MMA of too many rows asks for}}
  %t = vector.shape_cast %s : vector<256x64xf32> to vector<128x128xf32>
}

// -----

// Only constants of equal elements.
tile.kernel @constant(%q: memref<?x1xbf16> {tile.name = "q", tile.dims = ["M", "1"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 2>]} {
  %c0 = arith.constant 0 : index
  %tq = tile.load %q[%c0, %c0] : memref<?x1xbf16> -> vector<256x1xbf16>
  %tk = tile.load %q[%c0, %c0] : memref<?x1xbf16> -> vector<64x1xbf16>
  // expected-note @+1 {{the MMA is here}}
  %s = tile.mma %tq, transpose %tk : vector<256x1xbf16>, vector<64x1xbf16> -> vector<256x64xf32>
  %max = arith.constant dense<0.0> : vector<256xf32>
  %m = vector.multi_reduction <maxnumf>, %s, %max [1] : vector<256x64xf32> to vector<256xf32>
  // expected-error @+1 {{cannot be cut into 2 parts}}
  %mi = arith.constant dense<"0x000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728292A2B2C2D2E2F303132333435363738393A3B3C3D3E3F404142434445464748494A4B4C4D4E4F505152535455565758595A5B5C5D5E5F606162636465666768696A6B6C6D6E6F707172737475767778797A7B7C7D7E7F808182838485868788898A8B8C8D8E8F909192939495969798999A9B9C9D9E9FA0A1A2A3A4A5A6A7A8A9AAABACADAEAFB0B1B2B3B4B5B6B7B8B9BABBBCBDBEBFC0C1C2C3C4C5C6C7C8C9CACBCCCDCECFD0D1D2D3D4D5D6D7D8D9DADBDCDDDEDFE0E1E2E3E4E5E6E7E8E9EAEBECEDEEEFF0F1F2F3F4F5F6F7F8F9FAFBFCFDFEFF"> : vector<256xi8>
  %mf = arith.sitofp %mi : vector<256xi8> to vector<256xf32>
  %sum = arith.addf %m, %mf : vector<256xf32>
}

// -----

// Rows and columns are the same dimension.
tile.kernel @square(%q: memref<?x64xbf16> {tile.name = "q", tile.dims = ["M", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 256>]} {
  %c0 = arith.constant 0 : index
  %tq = tile.load %q[%c0, %c0] : memref<?x64xbf16> -> vector<256x64xbf16>
  // expected-error @+2 {{cannot be cut into 2 parts}}
  // expected-note @+1 {{the MMA is here}}
  %s = tile.mma %tq, transpose %tq : vector<256x64xbf16>, vector<256x64xbf16> -> vector<256x256xf32>
}

// -----

// The rows of one element stay together.
tile.kernel @element(%a: memref<?x256x64xbf16> {tile.name = "a", tile.dims = ["N", "256", "64"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N">]} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{cannot be cut into 2 parts, which an MMA of too many rows asks for}}
  %ta = tile.load %a[%c0, %c0, %c0] dims [0, 2] inner [1, 256] : memref<?x256x64xbf16> -> vector<256x64xbf16>
  %tb = tile.load %a[%c0, %c0, %c0] dims [1, 2] : memref<?x256x64xbf16> -> vector<64x64xbf16>
  // expected-note @+1 {{the MMA is here}}
  %s = tile.mma %ta, transpose %tb : vector<256x64xbf16>, vector<64x64xbf16> -> vector<256x64xf32>
}
