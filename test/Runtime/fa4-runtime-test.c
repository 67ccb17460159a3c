// The runtime library against a driver that runs nothing (fake-cuda.c): what it
// asks of the driver, errors, several threads and devices. Part of
// runtime.test.
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "fa4-runtime/Host.h"
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// A kernel of a map, a pointer and a number, twice; n rows of 64.
static const char kManifest[] =
    "{\"version\": 1, \"comment\": {\"by\": \"h\\u00e4nd\"},\n"
    " \"sizes\": {\"n\": null, \"pitch\": null, \"sm_count\": 1, \"x\": 2},\n"
    " \"requires\": [{\"condition\": \"n >= 1 && n <= 4096\",\n"
    "                \"message\": \"size n must be from 1 to 4096\"},\n"
    "               {\"condition\": \"2 * pitch % 16 == 0\",\n"
    "                \"message\": \"rows of 'a' must be multiples of 16 "
    "bytes\"}],\n"
    " \"tensors\": {\"a\": {\"dtype\": \"bf16\", \"shape\": [\"n\", 64],\n"
    "                     \"strides\": [\"pitch\", 1], \"role\": \"in\",\n"
    "                     \"alignment\": 16},\n"
    "             \"out\": {\"dtype\": \"f32\", \"shape\": [\"n\"],\n"
    "                       \"role\": \"out\"},\n"
    "             \"sums\": {\"dtype\": \"f32\", \"shape\": [\"align(n, "
    "128)\"],\n"
    "                        \"role\": \"workspace\"},\n"
    "             \"raw\": {\"dtype\": \"i16\", \"shape\": [3, \"n\"],\n"
    "                       \"role\": \"workspace\", \"fill\": "
    "\"undefined\"},\n"
    "             \"ones\": {\"dtype\": \"bf16\", \"shape\": [8],\n"
    "                        \"role\": \"workspace\", \"fill\": 1}},\n"
    " \"ptx\": \"k.ptx\",\n"
    " \"launches\": [\n"
    "  {\"entry\": \"first\", \"grid\": [\"ceildiv(n, 128) * 2\", \"x\"],\n"
    "   \"block\": [128], \"cluster\": [2], \"dynamic_smem\": \"n > 128 ? "
    "200000 : 1024\",\n"
    "   \"params\": [{\"tensormap\": {\"tensor\": \"a\", \"dims\": [64, "
    "\"n\"],\n"
    "     \"byte_strides\": [\"2 * pitch\"], \"box\": [64, \"min(n, 128)\"],\n"
    "     \"swizzle\": \"128B\", \"oob_fill\": \"nan\"}},\n"
    "    {\"tensor\": \"sums\", \"offset\": 4},\n"
    "    {\"value\": \"sqrt(float(n))\", \"type\": \"f32\"}]},\n"
    "  {\"entry\": \"second\", \"grid\": [\"sm_count\"], \"block\": [32, 2],\n"
    "   \"programmatic\": true,\n"
    "   \"params\": [{\"struct\": [{\"at\": 0, \"tensor\": \"raw\"},\n"
    "                            {\"at\": 8, \"value\": \"-n\"},\n"
    "     {\"at\": 12, \"value\": \"x * -1.51\", \"type\": \"f16\"},\n"
    "     {\"at\": 14, \"value\": \"x * 0.7\", \"type\": \"bf16\"},\n"
    "     {\"at\": 16, \"value\": \"x * 0.7\", \"type\": \"e4m3\"},\n"
    "     {\"at\": 17, \"value\": 1e6, \"type\": \"e4m3\"},\n"
    "     {\"at\": 18, \"value\": 1e6, \"type\": \"e5m2\"},\n"
    "     {\"at\": 20, \"value\": 3e-7, \"type\": \"f16\"}],\n"
    "     \"size\": 128},\n"
    "    {\"tensor\": \"out\"}, {\"value\": \"x * 1.5\", \"type\": \"f32\",\n"
    "     \"name\": \"factor\"}]}]}\n";

static const char kPtx[] =
    ".version 8.6\n.target sm_100a\n"
    ".visible .entry first()\n.visible .entry second()\n";

static const uint64_t kA = 0x1000000010, kOut = 0x1000100000;

