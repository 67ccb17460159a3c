// The C API without MLIR: a spec to kernels, kernels in the simulator, errors,
// and several threads. Part of the tests in capi.test.
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "fa4-c/Compiler.h"
#include "fa4-c/Simulator.h"
#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kLength = 64, kDim = 64, kElements = kLength * kDim };

static uint16_t toBF16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

static float fromBF16(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof(value));
  return value;
}

static void check(Fa4Status status, char *message) {
  if (status == FA4_OK && !message)
    return;
  fprintf(stderr, "status %d: %s\n", status, message ? message : "no message");
  exit(1);
}

/// Prints a status and its sentence, and frees the latter.
static void show(const char *what, Fa4Status status, char *message) {
  printf("%s: %d: %s\n", what, status, message ? message : "no message");
  fa4FreeText(message);
}

static void showDiagnostic(const Fa4Diagnostic *diagnostic, void *userData) {
  static const char *const names[] = {"error", "warning", "remark", "note"};
  ++*(int *)userData;
  printf("handler: %s:%u:%u: %s: %s\n",
         diagnostic->file ? diagnostic->file : "nowhere", diagnostic->line,
         diagnostic->column, names[diagnostic->severity], diagnostic->message);
}

static char *printSpec(const char *mask) {
  Fa4SdpaSpec spec = {.size = sizeof(spec)};
  spec.mask = mask;
  spec.headDim = kDim;
  spec.queryHeads = spec.keyHeads = 1;
  char *text, *message;
  check(fa4SdpaSpecPrint(&spec, &text, &message), message);
  return text;
}

static Fa4Compilation *compile(const char *text, const char *emit);

/// The PTX of a spec.
static Fa4Compilation *compileSpec(const Fa4SdpaSpec *spec) {
  char *text, *message;
  check(fa4SdpaSpecPrint(spec, &text, &message), message);
  Fa4Compilation *compilation = compile(text, "ptx");
  fa4FreeText(text);
  return compilation;
}

/// A causal mask as text, by value and as a region are the same kernel.
static void testMasks(void) {
  Fa4SdpaSpec spec = {.size = sizeof(spec)};
  spec.headDim = kDim;
  spec.mask = "causal, top_left";
  Fa4Compilation *first = compileSpec(&spec);
  Fa4Mask band = {sizeof(band), FA4_NO_BOUND, 0, FA4_TOP_LEFT};
  spec.mask = NULL;
  spec.band = &band;
  Fa4Compilation *second = compileSpec(&spec);
  spec.band = NULL;
  spec.maskMod = "%r = arith.cmpi sge, %i, %j : index\nattn.yield %r : i1";
  Fa4Compilation *third = compileSpec(&spec);
  const char *ptx = fa4CompilationFindArtefact(first, ".ptx").data;
  printf(
      "masks: %s, %s\n",
      strcmp(ptx, fa4CompilationFindArtefact(second, ".ptx").data) ? "other"
                                                                   : "the same",
      strcmp(ptx, fa4CompilationFindArtefact(third, ".ptx").data) ? "other"
                                                                  : "the same");
  fa4CompilationDestroy(first);
  fa4CompilationDestroy(second);
  fa4CompilationDestroy(third);
}

/// A gradient with another head dim of v, and a score_mod with captures.
static void testGradientSpec(void) {
  Fa4SdpaSpec spec = {.size = sizeof(spec)};
  spec.headDim = 64;
  spec.headDimV = 32;
  spec.captures = "%cap: f32, %slopes: memref<?xf32>";
  spec.scoreMod = "%x = memref.load %slopes[%h] : memref<?xf32>\n"
                  "%y = arith.mulf %x, %cap : f32\n"
                  "%r = arith.addf %s, %y : f32\nattn.yield %r : f32";
  spec.backward = spec.deterministic = true;
  char *text, *message;
  check(fa4SdpaSpecPrint(&spec, &text, &message), message);
  printf("%s", text);
  Fa4Compilation *compilation = compile(text, "tile");
  printf("gradient: %s\n",
         fa4CompilationFindArtefact(compilation, ".tile.mlir").name);
  fa4CompilationDestroy(compilation);
  fa4FreeText(text);
}

