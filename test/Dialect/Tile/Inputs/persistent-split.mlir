// persistent-attention.mlir after tile-split-loop: the softmax has two loops, and the second one makes
// the passes that the first one has left of those that all other roles make in one.
tile.kernel @persistent_split(
    %q: memref<?x64xbf16> {tile.name = "q", tile.dims = ["M", "64"]},
    %k: memref<?x64xbf16> {tile.name = "k", tile.dims = ["N", "64"]},
    %v: memref<?x64xbf16> {tile.name = "v", tile.dims = ["N", "64"]},
    %out: memref<?x64xbf16> {tile.name = "out", tile.dims = ["M", "64"], tile.output = "partial"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 256>]} {
  %cq = tile.channel "q" smem stages(1) : <vector<128x64xbf16>>
  %ck = tile.channel "k" smem stages(2) : <vector<128x64xbf16>>
  %cv = tile.channel "v" smem stages(2) : <vector<128x64xbf16>>
  %cs = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  %cp = tile.channel "p" tmem stages(1) : <vector<128x128xbf16>>
  %ca = tile.channel "a" smem stages(1) : <vector<128xf32>>
  %co = tile.channel "o" tmem stages(1) : <vector<128x64xf32>>
  %cback = tile.channel "back" tmem stages(1) initial(1) in_place_of(%co : !tile.channel<vector<128x64xf32>>) : <vector<128x64xf32>>
  %cr = tile.channel "r" smem stages(1) : <vector<128x64xbf16>>
  tile.role @softmax kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c128 = arith.constant 128 : index
    %ninf = arith.constant dense<0xFF800000> : vector<128xf32>
    %first = tile.work_tile : index
    %rows = memref.dim %q, %c0 : memref<?x64xbf16>
    %tiles = arith.ceildivsi %rows, %c128 : index
    scf.for %tile = %first to %tiles step %c2 {
      %more = arith.ceildivsi %tile, %c2 : index
      %blocks = arith.addi %more, %c1 : index
      %part = arith.minsi %tile, %blocks : index
      %m0 = scf.for %i = %c0 to %part step %c1 iter_args(%old = %ninf) -> (vector<128xf32>) {
        %s = tile.wait %cs : <vector<128x128xf32>> -> vector<128x128xf32>
        %next = vector.multi_reduction <maximumf>, %s, %old [1] : vector<128x128xf32> to vector<128xf32>
        %b = vector.shape_cast %next : vector<128xf32> to vector<128x1xf32>
        %all = vector.broadcast %b : vector<128x1xf32> to vector<128x128xf32>
        %x = arith.subf %s, %all : vector<128x128xf32>
        tile.release %cs : <vector<128x128xf32>>
        %d = arith.subf %old, %next : vector<128xf32>
        %a = math.exp2 %d : vector<128xf32>
        tile.acquire %ca : <vector<128xf32>>
        tile.commit %ca, %a : <vector<128xf32>>, vector<128xf32>
        %e = math.exp2 %x : vector<128x128xf32>
        %p = arith.truncf %e : vector<128x128xf32> to vector<128x128xbf16>
        tile.acquire %cp : <vector<128x128xbf16>>
        tile.commit %cp, %p : <vector<128x128xbf16>>, vector<128x128xbf16>
        scf.yield %next : vector<128xf32>
      }
      %m = scf.for %i = %part to %blocks step %c1 iter_args(%old = %m0) -> (vector<128xf32>) {
        %s = tile.wait %cs : <vector<128x128xf32>> -> vector<128x128xf32>
        %next = vector.multi_reduction <maximumf>, %s, %old [1] : vector<128x128xf32> to vector<128xf32>
        %b = vector.shape_cast %next : vector<128xf32> to vector<128x1xf32>
        %all = vector.broadcast %b : vector<128x1xf32> to vector<128x128xf32>
        %x = arith.subf %s, %all : vector<128x128xf32>
        tile.release %cs : <vector<128x128xf32>>
        %d = arith.subf %old, %next : vector<128xf32>
        %a = math.exp2 %d : vector<128xf32>
        tile.acquire %ca : <vector<128xf32>>
        tile.commit %ca, %a : <vector<128xf32>>, vector<128xf32>
        %e = math.exp2 %x : vector<128x128xf32>
        %p = arith.truncf %e : vector<128x128xf32> to vector<128x128xbf16>
        tile.acquire %cp : <vector<128x128xbf16>>
        tile.commit %cp, %p : <vector<128x128xbf16>>, vector<128x128xbf16>
        scf.yield %next : vector<128xf32>
      }
    }
  }
  tile.role @correction kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c128 = arith.constant 128 : index
    %first = tile.work_tile : index
    %rows = memref.dim %q, %c0 : memref<?x64xbf16>
    %tiles = arith.ceildivsi %rows, %c128 : index
    scf.for %tile = %first to %tiles step %c2 {
      %more = arith.ceildivsi %tile, %c2 : index
      %blocks = arith.addi %more, %c1 : index
      %none = tile.wait %ca : <vector<128xf32>> -> vector<128xf32>
      tile.release %ca : <vector<128xf32>>
      scf.for %i = %c1 to %blocks step %c1 {
        %o = tile.wait %co : <vector<128x64xf32>> -> vector<128x64xf32>
        %a = tile.wait %ca : <vector<128xf32>> -> vector<128xf32>
        %scaled = tile.rescale %o, %a : vector<128x64xf32>, vector<128xf32>
        tile.release %ca : <vector<128xf32>>
        tile.commit %cback, %scaled : <vector<128x64xf32>>, vector<128x64xf32>
      }
      %o = tile.wait %co : <vector<128x64xf32>> -> vector<128x64xf32>
      %r = arith.truncf %o : vector<128x64xf32> to vector<128x64xbf16>
      tile.acquire %cr : <vector<128x64xbf16>>
      tile.commit %cr, %r : <vector<128x64xbf16>>, vector<128x64xbf16>
      tile.commit %cback : <vector<128x64xf32>>
    }
  }
  tile.role @mma kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c128 = arith.constant 128 : index
    %first = tile.work_tile : index
    %rows = memref.dim %q, %c0 : memref<?x64xbf16>
    %tiles = arith.ceildivsi %rows, %c128 : index
    scf.for %tile = %first to %tiles step %c2 {
      %more = arith.ceildivsi %tile, %c2 : index
      %blocks = arith.addi %more, %c1 : index
      %tq = tile.wait %cq : <vector<128x64xbf16>> -> vector<128x64xbf16>
      scf.for %i = %c0 to %blocks step %c1 {
        tile.acquire %cs : <vector<128x128xf32>>
        %tk = tile.wait %ck : <vector<128x64xbf16>> -> vector<128x64xbf16>
        %s = tile.mma %tq, transpose %tk : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
        tile.commit %cs, %s : <vector<128x128xf32>>, vector<128x128xf32>
        tile.release %ck : <vector<128x64xbf16>>
        %again = arith.cmpi ne, %i, %c0 : index
        %p = tile.wait %cp : <vector<128x128xbf16>> -> vector<128x128xbf16>
        %tv = tile.wait %cv : <vector<128x64xbf16>> -> vector<128x64xbf16>
        %back = tile.wait %cback : <vector<128x64xf32>> -> vector<128x64xf32>
        %o = tile.mma %p, %tv acc %back if %again : vector<128x128xbf16>, vector<128x64xbf16> -> vector<128x64xf32>
        tile.commit %co, %o : <vector<128x64xf32>>, vector<128x64xf32>
        tile.release %cv : <vector<128x64xbf16>>
        tile.release %cp : <vector<128x128xbf16>>
      }
      tile.release %cq : <vector<128x64xbf16>>
    }
    %last = tile.wait %cback : <vector<128x64xf32>> -> vector<128x64xf32>
  }
  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c128 = arith.constant 128 : index
    %first = tile.work_tile : index
    %rows = memref.dim %q, %c0 : memref<?x64xbf16>
    %tiles = arith.ceildivsi %rows, %c128 : index
    scf.for %tile = %first to %tiles step %c2 {
      %more = arith.ceildivsi %tile, %c2 : index
      %blocks = arith.addi %more, %c1 : index
      %row = arith.muli %tile, %c128 : index
      tile.acquire %cq : <vector<128x64xbf16>>
      %tq = tile.load %q[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
      tile.commit %cq, %tq : <vector<128x64xbf16>>, vector<128x64xbf16>
      scf.for %i = %c0 to %blocks step %c1 {
        %key = arith.muli %i, %c128 : index
        tile.acquire %ck : <vector<128x64xbf16>>
        %tk = tile.load %k[%key, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
        tile.commit %ck, %tk : <vector<128x64xbf16>>, vector<128x64xbf16>
        tile.acquire %cv : <vector<128x64xbf16>>
        %tv = tile.load %v[%key, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
        tile.commit %cv, %tv : <vector<128x64xbf16>>, vector<128x64xbf16>
      }
    }
  }
  tile.role @store kind(issuer) {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c128 = arith.constant 128 : index
    %first = tile.work_tile : index
    %rows = memref.dim %q, %c0 : memref<?x64xbf16>
    %tiles = arith.ceildivsi %rows, %c128 : index
    scf.for %tile = %first to %tiles step %c2 {
      %row = arith.muli %tile, %c128 : index
      %r = tile.wait %cr : <vector<128x64xbf16>> -> vector<128x64xbf16>
      tile.store %r, %out[%row, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
      tile.release %cr : <vector<128x64xbf16>>
    }
  }
}
