# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A B200 that is not there: what CuTe-DSL asks the driver about."""


class HardwareInfo:
    """In place of cutlass.utils.HardwareInfo."""

    def __init__(self, device_id=0):
        pass

    def get_device_multiprocessor_count(self):
        return 148

    def get_max_active_clusters(self, size):
        return 148 // size

    def get_l2_cache_size_in_bytes(self):
        return 126 << 20
