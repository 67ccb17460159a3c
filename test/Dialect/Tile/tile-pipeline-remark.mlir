// A loop that hands on what another role was to make from its own product keeps
// its order, and the pass says why.
//
// RUN: sed -e '/%%to0 = tile.mma/d' -e 's/tile.commit %%o0, %%to0/tile.commit %%o0, %%tor0/' %S/Inputs/attention-roles.mlir | fa4-opt --tile-pipeline -o /dev/null 2>&1 | FileCheck %s
// CHECK: remark: not pipelined: an operation would come before what it uses
