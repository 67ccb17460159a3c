// A barrier counts the arrivals of all lanes, so a loop or branch around a
// channel operation must go the same way in all of them. What lanes have read
// may differ, and is refused.
//
// RUN: fa4-opt %s --verify-protocol --split-input-file --verify-diagnostics

// What is computed from arguments and the work tile is. In passes without a wait no role runs ahead of the others.
tile.kernel @uniform(%n: index {tile.name = "n"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %c = tile.channel "c" smem stages(1) : <vector<128xf32>>
  tile.role @producer kind(vector) {
    %v = arith.constant dense<1.0> : vector<128xf32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %most = tile.work_tile : index
    %end = arith.minsi %n, %most : index
    scf.for %i = %c0 to %end step %c1 {
      %more = arith.cmpi sgt, %n, %c1 : index
      scf.if %more {
        tile.acquire %c : <vector<128xf32>>
        tile.commit %c, %v : <vector<128xf32>>, vector<128xf32>
      }
    }
  }
  tile.role @consumer kind(vector) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %most = tile.work_tile : index
    %end = arith.minsi %n, %most : index
    scf.for %i = %c0 to %end step %c1 {
      %more = arith.cmpi sgt, %n, %c1 : index
      scf.if %more {
        %v = tile.wait %c : <vector<128xf32>> -> vector<128xf32>
        tile.release %c : <vector<128xf32>>
      }
    }
  }
}

// -----

// Both roles count alike, but lanes of each do not.
tile.kernel @row() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %c = tile.channel "c" smem stages(1) : <vector<128xf32>>
  tile.role @producer kind(vector) {
    %v = arith.constant dense<1.0> : vector<128xf32>
    %row = tile.row : index
    %c0 = arith.constant 0 : index
    %p = arith.cmpi eq, %row, %c0 : index
    // expected-error @below {{is decided by each lane for itself, so not all lanes may arrive at the channel operations in it}}
    scf.if %p {
      tile.acquire %c : <vector<128xf32>>
      tile.commit %c, %v : <vector<128xf32>>, vector<128xf32>
    }
  }
  tile.role @consumer kind(vector) {
    %row = tile.row : index
    %c0 = arith.constant 0 : index
    %p = arith.cmpi eq, %row, %c0 : index
    scf.if %p {
      %v = tile.wait %c : <vector<128xf32>> -> vector<128xf32>
      tile.release %c : <vector<128xf32>>
    }
  }
}

// -----

// A vote is the same in a warp, not in the role.
tile.kernel @vote(%n: index {tile.name = "n"}) attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %c = tile.channel "c" smem stages(1) : <vector<128xf32>>
  tile.role @producer kind(vector) {
    %v = arith.constant dense<1.0> : vector<128xf32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %row = tile.row : index
    %p = arith.cmpi slt, %row, %n : index
    %any = tile.any %p
    %end = arith.select %any, %c2, %c1 : index
    // expected-error @below {{is decided by each lane for itself, so not all lanes may arrive at the channel operations in it}}
    scf.for %i = %c0 to %end step %c1 {
      tile.acquire %c : <vector<128xf32>>
      tile.commit %c, %v : <vector<128xf32>>, vector<128xf32>
    }
  }
  tile.role @consumer kind(vector) {
    %v = tile.wait %c : <vector<128xf32>> -> vector<128xf32>
    tile.release %c : <vector<128xf32>>
  }
}

// -----

// Loops that are not counted are not followed.
tile.kernel @while(%n: index {tile.name = "n"}) attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %c = tile.channel "c" smem stages(1) : <vector<128xf32>>
  tile.role @producer kind(vector) {
    %v = arith.constant dense<1.0> : vector<128xf32>
    tile.acquire %c : <vector<128xf32>>
    tile.commit %c, %v : <vector<128xf32>>, vector<128xf32>
  }
  tile.role @consumer kind(vector) {
    %c0 = arith.constant 0 : index
    // expected-error @below {{'scf.while' op has 'tile.wait' in it: only scf.for, scf.if and tile.work can}}
    scf.while (%i = %c0) : (index) -> () {
      %again = arith.cmpi slt, %i, %n : index
      scf.condition(%again)
    } do {
      %v = tile.wait %c : <vector<128xf32>> -> vector<128xf32>
      tile.release %c : <vector<128xf32>>
      scf.yield %n : index
    }
  }
}

// -----

// A warp accesses tensor memory as a whole: a vote may decide about it, a lane not.
tile.kernel @tensor_memory(%n: index {tile.name = "n"}) attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %c = tile.channel "c" tmem stages(1) : <vector<128x64xf32>>
  tile.role @producer kind(vector) {
    %v = arith.constant dense<1.0> : vector<64xf32>
    tile.acquire %c : <vector<128x64xf32>>
    tile.write %v, %c : vector<64xf32>, <vector<128x64xf32>>
    tile.commit %c : <vector<128x64xf32>>
  }
  tile.role @consumer kind(vector) {
    %zero = arith.constant dense<0.0> : vector<64xf32>
    %row = tile.row : index
    %p = arith.cmpi slt, %row, %n : index
    %any = tile.any %p
    tile.wait %c : <vector<128x64xf32>>
    scf.if %any {
      %x = tile.read %c : <vector<128x64xf32>> -> vector<64xf32>
    }
    // expected-error @below {{lanes of a warp decide for themselves, but 'tile.read' in it is executed by all of them together}}
    scf.if %p {
      %x = tile.read %c : <vector<128x64xf32>> -> vector<64xf32>
    }
    tile.release %c : <vector<128x64xf32>>
  }
}
