# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cache of compiled kernels on disk.

An entry is one file, named by the hash of what decides its contents: the text of the op, the options, the
chip, the version of fa4 and the library's build, and the ptxas that checks PTX. Sizes of calls are no part of it, as kernels are for
all sizes. Entries appear by a rename, so that any number of processes may read and write at the same time.

Where the entries are larger than a limit together, those that have not been used for the longest time make place: a use
sets the time of an entry's file.

Environment: FA4_CACHE_DIR is the folder ($XDG_CACHE_HOME/fa4, or ~/.cache/fa4); FA4_CACHE=0 turns the cache
off; FA4_CACHE_SIZE is the limit ("1GB", "200MB", bytes; 0: none). `fa4 cache` shows, trims and clears it.
"""

import hashlib
import json
import os
import re
import struct
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fa4.errors import CacheWarning

MAGIC = b"fa4 cache 1\n"
SUFFIX = ".fa4"
DEFAULT_LIMIT = 10**9  # Bytes: some thousands of kernels.
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@dataclass
class Entry:
    """A compilation. `files`: name -> contents; `said`: (severity, text) of each diagnostic; `about`: the
    parts of the key for people, "function", "chip", "emit"."""

    files: dict[str, bytes]
    report: str = ""
    said: list = field(default_factory=list)
    about: dict = field(default_factory=dict)


def is_on() -> bool:
    """Whether kernels are looked for in the cache where a call does not say."""
    return os.environ.get("FA4_CACHE", "1").lower() not in ("0", "off", "false", "no")


def folder() -> Path:
    """Where the cache is; the folder need not exist."""
    if given := os.environ.get("FA4_CACHE_DIR"):
        return Path(given)
    # XDG: a path that is not absolute counts as none.
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "fa4"


def read_size(text: str) -> int:
    """Bytes, from a text such as "200MB" or "1.5G". Raises ValueError."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([KMGT]?)(B|)", text.strip().upper())
    if not match:
        raise ValueError(f"{text!r} is no size, as 200MB or 1.5GB are")
    return int(float(match[1]) * UNITS[match[2]])


def limit() -> int:
    """How many bytes all entries may have together; 0: any number. A setting that is no size is a CacheWarning."""
    given = os.environ.get("FA4_CACHE_SIZE")
    if not given:
        return DEFAULT_LIMIT
    try:
        return read_size(given)
    except ValueError as error:
        warnings.warn(f"FA4_CACHE_SIZE: {error}; the limit is {DEFAULT_LIMIT // 10**6} MB", CacheWarning, stacklevel=3)
        return DEFAULT_LIMIT


def build_of(library: Path) -> str:
    """What tells one build of a library from another: the build ID that the linker has made of its contents, else its
    size and its time."""
    try:
        with open(library, "rb") as file:
            head = file.read(1 << 16)
        (start,) = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        for i in range(count):
            kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", head, start + i * size)
            if kind != 4:  # PT_NOTE
                continue
            while length > 12:
                name, data, number = struct.unpack_from("<III", head, offset)
                skip = 12 + (name + 3 & ~3)
                if number == 3 and head[offset + 12 : offset + 16] == b"GNU\0":
                    return head[offset + skip : offset + skip + data].hex()
                skip += data + 3 & ~3
                offset, length = offset + skip, length - skip
    except (struct.error, IndexError):
        pass
    status = os.stat(library)
    return f"{status.st_size}-{status.st_mtime_ns}"


