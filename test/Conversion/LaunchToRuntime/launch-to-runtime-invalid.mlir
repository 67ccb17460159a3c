// Launches that cannot become calls, and memory that the host cannot read.
//
// RUN: fa4-opt %s --launch-to-runtime -split-input-file -verify-diagnostics
// RUN: not fa4-opt %s --launch-to-runtime=stream=none -split-input-file 2>&1 | FileCheck %s
// CHECK: launch-to-runtime: stream must be argument or default, got 'none'

gpu.binary @k [#gpu.object<#nvvm.target<chip = "sm_100a">, assembly = "code">]
func.func @no_manifest(%x: memref<?xf32>) {
  // expected-error@below {{launches 'k', which is no gpu.binary with a manifest; nvvm-to-binary makes them}}
  tile.launch @k outs(%x : memref<?xf32>)
  return
}

// -----

gpu.binary @k [#gpu.object<#nvvm.target<chip = "sm_100a">, properties = {fa4.manifest = "{}", fa4.arguments = ["x"]}, assembly = "code">]
func.func @tensors(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error@below {{is on tensors; host code has them bufferized (one-shot-bufferize)}}
  %y = tile.launch @k outs(%x : tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

gpu.binary @k [#gpu.object<#nvvm.target<chip = "sm_100a">, properties = {fa4.manifest = "{}", fa4.arguments = ["x"]}, assembly = "code">]
func.func @count(%x: memref<?xf32>) {
  // expected-error@below {{passes 2 arguments, the manifest of 'k' has 1}}
  tile.launch @k ins(%x : memref<?xf32>) outs(%x : memref<?xf32>)
  return
}

// -----

gpu.binary @k [#gpu.object<#nvvm.target<chip = "sm_100a">, properties = {fa4.manifest = "{}", fa4.arguments = ["x"]}, assembly = "code">]
func.func @host_use(%i: index) -> f32 {
  // expected-note@below {{a launch uses the memory that is here}}
  %x = memref.alloc() : memref<8xf32>
  tile.launch @k outs(%x : memref<8xf32>)
  %view = memref.cast %x : memref<8xf32> to memref<?xf32>
  // expected-error@below {{uses memory of the GPU on the host}}
  %y = memref.load %view[%i] : memref<?xf32>
  return %y : f32
}

// -----

gpu.binary @k [#gpu.object<#nvvm.target<chip = "sm_100a">, properties = {fa4.manifest = "{}", fa4.arguments = ["x"]}, assembly = "code">]
func.func @stack() {
  %x = memref.alloca() : memref<8xf32>
  // expected-error@below {{gets memory of 'memref.alloca', and it is not known whether the GPU can access that; memref.alloc, arguments and calls are known}}
  tile.launch @k outs(%x : memref<8xf32>)
  return
}

// -----

gpu.binary @k [#gpu.object<#nvvm.target<chip = "sm_100a">, properties = {fa4.manifest = "{}", fa4.arguments = ["x"]}, assembly = "code">]
func.func @launches(%x: memref<?xf32>) {
  tile.launch @k outs(%x : memref<?xf32>)
  return
}
func.func @address() -> ((memref<?xf32>) -> ()) {
  // expected-error@below {{uses 'launches', which gets a stream as its last argument; stream=default leaves signatures as they are}}
  %f = func.constant @launches : (memref<?xf32>) -> ()
  return %f : (memref<?xf32>) -> ()
}

// -----

// Callees and callers count.
gpu.binary @k [#gpu.object<#nvvm.target<chip = "sm_100a">, properties = {fa4.manifest = "{}", fa4.arguments = ["x"]}, assembly = "code">]
func.func private @inner(%x: memref<8xf32>) {
  tile.launch @k outs(%x : memref<8xf32>)
  return
}
func.func @outer(%i: index, %y: f32) {
  // expected-note@below {{a launch uses the memory that is here}}
  %x = memref.alloc() : memref<8xf32>
  // expected-error@below {{uses memory of the GPU on the host}}
  memref.store %y, %x[%i] : memref<8xf32>
  call @inner(%x) : (memref<8xf32>) -> ()
  return
}

// -----

gpu.binary @k [#gpu.object<#nvvm.target<chip = "sm_100a">, properties = {fa4.manifest = "{}", fa4.arguments = ["x"]}, assembly = "code">]
func.func @loop(%n: index, %a: memref<8xf32>) -> memref<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> (memref<8xf32>) {
    // expected-error@below {{gets memory through control flow, so it is not known whether the GPU can access it}}
    tile.launch @k outs(%x : memref<8xf32>)
    scf.yield %x : memref<8xf32>
  }
  return %r : memref<8xf32>
}

// -----

// The other side of a copy is the GPU's, too, and is not a constant of the program.
gpu.binary @k [#gpu.object<#nvvm.target<chip = "sm_100a">, properties = {fa4.manifest = "{}", fa4.arguments = ["x"]}, assembly = "code">]
memref.global constant @table : memref<8xf32> = dense<1.0>
func.func @copy_of_a_constant(%x: memref<8xf32>) {
  %table = memref.get_global @table : memref<8xf32>
  // expected-error@below {{gets memory of 'memref.get_global', and it is not known whether the GPU can access that}}
  memref.copy %table, %x : memref<8xf32> to memref<8xf32>
  tile.launch @k outs(%x : memref<8xf32>)
  return
}

// -----

gpu.binary @k [#gpu.object<#nvvm.target<chip = "sm_100a">, properties = {fa4.manifest = "{}", fa4.arguments = ["x"]}, assembly = "code">]
func.func @copy_of_host_memory(%x: memref<8xf32>, %i: index, %y: f32) {
  // expected-note@below {{a launch uses the memory that is here}}
  %host = memref.alloc() : memref<8xf32>
  // expected-error@below {{uses memory of the GPU on the host}}
  memref.store %y, %host[%i] : memref<8xf32>
  memref.copy %host, %x : memref<8xf32> to memref<8xf32>
  tile.launch @k outs(%x : memref<8xf32>)
  return
}
