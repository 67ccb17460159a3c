# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tells one trace of a function from another: all that it reads, or nothing where that cannot be told."""

import math
import types

import pytest
from fa4.function_key import function_key

window = 16
settings = types.ModuleType("settings_of_a_user")
settings.window = 16


def within(limit):
    return lambda b, h, i, j: i - j < limit


def of_global(b, h, i, j):
    return (i >= j) & (i - j < window)


def of_module(b, h, i, j):
    return i - j < settings.window


def calls_another(b, h, i, j):
    return of_global(b, h, i, j) & (i > math.pi)


def with_default(b, h, i, j, limit=window):
    return i - j < limit


def test_what_a_function_reads_is_its_key(monkeypatch):
    """Functions read other values, or a value changes: each must have another key, and equal functions the same."""
    keys = [function_key(f) for f in (of_global, of_module, calls_another, with_default, within(1), within(2), within(1.0), within((1, 2)))]
    assert None not in keys and len(set(keys)) == len(keys)
    assert function_key(within(1)) == keys[4] and function_key(None) == ()
    monkeypatch.setitem(globals(), "window", 17)
    monkeypatch.setattr(settings, "window", 17)
    changed = [function_key(f) for f in (of_global, of_module, calls_another)]
    assert all(new not in (old, None) for new, old in zip(changed, keys))
    monkeypatch.setattr(with_default, "__defaults__", (17,))
    assert function_key(with_default) not in (keys[3], None)
    assert function_key(within(0.0)) != function_key(within(-0.0))


class Layer:
    window = 16

    def mask(self, b, h, i, j):
        return i - j < self.window


def has_attribute(b, h, i, j):
    return i - j < has_attribute.window


def imports(b, h, i, j):
    from settings_of_a_user import window  # noqa: PLC0415

    return i - j < window


def looks_up(b, h, i, j):
    return i - j < globals()["window"]


UNSEEN = {
    "bound method": Layer().mask, "list": within([1]), "object": within(Layer()), "attribute": has_attribute,
    "import": imports, "globals()": looks_up,
}  # fmt: skip


@pytest.mark.parametrize("function", UNSEEN.values(), ids=UNSEEN)
def test_what_may_change_unseen_has_no_key(function):
    """A function reads an object that may change unseen: it must have no key."""
    has_attribute.window = 16
    assert function_key(function) is None