def key_of(**parts) -> str:
    """The name of the entry that all of these decide."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def path_of(key: str) -> Path:
    return folder() / key[:2] / (key[2:] + SUFFIX)


def _pack(entry: Entry) -> bytes:
    sizes = {name: len(data) for name, data in entry.files.items()}
    head = {"files": sizes, "report": entry.report, "said": entry.said, "about": entry.about}
    body = json.dumps(head).encode() + b"\n" + b"".join(entry.files.values())
    return MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def _unpack(data: bytes) -> Entry:
    start = len(MAGIC) + 65
    body = memoryview(data)[start:]
    if not data.startswith(MAGIC):
        raise ValueError("it does not begin as an entry does")
    if hashlib.sha256(body).hexdigest().encode() + b"\n" != data[len(MAGIC) : start]:
        raise ValueError("its contents are not those that were written")
    at = data.index(b"\n", start) + 1
    head = json.loads(data[start:at])
    files = {}
    for name, size in head["files"].items():
        files[name] = data[at : at + size]
        at += size
    return Entry(files, head["report"], [tuple(each) for each in head["said"]], head["about"])


def read(path: Path) -> Entry:
    """An entry from its file. Raises OSError, and ValueError where it is broken."""
    try:
        return _unpack(path.read_bytes())
    except (KeyError, TypeError, AttributeError, UnicodeDecodeError) as error:
        raise ValueError(f"it has no {error}") from None


def load(key: str) -> Entry | None:
    """The entry, or None. One that cannot be read, or is broken, is a CacheWarning, and None."""
    path = path_of(key)
    try:
        entry = read(path)
        _mark_used(path)
        return entry
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        warnings.warn(f"fa4's cache cannot be read, the kernel is compiled: {error}", CacheWarning, stacklevel=3)
    except ValueError as error:
        warnings.warn(f"{path} in fa4's cache is broken ({error}); the kernel is compiled anew", CacheWarning, stacklevel=3)
    return None


def _mark_used(path: Path):
    """An entry's time is that of its last use. (That of the last access is the file system's: `fa4 cache list` reads, too.)"""
    try:
        os.utime(path)
    except OSError:
        pass  # Another process has removed it, or the folder can only be read: it counts as not used.


def store(key: str, entry: Entry):
    """Writes an entry, and trims the cache. Where that fails, a CacheWarning says why, and that is all."""
    path, scratch = path_of(key), None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, scratch = tempfile.mkstemp(prefix=".new-", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(_pack(entry))
        os.replace(scratch, path)
        scratch = None
        trim(limit(), keep=path)
    except OSError as error:
        if scratch:
            try:
                os.unlink(scratch)
            except OSError:
                pass
        warnings.warn(f"fa4's cache cannot be written: {error}", CacheWarning, stacklevel=3)


def entries() -> Iterator[tuple[Path, os.stat_result]]:
    """The files of all entries, with what their folder says of them."""
    for path in sorted(folder().glob(f"??/*{SUFFIX}")):
        try:
            yield path, path.stat()
        except OSError:
            continue  # Another process has removed it.


def trim(size: int, keep: Path | None = None) -> tuple[int, int]:
    """Removes the entries that have not been used for the longest time, until all have at most `size` bytes together (0: any
    number); `keep` stays. Returns how many have gone, and their bytes. Processes may do so at the same time: an entry
    that another one has removed counts as gone, and who reads one meanwhile has it, or compiles anew."""
    found = list(entries()) if size else []
    total = sum(status.st_size for _, status in found)
    count = gone = 0
    for path, status in sorted(found, key=lambda each: each[1].st_mtime_ns):
        if total - gone <= size:
            break
        if path == keep:
            continue
        path.unlink(missing_ok=True)
        count, gone = count + 1, gone + status.st_size
    return count, gone


def clear(older_than: float | None = None) -> tuple[int, int]:
    """Removes entries, those last used at least `older_than` seconds ago if that is given; with them what processes that were
    killed have left. Returns how many entries, and their bytes."""
    count = size = 0
    last = time.time() - (older_than or 0)
    for path, status in list(entries()):
        if older_than is not None and status.st_mtime > last:
            continue
        path.unlink(missing_ok=True)
        count, size = count + 1, size + status.st_size
    for path in folder().glob("??/.new-*"):
        try:
            # One that a process is writing now is younger.
            if path.stat().st_mtime < time.time() - 3600:
                path.unlink()
        except FileNotFoundError:
            continue
    return count, size


def build_of_tool(path: str) -> str:
    """What tells one build of a program from another, without reading it."""
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return f"{status.st_size}-{status.st_mtime_ns}"
