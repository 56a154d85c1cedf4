// Part of Hocket, under the Apache License v2.0.
//
// Draws what PageReport.h describes. Everything shown comes from the element
// #data; functions that only compute stand first and touch no document.
"use strict";

//===--- Numbers and names -------------------------------------------------===

function bytesText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) {
    bytes /= 1024;
    ++unit;
  }
  return (unit ? bytes.toFixed(2) : String(bytes)) + " " + units[unit];
}

function timeText(seconds) {
  if (seconds === 0) return "0 s";
  for (const [size, unit] of [[1, "s"], [1e-3, "ms"], [1e-6, "us"]])
    if (seconds >= size) return (seconds / size).toPrecision(4) + " " + unit;
  return (seconds * 1e9).toPrecision(3) + " ns";
}

function countText(count) {
  for (const [size, unit] of [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]])
    if (count >= size) return (count / size).toPrecision(4) + unit;
  return String(count);
}

const grouped = (n) => String(n).replace(/\B(?=(\d{3})+(?!\d))/g, ",");

/** What a fragment of the schedule is: F, B, W, U or other. */
function fragmentKind(name) {
  const kinds = [["forward", "f"], ["backward", "b"], ["weight", "w"], ["update", "u"]];
  for (const [start, kind] of kinds) if (name.startsWith(start)) return kind;
  return "other";
}

/** `layers.17.x` as `layers.*.x`, as tensors of all layers are named. */
const anyLayer = (name) =>
  name.split(".").map((part) => (/^\d+$/.test(part) ? "*" : part)).join(".");

/** "[4/dp, 16, 32/tp]" of a tensor's dims. */
const splitText = (tensor) =>
  "[" + tensor.dims.map((d) => [d.size, ...d.axes].join("/")).join(", ") + "]" +
  (tensor.partial.length ? " sum over " + tensor.partial.join(", ") : "");

/** Each parameter with how its values lie; without a plan, whole. */
function parameterRows(data) {
  const placed = new Map();
  for (const tensor of data.shardings)
    if (["parameter", "state"].includes(tensor.kind)) placed.set(tensor.name, tensor);
  const width = { f32: 4, bf16: 2, f16: 2, i32: 4, f64: 8, u8: 1 };
  return data.parameters.map((p) => {
    const whole = p.shape.reduce((a, b) => a * b, 1) * (width[p.dtype] || 0);
    const t = placed.get(p.name) || placed.get(anyLayer(p.name));
    return {
      name: p.name, dtype: p.dtype,
      split: t ? splitText(t) : "[" + p.shape.join(", ") + "]",
      local: t ? "[" + t.dims.map((d) => d.local).join(", ") + "]" : "[" + p.shape.join(", ") + "]",
      bytes: whole, localBytes: t ? t.local_bytes : whole,
      slots: p.slots.map((s) => s.name).join(", "), why: t ? t.why : "",
    };
  });
}

/** Collectives summed by group and kind: places, times and bytes a step. */
function groupRows(collectives) {
  const rows = new Map();
  for (const c of collectives) {
    const key = c.group + "\n" + c.op;
    const row = rows.get(key) ||
      { group: c.group, op: c.op, ranks: c.ranks, places: 0, perStep: 0, sent: 0 };
    row.places += c.instructions;
    row.perStep += c.per_step;
    row.sent += c.per_step * c.sent_bytes;
    rows.set(key, row);
  }
  return [...rows.values()];
}

/** How much of the step each role computes, waits, and has nothing to do. */
function roleShares(role, total) {
  let busy = 0, wait = 0;
  for (const [, , , length, waits] of role.runs) {
    busy += length - waits;
    wait += waits;
  }
  return { busy: busy / total, wait: wait / total, idle: 1 - (busy + wait) / total };
}

/** The greatest sum over kinds of memory, and where it is. */
function memoryPeak(memory) {
  let most = 0, at = 0;
  for (let i = 0; i < memory.times.length; ++i) {
    let sum = 0;
    for (const column of memory.bytes) sum += column.length === 1 ? column[0] : column[i];
    if (sum > most) [most, at] = [sum, i];
  }
  return { bytes: most, index: at };
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

//===--- The document ------------------------------------------------------===

function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

const byId = (id) => document.getElementById(id);
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name);

