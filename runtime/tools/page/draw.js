// Part of Hocket, under the Apache License v2.0.
//
// What every page draws with: numbers in words, tables, axes, and the two
// charts that pages share, a schedule and what memory holds. Functions that
// only compute stand first and touch no document.
"use strict";

//===--- Numbers and names -------------------------------------------------===

const byteUnits = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

function bytesText(bytes) {
  let unit = 0;
  while (bytes >= 1024 && unit < byteUnits.length - 1) {
    bytes /= 1024;
    ++unit;
  }
  return (unit ? bytes.toFixed(2) : String(bytes)) + " " + byteUnits[unit];
}

const timeUnits = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];

/** The unit in which a time is read: a minute is 60 s until there are two. */
function timeUnit(seconds) {
  const size = Math.abs(seconds);
  for (const [least, unit] of timeUnits)
    if (size >= (least > 1 ? 2 * least : least * 0.99995)) return [least, unit];
  return timeUnits[timeUnits.length - 1];
}

function timeText(seconds) {
  if (seconds === 0) return "0 s";
  const [size, unit] = timeUnit(seconds);
  return (seconds / size).toPrecision(4) + " " + unit;
}

function countText(count) {
  for (const [size, unit] of [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]])
    if (count >= size) return (count / size).toPrecision(4) + unit;
  return String(count);
}

const grouped = (n) => String(n).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
const shareText = (part, whole) => (whole ? ((100 * part) / whole).toFixed(1) : "0.0").replace(/^-(0\.0)$/, "$1") + " %";
const counted = (count, noun) => `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;

/** About `most` round values from `low` to `high`: a step of 1, 2 or 5. */
function roundTicks(low, high, most) {
  const rough = (high - low) / Math.max(1, most);
  if (!(rough > 0)) return { step: 1, values: [low] };
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((s) => s * power >= rough * (1 - 1e-9)) || 10);
  const values = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) values.push(i * step);
  return { step, values };
}

const digitsOf = (step) => Math.min(12, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));

/** Round times between two, each with its text, all in one unit. */
function timeTicks(low, high, most) {
  const [size, unit] = timeUnit(Math.max(Math.abs(low), Math.abs(high)));
  const { step, values } = roundTicks(low / size, high / size, most);
  return values.map((v) => ({ value: v * size, text: v.toFixed(digitsOf(step)) + " " + unit }));
}

function byteTicks(high, most) {
  let unit = 0;
  while (high / 1024 ** unit >= 1024 && unit < byteUnits.length - 1) ++unit;
  const size = 1024 ** unit, { step, values } = roundTicks(0, high / size, most);
  return values.map((v) => ({ value: v * size, text: v.toFixed(digitsOf(step)) + " " + byteUnits[unit] }));
}

/** What a fragment of the schedule is: F, B, W, U or other. */
function fragmentKind(name) {
  const kinds = [["forward", "f"], ["backward", "b"], ["weight", "w"], ["update", "u"]];
  for (const [start, kind] of kinds) if (name.startsWith(start)) return kind;
  return "other";
}

/** The last of `spans` that begins at or before `time`; -1 if none does. */
function lastBefore(spans, field, time) {
  let low = 0, high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle][field] <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The kinds of memory and the terms of a step have a colour in page.css. */
const kindColor = (name) => `var(--kind-${name.replaceAll(" ", "-")}, var(--other))`;
const termColor = (name) => `var(--term-${name.replaceAll(" ", "-")}, var(--other))`;

//===--- The document ------------------------------------------------------===

function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

const byId = (id) => document.getElementById(id);
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name);
const readData = () => JSON.parse(byId("data").textContent);

function showFacts(facts) {
  for (const [value, what] of facts) {
    const fact = element("div", undefined, { class: "fact" });
    fact.append(element("b", value), element("span", what));
    byId("summary").append(fact);
  }
}

/** Keys of a chart: [name, colour as CSS]. */
function showLegend(id, keys) {
  byId(id).replaceChildren(...keys.map(([name, css]) => {
    const key = element("span", undefined, { class: "key" });
    key.append(element("i", undefined, { style: `background: ${css}` }), name);
    return key;
  }));
}

/** Columns: [title, function of a row, "number" | "code" | "prose" | "bar" | "",
 *  what sorts]; " extra" behind a kind: not on a phone. A cell is text, or nodes. */
function fillTable(id, columns, rows) {
  const isMany = columns.length > 5 || (columns.length > 3 && columns.some((c) => c[2] === "prose"));
  const isPair = columns.length === 2 && columns[1][2] === "prose";
  const table = element("table", undefined, { class: isMany ? "many" : isPair ? "pair" : "few" });
  const head = element("tr"), body = element("tbody");
  columns.forEach(([title, text, kind, order]) => {
    const cell = element("th", title, { class: kind || "" });
    let down = false;
    cell.addEventListener("click", () => {
      const key = order || text;
      rows.sort((a, b) => {
        const x = key(a), y = key(b);
        const sign = x < y ? -1 : x > y ? 1 : 0;
        return down ? -sign : sign;
      });
      down = !down;
      draw();
    });
    head.append(cell);
  });
  let filter = "";
  function draw() {
    const lines = [];
    for (const row of rows) {
      const cells = columns.map(([, text]) => text(row));
      const words = cells.map((c) => (c instanceof Node ? c.textContent : String(c))).join(" ");
      if (filter && !words.toLowerCase().includes(filter)) continue;
      const line = element("tr");
      cells.forEach((cell, i) => {
        const kind = (columns[i][2] || "") + (i === 0 ? " first" : "");
        const made = element("td", undefined, { class: kind, "data-title": columns[i][0] });
        made.append(cell instanceof Node ? cell : String(cell));
        line.append(made);
      });
      lines.push(line);
    }
    body.replaceChildren(...lines);
  }
  draw();
  const top = element("thead");
  top.append(head);
  table.append(top, body);
  const scroll = element("div", undefined, { class: "scroll" });
  scroll.append(table);
  byId(id).replaceChildren(scroll);
  const input = document.querySelector(`[data-filter="${id}"]`);
  if (input)
    input.addEventListener("input", () => {
      filter = input.value.toLowerCase();
      draw();
    });
}

/** A text that may be broken behind its commas. */
function listCode(text) {
  const code = element("code");
  text.split(/(?<=[,/])/).forEach((part) => code.append(part, element("wbr")));
  return code;
}

/** Bars in a cell: [share from 0 to 1, colour as CSS]. */
function barsOf(bars) {
  const box = document.createDocumentFragment();
  for (const [share, css] of bars)
    box.append(element("i", undefined, { style: `width: ${(100 * share).toFixed(2)}%; background: ${css}` }));
  return box;
}

//===--- Charts ------------------------------------------------------------===

/** Lines, texts and shapes of a chart, in pixels; drawn anew at every width. */
class Drawing {
  constructor(svg) { this.svg = svg; }
  get width() { return this.svg.parentNode.clientWidth; }
  clear(height) {
    this.svg.replaceChildren();
    this.svg.setAttribute("height", height);
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${height}`);
  }
  add(tag, attributes, title) {
    const made = document.createElementNS(this.svg.namespaceURI, tag);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (title) {
      const tip = document.createElementNS(this.svg.namespaceURI, "title");
      tip.textContent = title;
      made.append(tip);
    }
    this.svg.append(made);
    return made;
  }
  line(x1, y1, x2, y2, name = "grid") { this.add("line", { x1, y1, x2, y2, class: name }); }
  text(x, y, text, { anchor = "start", name = "" } = {}) {
    const made = this.add("text", { x, y, "text-anchor": anchor, class: name });
    made.textContent = text;
    return made;
  }
}

