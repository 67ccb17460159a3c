// A libcuda.so.1 that runs nothing: it writes down what the runtime library
// asks of it, and has the faults that FAKE_CUDA names. It is built as the tests
// are, so that a program with AddressSanitizer can load it. Part of
// runtime.test.
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of device D is at 0x1000000000 * (D + 1); each allocation takes the
// next 16 MiB. Contexts are 1 + D. FAKE_CUDA is a list of words:
//   none         no GPU               old      a driver before CUDA 12.4
//   hopper       sm_90                wrong    code is for another GPU
//   full         no memory            refuse   launches fail
//   badmap       no tensor map is taken
//   quiet        nothing is written down

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default"))) int
enum { kDevices = 2, kParams = 3 };

static __thread uintptr_t current;
static int allocations;
static int attributes[64];

static int has(const char *word) {
  const char *words = getenv("FAKE_CUDA");
  return words && strstr(words, word) != NULL;
}

#define SAY(...) (has("quiet") ? 0 : (printf(__VA_ARGS__), fflush(stdout)))

API cuInit(unsigned flags) { return flags || has("none") ? 100 : 0; }
API cuGetErrorName(int error, const char **name) {
  *name = error == 100   ? "CUDA_ERROR_NO_DEVICE"
          : error == 2   ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == 719 ? "CUDA_ERROR_LAUNCH_FAILED"
                         : "CUDA_ERROR_INVALID_VALUE";
  return 0;
}
API cuGetErrorString(int error, const char **text) {
  (void)error;
  *text = "made up";
  return 0;
}
API cuDeviceGetCount(int *count) { return *count = kDevices, 0; }
API cuDeviceGet(int *device, int ordinal) { return *device = ordinal, 0; }
API cuDeviceGetName(char *name, int length, int device) {
  return snprintf(name, (size_t)length, "Fake %d", device), 0;
}
API cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  *value = attribute == 1    ? 1024
           : attribute == 5  ? INT32_MAX
           : attribute <= 7  ? 65535
           : attribute == 16 ? 148 - device
           : attribute == 75 ? (has("hopper") ? 9 : 10)
           : attribute == 97 ? 232448
                             : 0;
  return 0;
}
API cuDevicePrimaryCtxRetain(uintptr_t *context, int device) {
  return *context = (uintptr_t)device + 1, 0;
}
API cuDevicePrimaryCtxRelease_v2(int device) { return device < 0; }
API cuCtxGetCurrent(uintptr_t *context) { return *context = current, 0; }
API cuCtxPushCurrent_v2(uintptr_t context) {
  // One level is all that the library needs; its scopes do not nest.
  return current ? 1 : (current = context, 0);
}
API cuCtxPopCurrent_v2(uintptr_t *context) {
  return *context = current, current = 0, 0;
}
API cuCtxGetDevice(int *device) { return *device = (int)current - 1, 0; }

API cuModuleLoadDataEx(uintptr_t *module, const char *image, unsigned count,
                       int *options, void **values) {
  if (has("wrong"))
    return 209;
  if (!strstr(image, ".entry")) {
    for (unsigned i = 0; i + 1 < count; ++i)
      if (options[i] == 5)
        snprintf(values[i], (size_t)values[i + 1], "line 1: no\n");
    return 218;
  }
  SAY("load of %zu bytes on %d\n", strlen(image), (int)current - 1);
  return *module = (uintptr_t)strdup(image), 0;
}
API cuMemcpyDtoDAsync_v2(uintptr_t to, uintptr_t from, size_t bytes,
                         uintptr_t stream) {
  return SAY("copy of %zu bytes from %#zx to %#zx stream %#zx\n", bytes, from,
             to, stream),
         0;
}
/// CUDA_MEMCPY2D, whose enumerations fill eight bytes.
struct Copy2D {
  size_t fromX, fromY, fromKind, fromHost, from, fromArray, fromPitch;
  size_t toX, toY, toKind, toHost, to, toArray, toPitch, width, height;
};
API cuMemcpy2DAsync_v2(const struct Copy2D *copy, uintptr_t stream) {
  return SAY("copy of %zu x %zu bytes from %#zx pitch %zu to %#zx pitch %zu "
             "stream %#zx\n",
             copy->height, copy->width, copy->from, copy->fromPitch, copy->to,
             copy->toPitch, stream),
         0;
}
API cuModuleUnload(uintptr_t module) {
  SAY("unload\n");
  return free((void *)module), 0;
}
API cuModuleGetFunction(uintptr_t *function, uintptr_t module,
                        const char *name) {
  char entry[64];
  snprintf(entry, sizeof(entry), ".entry %s(", name);
  char *found = strstr((char *)module, entry);
  return found ? (*function = (uintptr_t)found, 0) : 500;
}
API cuFuncGetAttribute(int *value, int attribute, uintptr_t function) {
  (void)function;
  return *value = attribute == 0 ? 512 : attribute == 1 ? 1024 : 0, 0;
}
API cuFuncSetAttribute(uintptr_t function, int attribute, int value) {
  (void)function;
  SAY("attribute %d = %d\n", attribute, value);
  return attributes[attribute] = value, 0;
}