static Fa4Compilation *compile(const char *text, const char *emit) {
  Fa4CompileOptions options = {.size = sizeof(options)};
  options.emit = emit;
  options.pipeline = "schedule=grid";
  options.verifyPtx = FA4_VERIFY_PTX_NO;
  Fa4Compilation *compilation;
  char *message;
  check(fa4Compile(text, strlen(text), &options, &compilation, &message),
        message);
  return compilation;
}

static Fa4Simulation *simulate(const Fa4Compilation *compilation,
                               const uint16_t *q, const uint16_t *k,
                               const uint16_t *v) {
  Fa4Artefact manifest = fa4CompilationFindArtefact(compilation, ".json");
  Fa4Artefact ptx = fa4CompilationFindArtefact(compilation, ".ptx");
  Fa4Simulation *simulation;
  char *message;
  check(fa4SimulationCreate(manifest.data, manifest.length, &simulation,
                            &message),
        message);
  check(fa4SimulationSetModule(simulation, ptx.name, ptx.data, ptx.length,
                               &message),
        message);
  const int64_t shape[] = {1, kLength, 1, kDim};
  const uint16_t *data[] = {q, k, v};
  const char *names[] = {"q", "k", "v"};
  for (int i = 0; i < 3; ++i)
    check(fa4SimulationSetBuffer(simulation, names[i], shape, 4, data[i],
                                 2 * kElements, &message),
          message);
  Fa4SimulateOptions options = {.size = sizeof(options)};
  options.check = true;
  options.threads = 1;
  check(fa4SimulationRun(simulation, &options, &message), message);
  return simulation;
}

/// Causal attention of one head in double precision; the largest difference.
static double compare(const uint16_t *q, const uint16_t *k, const uint16_t *v,
                      const uint16_t *out) {
  double worst = 0;
  for (int i = 0; i < kLength; ++i) {
    double weights[kLength], sum = 0;
    for (int j = 0; j <= i; ++j) {
      double score = 0;
      for (int d = 0; d < kDim; ++d)
        score += fromBF16(q[i * kDim + d]) * fromBF16(k[j * kDim + d]);
      sum += weights[j] = exp(score / sqrt(kDim));
    }
    for (int d = 0; d < kDim; ++d) {
      double expected = 0;
      for (int j = 0; j <= i; ++j)
        expected += weights[j] / sum * fromBF16(v[j * kDim + d]);
      worst = fmax(worst, fabs(expected - fromBF16(out[i * kDim + d])));
    }
  }
  return worst;
}

static void testKernel(void) {
  char *text = printSpec("causal, bottom_right");
  printf("%s", text);
  Fa4Compilation *compilation = compile(text, "ptx,schedule,nvvm");
  for (size_t i = 0; i < fa4CompilationGetNumArtefacts(compilation); ++i) {
    Fa4Artefact artefact = fa4CompilationGetArtefact(compilation, i);
    assert(strlen(artefact.data) == artefact.length);
    printf("artefact: %s\n", artefact.name);
  }
  assert(!fa4CompilationGetArtefact(compilation, 99).name);
  assert(!fa4CompilationFindArtefact(compilation, ".cubin").data);

  static uint16_t q[kElements], k[kElements], v[kElements], out[kElements],
      again[kElements];
  for (int i = 0; i < kElements; ++i) {
    q[i] = toBF16((float)((i * 37) % 101) / 50 - 1);
    k[i] = toBF16((float)((i * 53) % 97) / 48 - 1);
    v[i] = toBF16((float)((i * 71) % 89) / 44 - 1);
  }
  Fa4Simulation *simulation = simulate(compilation, q, k, v);
  char *message;
  assert(fa4SimulationGetBufferSize(simulation, "out") == sizeof(out));
  assert(fa4SimulationGetBufferSize(simulation, "none") == 0);
  check(fa4SimulationGetBuffer(simulation, "out", out, sizeof(out), &message),
        message);
  double worst = compare(q, k, v, out);
  printf("error: %s\n", worst < 0.02 ? "small" : "large");
  Fa4SimulateOptions options = {.size = sizeof(options)};
  options.seed = 7;
  check(fa4SimulationRun(simulation, &options, &message), message);
  check(fa4SimulationGetBuffer(simulation, "out", again, sizeof(out), &message),
        message);
  printf("again: %s\n", memcmp(out, again, sizeof(out)) ? "other" : "the same");
  char *times;
  check(fa4SimulationTime(simulation, &options, &times, &message), message);
  printf("time: %s\n", strstr(times, "\"teraflops\":") ? "modelled" : "none");
  fa4FreeText(times);
  show("set after run", fa4SimulationSetSize(simulation, "Sq", 1, &message),
       message);
  show("short buffer",
       fa4SimulationGetBuffer(simulation, "out", out, 1, &message), message);
  fa4SimulationDestroy(simulation);
  fa4CompilationDestroy(compilation);
  fa4FreeText(text);
}