const ruler = typeof document !== "undefined" ? document.createElement("canvas").getContext("2d") : null;
function textWidth(text) {
  ruler.font = "11px system-ui, sans-serif";
  return ruler.measureText(text).width;
}

/** The text, cut to a width. */
function fitted(text, width) {
  if (textWidth(text) <= width) return text;
  while (text.length > 1 && textWidth(text + "…") > width) text = text.slice(0, -1);
  return text + "…";
}

/** As many ticks as have room beside each other; `make` takes how many. */
function ticksThatFit(make, width) {
  for (let most = 10; most > 1; --most) {
    const ticks = make(most);
    const wide = Math.max(...ticks.map((t) => textWidth(t.text))) + 18;
    if (ticks.length * wide <= width) return ticks;
  }
  return make(1);
}

/** Labels of an axis along the bottom or the top; those that would leave the
 *  chart stand inside. */
function drawAxisX(drawing, ticks, xAt, y, top, bottom, right) {
  for (const { value, text } of ticks) {
    const x = xAt(value), half = textWidth(text) / 2;
    if (bottom > top) drawing.line(x, top, x, bottom);
    const middle = Math.min(x, right - half - 4);
    drawing.text(middle, y, text, { anchor: "middle" });
  }
}

const fragmentNames = {
  f: "forward", b: "backward", w: "weight gradient", u: "update", other: "other",
  comm: "collective, transfer",
};

