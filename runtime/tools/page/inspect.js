// Part of Hocket, under the Apache License v2.0.
//
// Draws what PageReport.h describes. Everything shown comes from the element
// #data; functions that only compute stand first and touch no document.

//===--- Rows of tables ----------------------------------------------------===

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

/** "12.5 % more", "3.0 % less" of a ratio. */
const moreOrLess = (ratio) => `${(100 * Math.abs(ratio - 1)).toFixed(1)} % ${ratio < 1 ? "less" : "more"}`;

/** Terms of the step as rows, the largest first; a term of less than a
 *  thousandth is left out. */
function termRows(timeline) {
  const priced = timeline.price ? timeline.price.terms : {};
  const names = new Set([...Object.keys(timeline.terms), ...Object.keys(priced)]);
  return [...names]
    .map((name) => ({ name, here: timeline.terms[name] || 0, there: priced[name] || 0 }))
    .filter((row) => Math.max(Math.abs(row.here), Math.abs(row.there)) >= 1e-3 * timeline.seconds)
    .sort((a, b) => Math.max(b.here, b.there) - Math.max(a.here, a.there));
}

const boundColors = { compute: "var(--f)", memory: "var(--w)", latency: "var(--term-recompute)", link: "var(--comm)" };

/** What a role's stream 0 spends the step on: [name, seconds, colour as CSS]. */
function boundParts(roofline, role) {
  const parts = Object.entries(role.seconds_by_bound).map(([name, s]) => [name, s, boundColors[name]]);
  const rest = roofline.seconds - parts.reduce((sum, part) => sum + part[1], 0);
  parts.push(["waiting, or between steps", Math.max(0, rest), "var(--other)"]);
  return parts.filter((part) => part[1] > 1e-3 * roofline.seconds);
}

//===--- Sections ----------------------------------------------------------===

const ranksOf = (data) => Object.values(data.mesh).reduce((a, b) => a * b, 1);

function showSummary(data) {
  byId("title").textContent = `${data.model} on ${counted(ranksOf(data), "rank")}`;
  byId("subtitle").textContent =
    `compiled for ${data.target} by Hocket ${data.compiler}, fingerprint ${data.fingerprint.slice(0, 16)}`;
  document.title = data.model + ": Hocket executable";
  const peak = Math.max(...data.memory.map((m) => m.arena_bytes));
  const training = data.training;
  const facts = [
    [timeText(data.timeline.seconds), "predicted step"],
    [bytesText(peak), "memory of the largest rank"],
    [countText(data.parameter_count), "parameters"],
    [countText(data.flops_per_step), "FLOPs a step"],
    [Object.entries(data.mesh).map(([a, n]) => a + "=" + n).join(" ") || "one rank", "mesh, slowest axis first"],
    [`${grouped(training.global_batch_size)} × ${grouped(training.sequence_length)}`, "sequences × tokens a step"],
    [counted(training.microbatches, "microbatch").replace(/hs$/, "hes"),
      `of ${counted(training.micro_batch_size, "sequence")} on each rank`],
    [training.precision, "precision"],
  ];
  const sizes = training.batch_sizes;
  if (sizes.length > 1)
    facts.splice(6, 0, [grouped(sizes[0].batch_size),
      `sequences a step at first, all from sample ${grouped(sizes.at(-1).from_sample)} on`]);
  showFacts(facts);
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
  showLegend("legend", Object.entries(fragmentNames).map(([kind, name]) => [name, `var(--${kind})`]));
  return new Gantt(byId("gantt-chart"), timeline);
}

/** The program's terms beside its plan's, for a described cluster. */
function showTerms(data) {
  const timeline = data.timeline;
  if (!timeline.terms) return;
  byId("terms").hidden = byId("terms-link").hidden = false;
  const price = timeline.price, rows = termRows(timeline);
  const most = Math.max(...rows.map((r) => Math.max(r.here, r.there)));
  byId("terms-note").textContent = price
    ? `The rank that is done last: ${timeText(timeline.seconds)}. Its plan was priced at ` +
      `${timeText(price.seconds)} ± ${(100 * price.spread).toFixed(1)} %; this is ` +
      `${moreOrLess(timeline.seconds / price.seconds)}. ` +
      (data.roofline
        ? "The price has what steps of published systems reach; the program's kernels are priced one by one. "
        : "Both use one model of devices and operations; they differ in which kernels the program has and in what it " +
          "runs beside what. ") + "The pale bar is the plan's price."
    : `The rank that is done last: ${timeText(timeline.seconds)}.`;
  const named = (r) => {
    const cell = document.createDocumentFragment();
    cell.append(r.name);
    const differs = price && Math.abs(r.here - r.there) > 1e-2 * timeline.seconds;
    if (differs && timeline.reasons[r.name]) cell.append(element("small", timeline.reasons[r.name]));
    return cell;
  };
  const columns = [["goes into", named, "", (r) => r.name]];
  if (price) columns.push(["plan", (r) => timeText(r.there), "number", (r) => r.there]);
  columns.push(["program", (r) => timeText(r.here), "number", (r) => r.here]);
  columns.push(["", (r) => barsOf([r.here, ...(price ? [r.there] : [])].map((s) =>
    [Math.max(0, s) / most, termColor(r.name)])), "bar", (r) => r.here]);
  fillTable("terms-table", columns, rows);
}

