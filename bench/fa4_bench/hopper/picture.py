# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A picture of what was recorded: TFLOP/s in bursts over the length of sequences, beside the peers. A panel is a head dim, a mask, and
forward attention or its gradient."""

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from itertools import product

from fa4_bench.hopper import tables
from fa4_bench.hopper.rows import LENGTHS, Form

# What is drawn, from the back to the front: the candidate's name, what it is called, its colour and the width of its line.
LINES = (("cudnn", "cuDNN", "#999999", 1.5), ("fa4", "FlashAttention-4", "#d95f02", 1.5), (tables.OURS, "fa4", "#1f4e9e", 2.5))
PANELS = list(product(("fwd", "bwd"), (128, 64), ("full", "causal")))
COLUMNS = 4
WIDTH, HEIGHT, MARGIN, TOP = 210, 150, 34, 40
MOST, STEP = 800, 200
INK, FAINT = "#222222", "#dddddd"


@dataclass
class Panel:
    """Coordinates are pixels of the picture; x grows by the same for each length."""

    left: float
    top: float

    def x(self, index):
        return self.left + MARGIN + (index + 0.25) * (WIDTH - MARGIN) / len(LENGTHS)

    def y(self, teraflops):
        return self.top + TOP / 2 + (1 - teraflops / MOST) * (HEIGHT - TOP)


def _text(root, x, y, said, anchor="middle", size=10, fill=INK):
    ET.SubElement(root, "text", {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor, "font-size": str(size), "fill": fill,
                                 "font-family": "sans-serif"}).text = said  # fmt: skip


def _line(root, points, stroke, width):
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    ET.SubElement(root, "polyline", {"points": places, "fill": "none", "stroke": stroke, "stroke-width": str(width)})


def _draw_panel(root, panel, recorded, direction, head_dim, kind):
    title = f"{'forward' if direction == 'fwd' else 'gradient'}, head dim {head_dim}, {kind}"
    _text(root, panel.left + WIDTH / 2, panel.top + 10, title, size=11)
    for grid in range(0, MOST + 1, STEP):
        _line(root, [(panel.left + MARGIN, panel.y(grid)), (panel.left + WIDTH - 6, panel.y(grid))], FAINT, 1)
        _text(root, panel.left + MARGIN - 4, panel.y(grid) + 3, str(grid), "end", 9)
    found = {}
    for index, length in enumerate(LENGTHS):
        _text(root, panel.x(index), panel.top + HEIGHT - 8, f"{length}k", size=9)
        row = recorded["rows"].get(Form(direction, head_dim, kind, length=length * 1024).name)
        for name, speed in (tables.speeds(row, "burst") if row else {}).items():
            found.setdefault(name, []).append((panel.x(index), panel.y(speed), speed))
    for name, _, colour, width in LINES:
        _line(root, [(x, y) for x, y, _ in found.get(name, [])], colour, width)
    for x, y, speed in found.get(tables.OURS, []):
        ET.SubElement(root, "circle", {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": "3", "fill": LINES[-1][2]})
        _text(root, x, y + 14, f"{speed:.0f}", size=9, fill=LINES[-1][2])


def draw(recorded):
    """The picture of a record as SVG."""
    rows = -(-len(PANELS) // COLUMNS)
    size = {"width": str(COLUMNS * WIDTH), "height": str(rows * HEIGHT + 24)}
    root = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {size['width']} {size['height']}", **size})
    ET.SubElement(root, "title").text = f"TFLOP/s by the length of sequences, bf16, 16k tokens, on {recorded['card']}"
    ET.SubElement(root, "rect", {"width": size["width"], "height": size["height"], "fill": "#ffffff"})
    for i, (_, said, colour, width) in enumerate(reversed(LINES)):
        left = MARGIN + i * 140
        _line(root, [(left, 14), (left + 22, 14)], colour, width)
        _text(root, left + 28, 18, said, "start", 11)
    _text(root, COLUMNS * WIDTH - 6, 18, "TFLOP/s, bursts", "end", 10)
    for i, panel in enumerate(PANELS):
        _draw_panel(root, Panel(i % COLUMNS * WIDTH, 24 + i // COLUMNS * HEIGHT), recorded, *panel)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"