struct Config {
  unsigned grid[3], block[3], shared;
  void *stream;
  struct {
    int id, pad;
    unsigned value[16];
  } *attributes;
  unsigned count;
};
static const size_t paramBytes[kParams] = {128, 8, 4};

/// The kernel of the test takes a tensor map, a pointer and four bytes.
API cuLaunchKernelEx(const struct Config *config, uintptr_t function,
                     void **params, void **extra) {
  if (has("refuse") || extra)
    return 719;
  if (config->shared > (unsigned)attributes[8] && config->shared > 49152)
    return 1;
  const char *name = (const char *)function + strlen(".entry ");
  char line[1024];
  int at = snprintf(line, sizeof(line),
                    "launch %.*s on %d stream %p grid %u %u %u block %u %u %u "
                    "smem %u",
                    (int)strcspn(name, "("), name, (int)current - 1,
                    config->stream, config->grid[0], config->grid[1],
                    config->grid[2], config->block[0], config->block[1],
                    config->block[2], config->shared);
  for (unsigned i = 0; i < config->count; ++i)
    at += snprintf(
        line + at, sizeof(line) - (size_t)at, " attribute %d: %u %u %u",
        config->attributes[i].id, config->attributes[i].value[0],
        config->attributes[i].value[1], config->attributes[i].value[2]);
  for (int i = 0; i < kParams; ++i)
    for (size_t word = 0; word < 3 && 8 * word < paramBytes[i]; ++word) {
      uint64_t value = 0;
      memcpy(&value, (char *)params[i] + 8 * word,
             paramBytes[i] < 8 ? paramBytes[i] : 8);
      at += snprintf(line + at, sizeof(line) - (size_t)at, " %#llx",
                     (unsigned long long)value);
    }
  SAY("%s\n", line);
  return 0;
}

static void list(char *to, const void *values, int count, int bytes) {
  for (int i = 0; i < count; ++i) {
    uint64_t value = 0;
    memcpy(&value, (const char *)values + i * bytes, (size_t)bytes);
    to += sprintf(to, " %llu", (unsigned long long)value);
  }
}

API cuTensorMapEncodeTiled(uint64_t *map, int type, uint32_t rank, void *base,
                           const uint64_t *dims, const uint64_t *strides,
                           const uint32_t *box, const uint32_t *steps,
                           int interleave, int swizzle, int promotion,
                           int fill) {
  if (has("badmap") || (uintptr_t)map % 64)
    return 1;
  char text[4][128] = {"", "", "", ""};
  list(text[0], dims, (int)rank, 8);
  list(text[1], strides, (int)rank - 1, 8);
  list(text[2], box, (int)rank, 4);
  list(text[3], steps, (int)rank, 4);
  SAY("map type %d base %p dims%s strides%s box%s steps%s interleave %d "
      "swizzle %d promotion %d fill %d\n",
      type, base, text[0], text[1], text[2], text[3], interleave, swizzle,
      promotion, fill);
  memset(map, 0, 128);
  map[0] = (uint64_t)base;
  return 0;
}

/// The capture that is in progress, on streams 9 and 10; 0 is none. A test
/// begins one by fakeCapture, and ends the life of its graph by fakeDestroy.
static int capture;
static __thread int captureMode;
enum { kObjects = 8 };
static struct {
  void *data;
  void (*destroy)(void *);
  uintptr_t graph;
} objects[kObjects];

API fakeCapture(int number) { return capture = number, 0; }
API fakeDestroy(int number) {
  for (int i = 0; i < kObjects; ++i)
    if (objects[i].destroy && objects[i].graph == (uintptr_t)number) {
      objects[i].destroy(objects[i].data);
      objects[i].destroy = NULL;
    }
  return SAY("graph %d is gone\n", number), 0;
}

