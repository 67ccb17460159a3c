# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GPUs that are not there: what CuTe-DSL asks the driver about."""


class B200:
    """In place of cutlass.utils.HardwareInfo."""

    architecture, multiprocessors, l2_bytes = "sm_100", 148, 126 << 20

    def __init__(self, device_id=0):
        pass

    def get_device_multiprocessor_count(self):
        return self.multiprocessors

    def get_max_active_clusters(self, size):
        return self.multiprocessors // size

    def get_l2_cache_size_in_bytes(self):
        return self.l2_bytes


class H200(B200):
    architecture, multiprocessors, l2_bytes = "sm_90", 132, 60 << 20


GPUS = {gpu.architecture: gpu for gpu in (B200, H200)}
