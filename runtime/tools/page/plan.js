// Part of Hocket, under the Apache License v2.0.
//
// Draws what PlanPage.h describes. Everything shown comes from the element
// #data.

function showSummary(data) {
  byId("title").textContent = `${data.model} on ${grouped(data.devices)} × ${data.system}`;
  byId("subtitle").replaceChildren(listCode(data.plan));
  document.title = `${data.model} on ${data.devices} ${data.system}: Hocket plan`;
  const seconds = data.nanoseconds * 1e-9;
  const facts = [
    [`${timeText(seconds)} ± ${(100 * data.spread).toFixed(1)} %`, "predicted step"],
    [`${bytesText(data.bytes)} of ${bytesText(data.capacity)}`, "memory of the fullest rank"],
    [`${countText(Math.round(data.tokens_per_second))} tokens/s`, "of each device"],
    [`${shareText(data.flops_per_second, data.peak_flops)}`,
      `of peak: ${countText(data.flops_per_second).replace(/(\D)$/, " $1")}FLOP/s of each device`],
    [countText(data.parameters), "parameters"],
    [`${grouped(data.global_batch)} × ${grouped(data.sequence)}`, "sequences × tokens a step"],
    [`${(100 * data.gap).toFixed(2)} %`, "at most faster: any other plan that fits, under the cost model"],
    [grouped(data.bounded), `plans were bounded, ${grouped(data.priced)} of them priced`],
  ];
  if (data.host_bytes) facts.splice(2, 0, [bytesText(data.host_bytes), "memory of the host, of a rank"]);
  showFacts(facts);
}

/** A bar of all items, and a table of each with its share. */
function showItems(name, items, total, colorOf, text) {
  const rows = items.filter((item) => item.value !== 0).sort((a, b) => b.value - a.value);
  byId(name + "-stack").replaceChildren(...rows.filter((r) => r.value > 0).map((r) =>
    element("i", undefined, {
      style: `flex: ${r.value} 1 0; background: ${colorOf(r.name)}`, title: `${r.name} ${text(r.value)}`,
    })));
  const most = Math.max(...rows.map((r) => r.value));
  fillTable(name + "-table", [
    ["item", (r) => r.name],
    [name === "time" ? "time" : "bytes", (r) => text(r.value), "number", (r) => r.value],
    ["share", (r) => shareText(r.value, total), "number", (r) => r.value],
    ["", (r) => barsOf([[Math.max(0, r.value) / most, colorOf(r.name)]]), "bar", (r) => r.value],
  ], rows);
}

function showPrice(data) {
  byId("price-note").textContent =
    `Time of pipeline rank ${data.busiest}, which is done last: ${timeText(data.nanoseconds * 1e-9)}. ` +
    `Bytes of rank ${data.fullest}, which has the most: ${bytesText(data.bytes)}.`;
  showItems("time", data.time, data.nanoseconds, termColor, (ns) => timeText(ns * 1e-9));
  showItems("bytes", data.memory[data.fullest], data.bytes, kindColor, bytesText);
}

//===--- Time against memory -----------------------------------------------===

/** Where texts are, so that others find room: boxes of [x, y, width]. */
class TakenRoom {
  constructor(left, top, right, bottom) {
    Object.assign(this, { left, top, right, bottom, boxes: [] });
  }
  isFree(x, y, width) {
    const height = 15;
    if (x < this.left || x + width > this.right || y - height < this.top || y > this.bottom) return false;
    return this.boxes.every(([bx, by, bw]) => x >= bx + bw || bx >= x + width || y - height >= by || by - height >= y);
  }
  take(x, y, width) { this.boxes.push([x, y, width]); }
}

function drawPareto(data) {
  const drawing = new Drawing(document.querySelector("#pareto-chart svg"));
  const height = drawing.width < 560 ? 280 : 320;
  drawing.clear(height);
  const left = 64, right = drawing.width - 16, top = 30, bottom = height - 28;
  const times = data.front.map((p) => p.nanoseconds * 1e-9);
  const low = 0.97 * Math.min(...times), high = 1.03 * Math.max(...times);
  const most = 1.06 * Math.max(data.capacity, ...data.front.map((p) => p.bytes));
  const x = (bytes) => left + (bytes / most) * (right - left);
  const y = (seconds) => bottom - ((seconds - low) / (high - low || 1)) * (bottom - top);
  for (const { value, text } of timeTicks(low, high, 5)) {
    drawing.line(left, y(value), right, y(value));
    drawing.text(left - 6, y(value) + 4, text, { anchor: "end" });
  }
  const ticks = ticksThatFit((n) => byteTicks(most, n), right - left);
  drawAxisX(drawing, ticks, x, height - 9, bottom, bottom + 4, drawing.width);
  drawing.line(x(data.capacity), top - 4, x(data.capacity), bottom, "limit-line");
  drawing.text(x(data.capacity), top - 11, "a device has " + bytesText(data.capacity), { anchor: "end", name: "limit" });
  const points = data.front.map((plan, i) => ({ plan, x: x(plan.bytes), y: y(times[i]), seconds: times[i] }));
  drawing.add("polyline", { points: points.map((p) => `${p.x},${p.y}`).join(" "), class: "path" });
  const room = new TakenRoom(left + 2, top, right, bottom);
  for (const p of points) room.take(p.x - 7, p.y + 7, 14);
  for (let at = top; at < bottom + 15; at += 15) room.take(x(data.capacity) - 2, at, 4);
  for (const p of points) {
    const isBest = p.plan.plan === data.plan;
    const dot = drawing.add("circle", { cx: p.x, cy: p.y, r: isBest ? 7 : 5.5, class: isBest ? "dot best" : "dot" }, p.plan.plan);
    dot.addEventListener("pointermove", (event) =>
      showTip(event, `${timeText(p.seconds)}, ${bytesText(p.plan.bytes)}\n${p.plan.plan}`));
    dot.addEventListener("pointerleave", (event) => showTip(event, null));
    const text = `${timeText(p.seconds)}, ${bytesText(p.plan.bytes)}`, width = textWidth(text) + 6;
    const places = [[p.x + 10, p.y + 4], [p.x - 10 - width, p.y + 4], [p.x - width / 2, p.y - 10],
      [p.x - width / 2, p.y + 21], [p.x + 8, p.y - 8], [p.x - width - 8, p.y + 18]];
    const place = places.find(([px, py]) => room.isFree(px, py, width));
    if (!place) continue;
    room.take(...place, width);
    drawing.text(place[0], place[1], text, { name: "ink" });
  }
}