/// What the last call in this thread has said.
static _Thread_local char *message;

static void show(const char *what, Fa4RuntimeStatus status) {
  printf("%s: %d: %s\n", what, status, message ? message : "no message");
  fflush(stdout);
  fa4RuntimeFreeText(message);
}

static void check(Fa4RuntimeStatus status) {
  if (status == FA4_RUNTIME_OK && !message)
    return;
  show("unexpected", status);
  exit(1);
}

static Fa4RuntimeStatus loadOn(const char *manifest, const char *ptx,
                               int device, Fa4RuntimeProgram **program) {
  Fa4RuntimeImage image = {.size = sizeof(image)};
  image.data = ptx;
  image.length = strlen(ptx);
  Fa4RuntimeLoadOptions options = {.size = sizeof(options)};
  options.manifest = manifest;
  options.manifestLength = strlen(manifest);
  options.images = &image;
  options.numImages = 1;
  options.hasDevice = device >= 0;
  options.device = device;
  return fa4RuntimeLoad(&options, program, &message);
}

/// The manifest with one piece of its text replaced, which is there once.
static char *edit(const char *from, const char *to) {
  const char *at = strstr(kManifest, from);
  assert(at && !strstr(at + 1, from));
  char *text = malloc(sizeof(kManifest) + strlen(to));
  memcpy(text, kManifest, (size_t)(at - kManifest));
  strcpy(text + (at - kManifest), to);
  strcat(text, at + strlen(from));
  return text;
}

static void edited(const char *what, const char *from, const char *to) {
  char *text = edit(from, to);
  Fa4RuntimeProgram *program;
  Fa4RuntimeStatus status = loadOn(text, kPtx, -1, &program);
  show(what, status);
  assert(status && !program);
  free(text);
}

/// The arguments of a good call, to be changed.
struct Given {
  int64_t aShape[2], aStrides[2], outShape[1];
  Fa4RuntimeTensor tensors[3];
  Fa4RuntimeScalar scalar;
  Fa4RuntimeArguments all;
};

static struct Given *give(int64_t n, uint64_t shift) {
  struct Given *given = calloc(1, sizeof(*given));
  given->aShape[0] = given->outShape[0] = n;
  given->aShape[1] = 64;
  given->aStrides[0] = 72;
  given->aStrides[1] = 1;
  given->tensors[0] = (Fa4RuntimeTensor){
      sizeof(Fa4RuntimeTensor), "a", kA + shift, "bf16", 2, given->aShape,
      given->aStrides};
  given->tensors[1] =
      (Fa4RuntimeTensor){sizeof(Fa4RuntimeTensor), "out", kOut + shift, NULL, 1,
                         given->outShape,          NULL};
  given->all.size = sizeof(given->all);
  given->all.tensors = given->tensors;
  given->all.numTensors = 2;
  given->scalar.size = sizeof(given->scalar);
  given->scalar.name = "x";
  given->scalar.integer = 3;
  given->all.scalars = &given->scalar;
  return given;
}

static void testCall(void) {
  Fa4RuntimeProgram *program;
  Fa4RuntimeCall *call;
  check(loadOn(kManifest, kPtx, -1, &program));
  assert(fa4RuntimeGetDevice(program) == 0);
  assert(fa4RuntimeGetNumLaunches(program) == 2);
  for (size_t i = 0; i <= fa4RuntimeGetNumTensors(program); ++i) {
    Fa4RuntimeTensorInfo info = {.size = sizeof(info)};
    if (fa4RuntimeGetTensor(program, i, &info))
      printf("tensor %s %s role %d rank %d alignment %d\n", info.name,
             info.dtype, info.role, info.rank, (int)info.alignment);
  }
  for (size_t i = 0; fa4RuntimeGetScalar(program, i); ++i)
    printf("scalar %s\n", fa4RuntimeGetScalar(program, i));

  struct Given *given = give(129, 0);
  uint64_t bytes = 0;
  check(fa4RuntimeGetWorkspaceBytes(program, &given->all, &bytes, &message));
  printf("workspace of %d bytes\n", (int)bytes);
  // Sizes by scalars only: strides are then those of row-major tensors.
  struct Given *sizes = give(129, 0);
  sizes->tensors[0].shape = sizes->tensors[1].shape = NULL;
  sizes->tensors[0].strides = NULL;
  Fa4RuntimeScalar scalars[] = {{sizeof(scalars[0]), "n", false, 129, 0},
                                sizes->scalar};
  sizes->all.scalars = scalars;
  sizes->all.numScalars = 2;
  uint64_t same = 0;
  check(fa4RuntimeGetWorkspaceBytes(program, &sizes->all, &same, &message));
  printf("%s without shapes and strides\n",
         same == bytes ? "the same" : "another number");
  free(sizes);
  check(fa4RuntimePrepare(program, &given->all, &call, &message));
  check(fa4RuntimeLaunch(call, (void *)0x7, &message));
  fa4RuntimeDestroyCall(call);

  // The second time nothing is left to do but the launch.
  printf("run\n");
  given->all.workspace = 0x1000200000;
  given->all.workspaceBytes = bytes;
  given->all.numScalars = 1;
  for (int i = 0; i < 2; ++i)
    check(fa4RuntimeRun(program, &given->all, NULL, &message));
  free(given);
  fa4RuntimeUnload(program);
}

