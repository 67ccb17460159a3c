// What is the same in all columns is converted once, and the constants of columns are added in f32.
//
// RUN: fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-float-positions,canonicalize,cse))' | FileCheck %s

// CHECK-LABEL: tile.kernel @distances
// CHECK-DAG: %[[COLUMNS:.*]] = arith.constant dense<[0.000000e+00, -1.000000e+00, -2.000000e+00, -3.000000e+00]>
// CHECK-DAG: %[[LOW:.*]] = arith.constant dense<-5.000000e+00> : vector<4xf32>
// CHECK: %[[SAME:.*]] = arith.subi %{{.*}}, %{{.*}} : index
// CHECK: %[[INTEGER:.*]] = arith.index_cast %[[SAME]] : index to i32
// CHECK: %[[FIRST:.*]] = arith.sitofp %[[INTEGER]] : i32 to f32
// CHECK: %[[ROW:.*]] = vector.broadcast %[[FIRST]]
// CHECK: %[[DISTANCE:.*]] = arith.addf %[[ROW]], %[[COLUMNS]]
// CHECK: tile.write %[[DISTANCE]]
// The absolute value, and limits, come behind the conversion.
// CHECK: %[[ABSOLUTE:.*]] = math.absf %[[DISTANCE]]
// CHECK: tile.write %[[ABSOLUTE]]
// CHECK: %[[LEAST:.*]] = arith.maximumf %[[DISTANCE]], %[[LOW]]
// CHECK: tile.write %[[LEAST]]
// CHECK-NOT: arith.sitofp %{{.*}} : vector
tile.kernel @distances() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %out = tile.channel "out" tmem stages(3) : <vector<128x4xf32>>
  tile.role @compute kind(vector) {
    %i = tile.work_tile : index
    %first = tile.work_tile : index
    %zero = arith.constant dense<0> : vector<4xindex>
    %low = arith.constant dense<-5> : vector<4xindex>
    %step = vector.step : vector<4xindex>
    %begin = vector.broadcast %first : index to vector<4xindex>
    %columns = arith.addi %step, %begin : vector<4xindex>
    %row = vector.broadcast %i : index to vector<4xindex>
    %distance = arith.subi %row, %columns : vector<4xindex>
    %integers = arith.index_cast %distance : vector<4xindex> to vector<4xi32>
    %numbers = arith.sitofp %integers : vector<4xi32> to vector<4xf32>
    tile.write %numbers, %out[0] : vector<4xf32>, <vector<128x4xf32>>
    %negated = arith.subi %zero, %distance : vector<4xindex>
    %far = arith.maxsi %distance, %negated : vector<4xindex>
    %farIntegers = arith.index_cast %far : vector<4xindex> to vector<4xi32>
    %farNumbers = arith.sitofp %farIntegers : vector<4xi32> to vector<4xf32>
    tile.write %farNumbers, %out[0] : vector<4xf32>, <vector<128x4xf32>>
    %limited = arith.maxsi %distance, %low : vector<4xindex>
    %limitedIntegers = arith.index_cast %limited : vector<4xindex> to vector<4xi32>
    %limitedNumbers = arith.sitofp %limitedIntegers : vector<4xi32> to vector<4xf32>
    tile.write %limitedNumbers, %out[0] : vector<4xf32>, <vector<128x4xf32>>
  }
}

// Numbers beyond 2^24, those that no sum of columns is, those of other types, and what is the same in all columns.
// CHECK-LABEL: tile.kernel @others
// CHECK-COUNT-4: arith.sitofp %{{.*}} : vector<4xi32> to vector<4x
tile.kernel @others() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %out = tile.channel "out" tmem stages(1) : <vector<128x4xf32>>
  %narrow = tile.channel "narrow" tmem stages(1) : <vector<128x4xbf16>>
  tile.role @compute kind(vector) {
    %i = tile.work_tile : index
    %step = vector.step : vector<4xindex>
    %row = vector.broadcast %i : index to vector<4xindex>
    %distance = arith.subi %row, %step : vector<4xindex>
    %large = arith.constant dense<16777216> : vector<4xindex>
    %farther = arith.addi %distance, %large : vector<4xindex>
    %0 = arith.index_cast %farther : vector<4xindex> to vector<4xi32>
    %1 = arith.sitofp %0 : vector<4xi32> to vector<4xf32>
    tile.write %1, %out[0] : vector<4xf32>, <vector<128x4xf32>>
    %square = arith.muli %distance, %distance : vector<4xindex>
    %2 = arith.index_cast %square : vector<4xindex> to vector<4xi32>
    %3 = arith.sitofp %2 : vector<4xi32> to vector<4xf32>
    tile.write %3, %out[0] : vector<4xf32>, <vector<128x4xf32>>
    %4 = arith.index_cast %distance : vector<4xindex> to vector<4xi32>
    %5 = arith.sitofp %4 : vector<4xi32> to vector<4xbf16>
    tile.write %5, %narrow[0] : vector<4xbf16>, <vector<128x4xbf16>>
    %6 = arith.index_cast %row : vector<4xindex> to vector<4xi32>
    %7 = arith.sitofp %6 : vector<4xi32> to vector<4xf32>
    tile.write %7, %out[0] : vector<4xf32>, <vector<128x4xf32>>
  }
}