/** The kernels of a program for GPUs, as inspect --roofline lists them. */
function showRoofline(data) {
  const roofline = data.roofline;
  if (!roofline) return;
  byId("roofline").hidden = byId("roofline-link").hidden = false;
  byId("roofline-note").textContent =
    `Predicted for ${roofline.device}; nothing was run. ${timeText(roofline.seconds)} a step, ` +
    `${grouped(Math.round(roofline.tokens_per_second))} tokens/s, MFU ${(100 * roofline.mfu).toFixed(1)} %. ` +
    `${grouped(roofline.multiprocessors)} multiprocessors; ${bytesText(roofline.needed_bytes)} must be in flight ` +
    `for the memory's bandwidth. Registers are ${roofline.registers_known ? "those of the code inside" : "not known"}. ` +
    "FLOPs and bytes are of one launch.";
  const choice = byId("roofline-role");
  roofline.roles.forEach((role, i) => choice.append(element("option", role.name, { value: i })));
  choice.value = roofline.last_role;
  choice.parentNode.hidden = roofline.roles.length === 1;
  const show = () => {
    const role = roofline.roles[Number(choice.value)], parts = boundParts(roofline, role);
    showLegend("roofline-legend", parts.map(([name, s, css]) =>
      [`${name} ${timeText(s)}, ${shareText(s, roofline.seconds)}`, css]));
    byId("roofline-stack").replaceChildren(...parts.map(([name, s, css]) =>
      element("i", undefined, { style: `width: ${(100 * s / roofline.seconds).toFixed(2)}%; background: ${css}`, title: name })));
    const count = (value) => (value === undefined ? "" : grouped(value));
    fillTable("roofline-table", [
      ["kernel", (r) => r.name, "code"],
      ["of the step", (r) => shareText(r.step_seconds, roofline.seconds), "number", (r) => r.step_seconds],
      ["a step", (r) => timeText(r.step_seconds), "number", (r) => r.step_seconds],
      ["launches", (r) => grouped(r.launches), "number", (r) => r.launches],
      ["each", (r) => timeText(r.seconds), "number", (r) => r.seconds],
      ["bound", (r) => r.bound],
      ["limited by", (r) => r.limit, "prose"],
      ["blocks", (r) => count(r.blocks), "number", (r) => r.blocks || 0],
      ["threads", (r) => count(r.threads), "number", (r) => r.threads || 0],
      ["registers", (r) => count(r.registers), "number", (r) => r.registers || 0],
      ["in flight", (r) => (r.in_flight_bytes ? shareText(r.in_flight_bytes, roofline.needed_bytes) : ""), "number",
        (r) => r.in_flight_bytes || 0],
      ["FLOPs", (r) => (r.flops ? countText(r.flops) : ""), "number", (r) => r.flops],
      ["bytes", (r) => bytesText(Math.round(r.bytes)), "number", (r) => r.bytes],
    ], role.kernels.slice());
  };
  choice.addEventListener("change", show);
  show();
}

//===--- Memory ------------------------------------------------------------===