static void fails(const char *what, const char *text,
                  const Fa4CompileOptions *options) {
  Fa4Compilation *compilation;
  char *message;
  Fa4Status status =
      fa4Compile(text, strlen(text), options, &compilation, &message);
  assert(!compilation);
  show(what, status, message);
}

/// The options of a later version, which have one member more.
struct LaterOptions {
  Fa4CompileOptions known;
  void *more;
};

static void testCompileErrors(void) {
  char *text = printSpec(NULL), *message;
  Fa4CompileOptions options = {.size = sizeof(options)};
  options.emit = "ptx,tille";
  fails("emit", text, &options);
  options.emit = NULL;
  options.from = "nowhere";
  fails("from", text, &options);
  options.from = NULL;
  options.pipeline = "shedule=lpt";
  fails("pipeline", text, &options);
  options.pipeline = "mmas-ahead=maybe";
  fails("value", text, &options);
  options.pipeline = "exp-fraction=2";
  fails("range", text, &options);
  options.pipeline = NULL;
  options.emit = "cubin";
  options.ptxas = "/nowhere/ptxas";
  fails("ptxas", text, &options);
  options = (Fa4CompileOptions){.size = 0};
  fails("size", text, &options);
  struct LaterOptions later = {{.size = sizeof(later)}, NULL};
  later.known.emit = "tille";
  fails("later, not used", text, &later.known);
  later.more = &later;
  fails("later, used", text, &later.known);
  show("null", fa4Compile(NULL, 0, NULL, NULL, &message), message);
  assert(fa4Compile(NULL, 0, NULL, NULL, NULL) == FA4_CANNOT_RUN);

  int count = 0;
  options = (Fa4CompileOptions){.size = sizeof(options)};
  options.handler = showDiagnostic;
  options.userData = &count;
  options.inputName = "mine.mlir";
  fails("syntax", "func.func @f( {", &options);
  fails("no kernel", "func.func @f() {\n  return\n}", &options);
  options.chip = "sm_80";
  fails("chip", text, &options);
  printf("diagnostics: %d\n", count);
  fa4FreeText(text);

  Fa4SdpaSpec spec = {.size = sizeof(spec)};
  show("no head dim", fa4SdpaSpecPrint(&spec, &text, &message), message);
  spec.headDim = 64;
  spec.batch = -1;
  show("negative", fa4SdpaSpecPrint(&spec, &text, &message), message);
  spec.batch = 0;
  spec.layout = "thd";
  show("layout", fa4SdpaSpecPrint(&spec, &text, &message), message);
  spec.layout = NULL;
  spec.mask = "caudal";
  show("mask", fa4SdpaSpecPrint(&spec, &text, &message), message);
  Fa4Mask band = {sizeof(band), -3, 1, FA4_TOP_LEFT};
  spec.band = &band;
  show("two masks", fa4SdpaSpecPrint(&spec, &text, &message), message);
  spec.mask = NULL;
  show("band", fa4SdpaSpecPrint(&spec, &text, &message), message);
  spec.band = NULL;
  spec.maskMod = "attn.yield %nothing : i1";
  show("region", fa4SdpaSpecPrint(&spec, &text, &message), message);
  spec.maskMod = NULL;
  spec.dtype = "b16";
  show("dtype", fa4SdpaSpecPrint(&spec, &text, &message), message);
  assert(!text);
}