//===----------------------------------------------------------------------===//
// Workspaces
//===----------------------------------------------------------------------===//

/// Tells the driver that a capture begins (fakeCapture), or that its graph is
/// gone (fakeDestroy).
static void tell(const char *function, int number) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  int (*call)(int) = (int (*)(int))dlsym(driver, function);
  assert(call);
  call(number);
  dlclose(driver);
}

static void run(Fa4RuntimeProgram *program, int64_t n, uint64_t shift,
                size_t stream) {
  struct Given *given = give(n, shift);
  check(fa4RuntimeRun(program, &given->all, (void *)stream, &message));
  free(given);
}

/// Memory that launches work in: one piece a stream, however many calls and
/// programs there are, and one a graph, which keeps it.
static void testWorkspaces(void) {
  Fa4RuntimeProgram *program, *other;
  check(loadOn(kManifest, kPtx, 0, &program));
  check(loadOn(kManifest, kPtx, 0, &other));
  printf("layers\n");
  for (int step = 0; step < 2; ++step)
    for (uint64_t layer = 0; layer < 300; ++layer) {
      run(program, 128, 0x100 * layer, 7);
      run(other, 100, 0x100 * layer, 7);
    }
  printf("larger\n");
  run(other, 256, 0, 7);
  run(program, 128, 0, 7);
  printf("another stream\n");
  run(program, 128, 0, 8);

  printf("captured\n");
  tell("fakeCapture", 1);
  run(program, 128, 0, 9);
  run(program, 100, 0, 9);
  run(program, 128, 0, 10);
  tell("fakeCapture", 2);
  run(program, 128, 0, 9);
  tell("fakeCapture", 0);
  // The graph has its memory when the program has done much else since.
  for (uint64_t layer = 0; layer < 300; ++layer)
    run(program, 128, 0x100 * layer, 7);
  tell("fakeDestroy", 1);
  run(program, 512, 0, 7);

  printf("a call of its own\n");
  struct Given *given = give(128, 0);
  Fa4RuntimeCall *call;
  check(fa4RuntimePrepare(program, &given->all, &call, &message));
  tell("fakeCapture", 3);
  check(fa4RuntimeLaunch(call, (void *)9, &message));
  tell("fakeCapture", 0);
  fa4RuntimeDestroyCall(call);
  free(given);
  tell("fakeDestroy", 3);
  run(program, 1024, 0, 7);

  printf("streams that come and go\n");
  for (size_t stream = 100; stream < 140; ++stream)
    run(other, 128, 0, stream);
  // Graph 2 has launches of `program`, whose code stays.
  printf("the end\n");
  fa4RuntimeUnload(program);
  fa4RuntimeUnload(other);
  printf("done\n");
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

static void testManifests(void) {
  edited("missing", "\"role\": \"in\",", "\"rol\": \"in\",");
  edited("no grid", "\"grid\": [\"sm_count\"], ", "");
  edited("no dtype", "\"dtype\": \"i16\", ", "");
  edited("no ptx", " \"ptx\": \"k.ptx\",\n", "");
  edited("version", "\"version\": 1", "\"version\": 2");
  edited("json", "\"version\": 1,", "\"version\": 1");
  edited("dtype", "\"i16\"", "\"i17\"");
  edited("name", "\"-n\"", "\"-m\"");
  edited("syntax", "\"-n\"", "\"(-n\"");
  edited("tensor", "{\"tensor\": \"out\"}", "{\"tensor\": \"outt\"}");
  edited("rank", "\"box\": [64, ", "\"box\": [");
  edited("mode", "\"oob_fill\": \"nan\"", "\"mode\": \"im2col\"");
  edited("fill", "\"fill\": 1}", "\"fill\": \"iota\"}");
  edited("entry", "\"entry\": \"second\"", "\"entry\": \"third\"");
  edited("bytes", "\"type\": \"f32\"}", "\"type\": \"f64\"}");
  edited("count", "{\"tensor\": \"out\"}, ", "");
  Fa4RuntimeProgram *program;
  show("code", loadOn(kManifest, "nonsense", -1, &program));
  show("target",
       loadOn(kManifest, ".version 8.6\n.target sm_90a\n.entry first()", -1,
              &program));
  show("device", loadOn(kManifest, kPtx, 2, &program));

  Fa4RuntimeLoadOptions options = {.size = sizeof(options)};
  show("nothing", fa4RuntimeLoad(&options, &program, &message));
  options.file = "no/such/file.json";
  show("file", fa4RuntimeLoad(&options, &program, &message));
  options.file = "/";
  show("folder", fa4RuntimeLoad(&options, &program, &message));
  options.file = NULL;
  options.manifest = kManifest;
  options.manifestLength = strlen(kManifest);
  show("no code", fa4RuntimeLoad(&options, &program, &message));
  options.size = 0;
  show("size", fa4RuntimeLoad(&options, &program, &message));
  assert(fa4RuntimeLoad(NULL, NULL, NULL) == FA4_RUNTIME_BAD_ARGUMENT);
  struct {
    Fa4RuntimeLoadOptions known;
    void *more;
  } later = {{.size = sizeof(later)}, NULL};
  later.more = &later;
  show("later", fa4RuntimeLoad(&later.known, &program, &message));
  fa4RuntimeUnload(NULL);
  fa4RuntimeDestroyCall(NULL);
}

static Fa4RuntimeProgram *shared;

static void refused(const char *what, struct Given *given) {
  Fa4RuntimeCall *call;
  Fa4RuntimeStatus status =
      fa4RuntimePrepare(shared, &given->all, &call, &message);
  show(what, status);
  assert(status && !call);
  assert(fa4RuntimeRun(shared, &given->all, NULL, NULL) == status);
  free(given);
}

static void testArguments(void) {
  check(loadOn(kManifest, kPtx, -1, &shared));
  struct Given *given = give(0, 0);
  refused("empty", given);
  refused("large", give(5000, 0));
  given = give(128, 0), given->tensors[0].dtype = "f16";
  refused("dtype", given);
  given = give(128, 0), given->tensors[0].rank = 3;
  refused("rank", given);
  given = give(128, 0), given->aShape[1] = 63;
  refused("shape", given);
  given = give(128, 0), given->outShape[0] = 127;
  refused("sizes", given);
  given = give(128, 0), given->aStrides[0] = 68;
  refused("pitch", given);
  given = give(128, 0), given->aStrides[1] = 2;
  refused("stride", given);
  refused("alignment", give(128, 8));
  given = give(128, 0), given->tensors[1].address = kOut + 2;
  refused("element", given);
  given = give(128, 0), given->tensors[1].address = 0x5000;
  refused("host", given);
  given = give(128, 0), given->tensors[1].address += 0x1000000000;
  refused("other GPU", given);
  given = give(128, 0), given->all.numTensors = 1;
  refused("missing", given);
  given = give(128, 0), given->tensors[1].name = "o";
  refused("unknown", given);
  given = give(128, 0), given->tensors[1] = given->tensors[0];
  refused("twice", given);
  given = give(128, 0), given->tensors[1].size = 3;
  refused("struct", given);
  const int64_t none[] = {0};
  given = give(128, 0), given->tensors[1].strides = none;
  char *strided = edit("\"shape\": [\"n\"],\n                       \"role\"",
                       "\"shape\": [\"n\"], \"strides\": [\"x\"], \"role\"");
  Fa4RuntimeProgram *plain = shared;
  check(loadOn(strided, kPtx, -1, &shared));
  refused("several", given);
  fa4RuntimeUnload(shared);
  shared = plain;
  free(strided);
  given = give(128, 0), given->all.numScalars = 1,
  given->scalar.integer = 70000;
  refused("grid", given);
  given = give(128, 0), given->all.numScalars = 1, given->scalar.name = "n";
  refused("contradiction", given);
  given = give(128, 0), given->all.workspace = 0x1000300000;
  refused("workspace", given);
  fa4RuntimeUnload(shared);
}

/// What goes wrong in the driver, of which FAKE_CUDA says one.
static void testDriver(void) {
  Fa4RuntimeProgram *program;
  Fa4RuntimeStatus status = loadOn(kManifest, kPtx, -1, &program);
  show("load", status);
  if (status)
    return;
  struct Given *given = give(128, 0);
  show("run", fa4RuntimeRun(program, &given->all, NULL, &message));
  free(given);
  fa4RuntimeUnload(program);
}

//===----------------------------------------------------------------------===//
// Compiled host code
//===----------------------------------------------------------------------===//

static Fa4RuntimeHostKernel hostKernel = {sizeof(hostKernel),
                                          kManifest,
                                          sizeof(kManifest) - 1,
                                          kPtx,
                                          sizeof(kPtx) - 1,
                                          "a:bf16:2,out:f32:1,x:i64",
                                          NULL};

static void launchFromHost(int64_t n, uint64_t shift, void *stream) {
  const int64_t values[] = {(int64_t)(kA + shift),   n, 64, 72, 1,
                            (int64_t)(kOut + shift), n, 1,  3};
  fa4RuntimeHostLaunch(&hostKernel, values, stream);
}

/// Copies of memrefs: as one, by rows, and element by element.
static void testCopies(void) {
  void *stream = (void *)0x7;
  const int64_t whole[] = {0x1000, 0x2000, 3, 1, 8, 8, 8, 1, 8, 8, 1};
  fa4RuntimeHostCopy(3, 2, whole, stream);
  const int64_t rows[] = {0x1000, 0x2000, 3, 8, 16, 1, 8, 1};
  fa4RuntimeHostCopy(2, 2, rows, stream);
  const int64_t transposed[] = {0x1000, 0x2000, 2, 3, 4, 12, 4, 1, 12, 1, 3};
  fa4RuntimeHostCopy(3, 4, transposed, stream);
  // The same row several times has a pitch that no driver takes.
  const int64_t repeated[] = {0x1000, 0x2000, 2, 8, 0, 1, 8, 1};
  fa4RuntimeHostCopy(2, 2, repeated, stream);
  const int64_t nothing[] = {0x1000, 0x2000, 2, 0, 4, 1, 4, 1};
  fa4RuntimeHostCopy(2, 2, nothing, stream);
  const int64_t number[] = {0x1000, 0x2000};
  fa4RuntimeHostCopy(0, 8, number, stream);
  show("copied", fa4RuntimeHostTakeError(&message));
}

static void testHost(void) {
  void *memory = fa4RuntimeHostAllocate(64, (void *)0x7);
  launchFromHost(40, 0, (void *)0x7);
  launchFromHost(40, 0, (void *)0x7);
  fa4RuntimeHostFree(memory, (void *)0x7);
  fa4RuntimeHostFree(NULL, NULL);
  show("good", fa4RuntimeHostTakeError(&message));
  // The first failure is kept, and what follows left out; memory is freed.
  memory = fa4RuntimeHostAllocate(0, NULL);
  launchFromHost(0, 0, NULL);
  launchFromHost(5000, 0, NULL);
  launchFromHost(40, 0, NULL);
  assert(!fa4RuntimeHostAllocate(64, NULL));
  fa4RuntimeHostFree(memory, NULL);
  show("bad", fa4RuntimeHostTakeError(&message));
  show("forgotten", fa4RuntimeHostTakeError(&message));
  // The driver does not know memory that a graph will allocate.
  launchFromHost(40, 0x7000000000, (void *)0x9);
  show("captured", fa4RuntimeHostTakeError(&message));
  launchFromHost(40, 0x7000000010, (void *)0x7);
  show("not captured", fa4RuntimeHostTakeError(&message));
  static Fa4RuntimeHostKernel other;
  other = hostKernel;
  other.arguments = "a:bf16:2,b:f32:1";
  other.state = NULL;
  fa4RuntimeHostLaunch(&other, NULL, NULL);
  show("names", fa4RuntimeHostTakeError(&message));
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

static Fa4RuntimeProgram *programs[2];

static void *launchInThread(void *argument) {
  size_t thread = (size_t)argument;
  for (uint64_t i = 0; i < 300; ++i) {
    int device = (int)(i + thread) % 2;
    struct Given *given = give((int64_t)(1 + i % 90),
                               0x1000 * (i % 7) + (device ? 0x1000000000 : 0));
    check(fa4RuntimeRun(programs[device], &given->all, argument, &message));
    Fa4RuntimeCall *call;
    check(fa4RuntimePrepare(programs[device], &given->all, &call, &message));
    check(fa4RuntimeLaunch(call, argument, &message));
    fa4RuntimeDestroyCall(call);
    given->tensors[0].dtype = "f16";
    assert(fa4RuntimeRun(programs[device], &given->all, argument, &message) ==
           FA4_RUNTIME_BAD_ARGUMENT);
    fa4RuntimeFreeText(message);
    free(given);
    launchFromHost((int64_t)(1 + i % 5), 0, argument);
    check(fa4RuntimeHostTakeError(&message));
    launchFromHost(0, 0, argument);
    assert(fa4RuntimeHostTakeError(NULL) == FA4_RUNTIME_BAD_SIZE);
  }
  return NULL;
}

static void testThreads(void) {
  enum { kThreads = 4 };
  pthread_t threads[kThreads];
  for (int i = 0; i < 2; ++i)
    check(loadOn(kManifest, kPtx, i, &programs[i]));
  for (size_t i = 0; i < kThreads; ++i)
    assert(!pthread_create(&threads[i], NULL, launchInThread, (void *)i));
  for (int i = 0; i < kThreads; ++i)
    assert(!pthread_join(threads[i], NULL));
  for (int i = 0; i < 2; ++i)
    fa4RuntimeUnload(programs[i]);
  printf("threads: done\n");
}

/// What is done where the first launch has nothing to work on: x is 0.
static void testEmpty(void) {
  char *text = edit("{\"entry\": \"first\", ",
                    "{\"entry\": \"first\", \"empty\": {\"condition\": "
                    "\"x == 0\", \"fills\": [{\"tensor\": \"a\", "
                    "\"value\": \"-inf\"}, {\"tensor\": \"out\", "
                    "\"value\": 0}]}, ");
  Fa4RuntimeProgram *program;
  check(loadOn(text, kPtx, -1, &program));
  struct Given *given = give(129, 0);
  given->all.numScalars = 1;
  for (int x = 1; x >= 0; --x) {
    given->scalar.integer = x;
    printf("x is %d\n", x);
    check(fa4RuntimeRun(program, &given->all, (void *)7, &message));
  }
  fa4RuntimeUnload(program);
  free(given);
  free(text);
  printf("done\n");
}

int main(int count, char **words) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  const char *what = count > 1 ? words[1] : "";
  if (!strcmp(what, "call"))
    testCall();
  else if (!strcmp(what, "empty"))
    testEmpty();
  else if (!strcmp(what, "workspaces"))
    testWorkspaces();
  else if (!strcmp(what, "manifests"))
    testManifests();
  else if (!strcmp(what, "arguments"))
    testArguments();
  else if (!strcmp(what, "driver"))
    testDriver();
  else if (!strcmp(what, "host"))
    testHost();
  else if (!strcmp(what, "copies"))
    testCopies();
  else if (!strcmp(what, "threads"))
    testThreads();
  else
    return fprintf(
               stderr,
               "usage: %s "
               "call|empty|workspaces|manifests|arguments|driver|host|copies|"
               "threads\n",
               words[0]),
           2;
  return 0;
}