API cuStreamGetCaptureInfo_v2(void *stream, int *status, uint64_t *id,
                              uintptr_t *graph, const void **nodes,
                              size_t *count) {
  if (has("old") || (!capture && stream == (void *)9))
    return 801;
  (void)nodes, (void)count;
  *status = stream == (void *)9 || stream == (void *)10 ? capture != 0 : 0;
  *id = *graph = (uintptr_t)capture;
  return 0;
}
API cuThreadExchangeStreamCaptureMode(int *mode) {
  int before = captureMode;
  captureMode = *mode;
  return *mode = before, 0;
}
API cuUserObjectCreate(uintptr_t *object, void *data, void (*destroy)(void *),
                       unsigned count, unsigned flags) {
  if (count != 1 || flags != 1)
    return 1;
  for (int i = 0; i < kObjects; ++i)
    if (!objects[i].destroy) {
      objects[i].data = data;
      objects[i].destroy = destroy;
      objects[i].graph = 0;
      return *object = (uintptr_t)i + 1, 0;
    }
  return 2;
}
API cuGraphRetainUserObject(uintptr_t graph, uintptr_t object, unsigned count,
                            unsigned flags) {
  if (has("old") || count != 1 || flags != 1)
    return 801;
  objects[object - 1].graph = graph;
  return SAY("graph %d keeps memory\n", (int)graph), 0;
}
API cuUserObjectRelease(uintptr_t object, unsigned count) {
  (void)count;
  objects[object - 1].destroy(objects[object - 1].data);
  return objects[object - 1].destroy = NULL, 0;
}

API cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  if (has("full"))
    return 2;
  if (capture && captureMode != 2)
    return 900;
  int index = __sync_fetch_and_add(&allocations, 1);
  *address = 0x1000000000u * current + 0x1000000u * (uint64_t)(index + 1);
  SAY("allocate %zu\n", bytes);
  return 0;
}
API cuMemFree_v2(uint64_t address) {
  if (capture && captureMode != 2)
    return 900;
  SAY("free %#llx\n", (unsigned long long)address);
  return 0;
}
API cuMemAllocAsync(uint64_t *address, size_t bytes, void *stream) {
  (void)stream;
  return cuMemAlloc_v2(address, bytes);
}
API cuMemFreeAsync(uint64_t address, void *stream) {
  (void)stream;
  return cuMemFree_v2(address);
}

/// Stream 9 is being captured.
API cuStreamIsCapturing(void *stream, int *status) {
  return *status = stream == (void *)9, 0;
}

static int fill(uint64_t address, unsigned value, size_t bytes, void *stream) {
  SAY("fill %#llx with %#x, %zu bytes, stream %p\n",
      (unsigned long long)address, value, bytes, stream);
  return 0;
}
API cuMemsetD8Async(uint64_t address, unsigned char value, size_t count,
                    void *stream) {
  return fill(address, value, count, stream);
}
API cuMemsetD16Async(uint64_t address, unsigned short value, size_t count,
                     void *stream) {
  return fill(address, value, 2 * count, stream);
}
API cuMemsetD32Async(uint64_t address, unsigned value, size_t count,
                     void *stream) {
  return fill(address, value, 4 * count, stream);
}
static int fillRows(uint64_t address, size_t pitch, unsigned value,
                    size_t bytes, size_t rows, void *stream) {
  SAY("fill %#llx with %#x, %zu rows of %zu bytes, pitch %zu, stream %p\n",
      (unsigned long long)address, value, rows, bytes, pitch, stream);
  return 0;
}
API cuMemsetD2D8Async(uint64_t address, size_t pitch, unsigned char value,
                      size_t width, size_t rows, void *stream) {
  return fillRows(address, pitch, value, width, rows, stream);
}
API cuMemsetD2D16Async(uint64_t address, size_t pitch, unsigned short value,
                       size_t width, size_t rows, void *stream) {
  return fillRows(address, pitch, value, 2 * width, rows, stream);
}
API cuMemsetD2D32Async(uint64_t address, size_t pitch, unsigned value,
                       size_t width, size_t rows, void *stream) {
  return fillRows(address, pitch, value, 4 * width, rows, stream);
}
API cuPointerGetAttribute(void *value, int attribute, uint64_t address) {
  if (address < 0x1000000000u || address >= 0x1000000000u * (kDevices + 1))
    return 1;
  *(int *)value = attribute == 2 ? 2 : (int)(address / 0x1000000000u) - 1;
  return 0;
}
API cuFuncGetParamInfo(uintptr_t function, size_t index, size_t *offset,
                       size_t *bytes) {
  (void)function;
  if (has("old"))
    return 801;
  if (index >= kParams)
    return 1;
  return *offset = 0, *bytes = paramBytes[index], 0;
}