/// Returns what fa4SimulationReport says of the kernel of testReport, which
/// writes behind the end of x. Shows why and returns null where it fails.
static char *reportOn(Fa4Simulation *simulation, const char *label,
                      const Fa4SimulateOptions *options, bool timed) {
  char *json, *message;
  Fa4Status status =
      fa4SimulationReport(simulation, options, timed, &json, &message);
  if (status != FA4_OK)
    show(label, status, message);
  assert((status == FA4_OK) == (json != NULL));
  return json;
}

static void testReport(void) {
  const char *ptx = ".version 8.6\n.target sm_100a\n.address_size 64\n"
                    ".visible .entry k(.param .u64 x) {\n"
                    ".reg .b64 %rd<2>; .reg .b32 %r<2>;\n"
                    "ld.param.u64 %rd1, [x];\nld.global.u32 %r1, [%rd1+4];\n"
                    "st.global.u32 [%rd1], %r1;\n"
                    "st.global.u32 [%rd1+8], 1;\nret;\n}\n";
  const char *manifest =
      "{\"version\": 1, \"ptx\": \"k.ptx\", \"tensors\": {\"x\": {\"dtype\":"
      " \"u32\", \"shape\": [1, 2], \"role\": \"inout\"}}, \"grid\": [1],"
      " \"block\": [1], \"params\": [{\"tensor\": \"x\"}]}";
  Fa4Simulation *simulation;
  char *json, *message;
  show("no such record",
       fa4SimulationRead("/nowhere/launch-0.json", &simulation, &message),
       message);
  assert(!simulation);
  show("no ptx", fa4DescribePtx("k.ptx", "}", 1, &json, &message), message);
  assert(!json);
  check(fa4DescribePtx("k.ptx", ptx, strlen(ptx), &json, &message), message);
  printf("entries: %s\n", json);
  fa4FreeText(json);

  check(fa4SimulationCreate(manifest, strlen(manifest), &simulation, &message),
        message);
  check(fa4SimulationSetModule(simulation, "k.ptx", ptx, strlen(ptx), &message),
        message);
  show("no npy", fa4SimulationSetNpy(simulation, "x", "npy", 3, &message),
       message);
  // 5 and 7 as numpy writes them, behind a header of 128 bytes.
  char npy[128 + 8] = "\x93NUMPY\x01\x00\x76\x00{'descr': '<u4', "
                      "'fortran_order': False, 'shape': (1, 2)}";
  for (size_t i = strlen(npy + 10) + 10; i < 127; ++i)
    npy[i] = ' ';
  npy[127] = '\n';
  const uint32_t x[2] = {5, 7};
  memcpy(npy + 128, x, sizeof(x));
  check(fa4SimulationSetNpy(simulation, "x", npy, sizeof(npy), &message),
        message);

  Fa4SimulateOptions options = {.size = sizeof(options), .allow = "racy"};
  reportOn(simulation, "allow", &options, false);
  options.allow = NULL;
  options.policy = "fair";
  reportOn(simulation, "policy", &options, false);
  options.policy = "lazy";
  const bool interrupt = true;
  options.interrupt = &interrupt;
  reportOn(simulation, "interrupt", &options, false);
  reportOn(simulation, "interrupt by the clock", &options, true);
  options.interrupt = NULL;
  json = reportOn(simulation, "report", &options, false);
  printf("report: %s\n", json);
  fa4FreeText(json);
  options.allow = "out-of-bounds,race";
  json = reportOn(simulation, "report", &options, true);
  printf("allowed, by the clock: %s\n",
         strstr(json, "\"cycles\"") && strstr(json, "\"ok\":true") ? "ok"
                                                                   : json);
  fa4FreeText(json);
  fa4FreeText(reportOn(simulation, "report", &options, false));
  int64_t shape[3] = {0, 0, -1};
  assert(fa4SimulationGetBufferShape(simulation, "none", shape, 3) == 0);
  assert(fa4SimulationGetBufferShape(simulation, "x", NULL, 0) == 2);
  assert(fa4SimulationGetBufferShape(simulation, "x", shape, 3) == 2);
  assert(shape[0] == 1 && shape[1] == 2 && shape[2] == -1);
  uint32_t result[2];
  check(
      fa4SimulationGetBuffer(simulation, "x", result, sizeof(result), &message),
      message);
  printf("x: %u %u\n", result[0], result[1]);
  fa4SimulationDestroy(simulation);
}

