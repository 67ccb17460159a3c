// An online softmax; ELEMENT is the type of q and of the probabilities.
tile.kernel @online(%q: memref<?x64xELEMENT> {tile.name = "q", tile.dims = ["M", "64"]},
                    %out: memref<?x64xf32> {tile.name = "out", tile.dims = ["M", "64"]},
                    %lse: memref<?xf32> {tile.name = "lse", tile.dims = ["M"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>]} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %ninf = arith.constant dense<0xFF800000> : vector<128xf32>
  %zero = arith.constant dense<0.0> : vector<128xf32>
  %c = arith.constant dense<0.125> : vector<128xf32>
  %cneg = arith.constant dense<-0.125> : vector<128xf32>
  %cs = arith.constant dense<0.125> : vector<128x128xf32>
  %ozero = arith.constant dense<0.0> : vector<128x64xf32>
  %n = memref.dim %q, %c0 : memref<?x64xELEMENT>
  %tq = tile.load %q[%c0, %c0] : memref<?x64xELEMENT> -> vector<128x64xELEMENT>
  %r:3 = scf.for %j = %c0 to %n step %c128 iter_args(%o = %ozero, %m = %ninf, %l = %zero) -> (vector<128x64xf32>, vector<128xf32>, vector<128xf32>) {
    %tk = tile.load %q[%j, %c0] : memref<?x64xELEMENT> -> vector<128x64xELEMENT>
    %s = tile.mma %tq, transpose %tk : vector<128x64xELEMENT>, vector<128x64xELEMENT> -> vector<128x128xf32>
    %m2 = vector.multi_reduction <maxnumf>, %s, %m [1] : vector<128x128xf32> to vector<128xf32>
    %empty = arith.cmpf oeq, %m2, %ninf : vector<128xf32>
    %safe = arith.select %empty, %zero, %m2 : vector<128xi1>, vector<128xf32>
    %d = arith.subf %m, %safe : vector<128xf32>
    %dc = arith.mulf %d, %c : vector<128xf32>
    %a = math.exp2 %dc : vector<128xf32>
    %nm = arith.mulf %safe, %cneg : vector<128xf32>
    %nmc = vector.shape_cast %nm : vector<128xf32> to vector<128x1xf32>
    %nmb = vector.broadcast %nmc : vector<128x1xf32> to vector<128x128xf32>
    %y = math.fma %s, %cs, %nmb : vector<128x128xf32>
    %p = math.exp2 %y : vector<128x128xf32>
    %pt = arith.truncf %p : vector<128x128xf32> to vector<128x128xELEMENT>
    %la = arith.mulf %l, %a : vector<128xf32>
    %l2 = vector.multi_reduction <add>, %p, %la [1] : vector<128x128xf32> to vector<128xf32>
    %ac = vector.shape_cast %a : vector<128xf32> to vector<128x1xf32>
    %ab = vector.broadcast %ac : vector<128x1xf32> to vector<128x64xf32>
    %os = arith.mulf %o, %ab : vector<128x64xf32>
    %o2 = tile.mma %pt, %tk acc %os : vector<128x128xELEMENT>, vector<128x64xELEMENT> -> vector<128x64xf32>
    scf.yield %o2, %m2, %l2 : vector<128x64xf32>, vector<128xf32>, vector<128xf32>
  }
  %lc = vector.shape_cast %r#2 : vector<128xf32> to vector<128x1xf32>
  %lb = vector.broadcast %lc : vector<128x1xf32> to vector<128x64xf32>
  %on = arith.divf %r#0, %lb : vector<128x64xf32>
  tile.store %on, %out[%c0, %c0] : vector<128x64xf32>, memref<?x64xf32>
  %lg = math.log2 %r#2 : vector<128xf32>
  %mc = arith.mulf %r#1, %c : vector<128xf32>
  %z = arith.addf %lg, %mc : vector<128xf32>
  tile.store %z, %lse[%c0] : vector<128xf32>, memref<?xf32>
}
