// The C API with objects of MLIR: dialects are registered, attn.sdpa is built.
// Part of the tests in capi.test.
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "fa4-c/Dialects.h"
#include "fa4-c/Registration.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Diagnostics.h"
#include "mlir-c/Dialect/Func.h"
#include "mlir-c/IR.h"
#include "mlir-c/Pass.h"
#include <assert.h>
#include <stdio.h>

static void print(MlirStringRef text, void *userData) {
  (void)userData;
  fwrite(text.data, 1, text.length, stdout);
}

static MlirLogicalResult printDiagnostic(MlirDiagnostic diagnostic,
                                         void *userData) {
  (void)userData;
  printf("diagnostic: ");
  mlirDiagnosticPrint(diagnostic, print, NULL);
  printf("\n");
  return mlirLogicalResultSuccess();
}

static MlirStringRef ref(const char *text) {
  return mlirStringRefCreateFromCString(text);
}

static MlirOperation findFirst(MlirModule module) {
  return mlirBlockGetFirstOperation(mlirModuleGetBody(module));
}

/// Puts attn.sdpa of the function's arguments in front of its return.
static void build(MlirContext context, MlirModule module) {
  MlirLocation location = mlirLocationUnknownGet(context);
  MlirRegion body = mlirOperationGetRegion(findFirst(module), 0);
  MlirBlock block = mlirRegionGetFirstBlock(body);
  MlirValue q = mlirBlockGetArgument(block, 0);
  MlirValue k = mlirBlockGetArgument(block, 1);
  MlirAttribute bshd = fa4AttnLayoutAttrGet(context, ref("bshd"));
  assert(mlirAttributeIsNull(fa4AttnLayoutAttrGet(context, ref("dhsb"))));
  const int64_t left = 8, right = 0, far = -9;
  MlirAttribute mask = fa4AttnMaskAttrGet(location, &left, &right, true);
  assert(mlirAttributeIsNull(fa4AttnMaskAttrGet(location, &left, &far, true)));
  MlirOperation op = fa4AttnSdpaCreate(location, q, k, k, bshd, mask, true);
  assert(fa4OperationIsAAttnSdpa(op));
  assert(mlirOperationGetNumResults(op) == 2);
  MlirOperation end = mlirBlockGetTerminator(block);
  assert(!fa4OperationIsAAttnSdpa(end));
  mlirBlockInsertOwnedOperationBefore(block, end, op);
  mlirOperationSetOperand(end, 0, mlirOperationGetResult(op, 0));

  // What is no layout, and an operand that is no tensor of four dimensions.
  assert(mlirOperationIsNull(
      fa4AttnSdpaCreate(location, q, k, k, mask, mask, false)));
  assert(mlirOperationIsNull(fa4AttnSdpaCreate(
      location, mlirBlockGetArgument(block, 2), k, k, bshd, mask, false)));
}

int main(void) {
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  fa4RegisterAllDialects(registry);
  fa4RegisterAllPasses();
  fa4RegisterAllPasses();
  mlirDialectHandleInsertDialect(mlirGetDialectHandle__func__(), registry);
  MlirContext context = mlirContextCreateWithRegistry(registry, false);
  mlirContextAttachDiagnosticHandler(context, printDiagnostic, NULL, NULL);
  MlirDialect attn =
      mlirDialectHandleLoadDialect(mlirGetDialectHandle__attn__(), context);
  assert(mlirStringRefEqual(mlirDialectGetNamespace(attn), ref("attn")));
  mlirDialectHandleLoadDialect(mlirGetDialectHandle__tile__(), context);

  MlirModule module = mlirModuleCreateParse(
      context, ref("func.func @f(%q: tensor<?x?x2x64xf16>, "
                   "%k: tensor<?x?x2x64xf16>, %n: index) "
                   "-> tensor<?x?x2x64xf16> {\n"
                   "  return %q : tensor<?x?x2x64xf16>\n}"));
  assert(!mlirModuleIsNull(module));
  build(context, module);
  MlirOperation op = mlirModuleGetOperation(module);
  assert(mlirOperationVerify(op));
  mlirOperationPrint(op, print, NULL);

  MlirPassManager passes = mlirPassManagerCreate(context);
  MlirLogicalResult parsed = mlirParsePassPipeline(
      mlirPassManagerGetAsOpPassManager(passes),
      ref("builtin.module(attn-to-nvvm{to=tile})"), print, NULL);
  assert(mlirLogicalResultIsSuccess(parsed));
  assert(mlirLogicalResultIsSuccess(mlirPassManagerRunOnOp(passes, op)));
  mlirOperationPrint(op, print, NULL);
  mlirPassManagerDestroy(passes);
  mlirModuleDestroy(module);
  mlirContextDestroy(context);
  mlirDialectRegistryDestroy(registry);
  return 0;
}
