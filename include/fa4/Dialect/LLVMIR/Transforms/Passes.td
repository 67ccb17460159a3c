//===- Passes.td - passes on the LLVM and NVVM dialects -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_LLVMIR_TRANSFORMS_PASSES_TD
#define FA4_DIALECT_LLVMIR_TRANSFORMS_PASSES_TD

include "fa4/Support/PassWithOptions.td"

//===----------------------------------------------------------------------===//
// llvm-merge-branches
//===----------------------------------------------------------------------===//

def LLVMMergeBranches : FA4_Pass<"llvm-merge-branches", "::mlir::LLVM::LLVMFuncOp"> {
  let summary = "Make one body of branches that differ in numbers only";
  let description = [{
    *Input*: functions of the LLVM dialect. *Output*: of a chain of branches, such as that
    over the roles of a kernel, branches beside each other that have the same operations are
    one. The first condition that holds is the number of the branch; what is a different
    number in each of them is computed from it.

    The roles of equal query tiles differ in offsets into shared memory, rows and numbers of
    barriers. As one body they take their room in the instruction cache once: on an H100, the
    loops of three roles, of 14 KB each, were fetched anew in each pass, and attention with
    ALiBi at head dim 64 took 1.45 times as long. Where the code fits, branches stay
    apart: their numbers are part of instructions, and roles get in step less often (up to 1.02
    times as fast, 1.07 in one case).

    A chain is merged only where its conditions are the same in all threads of a warp
    (comparisons of a `nvvm.shfl.sync idx` with constants), so that operations which a warp
    executes together still are. Two branches are alike if a walk over both finds the same
    operations in the same order, with operands that correspond. Apart from that

    - an operand, or the offset of a `getelementptr`, may be another integer constant;
    - an addition of a constant may be absent, as if it were one of 0;
    - an operation without results whose operands are constants may be absent. Only the
      branches that have it will execute it.

    Numbers that are the same distance apart from one branch to the next are `first +
    number * distance`, and each distance is computed once; others are selected.

    Before:

    ```mlir
    llvm.func @f(%x: i32, %p: !llvm.ptr<3>) {
      %all = llvm.mlir.constant(-1 : i32) : i32
      %c0 = llvm.mlir.constant(0 : i32) : i32
      %last = llvm.mlir.constant(31 : i32) : i32
      %warp = nvvm.shfl.sync idx %all, %x, %c0, %last : i32 -> i32
      %first = llvm.icmp "eq" %warp, %c0 : i32
      llvm.cond_br %first, ^a, ^other
    ^a:
      %pa = llvm.getelementptr %p[64] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
      llvm.store %x, %pa : i32, !llvm.ptr<3>
      llvm.br ^end
    ^other:
      %c1 = llvm.mlir.constant(1 : i32) : i32
      %second = llvm.icmp "eq" %warp, %c1 : i32
      llvm.cond_br %second, ^b, ^end
    ^b:
      %pb = llvm.getelementptr %p[96] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
      llvm.store %x, %pb : i32, !llvm.ptr<3>
      llvm.br ^end
    ^end:
      llvm.return
    }
    ```

    After, in short:

    ```
      %any = llvm.or %first, %second : i1
      llvm.cond_br %any, ^a, ^end
    ^a:
      %number = llvm.select %first, %c0, %c1 : i1, i32
      %distance = llvm.mul %number, %c32 : i32
      %0 = llvm.getelementptr %p[%distance] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
      %pa = llvm.getelementptr %0[64] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
      llvm.store %x, %pa : i32, !llvm.ptr<3>
      llvm.br ^end
    ^end:
      llvm.return
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let options = [
    Option<"cacheBytes", "cache-bytes", "int64_t", /*default=*/"-1",
           "Merge branches whose code takes more bytes together, an estimate; "
           "-1 = what the kernel's chip can run without fetching it anew (none are merged where that "
           "has not been measured), 0 = all">
  ];
}

#endif // FA4_DIALECT_LLVMIR_TRANSFORMS_PASSES_TD