/** Columns: [title, function of a row, "number" | "code" | "" , what sorts]. */
function fillTable(id, columns, rows) {
  const table = element("table"), head = element("tr"), body = element("tbody");
  columns.forEach(([title, text, kind, order], index) => {
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
      const texts = columns.map(([, text]) => String(text(row)));
      if (filter && !texts.join(" ").toLowerCase().includes(filter)) continue;
      const line = element("tr");
      texts.forEach((text, i) => line.append(element("td", text, { class: columns[i][2] || "" })));
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

function showSummary(data) {
  byId("title").textContent = data.model + " on " + ranksOf(data) + " ranks";
  byId("subtitle").textContent =
    `for ${data.target}, compiled by Hocket ${data.compiler}, fingerprint ${data.fingerprint.slice(0, 16)}`;
  document.title = data.model + ": Hocket executable";
  const peak = Math.max(...data.memory.map((m) => m.arena_bytes));
  const facts = [
    [countText(data.parameter_count), "parameters"],
    [Object.entries(data.mesh).map(([a, n]) => a + "=" + n).join(" "), "mesh, slowest axis first"],
    [`${data.training.global_batch_size} x ${data.training.sequence_length}`, "sequences x tokens a step"],
    [`${data.training.microbatches} of ${data.training.micro_batch_size}`, "microbatches of a rank"],
    [data.training.precision, "precision"],
    [bytesText(peak), "memory of the largest rank"],
    [countText(data.flops_per_step), "FLOPs a step"],
    [timeText(data.timeline.seconds), "predicted step"],
  ];
  for (const [value, what] of facts) {
    const fact = element("div", undefined, { class: "fact" });
    fact.append(element("b", value), element("span", what));
    byId("summary").append(fact);
  }
}

const ranksOf = (data) => Object.values(data.mesh).reduce((a, b) => a * b, 1);

//===--- The schedule ------------------------------------------------------===

const names = {
  f: "forward", b: "backward", w: "weight gradient", u: "update", other: "other",
  comm: "collective, transfer", wait: "waits for ranks",
};

class Gantt {
  constructor(canvas, timeline) {
    this.canvas = canvas;
    this.timeline = timeline;
    this.total = timeline.seconds / timeline.tick || 1;
    this.from = 0;
    this.to = this.total;
    this.lanes = [];
    let y = 24;
    for (const role of timeline.roles) {
      const streams = [...new Set(role.beside.map((s) => s[0]))].sort((a, b) => a - b);
      const rows = new Map(streams.map((stream, i) => [stream, y + 24 + i * 8]));
      const beside = new Map(streams.map((s) => [s, role.beside.filter((x) => x[0] === s)]));
      this.lanes.push({ role, y, rows, beside });
      y += 30 + streams.length * 8;
    }
    this.height = y + 8;
    canvas.style.height = this.height + "px";
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.timeAt(event.offsetX));
    }, { passive: false });
    let last = null;
    canvas.addEventListener("pointerdown", (event) => {
      last = event.offsetX;
      canvas.setPointerCapture(event.pointerId);
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
  }

  get left() { return 90; }
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
    this.drawAxis(pen);
    for (const lane of this.lanes) {
      pen.fillStyle = color("ink");
      pen.fillText(`${lane.role.name} x${lane.role.ranks}`, 6, lane.y + 15, this.left - 10);
      pen.save();
      pen.beginPath();
      pen.rect(this.left, 0, this.width, this.height);
      pen.clip();
      this.drawLane(pen, lane);
      pen.restore();
    }
  }

  drawAxis(pen) {
    pen.fillStyle = color("soft");
    pen.strokeStyle = color("line");
    for (let i = 0; i <= 8; ++i) {
      const x = this.left + (i / 8) * this.width;
      pen.beginPath();
      pen.moveTo(x, 18);
      pen.lineTo(x, this.height);
      pen.stroke();
      pen.textAlign = i === 8 ? "right" : "left";
      pen.fillText(timeText(this.timeAt(x) * this.timeline.tick), x + (i === 8 ? -2 : 2), 13);
    }
    pen.textAlign = "left";
  }

  drawLane(pen, lane) {
    const colors = {};
    for (const name of ["f", "b", "w", "u", "other", "comm", "host", "paper"]) colors[name] = color(name);
    let seen = -1;
    this.eachSeen(lane.role.runs, 2, (run) => {
      const [sequence, microbatch, begin, length, wait] = run;
      const x = this.xAt(begin), width = this.xAt(begin + length) - x;
      // Of many within a pixel, one.
      if (x + width < seen + 0.3) return;
      seen = x + width;
      pen.fillStyle = colors[fragmentKind(lane.role.fragments[sequence])];
      pen.fillRect(x, lane.y, Math.max(width - (width > 4 ? 0.7 : 0), 0.4), 20);
      if (width > 60) this.drawParts(pen, lane, run, x, width, colors);
      if (width > 14) {
        pen.fillStyle = "#fff";
        pen.fillText(String(microbatch), Math.max(x, this.left) + 3, lane.y + 12);
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
        return `${lane.role.name}: ${names[kind]} '${name}'\nmicrobatch ${microbatch}` +
          times(begin, length, wait) +
          [...inside].map(([what, part]) => `\n  ${what} ${timeText(part * tick)}`).join("");
      }
      for (const [stream, row] of lane.rows)
        if (y >= row && y < row + 8) {
          const spans = lane.beside.get(stream);
          const span = spans[lastBefore(spans, 3, time)];
          if (!span || span[3] + span[4] < time) return null;
          return `${lane.role.name}: ${this.timeline.texts[span[1]]} on stream ${stream}\n` +
            `microbatch ${span[2]}` + times(span[3], span[4], span[5]);
        }
    }
    return null;
  }

  point(event) {
    const tip = byId("tip"), text = this.describe(event.offsetX, event.offsetY);
    tip.hidden = text === null;
    if (text === null) return;
    tip.textContent = text;
    tip.style.left = Math.min(event.clientX + 14, window.innerWidth - 430) + "px";
    tip.style.top = event.clientY + 14 + "px";
  }
}

function showSchedule(data) {
  const timeline = data.timeline, total = timeline.seconds / timeline.tick || 1;
  const shares = timeline.roles.map((role) => roleShares(role, total));
  const mean = (key) => shares.reduce((sum, s) => sum + s[key], 0) / shares.length;
  byId("schedule-note").textContent =
    `Predicted for ${timeline.device}. One lane a pipeline rank: what its ranks do, all of them ` +
    `at the same time. On average ${(mean("busy") * 100).toFixed(1)} % of the step is work, ` +
    `${(mean("wait") * 100).toFixed(1)} % waits for other ranks within a fragment, ` +
    `${(mean("idle") * 100).toFixed(1)} % is idle between fragments (the bubble).`;
  for (const kind of ["f", "b", "w", "u", "other", "comm"]) {
    const key = element("span", undefined, { class: "key" });
    key.append(element("i", undefined, { style: `background: var(--${kind})` }), names[kind]);
    byId("legend").append(key);
  }
  const gantt = new Gantt(byId("gantt"), timeline);
  const middle = () => (gantt.from + gantt.to) / 2;
  byId("all").addEventListener("click", () => gantt.zoom(Infinity, middle()));
  byId("closer").addEventListener("click", () => gantt.zoom(0.5, middle()));
  byId("farther").addEventListener("click", () => gantt.zoom(2, middle()));
  return gantt;
}

//===--- Memory ------------------------------------------------------------===

const kindColor = (i) => `hsl(${(i * 137.5) % 360} 55% 55%)`;

function drawMemory(data, index) {
  const role = data.timeline.roles[index], plan = data.memory[index], memory = role.memory;
  const canvas = byId("memory-chart"), scale = window.devicePixelRatio || 1, height = 260;
  canvas.style.height = height + "px";
  canvas.width = canvas.clientWidth * scale;
  canvas.height = height * scale;
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.font = "11px system-ui, sans-serif";
  const left = 90, width = canvas.clientWidth - left - 8, bottom = height - 20;
  const total = data.timeline.seconds / data.timeline.tick || 1;
  const top = Math.max(plan.arena_bytes, memoryPeak(memory).bytes) * 1.05 || 1;
  const x = (time) => left + (time / total) * width, y = (bytes) => bottom - (bytes / top) * (bottom - 10);
  const value = (kind, i) => (memory.bytes[kind].length === 1 ? memory.bytes[kind][0] : memory.bytes[kind][i]);
  let floor = memory.times.map(() => 0);
  memory.kinds.forEach((name, kind) => {
    const roof = floor.map((bytes, i) => bytes + value(kind, i));
    pen.beginPath();
    for (let i = 0; i < roof.length; ++i) {
      const next = i + 1 < roof.length ? memory.times[i + 1] : total;
      pen.lineTo(x(memory.times[i]), y(roof[i]));
      pen.lineTo(x(next), y(roof[i]));
    }
    for (let i = roof.length - 1; i >= 0; --i) {
      const next = i + 1 < roof.length ? memory.times[i + 1] : total;
      pen.lineTo(x(next), y(floor[i]));
      pen.lineTo(x(memory.times[i]), y(floor[i]));
    }
    pen.fillStyle = kindColor(kind);
    pen.fill();
    floor = roof;
  });
  pen.strokeStyle = pen.fillStyle = color("comm");
  pen.beginPath();
  pen.moveTo(left, y(plan.arena_bytes));
  pen.lineTo(left + width, y(plan.arena_bytes));
  pen.stroke();
  pen.fillText("arena " + bytesText(plan.arena_bytes), left + 4, y(plan.arena_bytes) - 3);
  pen.fillStyle = color("soft");
  for (let i = 0; i <= 4; ++i) pen.fillText(bytesText(Math.round((top * i) / 4)), 4, y((top * i) / 4) + 4);
  pen.fillText("0 s", left, height - 5);
  pen.textAlign = "right";
  pen.fillText(timeText(data.timeline.seconds), left + width, height - 5);
  pen.textAlign = "left";
}

function showMemory(data) {
  const choice = byId("memory-role");
  data.timeline.roles.forEach((role, i) => {
    const ranks = role.ranks === 1 ? `rank ${role.first_rank}` : `${role.ranks} ranks from ${role.first_rank}`;
    choice.append(element("option", `${role.name}: ${ranks}`, { value: i }));
  });
  const draw = () => {
    const index = Number(choice.value || 0), plan = data.memory[index];
    const memory = data.timeline.roles[index].memory;
    if (!memory.kinds) return;
    byId("memory-legend").replaceChildren(...memory.kinds.map((name, i) => {
      const key = element("span", undefined, { class: "key" });
      key.append(element("i", undefined, { style: `background: ${kindColor(i)}` }), name);
      return key;
    }));
    drawMemory(data, index);
    const rows = Object.entries(plan.at_peak).map(([kind, bytes]) => ({ kind, bytes }));
    fillTable("memory-table", [
      ["owner", (r) => r.kind],
      ["bytes", (r) => grouped(r.bytes), "number", (r) => r.bytes],
      ["", (r) => bytesText(r.bytes), "number", (r) => r.bytes],
      ["share of the arena", (r) => ((100 * r.bytes) / plan.arena_bytes).toFixed(1) + " %", "number", (r) => r.bytes],
    ], rows);
  };
  choice.addEventListener("change", draw);
  return draw;
}

//===--- Tables ------------------------------------------------------------===

function showTables(data) {
  fillTable("parameters-table", [
    ["name", (r) => r.name, "code"], ["type", (r) => r.dtype],
    ["shape / axes", (r) => r.split, "code"], ["of a rank", (r) => r.local, "code"],
    ["bytes", (r) => grouped(r.bytes), "number", (r) => r.bytes],
    ["of a rank", (r) => grouped(r.localBytes), "number", (r) => r.localBytes],
    ["state", (r) => r.slots], ["why", (r) => r.why],
  ], parameterRows(data));
  fillTable("tensors-table", [
    ["name", (r) => r.name, "code"], ["made by", (r) => r.kind], ["in", (r) => r.where],
    ["type", (r) => r.dtype], ["shape / axes", splitText, "code"],
    ["bytes of a rank", (r) => grouped(r.local_bytes), "number", (r) => r.local_bytes],
    ["why", (r) => r.why], ["source", (r) => r.source, "code"],
  ], data.shardings.slice());
  fillTable("groups-table", [
    ["group", (r) => r.group], ["collective", (r) => r.op],
    ["ranks", (r) => r.ranks, "number"], ["places", (r) => grouped(r.places), "number", (r) => r.places],
    ["times a step", (r) => grouped(r.perStep), "number", (r) => r.perStep],
    ["sent a step", (r) => bytesText(r.sent), "number", (r) => r.sent],
  ], groupRows(data.collectives));
  fillTable("collectives-table", [
    ["group", (r) => r.group], ["collective", (r) => r.op],
    ["times a step", (r) => grouped(r.per_step), "number", (r) => r.per_step],
    ["gives", (r) => bytesText(r.from_bytes), "number", (r) => r.from_bytes],
    ["gets", (r) => bytesText(r.to_bytes), "number", (r) => r.to_bytes],
    ["sends", (r) => bytesText(Math.round(r.sent_bytes)), "number", (r) => r.sent_bytes],
    ["why", (r) => r.why], ["first at", (r) => r.first, "code"], ["source", (r) => r.source, "code"],
  ], data.collectives.slice());
  fillTable("kernels-table", [
    ["name", (r) => r.name, "code"], ["what", (r) => r.description],
    ["tasks", (r) => grouped(r.tasks), "number", (r) => r.tasks],
    ["FLOPs", (r) => countText(r.flops), "number", (r) => r.flops],
    ["bytes", (r) => bytesText(r.bytes), "number", (r) => r.bytes],
  ], data.kernels.slice());
  const plan = Object.entries(data.training).map(([key, value]) =>
    ({ key, value: typeof value === "object" ? JSON.stringify(value) : String(value) }));
  for (const group of data.groups)
    plan.push({ key: `group ${group.name}`, value: `${group.members.length} x ${group.members.length ? group.members[0].length : 0} ranks` });
  fillTable("plan-table", [["", (r) => r.key, "code"], ["", (r) => r.value, "code"]], plan);
}

function showPage() {
  const data = JSON.parse(byId("data").textContent);
  showSummary(data);
  const gantt = showSchedule(data), memory = showMemory(data);
  showTables(data);
  const draw = () => {
    gantt.draw();
    memory();
  };
  draw();
  window.addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}

if (typeof document !== "undefined") showPage();