static void testSimulatorErrors(void) {
  Fa4Simulation *simulation;
  char *message;
  show("json", fa4SimulationCreate("{", 1, &simulation, &message), message);
  assert(!simulation);
  const char *manifest =
      "{\"version\": 1, \"ptx\": \"k.ptx\", \"sizes\": {\"n\": null},"
      " \"tensors\": {\"x\": {\"dtype\": \"f32\", \"shape\": [\"n\"], "
      "\"role\": \"inout\"}}, \"grid\": [1], \"block\": [32],"
      " \"params\": [{\"tensor\": \"x\"}]}";
  check(fa4SimulationCreate(manifest, strlen(manifest), &simulation, &message),
        message);
  show("no module",
       fa4SimulationSetModule(simulation, "other.ptx", "", 0, &message),
       message);
  show("ptx",
       fa4SimulationSetModule(simulation, "k.ptx", "nonsense", 8, &message),
       message);
  show("no size", fa4SimulationSetSize(simulation, "m", 1, &message), message);
  const int64_t shape = 4;
  const float x[4] = {0};
  show("bytes",
       fa4SimulationSetBuffer(simulation, "x", &shape, 1, x, 8, &message),
       message);
  show("early",
       fa4SimulationGetBuffer(simulation, "x", (void *)x, 16, &message),
       message);
  const char *ptx = ".version 8.6\n.target sm_100a\n.address_size 64\n"
                    ".visible .entry k(.param .u64 x) {\n"
                    ".reg .b64 %rd<2>;\nld.param.u64 %rd1, [x];\n"
                    "st.global.u32 [%rd1+16], 1;\nret;\n}\n";
  check(fa4SimulationSetModule(simulation, "k.ptx", ptx, strlen(ptx), &message),
        message);
  check(fa4SimulationSetBuffer(simulation, "x", &shape, 1, x, 16, &message),
        message);
  int count = 0;
  Fa4SimulateOptions options = {.size = sizeof(options)};
  options.handler = showDiagnostic;
  options.userData = &count;
  show("findings", fa4SimulationRun(simulation, &options, &message), message);
  printf("findings: %d\n", count);
  fa4SimulationDestroy(simulation);
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

static void *compileInThread(void *text) {
  Fa4CompileOptions options = {.size = sizeof(options)};
  Fa4Compilation *refused;
  options.chip = "sm_80";
  assert(fa4Compile(text, strlen(text), &options, &refused, NULL) ==
         FA4_REJECTED);
  return compile(text, "ptx");
}

static void testThreads(void) {
  enum { kThreads = 4 };
  char *text = printSpec("causal, bottom_right");
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i)
    assert(!pthread_create(&threads[i], NULL, compileInThread, text));
  Fa4Compilation *first = compile(text, "ptx");
  Fa4Artefact ptx = fa4CompilationFindArtefact(first, ".ptx");
  int same = 0;
  for (int i = 0; i < kThreads; ++i) {
    void *result;
    pthread_join(threads[i], &result);
    Fa4Artefact other = fa4CompilationFindArtefact(result, ".ptx");
    same +=
        other.length == ptx.length && !memcmp(other.data, ptx.data, ptx.length);
    fa4CompilationDestroy(result);
  }
  printf("threads: %d the same\n", same);
  fa4CompilationDestroy(first);
  fa4FreeText(text);
}

int main(void) {
  printf("version: %s\n", fa4Version());
  testKernel();
  testMasks();
  testGradientSpec();
  testCompileErrors();
  testSimulatorErrors();
  testReport();
  testThreads();
  return 0;
}
