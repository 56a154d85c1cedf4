// Part of Hocket, under the Apache License v2.0.
//
// Added to a page of `hocket inspect --html`: points at everything in the
// schedule, near and far, and leaves what it saw as JSON in the element "seen".
"use strict";

addEventListener("load", () => {
  const gantt = byId("gantt"), tip = byId("tip"), tips = new Set();
  const at = (x, y, more) => {
    const box = gantt.getBoundingClientRect();
    return { clientX: box.left + gantt.clientLeft + x, clientY: box.top + gantt.clientTop + y, ...more };
  };
  const pointAtAll = () => {
    for (let y = 20; y < gantt.clientHeight; y += 4)
      for (let x = 90; x < gantt.clientWidth; x += 2) {
        gantt.dispatchEvent(new PointerEvent("pointermove", at(x, y)));
        if (!tip.hidden) tips.add(tip.textContent);
      }
  };
  for (const deltaY of [1, -1, -1]) {
    pointAtAll();
    gantt.dispatchEvent(new WheelEvent("wheel", at(300, 30, { deltaY, cancelable: true })));
  }
  gantt.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
  const colors = (canvas) => {
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    return new Set(new Uint32Array(pixels.buffer)).size;
  };
  const data = JSON.parse(byId("data").textContent);
  const tables = ["parameters", "tensors", "collectives", "kernels", "memory"];
  const seen = document.createElement("pre");
  seen.id = "seen";
  seen.textContent = JSON.stringify({
    title: byId("title").textContent,
    tips: [...tips],
    colors: [...document.querySelectorAll("canvas")].map(colors),
    rows: Object.fromEntries(
      tables.map((name) => [name, document.querySelectorAll(`#${name}-table tbody tr`).length])),
    groups: groupRows(data.collectives),
  });
  document.body.append(seen);
});
