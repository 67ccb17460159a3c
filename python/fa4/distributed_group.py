# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ranks of a process group: whether all of them call with the same form, and messages from neighbour to neighbour beside a computation."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist

from fa4.spec import SpecError

# What a rank says of its call, in bytes: one small message of a fixed size. An error's text is cut so that it fits when JSON has escaped it.
SAID_BYTES, ERROR_BYTES = 2048, 900


@dataclass(frozen=True)
class Ranks:
    """A group as one of its ranks sees it."""

    group: dist.ProcessGroup
    rank: int
    size: int

    def neighbour(self, distance: int) -> int:
        """The global rank of the process that is so many ranks behind this one in the ring."""
        return dist.get_global_rank(self.group, (self.rank + distance) % self.size)


def ranks_of(group: dist.ProcessGroup | None) -> Ranks:
    """The ranks of a group, None for that of all processes. Raises SpecError where there is none, or this process is not in the group."""
    if not dist.is_available() or not dist.is_initialized():
        raise SpecError("there is no process group: torch.distributed.init_process_group() makes one")
    group = dist.group.WORLD if group is None else group
    if group is dist.GroupMember.NON_GROUP_MEMBER:
        raise SpecError("this process is not in the group: only the ranks of a group call with it")
    if not isinstance(group, dist.ProcessGroup):
        raise TypeError(f"group is a process group of torch.distributed or None, not {type(group).__name__}")
    return Ranks(group, dist.get_rank(group), dist.get_world_size(group))


# ---------------------------------------------------------------------------
# Whether all ranks call alike
# ---------------------------------------------------------------------------


def _device_of_words(group: dist.ProcessGroup) -> torch.device:
    """Where the group exchanges what ranks say: on the CPU where it can, so that the host does not wait for the GPU."""
    if "gloo" in dist.get_backend_config(group):
        return torch.device("cpu")
    return torch.device("cuda", torch.cuda.current_device())


def _gather(ranks: Ranks, words: str) -> list[str]:
    """What each rank says; that of one rank where all say the same."""
    device = _device_of_words(ranks.group)
    data = words.encode()[:SAID_BYTES]
    mine = torch.frombuffer(bytearray(data.ljust(SAID_BYTES, b"\0")), dtype=torch.uint8).to(device)
    all_words = [torch.empty_like(mine) for _ in range(ranks.size)]
    dist.all_gather(all_words, mine, group=ranks.group)
    whole = torch.stack(all_words).cpu()
    if bool((whole == whole[0]).all()):
        return [words]
    return [bytes(each.tolist()).rstrip(b"\0").decode(errors="ignore") for each in whole]


def agree(ranks: Ranks, describe: Callable[[], dict[str, str]]):
    """Compares the calls of all ranks, before any of them waits for a message that nobody sends: `describe` checks the call of this rank,
    and has in words what must be the same on all ranks. Where a rank's call is wrong, or two differ, each rank raises the same error, TypeError or SpecError."""
    said, kind = {}, ""
    try:
        said = describe()
    except (SpecError, TypeError) as error:
        if ranks.size == 1:
            raise
        text = str(error).encode()[:ERROR_BYTES].decode(errors="ignore")
        said, kind = {"error": text}, "type" if isinstance(error, TypeError) else "spec"
    if ranks.size == 1:
        return
    everybody = [json.loads(words) for words in _gather(ranks, json.dumps({"kind": kind, **said}, ensure_ascii=False))]
    wrong = [(rank, each) for rank, each in enumerate(everybody) if each["kind"]]
    if wrong:
        rank, first = wrong[0]
        is_same = len(everybody) == 1
        raise (TypeError if first["kind"] == "type" else SpecError)(first["error"] if is_same else f"on rank {rank} of the group, {first['error']}")
    for rank, each in enumerate(everybody):
        for name, words in everybody[0].items():
            if each.get(name) != words:
                raise SpecError(f"{name} is {words} on rank 0 of the group and {each.get(name)} on rank {rank}: all ranks call with the same")


# ---------------------------------------------------------------------------
# Messages
# ---------------------------------------------------------------------------


@functools.cache
def _stream(device: torch.device) -> torch.cuda.Stream:
    """The stream on which messages of a device wait for what they carry."""
    return torch.cuda.Stream(device)


def mark(device: torch.device) -> torch.cuda.Event | None:
    """The place that the current stream has reached; None on the CPU, where work is done when it has been asked for."""
    if device.type != "cuda":
        return None
    event = torch.cuda.Event()
    event.record(torch.cuda.current_stream(device))
    return event


def room_for(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Memory for the messages that a rank gets while it sends these: all ranks send the same shapes. The memory may have been that of tensors which the
    current stream still reads, so that a message must wait for a `mark` behind this."""
    return [torch.empty_like(each, memory_format=torch.contiguous_format) for each in tensors]


class Exchange:
    """Messages to the next rank and from the one before, on a stream of their own: they begin when the current stream has reached `ready`, beside
    what is launched there after that. Tensors are contiguous."""

    def __init__(self, ranks: Ranks, sent: Sequence[torch.Tensor], received: Sequence[torch.Tensor], ready: torch.cuda.Event | None):
        # They must live until nobody reads them any more.
        self.sent, self.received = list(sent), list(received)
        operations = [dist.P2POp(dist.isend, each, ranks.neighbour(1), ranks.group) for each in sent]
        operations += [dist.P2POp(dist.irecv, each, ranks.neighbour(-1), ranks.group) for each in received]
        beside: contextlib.AbstractContextManager = contextlib.nullcontext()
        if ready is not None:
            stream = _stream(sent[0].device)
            stream.wait_event(ready)
            beside = torch.cuda.stream(stream)
        with beside:
            self.works = dist.batch_isend_irecv(operations)

    def wait(self) -> list[torch.Tensor]:
        """What has been received; the current stream waits for it, and for what is sent. On the CPU the caller does."""
        for work in self.works:
            work.wait()
        self.sent = []
        return self.received
