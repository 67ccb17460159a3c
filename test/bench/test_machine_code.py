# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What counts as lost in machine code: on listings as nvdisasm prints them."""

from fa4_testing import sass
from fa4_testing.mutation.machine_code import synchronisation

READY = 0x000E220000000000  # Results on scoreboard 0.
NOTHING = 0x000FC00000000000  # Neither a scoreboard nor a wait.
WAITS = 0x001FC00000000000  # For scoreboard 0.


def listing(*instructions):
    lines = ['\t.section\t.text.k,"ax",@progbits']
    for n, (text, control) in enumerate(instructions):
        lines.append(f"        /*{16 * n:04x}*/    {text} ;   /* 0x0000000000000000 */")
        lines.append(f"                                  /* 0x{control:016x} */")
    return synchronisation(sass.parse("\n".join(lines))[0])


def loads_at_arrival(*instructions):
    sequence = listing(("LDTM.x8 R4, tmem[UR4]", READY), *instructions, ("EXIT", NOTHING))
    return next(text for text in sequence if text.startswith("SYNCS"))


def test_arrival_waits_for_the_load():
    """An arrival follows a load: it must be marked incomplete unless it, or an instruction before it, waits for the
    load."""
    arrival = "SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR5], RZ"
    assert "incomplete" in loads_at_arrival((arrival, NOTHING))
    assert "incomplete" not in loads_at_arrival((arrival, WAITS))
    assert "incomplete" not in loads_at_arrival(("FADD R4, R4, R5", WAITS), (arrival, NOTHING))
    assert "incomplete" in loads_at_arrival(("FADD R9, R9, R8", NOTHING), (arrival, NOTHING))


def test_registers_and_order_between_barriers_do_not_matter():
    """Two listings must be equal where only registers or the order between barriers differ."""
    barrier = ("BAR.SYNC.DEFER_BLOCKING 0x1, 0x40", NOTHING)
    store, load = ("STS [R7+0x10], R4", NOTHING), ("LDS R5, [R6]", READY)
    other = ("STS [R8+0x10], R9", NOTHING)
    assert listing(store, load, barrier) == listing(load, other, barrier)
    assert listing(store, load, barrier) != listing(load, barrier, store)
    assert listing(barrier) != listing(("BAR.SYNC.DEFER_BLOCKING 0x2, 0x40", NOTHING))
    assert listing(barrier, store) != listing(store)


def test_loads_of_another_block_are_seen():
    """A load may be incomplete on one of two paths to an arrival: the arrival must be marked incomplete."""
    text = "\n".join(
        [
            '\t.section\t.text.k,"ax",@progbits',
            "        /*0000*/  LDTM.x8 R4, tmem[UR4] ; /* 0x0 */",
            f"        /* 0x{READY:016x} */",
            "        /*0010*/  @P0 BRA `(.L_x_1) ; /* 0x0 */",
            f"        /* 0x{NOTHING:016x} */",
            "        /*0020*/  FADD R4, R4, R5 ; /* 0x0 */",
            f"        /* 0x{WAITS:016x} */",
            ".L_x_1:",
            "        /*0030*/  BAR.ARV 0x1, 0x40 ; /* 0x0 */",
            f"        /* 0x{NOTHING:016x} */",
            "        /*0040*/  EXIT ; /* 0x0 */",
            f"        /* 0x{NOTHING:016x} */",
        ]
    )
    assert "incomplete" in synchronisation(sass.parse(text)[0])[-1]


def test_products_of_warpgroups():
    """Listings of wgmma must differ when a fence, a wait, its count or the end of a group differs."""
    first = ("HGMMA.64x128x16.F32.BF16 R24, gdesc[UR12], R24", NOTHING)
    last = ("HGMMA.64x128x16.F32.BF16 R24, gdesc[UR8], R24, gsb0", NOTHING)
    arrive, wait = ("WARPGROUP.ARRIVE", NOTHING), ("WARPGROUP.DEPBAR.LE gsb0, 0x0", NOTHING)
    assert listing(arrive, first, last, wait) == listing(arrive, first, last, wait)
    # A fence, a wait, the count of a wait, the end of a group.
    assert listing(arrive, first, last, wait) != listing(first, last, wait)
    assert listing(arrive, first, last, wait) != listing(arrive, first, last)
    assert listing(arrive, first, last, wait) != listing(arrive, first, last, ("WARPGROUP.DEPBAR.LE gsb0, 0x1", NOTHING))
    assert listing(arrive, first, last, wait) != listing(arrive, first, first, wait)
