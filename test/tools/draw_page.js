// Part of Hocket, under the Apache License v2.0.
//
// node draw_page.js PAGE: runs the page's script against elements that only
// remember, points at every fragment, and prints what it computed as JSON.
"use strict";

const fs = require("fs");

const page = fs.readFileSync(process.argv[2], "utf8");
const data = page.match(/<script type="application\/json" id="data">([^]*?)<\/script>/)[1];
const script = page.match(/<script>\n([^]*?)<\/script>/)[1];

let drawn = 0;
const pen = new Proxy({}, {
  get: (target, key) => (key in target ? target[key] : () => void ++drawn),
  set: (target, key, value) => ((target[key] = value), true),
});

class Element {
  constructor() {
    Object.assign(this, { children: [], style: {}, attributes: {}, listeners: {}, value: "", hidden: true });
    this.clientWidth = 1200;
  }
  append(...children) { this.children.push(...children); }
  replaceChildren(...children) { this.children = children; }
  setAttribute(key, value) { this.attributes[key] = value; }
  addEventListener(name, listener) { this.listeners[name] = listener; }
  getContext() { return pen; }
  setPointerCapture() {}
}

const known = {};
const document = {
  documentElement: {},
  getElementById: (id) => (known[id] ||= Object.assign(new Element(), id === "data" ? { textContent: data } : {})),
  createElement: () => new Element(),
  querySelector: () => null,
};
const window = { devicePixelRatio: 1, innerWidth: 1300, addEventListener() {} };
const matchMedia = () => ({ addEventListener() {} });
const getComputedStyle = () => ({ getPropertyValue: () => "#000" });
const module_ = { exports: {} };
new Function("module", "document", "window", "matchMedia", "getComputedStyle", script)(
  module_, document, window, matchMedia, getComputedStyle);

const functions = module_.exports, parsed = JSON.parse(data), tips = new Set();
const gantt = known.gantt, point = (x, y) => {
  gantt.listeners.pointermove({ offsetX: x, offsetY: y, clientX: x, clientY: y });
  if (!known.tip.hidden) tips.add(known.tip.textContent);
};
for (const factor of [1, -1, -1]) {
  for (let y = 20; y < 120; y += 4) for (let x = 90; x < 1190; x += 2) point(x, y);
  gantt.listeners.wheel({ deltaY: factor, offsetX: 300, preventDefault() {} });
}
gantt.listeners.keydown({ key: "ArrowRight" });
const rowsOf = (id) => known[id].children[0].children[0].children[1].children.length;
console.log(JSON.stringify({
  drawn,
  title: known.title.textContent,
  tips: [...tips],
  rows: Object.fromEntries(
    ["parameters-table", "tensors-table", "collectives-table", "kernels-table", "memory-table"].map((id) => [id, rowsOf(id)])),
  groups: functions.groupRows(parsed.collectives),
  parameters: functions.parameterRows(parsed),
  peaks: parsed.timeline.roles.map((role) => functions.memoryPeak(role.memory).bytes),
}));
