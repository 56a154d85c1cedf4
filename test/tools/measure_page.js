// Part of Hocket, under the Apache License v2.0.
//
// Added to a page of `hocket plan --html`: leaves in the element "seen" the
// totals, how many marks each drawing has, which of them are out of sight, and
// which texts cover one another.
"use strict";

addEventListener("load", () => {
  const marks = {}, outside = [], covered = [];
  for (const drawing of document.querySelectorAll("svg")) {
    const frame = drawing.getBoundingClientRect(), texts = [];
    const all = drawing.querySelectorAll("rect, circle, text");
    marks[drawing.id] = all.length;
    for (const mark of all) {
      const box = mark.getBoundingClientRect();
      if (box.left < frame.left || box.right > frame.right || box.top < frame.top || box.bottom > frame.bottom)
        outside.push(`${drawing.id}: ${mark.textContent}`);
      if (mark.tagName !== "text") continue;
      for (const [other, text] of texts)
        if (box.left < other.right && other.left < box.right && box.top + 2 < other.bottom && other.top + 2 < box.bottom)
          covered.push(`${drawing.id}: ${text} and ${mark.textContent}`);
      texts.push([box, mark.textContent]);
    }
  }
  const data = (id) => document.getElementById(id).dataset;
  const totals = [data("time").nanoseconds, data("memory").bytes];
  const seen = document.createElement("pre");
  seen.id = "seen";
  seen.textContent = JSON.stringify({ totals, marks, outside, covered });
  document.body.append(seen);
});
