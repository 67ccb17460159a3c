# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page of fa4.report, without its data: @TITLE@ and @DATA@ are put into their places. All of it is in one file, so that it can be sent."""

PAGE = r"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>@TITLE@</title>
<style>
:root { color-scheme: light dark; --back: #fff; --panel: #f5f6f8; --text: #1b1f24; --dim: #5d6773; --line: #d5dae0;
  --work: #3b7dd8; --wait: #dfe3e8; --unit: #2f9e6e; --note: #c4571b; --mark: #fff0b8; --found: #ffd24d; }
@media (prefers-color-scheme: dark) { :root { --back: #14171b; --panel: #1d2228; --text: #e4e8ed; --dim: #98a3b0; --line: #343c45;
  --work: #5b9cf0; --wait: #2c333b; --unit: #4cc08d; --note: #f0935a; --mark: #4a4115; --found: #7a6410; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1500px; padding: 1rem; background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; margin: 0; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; margin: 0 0 .4rem; }
p { margin: .2rem 0 .6rem; color: var(--dim); }
section { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: .8rem 1rem; margin: 1rem 0; min-width: 0; }
.two { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 1rem; } .two section { margin: 0; }
@media (max-width: 900px) { .two { grid-template-columns: minmax(0, 1fr); } }
.scroll { overflow: auto; max-width: 100%; } svg { display: block; } svg text { fill: var(--text); font: 12px system-ui, sans-serif; }
svg .dim { fill: var(--dim); } .work { fill: var(--work); } .wait { fill: var(--wait); } .unit { fill: var(--unit); }
.box { fill: var(--back); stroke: var(--dim); } .edge { fill: none; stroke: var(--work); stroke-width: 1.5; } .edge.tmem { stroke: var(--note); }
.cell { fill: var(--work); fill-opacity: .25; stroke: var(--work); } .cell.later { fill: var(--note); stroke: var(--note); fill-opacity: .2; }
label { margin-right: 1rem; white-space: nowrap; } select, input, button { font: inherit; color: inherit; background: var(--back); border: 1px solid var(--line); border-radius: 5px; padding: .15rem .4rem; }
table { border-collapse: collapse; font-size: .9rem; } td, th { padding: .1rem .8rem .1rem 0; text-align: left; vertical-align: top; }
td.n { text-align: right; font-variant-numeric: tabular-nums; } pre { font-size: 12px; overflow: auto; max-height: 30rem; margin: .4rem 0; }
.panes { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: .6rem; } @media (max-width: 700px) { .panes { grid-template-columns: minmax(0, 1fr); } }
.ir { font: 12px/1.45 ui-monospace, monospace; white-space: pre; overflow: auto; height: 32rem; background: var(--back); border: 1px solid var(--line); border-radius: 5px; margin-top: .3rem; }
.ir div { padding: 0 .5rem; min-width: max-content; cursor: pointer; } .ir .same { background: var(--mark); } .ir .found { background: var(--found); }
#said { min-height: 3em; font: 12px ui-monospace, monospace; overflow-wrap: anywhere; color: var(--dim); }
</style>
</head>
<body>
<h1 id="title"></h1>
<p id="about"></p>
<label id="chooser" hidden>kernel <select id="kernel"></select></label>
<section><h2>Schedule of the first CTA</h2><p id="timeabout"></p>
<label>zoom <input id="zoom" type="range" min="1" max="30" step="0.5" value="1" aria-label="zoom"></label>
<div class="scroll" id="schedule"></div><div id="said"></div></section>
<div class="two">
<section><h2>Roles and channels</h2><p>An arrow is from the role that writes to the one that reads; orange for tensor memory.</p><div class="scroll" id="graph"></div><div class="scroll" id="edges"></div></section>
<section><h2>Cycles of an iteration</h2><p>The clock of fa4-sim, and the roofline, which knows no waits.</p><div class="scroll" id="units"></div><h2>Registers of a thread, by role</h2><div class="scroll" id="registers"></div></section>
<section><h2>Shared memory</h2><p>What stands to the right of another channel uses its bytes after it.</p><div class="scroll" id="smem"></div>
<h2>Over time</h2><p>A bar is a value, from the step that hands it over to the last one that has read it, in the bytes that it is in.</p><div class="scroll" id="smemtime"></div></section>
<section><h2>Tensor memory</h2><p>What stands to the right of another channel has its columns after it, or in its place.</p><div class="scroll" id="tmem"></div>
<h2>Over time</h2><p>The same of columns. A value that nobody releases is there until the next one in its columns.</p><div class="scroll" id="tmemtime"></div></section>
</div>
<section><h2>ptxas</h2><pre id="ptxas"></pre><details><summary>The compiler's report</summary><pre id="report"></pre></details></section>
<section><h2>IR of each level</h2><p>A click on a line shows the lines of both levels that come from the same place in the op.</p>
<label>search <input id="search" type="search" aria-label="search"></label><button id="next">next</button> <span id="count"></span>
<div class="panes"><div><select id="left" aria-label="left level"></select><div class="ir" id="leftir" tabindex="0"></div></div>
<div><select id="right" aria-label="right level"></select><div class="ir" id="rightir" tabindex="0"></div></div></div></section>
<script type="application/json" id="data">@DATA@</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent), $ = id => document.getElementById(id);
const NS = "http://www.w3.org/2000/svg";
function make(name, attributes, text, parent) {
  const svg = ["svg", "g", "rect", "path", "text", "title", "line", "marker", "defs"].includes(name);
  const made = svg ? document.createElementNS(NS, name) : document.createElement(name);
  for (const key in attributes || {}) made.setAttribute(key, attributes[key]);
  if (text !== undefined && text !== null) made.textContent = text;
  if (parent) parent.appendChild(made);
  return made;
}
// A text of so many pixels, or as much of it as they show.
const fitted = (text, pixels) => text.length * 7.2 <= pixels ? text : text.slice(0, Math.max(Math.floor(pixels / 7.2) - 1, 0)) + "\u2026";
const clear = id => { const e = $(id); e.textContent = ""; return e; };
// Of several kernels the one with the most code is the one that people ask for.
let kernel = data.kernels.reduce((a, b) => b.ptx_lines.length > a.ptx_lines.length ? b : a);

function isWait(name) { return /try_wait|bar\.|barrier|wait|griddepcontrol/.test(name); }
function drawSchedule() {
  const place = clear("schedule"); $("said").textContent = "";
  const sizes = Object.entries(kernel.numbers).map(([n, v]) => n + " = " + v).join(", ");
  if (!kernel.trace) { $("timeabout").textContent = "There is no modelled time: " + kernel.no_trace; return; }
  const t = kernel.trace.time, rows = kernel.trace.rows;
  $("timeabout").textContent = sizes + ". " + Math.round(t.cta_cycles) + " cycles; " + t.costs + ". Blue: a warp works; grey: it waits; green: an asynchronous unit works. Point at a bar for its instruction.";
  const end = Math.max(...rows.flatMap(r => r.spans.map(s => s[0] + s[1])), 1), left = 150, high = 17;
  const width = Math.max(place.clientWidth - 4, 320) * $("zoom").value, scale = (width - left - 10) / end;
  const svg = make("svg", {width, height: rows.length * high + 24, role: "img", "aria-label": "schedule"}, null, place);
  const step = Math.pow(10, Math.floor(Math.log10(end / 4 / $("zoom").value)));
  for (let x = 0, last = -100; x <= end; x += step) {
    if ((x * scale) - last < 70) continue;
    last = x * scale;
    make("line", {x1: left + x * scale, x2: left + x * scale, y1: 0, y2: rows.length * high, stroke: "var(--line)"}, null, svg);
    if (left + x * scale + 47 <= width) make("text", {x: left + x * scale + 2, y: rows.length * high + 15, class: "dim"}, x, svg);
  }
  rows.forEach((row, i) => {
    const y = i * high + 2;
    make("text", {x: 0, y: y + 11}, row.name, svg);
    if (!row.spans.length) return;
    const first = row.spans[0][0], last = Math.max(...row.spans.map(s => s[0] + s[1]));
    if (!row.unit) make("rect", {x: left + first * scale, y, width: Math.max((last - first) * scale, 1), height: high - 4, class: "work"}, null, svg);
    for (const [begin, length, name, line] of row.spans) {
      if (!row.unit && !isWait(name)) continue;
      const bar = make("rect", {x: left + begin * scale, y, width: Math.max(length * scale, row.unit ? .6 : .3), height: high - 4, class: row.unit ? "unit" : "wait"}, null, svg);
      bar.addEventListener("pointerenter", () => { $("said").textContent = row.name + ", cycles " + begin + " to " + (begin + length) + ": " + name + (line ? "  PTX line " + line + ": " + (kernel.ptx_lines[line - 1] || "").trim() : ""); });
    }
  });
}

function drawGraph() {
  const place = clear("graph"), layer = {}, roles = kernel.roles.filter(r => kernel.edges.some(e => e.from === r || e.to === r));
  const visit = (role, depth, path) => { if (path.includes(role) || (layer[role] ?? -1) >= depth) return; layer[role] = depth; kernel.edges.filter(e => e.from === role).forEach(e => visit(e.to, depth + 1, [...path, role])); };
  const starts = roles.filter(r => !kernel.edges.some(e => e.to === r));
  (starts.length ? starts : roles.slice(0, 1)).forEach(r => visit(r, 0, []));
  roles.forEach(r => { layer[r] ??= 0; });
  const columns = []; roles.forEach(r => (columns[layer[r]] ||= []).push(r));
  const filled = columns.filter(Boolean), wide = 92, high = 34, rowgap = 46, most = Math.max(...filled.map(c => c.length), 1);
  const gap = Math.min(Math.max((place.clientWidth - 8 - filled.length * wide) / Math.max(filled.length - 1, 1), 24), 52);
  const at = {}, height = most * (high + rowgap) + 40;
  filled.forEach((column, i) => column.forEach((role, j) => { at[role] = [i * (wide + gap) + 4, (j + .5) * height / column.length - high / 2]; }));
  const svg = make("svg", {width: filled.length * (wide + gap) - gap + 8, height, role: "img", "aria-label": "roles and channels"}, null, place);
  const defs = make("defs", {}, null, svg), marker = make("marker", {id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto"}, null, defs);
  make("path", {d: "M0 0L8 4L0 8z", fill: "var(--dim)"}, null, marker);
  for (const edge of kernel.edges) {
    const [x1, y1] = at[edge.from], [x2, y2] = at[edge.to], ahead = x2 > x1;
    const a = ahead ? [x1 + wide, y1 + high / 2 - 5] : [x1, y1 + high / 2 + 7], b = ahead ? [x2, y2 + high / 2 - 5] : [x2 + wide, y2 + high / 2 + 7];
    const bend = Math.max(Math.abs(b[0] - a[0]) / 2, 40) * (ahead ? 1 : -1), tmem = edge.channels.some(c => (kernel.channels[c] || "").startsWith("tmem"));
    const path = make("path", {d: `M${a}C${a[0] + bend} ${a[1]} ${b[0] - bend} ${b[1]} ${b}`, class: "edge" + (tmem ? " tmem" : ""), "marker-end": "url(#tip)"}, null, svg);
    make("title", {}, edge.from + " to " + edge.to + ": " + edge.channels.join(", "), path);
  }
  for (const role of roles) {
    make("rect", {x: at[role][0], y: at[role][1], width: wide, height: high, rx: 6, class: "box"}, null, svg);
    make("text", {x: at[role][0] + wide / 2, y: at[role][1] + 21, "text-anchor": "middle"}, role, svg);
  }
  const table = make("table", {}, null, clear("edges"));
  for (const edge of kernel.edges) { const tr = make("tr", {}, null, table); make("td", {}, edge.from + " \u2192 " + edge.to, tr); make("td", {}, edge.channels.join(", "), tr); }
}

function bars(id, rows, unit) {
  const place = clear(id), most = Math.max(...rows.flatMap(r => r.values.map(v => v[0] || 0)), 1);
  if (!rows.length) { place.textContent = "not known"; return; }
  const high = rows[0].values.length * 11 + 9, left = 130, width = Math.max(Math.min(place.clientWidth, 620), 300);
  const svg = make("svg", {width, height: rows.length * high + 4, role: "img", "aria-label": id}, null, place);
  rows.forEach((row, i) => {
    make("text", {x: 0, y: i * high + 14}, row.name, svg);
    row.values.forEach(([value, style, note], j) => {
      if (value === null || value === undefined) return;
      const length = value / most * (width - left - 150);
      make("rect", {x: left, y: i * high + 4 + j * 11, width: Math.max(length, 1), height: 9, class: style}, null, svg);
      make("text", {x: left + length + 5, y: i * high + 12 + j * 11, class: "dim", style: "font-size:10px"}, value + " " + (note || unit), svg);
    });
  });
}

function drawMemory(id, rows, what) {
  const place = clear(id);
  if (!rows.length) { place.textContent = "not used"; return; }
  const end = Math.max(...rows.map(r => r.to)), columns = Math.max(...rows.map(r => r.column)) + 1, height = 430, left = 62;
  const wide = Math.max(Math.min((place.clientWidth - left - 10) / columns, 260), 110);
  const svg = make("svg", {width: left + columns * wide, height: height + 16, role: "img", "aria-label": what}, null, place), labels = {};
  for (const row of rows) {
    const y = 8 + row.from / end * height, h = Math.max((row.to - row.from) / end * height, 2), x = left + row.column * wide;
    const cell = make("rect", {x, y, width: wide - 6, height: Math.max(h - 1, 1.5), class: "cell" + (row.column ? " later" : "")}, null, svg);
    make("title", {}, `${row.name}: ${row.from} to ${row.to} ${what}, ${row.stages} ${row.note}`, cell);
    if (h > 12) make("text", {x: x + 5, y: y + 12}, fitted(row.name + (row.stages ? ", " + row.stages : ""), wide - 14), svg);
    const mark = Math.round(y / 12); if (!labels[mark]) { labels[mark] = 1; make("text", {x: 0, y: y + 4, class: "dim"}, row.from, svg); }
  }
}

function drawLives(id, rows, what) {
  const place = clear(id);
  if (!rows || !rows.some(r => r.spans.length)) { place.textContent = "not known"; return; }
  const to = Math.max(...rows.map(r => r.to)), end = Math.max(...kernel.trace.rows.flatMap(r => r.spans.map(s => s[0] + s[1])), 1);
  const left = 62, height = 300, width = Math.max(place.clientWidth - 4, 320) * $("zoom").value, scale = (width - left - 10) / end;
  const svg = make("svg", {width, height: height + 26, role: "img", "aria-label": what + " over time"}, null, place), labels = {};
  for (const row of rows) {
    const y = 4 + row.from / to * height, h = Math.max((row.to - row.from) / to * height, 2), mark = Math.round(y / 12);
    if (!labels[mark]) { labels[mark] = 1; make("text", {x: 0, y: y + 10, class: "dim"}, row.from, svg); }
    for (const [begin, over] of row.spans) {
      const x = left + begin * scale, w = Math.max((over - begin) * scale, 1);
      const name = row.name + (rows.some(r => r.name === row.name && r.stage !== row.stage) ? " [" + row.stage + "]" : "");
      const bar = make("rect", {x, y, width: Math.max(w - 1, 1), height: Math.max(h - 1, 1.5), class: "life cell" + (kernel[id.replace("time", "")].find(r => r.name === row.name)?.column ? " later" : "")}, null, svg);
      make("title", {}, `${name}: cycles ${begin} to ${over}, ${row.from} to ${row.to} ${what}`, bar);
      if (h > 12 && w > name.length * 7.2 + 6) make("text", {x: x + 3, y: y + 12}, name, svg);
    }
  }
  const step = Math.pow(10, Math.floor(Math.log10(end / 3 / $("zoom").value)));
  for (let x = 0, last = -100; x <= end; x += step) { if (x * scale - last < 70 || left + x * scale + 45 > width) continue; last = x * scale; make("text", {x: left + x * scale, y: height + 20, class: "dim"}, x, svg); }
}

const panes = [["left", "leftir"], ["right", "rightir"]];
function fill(select, pane, index) {
  const level = data.levels[index], place = clear(pane), all = document.createDocumentFragment();
  level.lines.forEach((line, i) => { const e = make("div", {}, line || " ", all); e.dataset.at = level.origins[i]; });
  place.appendChild(all); $(select).value = index; search(false);
}
function places(e) { return (e.dataset.at || "").split(" ").filter(Boolean); }
function meet(a, b) { return a.some(x => b.some(y => x === y || x.split(":")[0] === y.split(":")[0] && (x.endsWith("*") || y.endsWith("*")))); }
function highlight(line, own) {
  const wanted = places(line);
  for (const [, pane] of panes) {
    let first = null;
    for (const e of $(pane).children) { const same = e === line || wanted.length > 0 && meet(wanted, places(e)); e.classList.toggle("same", same); if (same && !first) first = e; }
    if (first && pane !== own) $(pane).scrollTop = first.offsetTop - $(pane).offsetTop - 60;
  }
}
let hits = [], hit = -1;
function search(jump) {
  const text = $("search").value.toLowerCase(); hits = []; hit = -1;
  for (const [, pane] of panes) for (const e of $(pane).children) { const is = text && e.textContent.toLowerCase().includes(text); e.classList.toggle("found", !!is); if (is) hits.push(e); }
  $("count").textContent = text ? hits.length + " lines" : ""; if (jump) next();
}
function next() { if (!hits.length) return; hit = (hit + 1) % hits.length; const e = hits[hit]; e.parentElement.scrollTop = e.offsetTop - e.parentElement.offsetTop - 60; }

function drawAllLives() { const lives = kernel.lives || {}; drawLives("smemtime", lives.smem, "bytes"); drawLives("tmemtime", lives.tmem, "columns"); }
function show() {
  drawSchedule(); drawGraph();
  bars("units", kernel.units.map(u => ({name: u.unit, values: u.cycles === null ? [[u.busy, "work", "% of the time busy"]] : [[u.cycles, "work", "model" + (u.busy === null ? "" : ", " + u.busy + "% busy")], [u.roofline, "unit", "roofline"]]})), "");
  const registers = kernel.comment.role_registers || {};
  bars("registers", Object.entries(registers).map(([name, n]) => ({name, values: [[n, "work", ""]]})), "");
  drawMemory("smem", kernel.smem, "bytes"); drawMemory("tmem", kernel.tmem, "columns"); drawAllLives();
  $("ptxas").textContent = kernel.texts.ptxas || "not run"; $("report").textContent = Object.values(kernel.texts).join("\n\n");
}
$("title").textContent = data.title + " for " + data.chip; $("about").textContent = "fa4 " + data.version;
data.kernels.forEach((k, i) => make("option", {value: i}, k.name, $("kernel"))); $("kernel").value = data.kernels.indexOf(kernel); $("chooser").hidden = data.kernels.length < 2;
$("kernel").addEventListener("change", () => { kernel = data.kernels[$("kernel").value]; show(); });
$("zoom").addEventListener("input", () => { drawSchedule(); drawAllLives(); });
for (const [select, pane] of panes) {
  data.levels.forEach((l, i) => make("option", {value: i}, l.level, $(select)));
  $(select).addEventListener("change", () => fill(select, pane, $(select).value));
  $(pane).addEventListener("click", event => { const line = event.target.closest(".ir > div"); if (line) highlight(line, pane); });
}
$("search").addEventListener("input", () => search(true)); $("next").addEventListener("click", next);
fill("left", "leftir", 0); fill("right", "rightir", Math.min(6, data.levels.length - 1)); show();
let wait; window.addEventListener("resize", () => { clearTimeout(wait); wait = setTimeout(show, 100); });
document.body.dataset.ready = "yes";
</script>
</body>
</html>
"""
