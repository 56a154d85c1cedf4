// Part of Hocket, under the Apache License v2.0.
//
// Evaluated in a page of Hocket: which of its texts cover one another, what is
// wider than the page or cut off, and how its charts are filled.
(() => {
  "use strict";
  const width = document.documentElement.clientWidth, wide = [], covered = [], squeezed = [];

  /** What is seen of a box inside of everything that scrolls or cuts it. */
  function seen(box, node) {
    let { left, right, top, bottom } = box;
    for (let e = node; e && e !== document.body; e = e.parentElement) {
      const style = getComputedStyle(e);
      if (style.display === "none" || style.visibility === "hidden") return null;
      if (style.overflowX === "visible" && style.overflowY === "visible") continue;
      const frame = e.getBoundingClientRect();
      left = Math.max(left, frame.left);
      right = Math.min(right, frame.right);
      top = Math.max(top, frame.top);
      bottom = Math.min(bottom, frame.bottom);
    }
    return right - left > 1 && bottom - top > 1 ? { left, right, top, bottom } : null;
  }

  // A box for every line of every text.
  const boxes = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement, text = node.textContent.trim();
    if (!text || parent.closest("script, style, title, option, #tip")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      const box = seen(rect, parent);
      if (!box) continue;
      // What fonts leave above and below letters covers nothing.
      const air = (box.bottom - box.top) * 0.15;
      boxes.push({ ...box, top: box.top + air, bottom: box.bottom - air, node, text });
      if (rect.right > width + 1 && !parent.closest("nav") || rect.left < -1) wide.push(`${text}: ${rect.left} to ${rect.right}`);
    }
  }
  boxes.sort((a, b) => a.top - b.top);
  for (let i = 0; i < boxes.length; ++i)
    for (let j = i + 1; j < boxes.length && boxes[j].top < boxes[i].bottom; ++j) {
      const a = boxes[i], b = boxes[j];
      if (a.node !== b.node && a.left + 0.5 < b.right && b.left + 0.5 < a.right) {
        // Heads of tables stay in sight above what is scrolled under them.
        if (a.node.parentElement.closest("nav, th") || b.node.parentElement.closest("nav, th")) {
          if (scrollY > 0) continue;
        }
        covered.push(`'${a.text.slice(0, 60)}' and '${b.text.slice(0, 60)}'`);
      }
    }

  for (const e of document.body.querySelectorAll("*")) {
    if (e.closest("svg") && e.tagName !== "svg") continue;
    if (e.scrollWidth > e.clientWidth + 1 && e.matches(".scroll, section, main, header"))
      wide.push(`${e.tagName}#${e.id || e.parentElement.id} is ${e.scrollWidth} in ${e.clientWidth}`);
  }
  if (document.documentElement.scrollWidth > width) wide.push(`the page is ${document.documentElement.scrollWidth} in ${width}`);
  // A column of prose of a word a line.
  for (const cell of document.querySelectorAll("td.prose")) {
    const box = cell.getBoundingClientRect();
    if (cell.textContent.length > 40 && box.width > 0 && box.height > 6 * Math.sqrt(cell.textContent.length) * 10)
      squeezed.push(`${cell.textContent.slice(0, 60)}: ${Math.round(box.width)} x ${Math.round(box.height)}`);
  }
  const marks = {};
  for (const chart of document.querySelectorAll(".chart")) {
    const canvas = chart.querySelector("canvas");
    const pixels = canvas && canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    marks[chart.id] = {
      shapes: chart.querySelectorAll("rect, circle, polygon").length,
      texts: chart.querySelectorAll("text").length,
      colors: pixels ? new Set(new Uint32Array(pixels.buffer)).size : 0,
    };
  }
  const css = getComputedStyle(document.body);
  return {
    wide, covered, squeezed, marks, texts: boxes.length, paper: css.backgroundColor, ink: css.color,
    first_chart: document.querySelector(".chart").getBoundingClientRect().top + scrollY,
    words: document.body.innerText,
  };
})()
