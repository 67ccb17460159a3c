//===- StreamApi.cpp - streams and events --------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph.h"

using namespace fa4::driver;

bool Driver::isStream(CUstream stream) const {
  return reinterpret_cast<uintptr_t>(stream) <= 2 ||
         streams.count(reinterpret_cast<Stream *>(stream));
}

static Event *findEvent(const Driver &driver, CUevent event) {
  auto *known = reinterpret_cast<Event *>(event);
  return driver.events.count(known) ? known : nullptr;
}

#define FA4_STREAM_CALL(needs)                                                 \
  FA4_CALL(needs);                                                             \
  if (!call->isStream(stream))                                                 \
  return CUDA_ERROR_INVALID_HANDLE

FA4_API CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags,
                                            int priority) {
  FA4_CALL(Context);
  auto *made = new Stream{flags, priority};
  call->streams.insert(made);
  *stream = reinterpret_cast<CUstream>(made);
  return CUDA_SUCCESS;
}

FA4_API CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
  return cuStreamCreateWithPriority(stream, flags, 0);
}

FA4_API CUresult cuStreamDestroy(CUstream stream) {
  FA4_CALL(Context);
  auto *known = reinterpret_cast<Stream *>(stream);
  if (!call->streams.erase(known))
    return CUDA_ERROR_INVALID_HANDLE;
  delete known;
  return CUDA_SUCCESS;
}
FA4_ALIAS(cuStreamDestroy_v2, cuStreamDestroy);

FA4_API CUresult cuStreamSynchronize(CUstream stream) {
  FA4_STREAM_CALL(Healthy);
  if (Capture *capture = findCapture(stream))
    return refuseInCapture(*capture, "cuStreamSynchronize");
  return CUDA_SUCCESS;
}
FA4_ALIAS(cuStreamQuery, cuStreamSynchronize);

FA4_API CUresult cuStreamWaitEvent(CUstream stream, CUevent event,
                                   unsigned flags) {
  FA4_STREAM_CALL(Context);
  Event *known = findEvent(call.driver, event);
  if (!known)
    return CUDA_ERROR_INVALID_HANDLE;
  // A stream that waits for an event of a capture takes part in it.
  for (const auto &capture : call->captures)
    if (capture->id == known->capture) {
      if (Capture *own = findCapture(stream); own && own != capture.get())
        return refuseInCapture(*own, "cuStreamWaitEvent");
      capture->streams[stream];
      capture->streams[known->stream].joined = known->work;
    }
  return CUDA_SUCCESS;
}

FA4_API CUresult cuStreamGetFlags(CUstream stream, unsigned *flags) {
  FA4_STREAM_CALL(Context);
  auto *known = reinterpret_cast<Stream *>(stream);
  *flags = call->streams.count(known) ? known->flags : 0;
  return CUDA_SUCCESS;
}

FA4_API CUresult cuStreamGetPriority(CUstream stream, int *priority) {
  FA4_STREAM_CALL(Context);
  auto *known = reinterpret_cast<Stream *>(stream);
  *priority = call->streams.count(known) ? known->priority : 0;
  return CUDA_SUCCESS;
}

FA4_API CUresult cuStreamGetId(CUstream stream, unsigned long long *id) {
  FA4_STREAM_CALL(Context);
  *id = reinterpret_cast<uintptr_t>(stream);
  return CUDA_SUCCESS;
}

FA4_API CUresult cuStreamGetDevice(CUstream stream, CUdevice *device) {
  FA4_STREAM_CALL(Context);
  *device = 0;
  return CUDA_SUCCESS;
}

FA4_API CUresult cuStreamGetCtx(CUstream stream, CUcontext *context) {
  FA4_STREAM_CALL(Context);
  *context = reinterpret_cast<CUcontext>(currentContext());
  return CUDA_SUCCESS;
}

/// The stream has no work left, so that its turn is now. It may call the API.
FA4_API CUresult cuLaunchHostFunc(CUstream stream, void (*function)(void *),
                                  void *data) {
  FA4_STREAM_CALL(Healthy);
  return perform(stream, NodeKind::Host, [=] {
    function(data);
    return CUDA_SUCCESS;
  });
}

FA4_API CUresult cuStreamAddCallback(CUstream stream,
                                     void (*function)(CUstream, CUresult,
                                                      void *),
                                     void *data, unsigned flags) {
  FA4_STREAM_CALL(Context);
  if (Capture *capture = findCapture(stream))
    return refuseInCapture(*capture, "cuStreamAddCallback");
  function(stream, call->pending, data);
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

FA4_API CUresult cuEventCreate(CUevent *event, unsigned flags) {
  FA4_CALL(Context);
  auto *made = new Event;
  call->events.insert(made);
  *event = reinterpret_cast<CUevent>(made);
  return CUDA_SUCCESS;
}

FA4_API CUresult cuEventDestroy(CUevent event) {
  FA4_CALL(Context);
  auto *known = reinterpret_cast<Event *>(event);
  if (!call->events.erase(known))
    return CUDA_ERROR_INVALID_HANDLE;
  delete known;
  return CUDA_SUCCESS;
}
FA4_ALIAS(cuEventDestroy_v2, cuEventDestroy);

FA4_API CUresult cuEventRecordWithFlags(CUevent event, CUstream stream,
                                        unsigned flags) {
  FA4_STREAM_CALL(Context);
  Event *known = findEvent(call.driver, event);
  if (!known)
    return CUDA_ERROR_INVALID_HANDLE;
  constexpr unsigned external = 1; // CU_EVENT_RECORD_EXTERNAL
  Capture *capture = findCapture(stream);
  if (!capture || flags & external)
    return perform(stream, NodeKind::EventRecord, [known] {
      *known = {};
      known->recorded = std::chrono::steady_clock::now();
      return CUDA_SUCCESS;
    });
  known->recorded.reset();
  known->capture = capture->id;
  known->stream = stream;
  known->work = capture->streams[stream].work;
  return CUDA_SUCCESS;
}

FA4_API CUresult cuEventRecord(CUevent event, CUstream stream) {
  return cuEventRecordWithFlags(event, stream, 0);
}

FA4_API CUresult cuEventSynchronize(CUevent event) {
  FA4_CALL(Healthy);
  Event *known = findEvent(call.driver, event);
  if (!known)
    return CUDA_ERROR_INVALID_HANDLE;
  return known->capture ? CUDA_ERROR_CAPTURED_EVENT : CUDA_SUCCESS;
}
FA4_ALIAS(cuEventQuery, cuEventSynchronize);

/// Milliseconds of the host's clock: those of the simulator, not of hardware.
FA4_API CUresult cuEventElapsedTime(float *milliseconds, CUevent begin,
                                    CUevent end) {
  FA4_CALL(Healthy);
  Event *first = findEvent(call.driver, begin);
  Event *last = findEvent(call.driver, end);
  if (!first || !last || !first->recorded || !last->recorded)
    return CUDA_ERROR_INVALID_HANDLE;
  *milliseconds = std::chrono::duration<float, std::milli>(*last->recorded -
                                                           *first->recorded)
                      .count();
  return CUDA_SUCCESS;
}
FA4_ALIAS(cuEventElapsedTime_v2, cuEventElapsedTime);
