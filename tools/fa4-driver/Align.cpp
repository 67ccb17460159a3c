//===- Align.cpp - the alignment of device memory for torch on the host ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// torch's tensors on a device begin at multiples of 512 bytes, and kernels that
// keep tensor maps in them rely on 128. On the host torch asks posix_memalloc
// for
// 64. LD_PRELOAD puts this function in front of the C library's, for programs
// whose tensors on the host stand for those on a device (fa4.driver).
//
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <cerrno>
#include <cstdlib>

extern "C" __attribute__((visibility("default"))) int
posix_memalign(void **memory, size_t alignment, size_t bytes) noexcept {
  constexpr size_t ofDevices = 512, ofTorch = 64;
  if (alignment % sizeof(void *) || (alignment & (alignment - 1)))
    return EINVAL;
  size_t wanted =
      alignment < ofTorch ? alignment : std::max(alignment, ofDevices);
  // aligned_alloc wants whole multiples.
  void *made = aligned_alloc(wanted, (std::max<size_t>(bytes, 1) + wanted - 1) /
                                         wanted * wanted);
  if (!made)
    return ENOMEM;
  *memory = made;
  return 0;
}