function drawMemory(data, index) {
  const role = data.timeline.roles[index], plan = data.memory[index], memory = role.memory;
  const drawing = new Drawing(document.querySelector("#memory-chart svg")), height = 260;
  drawing.clear(height);
  const left = drawing.width < 560 ? 62 : 74, right = drawing.width - 8, bottom = height - 24;
  const seconds = data.timeline.seconds, total = seconds / data.timeline.tick || 1;
  const top = Math.max(plan.arena_bytes, memoryPeak(memory).bytes) * 1.1 || 1;
  const x = (time) => left + (time / total) * (right - left), y = (bytes) => bottom - (bytes / top) * (bottom - 8);
  for (const { value, text } of byteTicks(top, 5)) {
    drawing.line(left, y(value), right, y(value));
    drawing.text(left - 6, Math.max(12, y(value) + 4), text, { anchor: "end" });
  }
  const ticks = ticksThatFit((most) => timeTicks(0, seconds, most), right - left);
  drawAxisX(drawing, ticks, (s) => x(s / data.timeline.tick), height - 7, bottom, bottom + 4, drawing.width);
  const value = (kind, i) => (memory.bytes[kind].length === 1 ? memory.bytes[kind][0] : memory.bytes[kind][i]);
  const ends = memory.times.map((_, i) => x(i + 1 < memory.times.length ? memory.times[i + 1] : total).toFixed(1));
  let floor = memory.times.map(() => 0);
  memory.kinds.forEach((name, kind) => {
    const roof = floor.map((bytes, i) => bytes + value(kind, i)), points = [];
    for (let i = 0; i < roof.length; ++i)
      points.push(`${x(memory.times[i]).toFixed(1)},${y(roof[i]).toFixed(1)} ${ends[i]},${y(roof[i]).toFixed(1)}`);
    for (let i = roof.length - 1; i >= 0; --i)
      points.push(`${ends[i]},${y(floor[i]).toFixed(1)} ${x(memory.times[i]).toFixed(1)},${y(floor[i]).toFixed(1)}`);
    drawing.add("polygon", { points: points.join(" "), style: `fill: ${kindColor(name)}` }, name);
    floor = roof;
  });
  drawing.line(left, y(plan.arena_bytes), right, y(plan.arena_bytes), "limit-line");
  drawing.text(left + 5, y(plan.arena_bytes) - 5, "arena " + bytesText(plan.arena_bytes), { name: "limit" });
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
    showLegend("memory-legend", memory.kinds.map((name) => [name, kindColor(name)]));
    drawMemory(data, index);
    const rows = Object.entries(plan.at_peak).map(([kind, bytes]) => ({ kind, bytes }));
    fillTable("memory-table", [
      ["owner", (r) => r.kind],
      ["bytes", (r) => grouped(r.bytes), "number extra", (r) => r.bytes],
      ["size", (r) => bytesText(r.bytes), "number", (r) => r.bytes],
      ["of the arena", (r) => shareText(r.bytes, plan.arena_bytes), "number", (r) => r.bytes],
      ["", (r) => barsOf([[r.bytes / plan.arena_bytes, kindColor(r.kind)]]), "bar", (r) => r.bytes],
    ], rows);
  };
  choice.addEventListener("change", draw);
  return draw;
}

//===--- Tables ------------------------------------------------------------===

function showTables(data) {
  fillTable("parameters-table", [
    ["name", (r) => r.name, "code"], ["type", (r) => r.dtype],
    ["shape / axes", (r) => r.split, "code"], ["a rank's shard", (r) => r.local, "code"],
    ["bytes", (r) => grouped(r.bytes), "number", (r) => r.bytes],
    ["bytes of a rank", (r) => grouped(r.localBytes), "number", (r) => r.localBytes],
    ["state", (r) => r.slots], ["why", (r) => r.why, "prose"],
  ], parameterRows(data));
  fillTable("tensors-table", [
    ["name", (r) => r.name, "code"], ["made by", (r) => r.kind], ["in", (r) => r.where],
    ["type", (r) => r.dtype], ["shape / axes", splitText, "code"],
    ["bytes of a rank", (r) => grouped(r.local_bytes), "number", (r) => r.local_bytes],
    ["why", (r) => r.why, "prose"], ["source", (r) => r.source, "code"],
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
    ["why", (r) => r.why, "prose"], ["first at", (r) => r.first, "code"], ["source", (r) => r.source, "code"],
  ], data.collectives.slice());
  fillTable("kernels-table", [
    ["name", (r) => r.name, "code"], ["what", (r) => r.description, "prose"],
    ["tasks", (r) => grouped(r.tasks), "number", (r) => r.tasks],
    ["FLOPs", (r) => countText(r.flops), "number", (r) => r.flops],
    ["bytes", (r) => bytesText(r.bytes), "number", (r) => r.bytes],
  ], data.kernels.slice());
  const plan = Object.entries(data.training).map(([key, value]) =>
    ({ key, value: typeof value === "object" ? JSON.stringify(value) : String(value) }));
  for (const group of data.groups)
    plan.push({ key: `group ${group.name}`, value: `${group.members.length} × ${group.members.length ? group.members[0].length : 0} ranks` });
  fillTable("plan-table", [["", (r) => r.key, "code"], ["", (r) => r.value, "code"]], plan);
}

function showPage() {
  const data = readData();
  showSummary(data);
  const gantt = showSchedule(data), memory = showMemory(data);
  showTerms(data);
  showRoofline(data);
  showTables(data);
  keepDrawn(() => {
    gantt.draw();
    memory();
  });
}

if (typeof document !== "undefined") showPage();