/** What pipeline ranks do over time. `timeline` is as in PageReport.h. */
class Gantt {
  constructor(chart, timeline) {
    this.canvas = chart.querySelector("canvas");
    this.labels = new Drawing(chart.querySelector("svg"));
    this.timeline = timeline;
    this.total = timeline.seconds / timeline.tick || 1;
    this.from = 0;
    this.to = this.total;
    this.lanes = [];
    let y = 26;
    for (const role of timeline.roles) {
      const streams = [...new Set(role.beside.map((s) => s[0]))].sort((a, b) => a - b);
      const rows = new Map(streams.map((stream, i) => [stream, y + 24 + i * 8]));
      const beside = new Map(streams.map((s) => [s, role.beside.filter((x) => x[0] === s)]));
      this.lanes.push({ role, y, rows, beside });
      y += 28 + streams.length * 8;
    }
    this.height = y + 6;
    this.canvas.style.height = this.height + "px";
    this.listen();
  }

  listen() {
    const canvas = this.canvas;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.timeAt(event.offsetX));
    }, { passive: false });
    let last = null;
    canvas.addEventListener("pointerdown", (event) => {
      last = event.offsetX;
      canvas.setPointerCapture(event.pointerId);
      this.point(event);
    });
    canvas.addEventListener("pointerup", () => (last = null));
    canvas.addEventListener("pointermove", (event) => {
      if (last === null) return this.point(event);
      this.move(this.timeAt(last) - this.timeAt(event.offsetX));
      last = event.offsetX;
    });
    canvas.addEventListener("pointerleave", () => (byId("tip").hidden = true));
    canvas.addEventListener("keydown", (event) => {
      const step = (this.to - this.from) / 10, middle = (this.from + this.to) / 2;
      if (event.key === "ArrowLeft") this.move(-step);
      else if (event.key === "ArrowRight") this.move(step);
      else if (event.key === "+") this.zoom(0.8, middle);
      else if (event.key === "-") this.zoom(1.25, middle);
    });
    const middle = () => (this.from + this.to) / 2;
    byId("all").addEventListener("click", () => this.zoom(Infinity, middle()));
    byId("closer").addEventListener("click", () => this.zoom(0.5, middle()));
    byId("farther").addEventListener("click", () => this.zoom(2, middle()));
  }

  get left() { return this.canvas.clientWidth < 560 ? 62 : 90; }
  get width() { return this.canvas.clientWidth - this.left - 8; }
  timeAt(x) { return this.from + ((x - this.left) / this.width) * (this.to - this.from); }
  xAt(time) { return this.left + ((time - this.from) / (this.to - this.from)) * this.width; }

  zoom(factor, middle) {
    const least = Math.min(this.total, 50);
    const span = Math.min(this.total, Math.max(least, (this.to - this.from) * factor));
    const part = (middle - this.from) / (this.to - this.from);
    this.from = middle - part * span;
    this.to = this.from + span;
    this.move(0);
  }

  move(by) {
    const span = this.to - this.from;
    this.from = Math.min(Math.max(0, this.from + by), this.total - span);
    this.to = this.from + span;
    this.draw();
  }

  /** Calls `visit` for the spans that are in sight. */
  eachSeen(spans, begin, visit) {
    for (let i = Math.max(0, lastBefore(spans, begin, this.from)); i < spans.length; ++i) {
      if (spans[i][begin] > this.to) return;
      if (spans[i][begin] + spans[i][begin + 1] >= this.from) visit(spans[i]);
    }
  }

  draw() {
    const scale = window.devicePixelRatio || 1;
    this.canvas.width = this.canvas.clientWidth * scale;
    this.canvas.height = this.height * scale;
    const pen = this.canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = color("line");
    for (const seconds of this.drawLabels())
      pen.fillRect(Math.round(this.xAt(seconds / this.timeline.tick)), 20, 1, this.height);
    pen.beginPath();
    pen.rect(this.left, 0, this.width, this.height);
    pen.clip();
    for (const lane of this.lanes) this.drawLane(pen, lane);
  }

  /** Texts; the answer are the times that have one. */
  drawLabels() {
    const tick = this.timeline.tick;
    this.labels.clear(this.height);
    const ticks = ticksThatFit((most) => timeTicks(this.from * tick, this.to * tick, most), this.width);
    drawAxisX(this.labels, ticks, (seconds) => this.xAt(seconds / tick), 15, 0, 0,
      this.left + this.width + 8);
    for (const lane of this.lanes) {
      const name = lane.role.ranks > 1 ? `${lane.role.name} ×${grouped(lane.role.ranks)}` : lane.role.name;
      this.labels.text(6, lane.y + 14, fitted(name, this.left - 10), { name: "ink" });
    }
    return ticks.map((tick) => tick.value);
  }

  drawLane(pen, lane) {
    const colors = {};
    for (const name of ["f", "b", "w", "u", "other", "comm", "host", "paper"]) colors[name] = color(name);
    let seen = -1;
    this.eachSeen(lane.role.runs, 2, (run) => {
      const [sequence, microbatch, begin, length] = run;
      const x = this.xAt(begin), width = this.xAt(begin + length) - x;
      // Of many within a pixel, one.
      if (x + width < seen + 0.3) return;
      seen = x + width;
      pen.fillStyle = colors[fragmentKind(lane.role.fragments[sequence])];
      pen.fillRect(x, lane.y, Math.max(width - (width > 4 ? 0.7 : 0), 0.4), 20);
      if (width > 60) this.drawParts(pen, lane, run, x, width, colors);
      const text = String(microbatch);
      if (width > 6 + 7 * text.length) {
        pen.fillStyle = "#fff";
        pen.fillText(text, Math.max(x, this.left) + 3, lane.y + 13);
      }
    });
    for (const [stream, spans] of lane.beside)
      this.eachSeen(spans, 3, ([, , , begin, length, wait]) => {
        const x = this.xAt(begin), y = lane.rows.get(stream);
        pen.fillStyle = colors.comm;
        pen.globalAlpha = 0.35;
        pen.fillRect(x, y, Math.max(this.xAt(begin + wait) - x, 0.4), 6);
        pen.globalAlpha = 1;
        const start = this.xAt(begin + wait);
        pen.fillRect(start, y, Math.max(this.xAt(begin + length) - start, 0.4), 6);
      });
  }

  /** What a run does, as wide as it takes without waiting. */
  drawParts(pen, lane, [sequence, , , length, wait], x, width, colors) {
    const parts = lane.role.parts[sequence];
    const sum = parts.reduce((total, part) => total + part[2], 0) || 1;
    let at = x + (length ? (wait / length) * width : 0);
    const unit = (x + width - at) / sum;
    for (const [kind, , part] of parts) {
      if (kind > 0) {
        pen.fillStyle = kind === 1 ? colors.comm : colors.host;
        pen.fillRect(at, lane.y + 14, Math.max(part * unit, 0.4), 6);
      }
      at += part * unit;
    }
  }

  /** What stands under the pointer, in words; null for nothing. */
  describe(x, y) {
    const time = this.timeAt(x), tick = this.timeline.tick;
    const times = (begin, length, wait) =>
      `\nbegins ${timeText(begin * tick)}, takes ${timeText(length * tick)}` +
      (wait ? `, of which it waits ${timeText(wait * tick)}` : "");
    for (const lane of this.lanes) {
      if (y >= lane.y && y < lane.y + 20) {
        const run = lane.role.runs[lastBefore(lane.role.runs, 2, time)];
        if (!run || run[2] + run[3] < time) return null;
        const [sequence, microbatch, begin, length, wait] = run;
        const name = lane.role.fragments[sequence], kind = fragmentKind(name);
        const inside = new Map();
        for (const [, text, part] of lane.role.parts[sequence]) {
          const what = this.timeline.texts[text];
          inside.set(what, (inside.get(what) || 0) + part);
        }
        return `${lane.role.name}: ${fragmentNames[kind]} '${name}'\nmicrobatch ${microbatch}` +
          times(begin, length, wait) +
          [...inside].map(([what, part]) => `\n  ${what} ${timeText(part * tick)}`).join("");
      }
      for (const [stream, row] of lane.rows)
        if (y >= row && y < row + 8) {
          const spans = lane.beside.get(stream);
          const span = spans[lastBefore(spans, 3, time)];
          if (!span || span[3] + span[4] < time) return null;
          const streams = lane.role.streams || [];
          return `${lane.role.name}: ${this.timeline.texts[span[1]]}, on the stream ` +
            `'${streams[stream] || stream}'\nmicrobatch ${span[2]}` + times(span[3], span[4], span[5]);
        }
    }
    return null;
  }

  point(event) { showTip(event, this.describe(event.offsetX, event.offsetY)); }
}

/** Words beside the pointer; null hides them. */
function showTip(event, text) {
  const tip = byId("tip");
  tip.hidden = text === null;
  if (text === null) return;
  tip.textContent = text;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(8, Math.min(event.clientX + 14, window.innerWidth - box.width - 8)) + "px";
  const below = event.clientY + 14;
  tip.style.top = (below + box.height > window.innerHeight ? Math.max(8, event.clientY - box.height - 10) : below) + "px";
}

/** Draws now, at every change of width, and when light turns to dark. */
function keepDrawn(draw) {
  draw();
  let width = document.documentElement.clientWidth;
  window.addEventListener("resize", () => {
    if (document.documentElement.clientWidth === width) return;
    width = document.documentElement.clientWidth;
    draw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}
