//===- launch_recorder.c - kernel launches as lines of JSON ---------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stands in for the CUDA runtime under the host code that CuTe-DSL generates,
// on a machine without a GPU. Nothing runs: a launch is one line of JSON in the
// file that LAUNCH_RECORD names. launch_records.py builds it.
//
//===----------------------------------------------------------------------===//

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { multiprocessors = 148, sharedBytesOptIn = 232448, maxKernels = 1024 };

static struct {
  char *names[maxKernels];
  int count;
} kernels;

static struct {
  struct {
    char *kernel;
    size_t *bytes;
    int count;
  } lists[maxKernels];
  int count;
} params;

// A launch does not say how long a kernel's parameters are; the PTX does.
// Called before a kernel's first launch. What is said last counts.
void launch_recorder_expect(const char *kernel, int count,
                            const size_t *bytes) {
  if (params.count == maxKernels)
    abort();
  params.lists[params.count].kernel = strdup(kernel);
  params.lists[params.count].bytes = malloc(count * sizeof *bytes);
  params.lists[params.count].count = count;
  memcpy(params.lists[params.count++].bytes, bytes, count * sizeof *bytes);
}

//===--- Libraries and kernels --------------------------------------------===//

cudaError_t _cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
                                 void *jitOptions, void *jitValues,
                                 unsigned jitCount, void *options, void *values,
                                 unsigned count) {
  *library = (cudaLibrary_t)(uintptr_t)1;
  return cudaSuccess;
}

cudaError_t _cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library,
                                  const char *name) {
  if (kernels.count == maxKernels)
    return cudaErrorMemoryAllocation;
  kernels.names[kernels.count] = strdup(name);
  *kernel = (cudaKernel_t)&kernels.names[kernels.count++];
  return cudaSuccess;
}

cudaError_t _cudaLibraryUnload(cudaLibrary_t library) { return cudaSuccess; }
cudaError_t cudaLibraryUnload(cudaLibrary_t library) { return cudaSuccess; }
cudaError_t _cudaFuncSetAttribute(const void *function, int attribute,
                                  int value) {
  return cudaSuccess;
}
cudaError_t _cudaKernelSetAttributeForDevice(void *kernel, int attribute,
                                             int value, int device) {
  return cudaSuccess;
}
CUresult _cuKernelGetAttribute(int *value, int attribute, void *kernel,
                               int device) {
  *value = attribute == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES ? 1024 : 0;
  return CUDA_SUCCESS;
}

//===--- The device -------------------------------------------------------===//

cudaError_t _cudaGetDevice(int *device) {
  *device = 0;
  return cudaSuccess;
}
CUresult _cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}
cudaError_t _cudaSetDevice(int device) { return cudaSuccess; }
cudaError_t _cudaGetDeviceCount(int *count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int *count) {
  return _cudaGetDeviceCount(count);
}
cudaError_t _cudaDeviceGetAttribute(int *value, int attribute, int device) {
  switch (attribute) {
  case cudaDevAttrMultiProcessorCount:
    *value = multiprocessors;
    break;
  case cudaDevAttrMaxSharedMemoryPerBlockOptin:
    *value = sharedBytesOptIn;
    break;
  case cudaDevAttrComputeCapabilityMajor:
    *value = 10;
    break;
  default:
    *value = 0;
  }
  return cudaSuccess;
}
cudaError_t _cudaGetLastError(void) { return cudaSuccess; }
const char *cudaGetErrorName(cudaError_t error) { return "launch recorder"; }
const char *cudaGetErrorString(cudaError_t error) {
  return "a call that the launch recorder does not know";
}

//===--- Launches ---------------------------------------------------------===//

static void printTriple(FILE *out, const char *name, dim3 d) {
  fprintf(out, "\"%s\": [%u, %u, %u], ", name, d.x, d.y, d.z);
}

cudaError_t _cudaLaunchKernelEx(const cudaLaunchConfig_t *config,
                                const void *kernel, void **arguments) {
  const char *name = *(char *const *)kernel;
  int list = params.count - 1;
  while (list >= 0 && strcmp(params.lists[list].kernel, name))
    list--;
  FILE *out = list < 0 ? NULL : fopen(getenv("LAUNCH_RECORD"), "a");
  if (!out)
    return cudaErrorUnknown;
  dim3 cluster = {1, 1, 1};
  for (unsigned i = 0; i < config->numAttrs; i++)
    if (config->attrs[i].id == cudaLaunchAttributeClusterDimension) {
      cluster.x = config->attrs[i].val.clusterDim.x;
      cluster.y = config->attrs[i].val.clusterDim.y;
      cluster.z = config->attrs[i].val.clusterDim.z;
    }
  fprintf(out, "{\"kernel\": \"%s\", ", name);
  printTriple(out, "grid", config->gridDim);
  printTriple(out, "block", config->blockDim);
  printTriple(out, "cluster", cluster);
  fprintf(out, "\"dynamic_smem\": %zu, \"params\": [",
          (size_t)config->dynamicSmemBytes);
  for (int i = 0; i < params.lists[list].count; i++) {
    fputs(i ? ", \"" : "\"", out);
    const unsigned char *bytes = arguments[i];
    for (size_t j = 0; j < params.lists[list].bytes[i]; j++)
      fprintf(out, "%02x", bytes[j]);
    fputc('"', out);
  }
  fputs("]}\n", out);
  return fclose(out) ? cudaErrorUnknown : cudaSuccess;
}
