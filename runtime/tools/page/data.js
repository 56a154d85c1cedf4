// Part of Hocket, under the Apache License v2.0.
//
// Draws what CorpusReport.h describes. Everything shown comes from the element
// #data.

const sumOf = (list, field) => list.reduce((sum, item) => sum + item[field], 0);
const rangeText = ({ from, to }) => (from === to ? grouped(from) : `${grouped(from)} to ${grouped(to)}`);

/** A file has a colour; of many, some have the same. */
const fileColors = ["f", "b", "w", "u", "comm", "host", "other"];
const fileColor = (index) => `var(--${fileColors[index % fileColors.length]})`;

/** Documents and tokens of each length, of several files together, with the
 *  lengths between that none has. */
function lengthsOf(files) {
  const known = new Map();
  for (const { from, to, documents, tokens } of files.flatMap((file) => file.lengths)) {
    const range = known.get(from) || { from, to, documents: 0, tokens: 0 };
    range.documents += documents;
    range.tokens += tokens;
    known.set(from, range);
  }
  const found = [...known.values()].sort((a, b) => a.from - b.from), all = [];
  for (const range of found) {
    for (let last = all[all.length - 1]; last && last.to + 1 < range.from; last = all[all.length - 1]) {
      const from = last.to + 1;
      all.push({ from, to: from < 2 ? from : 2 * from - 1, documents: 0, tokens: 0 });
    }
    all.push(range);
  }
  return all;
}

/** How often a part is read while the blend reads as many tokens as there are. */
function passesOf(file, files) {
  const share = file.weight / sumOf(files, "weight");
  return file.tokens ? (share * sumOf(files, "tokens")) / file.tokens : 0;
}

function showSummary(files) {
  const documents = sumOf(files, "documents"), tokens = sumOf(files, "tokens");
  byId("title").textContent = `${countText(tokens)} tokens in ${counted(documents, "document")}`;
  byId("subtitle").replaceChildren(listCode(files.map((file) => file.prefix).join(", ")));
  document.title = files.length === 1 ? `${files[0].prefix}: Hocket data` : "Hocket data";
  const facts = [
    [grouped(tokens), "tokens"],
    [grouped(documents), "documents"],
    [grouped(sumOf(files, "sequences")), "sequences"],
    [documents ? grouped((tokens / documents).toFixed(1)) : "none", "tokens of a document, in the mean"],
    [grouped(Math.max(...files.map((file) => file.longest))), "tokens of the longest document"],
    [grouped(sumOf(files, "empty_documents")), "empty documents"],
    [[...new Set(files.map((file) => file.token_type))].join(", "), "type of a token"],
    [grouped(files.length), files.length === 1 ? "pair of files" : "pairs of files"],
  ];
  showFacts(facts);
}

//===--- Lengths -----------------------------------------------------------===

const lengthMeasures = [["documents", "var(--f)"], ["tokens", "var(--w)"]];

/** For each range of lengths a bar of its documents and one of its tokens. */
function drawLengths(files) {
  const ranges = lengthsOf(files);
  const drawing = new Drawing(document.querySelector("#lengths-chart svg"));
  if (ranges.length === 0) return drawing.clear(0);
  const row = 30, top = 28, bottom = top + row * ranges.length;
  drawing.clear(bottom + 8);
  const left = 18 + Math.max(...ranges.map((range) => textWidth(rangeText(range)))), right = drawing.width - 54;
  const all = { documents: sumOf(ranges, "documents"), tokens: sumOf(ranges, "tokens") };
  const part = (range, field) => (all[field] ? range[field] / all[field] : 0);
  const most = Math.max(...ranges.flatMap((range) => lengthMeasures.map(([field]) => part(range, field)))) || 1;
  const x = (share) => left + (share / most) * (right - left);
  const ticks = ticksThatFit((n) => roundTicks(0, 100 * most, n).values.map((v) =>
    ({ value: v / 100, text: v.toFixed(v < 1 && v > 0 ? 1 : 0) + " %" })), right - left);
  drawAxisX(drawing, ticks, x, 16, top - 6, bottom, drawing.width);
  ranges.forEach((range, i) => {
    const y = top + row * i;
    drawing.text(left - 8, y + 16, rangeText(range), { anchor: "end", name: "ink" });
    lengthMeasures.forEach(([field, css], k) => {
      const share = part(range, field), text = shareText(range[field], all[field]);
      drawing.add("rect", {
        x: left, y: y + 1 + 12 * k, width: Math.max(range[field] ? 1 : 0, x(share) - left), height: 10, rx: 1,
        style: `fill: ${css}`,
      }, `${rangeText(range)}: ${grouped(range[field])} ${field}, ${text}`);
      if (range[field]) drawing.text(x(share) + 5, y + 10 + 12 * k, text);
    });
  });
}