//===--- Memory of ranks ---------------------------------------------------===

function drawRanks(data) {
  const drawing = new Drawing(document.querySelector("#ranks-chart svg"));
  const row = 22, top = 26, bottom = top + row * data.memory.length;
  drawing.clear(bottom + 28);
  const left = drawing.width < 560 ? 58 : 74, right = drawing.width - 16;
  const totals = data.memory.map((items) => items.reduce((sum, item) => sum + item.value, 0));
  const most = 1.02 * Math.max(data.capacity, ...totals);
  const x = (bytes) => left + (bytes / most) * (right - left);
  const ticks = ticksThatFit((n) => byteTicks(most, n), right - left);
  drawAxisX(drawing, ticks, x, bottom + 19, top - 4, bottom + 4, drawing.width);
  data.memory.forEach((items, rank) => {
    const y = top + row * rank;
    let at = 0;
    for (const { name, value } of items) {
      if (value > 0)
        drawing.add("rect", {
          x: x(at), y, width: Math.max(0.5, x(at + value) - x(at) - 0.5), height: row - 5, rx: 1,
          style: `fill: ${kindColor(name)}`,
        }, `${name} ${bytesText(value)}`);
      at += value;
    }
    drawing.text(6, y + 13, "rank " + rank, { name: "ink" });
    const text = bytesText(at), width = textWidth(text) + 8, end = x(at), limit = x(data.capacity);
    // Behind the bar where neither the edge nor the mark is in the way.
    const fits = end + width < right && (end + width < limit || end > limit);
    if (fits) drawing.text(end + 5, y + 13, text, { name: "ink" });
    else drawing.text(end - 5, y + 13, text, { anchor: "end", name: "on-bar" });
  });
  drawing.line(x(data.capacity), top - 6, x(data.capacity), bottom + 2, "limit-line");
  drawing.text(x(data.capacity), top - 11, "a device has " + bytesText(data.capacity), { anchor: "end", name: "limit" });
}

//===--- Schedule and neighbours -------------------------------------------===

function showSchedule(data) {
  const timeline = data.timeline, shown = timeline.seconds;
  byId("schedule-note").textContent =
    `${timeline.whole ? "All" : "The first part"} of the passes, ${timeText(shown)}: one lane a pipeline rank, ` +
    "each pass with the number of its microbatch.";
  const kinds = new Set(timeline.roles.flatMap((role) => role.runs.map((run) => fragmentKind(role.fragments[run[0]]))));
  showLegend("legend", [...kinds].map((kind) => [fragmentNames[kind], `var(--${kind})`]));
  return new Gantt(byId("gantt-chart"), timeline);
}

function showNeighbours(data) {
  const change = (r) => {
    const cell = document.createDocumentFragment();
    const plan = element("small");
    plan.append(listCode(r.plan));
    cell.append(element("code", r.change), plan);
    return cell;
  };
  fillTable("neighbours-table", [
    ["change and plan", change, "change", (r) => r.change],
    ["why not", (r) => r.reason, "prose"],
  ], data.neighbours);
}

function showPage() {
  const data = readData();
  showSummary(data);
  showPrice(data);
  const gantt = showSchedule(data);
  showNeighbours(data);
  const kinds = data.memory[data.fullest].filter((item) => data.memory.some((r) => r.some((i) => i.name === item.name && i.value > 0)));
  showLegend("ranks-legend", kinds.map((item) => [item.name, kindColor(item.name)]));
  byId("pareto-note").textContent =
    "Plans of which no other is both faster and smaller; the green one is the plan of this page. Point at one to see it.";
  keepDrawn(() => {
    drawPareto(data);
    drawRanks(data);
    gantt.draw();
  });
}

if (typeof document !== "undefined") showPage();