function showLengths(files) {
  const ranges = lengthsOf(files), documents = sumOf(files, "documents"), tokens = sumOf(files, "tokens");
  fillTable("lengths-table", [
    ["tokens of a document", rangeText, "", (r) => r.from],
    ["documents", (r) => grouped(r.documents), "number", (r) => r.documents],
    ["share", (r) => shareText(r.documents, documents), "number extra", (r) => r.documents],
    ["tokens", (r) => grouped(r.tokens), "number", (r) => r.tokens],
    ["share", (r) => shareText(r.tokens, tokens), "number extra", (r) => r.tokens],
  ], ranges);
}

/** What is drawn is of all files, or of the one that is chosen. */
function chosenFiles(files) {
  const chosen = byId("lengths-file").value;
  return chosen === "" ? files : [files[Number(chosen)]];
}

function listFiles(files, changed) {
  const select = byId("lengths-file");
  select.append(element("option", "all", { value: "" }));
  files.forEach((file, i) => select.append(element("option", file.prefix, { value: i })));
  byId("lengths-controls").hidden = files.length < 2;
  select.addEventListener("change", changed);
}

//===--- Files -------------------------------------------------------------===

function showStack(id, files, field) {
  byId(id).replaceChildren(...files.map((file, i) => [file, i]).filter(([file]) => file[field] > 0).map(([file, i]) =>
    element("i", undefined, {
      style: `flex: ${file[field]} 1 0; background: ${fileColor(i)}`,
      title: `${file.prefix} ${shareText(file[field], sumOf(files, field))}`,
    })));
}

function showFiles(files) {
  const tokens = sumOf(files, "tokens"), isBlend = files.every((file) => file.weight !== undefined);
  const most = Math.max(...files.map((file) => file.tokens)) || 1;
  const rows = files.map((file, index) => ({ ...file, index }));
  byId("files-note").textContent = isBlend
    ? "The upper bar is what each file has of all tokens, the lower one its weight in the blend. Passes: how often a " +
      "file is read while the blend reads as many tokens as all files have."
    : "What each file has of all tokens.";
  showStack("tokens-stack", files, "tokens");
  byId("weights-stack").hidden = !isBlend;
  if (isBlend) showStack("weights-stack", files, "weight");
  const columns = [
    ["file", (r) => r.prefix, "code"],
    ["documents", (r) => grouped(r.documents), "number", (r) => r.documents],
    ["sequences", (r) => grouped(r.sequences), "number", (r) => r.sequences],
    ["tokens", (r) => grouped(r.tokens), "number", (r) => r.tokens],
    ["share", (r) => shareText(r.tokens, tokens), "number", (r) => r.tokens],
  ];
  if (isBlend)
    columns.push(
      ["weight", (r) => shareText(r.weight, sumOf(files, "weight")), "number", (r) => r.weight],
      ["passes", (r) => passesOf(r, files).toFixed(2), "number", (r) => passesOf(r, files)]);
  columns.push(["", (r) => barsOf([[r.tokens / most, fileColor(r.index)]]), "bar", (r) => r.tokens]);
  fillTable("files-table", columns, rows);
  fillTable("extremes-table", [
    ["file", (r) => r.prefix, "code"],
    ...[["shortest", "shortest"], ["median", "median"], ["mean", "mean"], ["90 %", "p90"], ["99 %", "p99"],
      ["longest", "longest"], ["empty", "empty_documents"]].map(([title, field]) =>
      [title, (r) => grouped(field === "mean" ? r.mean.toFixed(1) : r[field]), "number", (r) => r[field]]),
  ], rows.slice());
}

function showPage() {
  const files = readData().files;
  showSummary(files);
  const draw = () => drawLengths(chosenFiles(files));
  listFiles(files, () => {
    showLengths(chosenFiles(files));
    draw();
  });
  showLengths(files);
  showFiles(files);
  showLegend("lengths-legend", lengthMeasures.map(([field, css]) => [`share of ${field}`, css]));
  keepDrawn(draw);
}

if (typeof document !== "undefined") showPage();
