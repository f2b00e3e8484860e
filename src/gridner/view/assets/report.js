"use strict";
// Draws the data of a report. All text goes through textContent, so nothing in it becomes markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const two = data.systems.length > 1;
  const NAMES = two ? ["A", "B"] : ["the system"];

  const percent = (value) => (100 * value).toFixed(1);
  const signed = (value) => `${value < 0 ? "−" : "+"}${percent(Math.abs(value))}`;
  const many = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

  // Scores
  const LABELS = { all: "all (micro)", in_discontinuous_sentences: "sentences with gaps", discontinuous: "discontinuous only", continuous: "continuous only" };
  const label = (name) => LABELS[name] ?? (name.startsWith("type:") ? name.slice(5) : name.replace("overlap:", "overlap: "));
  const head = make("tr", {}, make("th", { scope: "col" }, "exact match"));
  for (const name of NAMES) for (const measure of ["P", "R", "F1"]) head.append(make("th", { scope: "col" }, two ? `${name} ${measure}` : measure));
  if (two) head.append(make("th", { scope: "col" }, "B − A"));
  head.append(make("th", { scope: "col" }, "gold"));
  const rows = make("tbody");
  const slices = [...new Set(data.evaluations.flatMap((one) => Object.keys(one.exact)))];
  for (const name of slices) {
    const row = make("tr", {}, make("th", { scope: "row" }, label(name)));
    let gold = 0;
    data.evaluations.forEach((evaluation, number) => {
      const score = evaluation.exact[name] ?? { tp: 0, fp: 0, fn: 0, precision: 0, recall: 0, f1: 0 };
      gold = Math.max(gold, score.tp + score.fn);
      for (const measure of ["precision", "recall", "f1"]) {
        if (!(score.tp + score.fp + score.fn)) { row.append(make("td", {}, "–")); continue; }
        const between = data.intervals[number]?.[name]?.[measure];
        const cell = make("td", {}, percent(score[measure]));
        if (between) cell.append(" ", make("small", {}, `${percent(between[0])}–${percent(between[1])}`));
        row.append(cell);
      }
    });
    if (two) {
      const [difference, p] = data.differences[name];
      const some = data.evaluations.some(({ exact }) => exact[name] && exact[name].tp + exact[name].fp + exact[name].fn);
      const said = p < 0.001 ? "p < 0.001" : `p ${p.toFixed(3)}`;
      row.append(some ? make("td", { class: p < 0.05 ? "clear" : "" }, signed(difference), " ", make("small", {}, said)) : make("td", {}, "–"));
    }
    row.append(make("td", {}, gold.toLocaleString("en")));
    rows.append(row);
  }
  const plainRow = (name, cells, difference, gold) => rows.append(make("tr", {}, make("th", { scope: "row" }, name),
    ...cells.map((value) => make("td", {}, value === null ? "" : percent(value))), ...(two ? [make("td", {}, signed(difference))] : []), make("td", {}, gold)));
  const gain = (value) => value(data.evaluations.at(-1)) - value(data.evaluations[0]);
  if (slices.filter((name) => name.startsWith("type:")).length > 1) {
    plainRow("mean of types (macro)", data.evaluations.flatMap((one) => [null, null, one.macro_f1]), gain((one) => one.macro_f1), "");
  }
  if (data.evaluations.some(({ relaxed }) => relaxed.predicted + relaxed.gold)) {
    const all = data.evaluations.flatMap(({ relaxed }) => [relaxed.precision, relaxed.recall, relaxed.f1]);
    plainRow("relaxed: a common word", all, gain(({ relaxed }) => relaxed.f1), data.evaluations[0].relaxed.gold.toLocaleString("en"));
  }
  $("scores").append(make("table", { class: two ? "tall" : "" }, make("thead", {}, head), rows));
  const { level, unit, rounds, seed } = data.resampled;
  const meaning = [`In small: ${100 * level} % bootstrap intervals over ${unit}s, ${rounds.toLocaleString("en")} resamples, seed ${seed}.`, "Relaxed: same type and a common word are enough; not comparable with exact match."];
  if (two) meaning.push(`B − A: the difference of F1, and how often swapping the answers of the two for ${unit}s at random makes one as large; bold where p < 0.05.`);
  $("scores").append(make("p", {}, meaning.join(" ")));

  const KINDS = { fp_ends_right: "wrong, head and tail right", fp_ends_wrong: "wrong, head or tail too", fn_ends_right: "missed, head and tail found", fn_ends_wrong: "missed, head or tail too" };
  const blocks = Object.keys(data.evaluations[0].errors);
  data.evaluations.forEach(({ errors }, n) => {
    const body = Object.entries(KINDS).map(([kind, said]) => make("tr", {}, make("th", { scope: "row" }, said), ...blocks.map((block) =>
      make("td", {}, errors[block].counts[kind].toLocaleString("en"), " ", make("small", {}, `${errors[block].percent[kind].toFixed(1)} %`)))));
    const first = `${two ? `${NAMES[n]}: ` : ""}in sentences with such gold entities`;
    const columns = [first, ...blocks].map((name) => make("th", { scope: "col" }, name));
    $("errors").append(make("table", {}, make("thead", {}, make("tr", {}, ...columns)), make("tbody", {}, ...body)));
  });
  const confused = new Map(); // type of gold, type of a wrong prediction on the same words → how often, by system
  for (const one of data.sentences.flatMap((sentence) => sentence.e)) {
    for (const [type, has] of one.c ?? []) {
      const name = `${data.types[type]} taken for ${data.types[one.t]}`;
      if (!confused.has(name)) confused.set(name, data.systems.map(() => 0));
      data.systems.forEach((_, n) => { if (one.h & (2 << n) && !(has & (2 << n))) confused.get(name)[n] += 1; });
    }
  }
  const often = [...confused].filter(([, counts]) => counts.some(Boolean));
  if (often.length) {
    const body = make("tbody");
    for (const [name, counts] of often.sort((a, b) => Math.max(...b[1]) - Math.max(...a[1]))) {
      body.append(make("tr", {}, make("th", { scope: "row" }, name), ...counts.map((count) => make("td", {}, count.toLocaleString("en")))));
    }
    const columns = NAMES.map((name) => make("th", { scope: "col" }, two ? name : "entities"));
    $("errors").append(make("table", { id: "confused" }, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "right words, wrong type"), ...columns)), body));
  }
  const documents = many(data.documents.length, "document");
  $("about").textContent = `${documents}, ${many(data.sentences.length, "sentence")}; ${data.systems.map((name, n) => (two ? `${NAMES[n]}: ${name}` : name)).join(", ")}`;

  // Curves
  $("plots").append(...drawCurves(data, NAMES));
  $("curves").hidden = !$("plots").firstChild;

  // Filters
  const right = (one, n) => one.h & 1 && one.h & (2 << n);
  const missed = (one, n) => one.h & 1 && !(one.h & (2 << n));
  const wrong = (one, n) => !(one.h & 1) && one.h & (2 << n);
  const error = (one, n) => missed(one, n) || wrong(one, n);
  const ERRORS = { "": ["all sentences", null] }; // what is shown, which entities, and of which system
  if (two) ERRORS.error = ["with errors, A or B", (one) => error(one, 0) || error(one, 1)];
  NAMES.forEach((name, n) => {
    const of = two ? `, ${name}` : "";
    Object.assign(ERRORS, {
      [`error${n}`]: [`with errors${of}`, (one) => error(one, n), n],
      [`missed${n}`]: [`missed${of}`, (one) => missed(one, n), n],
      [`missed-right${n}`]: [`missed, head and tail found${of}`, (one) => missed(one, n) && one.x[n], n],
      [`missed-wrong${n}`]: [`missed, head or tail too${of}`, (one) => missed(one, n) && !one.x[n], n],
      [`wrong${n}`]: [`wrong${of}`, (one) => wrong(one, n), n],
      [`wrong-right${n}`]: [`wrong, head and tail right${of}`, (one) => wrong(one, n) && one.x[n], n],
      [`wrong-wrong${n}`]: [`wrong, head or tail too${of}`, (one) => wrong(one, n) && !one.x[n], n],
      [`confused${n}`]: [`right words, wrong type${of}`, (one) => wrong(one, n) && one.c?.some(([, has]) => !(has & (2 << n))), n],
      [`right${n}`]: [`right${of}`, (one) => right(one, n), n],
    });
  });
  if (two) Object.assign(ERRORS, { "a-b": ["A right, B wrong", (one) => !error(one, 0) && error(one, 1), 1], "b-a": ["B right, A wrong", (one) => !error(one, 1) && error(one, 0), 0] });
  const overlaps = (one, n, name) => (Array.isArray(one.o) ? (n === undefined ? one.o.includes(name) : one.o[n] === name) : one.o === name);
  const SLICES = {
    "": ["all", null],
    discontinuous: ["discontinuous", (one) => one.g],
    none: ["discontinuous, no overlap", (one, n) => one.g && overlaps(one, n, "none")],
    left: ["discontinuous, overlap left", (one, n) => one.g && overlaps(one, n, "left")],
    right: ["discontinuous, overlap right", (one, n) => one.g && overlaps(one, n, "right")],
    multiple: ["discontinuous, overlap multiple", (one, n) => one.g && overlaps(one, n, "multiple")],
    continuous: ["continuous", (one) => !one.g],
    overlapped: ["continuous, overlapped", (one, n) => !one.g && overlaps(one, n, "overlapped")],
    flat: ["flat (no gap, no overlap)", (one, n) => !one.g && !overlaps(one, n, "overlapped")],
  };
  const fill = (id, options) => { for (const [value, name] of options) $(id).append(make("option", { value }, name)); };
  fill("f-error", Object.entries(ERRORS).map(([value, [name]]) => [value, name]));
  fill("f-type", [["", "all"], ...data.types.map((name, n) => [String(n), name])]);
  fill("f-kind", Object.entries(SLICES).map(([value, [name]]) => [value, name]));
  if (!data.text) { $("f-search").disabled = true; $("f-search").placeholder = "a report without text"; }

  // Sentences, drawn while they are near what is seen
  const plain = (text) => text.replace(/\s+/g, " ").trim().toLowerCase();
  const words = data.sentences.map((sentence) => plain(sentence.c.map(([text]) => text).join("")));
  const ids = data.documents.map(plain);
  const badge = (one) => data.systems.flatMap((_, n) => {
    const kind = right(one, n) ? "right" : missed(one, n) ? "missed" : wrong(one, n) ? "wrong" : null;
    if (!kind) return [];
    const score = one.s && one.s[n] !== null ? ` ${twoDigits(one.s[n])}` : "";
    return [" ", make("span", { class: kind }, `${two ? `${NAMES[n]} ` : ""}${kind === "right" ? "✓" : kind}${score}`)];
  });
  const draw = (sentence) => drawBlock(sentence.c, sentence.e.map((one) => ({
    colour: colourOf(data.types[one.t]), label: () => [data.types[one.t], ...badge(one)],
  })));
  const gridsOf = (sentence) => (sentence.n ?? []).map((window) => { // drawn when it is opened
    const details = make("details", { class: "grid" }, make("summary", {}, "grid"));
    details.addEventListener("toggle", () => {
      if (details.open && !details.querySelector(".grid-whole")) details.append(drawGrid(window));
    });
    return details;
  });
  const list = $("list");
  let shown = [], now = -1;
  const marks = window.Highlight ? new Highlight() : null; // what is searched for, where a browser can mark it
  if (marks) CSS.highlights.set("found", marks);
  const markFound = (block) => {
    const wanted = plain($("f-search").value);
    if (!marks || !wanted) return;
    const own = (node) => (node.parentElement.closest(".g-bar, .g-said") ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT);
    const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT, own);
    const nodes = [];
    let whole = "";
    while (walker.nextNode()) { nodes.push([whole.length, walker.currentNode]); whole += walker.currentNode.data; }
    const pattern = wanted.split(" ").map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")).join("\\s+");
    for (const { 0: text, index } of whole.matchAll(new RegExp(pattern, "giu"))) {
      for (const [start, node] of nodes) { // a piece of text at a time: labels lie between them
        const [from, to] = [index - start, index - start + text.length].map((place) => Math.min(node.length, Math.max(0, place)));
        if (from < to) marks.add(new StaticRange({ startContainer: node, startOffset: from, endContainer: node, endOffset: to }));
      }
    }
  };
  const fillItem = (item) => {
    const sentence = data.sentences[item.dataset.n], block = draw(sentence);
    item.append(make("div", { class: "where" }, data.documents[sentence.d]), block, ...gridsOf(sentence));
    markFound(block);
  };
  const watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting, boundingClientRect } of entries) {
      if (isIntersecting && !target.firstChild) {
        fillItem(target);
        fitLabels(target);
        target.style.minHeight = "";
      } else if (!isIntersecting && target.firstChild && !target.querySelector("details[open]")) {
        target.style.minHeight = `${boundingClientRect.height}px`;
        target.replaceChildren();
      }
    }
  }, { rootMargin: "800px" });
  const watch = () => { // it says of each anew whether it is near
    watcher.disconnect();
    for (const item of list.children) watcher.observe(item);
  };
  const apply = () => {
    const [, chosen, of] = ERRORS[$("f-error").value], kind = SLICES[$("f-kind").value][1], type = $("f-type").value;
    const wanted = plain($("f-search").value);
    const fits = (one) => (!chosen || chosen(one)) && (!kind || kind(one, of)) && (!type || one.t === Number(type));
    shown = [];
    data.sentences.forEach((sentence, n) => {
      if ((chosen || kind || type) && !sentence.e.some(fits)) return;
      if (wanted && !words[n].includes(wanted) && !ids[sentence.d].includes(wanted)) return;
      shown.push(n);
    });
    now = -1;
    marks?.clear();
    list.replaceChildren(...shown.map((n) => make("li", { "data-n": n, tabindex: "-1" })));
    watch();
    $("count").textContent = `${many(shown.length, "sentence")} of ${data.sentences.length.toLocaleString("en")}`;
  };
  const step = (by) => {
    if (!shown.length) return;
    list.children[now]?.classList.remove("now");
    now = Math.min(shown.length - 1, Math.max(0, now + by));
    const item = list.children[now];
    item.classList.add("now");
    item.scrollIntoView({ block: "start" });
    item.focus({ preventScroll: true });
  };
  $("filters").addEventListener("input", apply);
  $("filters").addEventListener("reset", () => setTimeout(apply));
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.id === "f-search") { if (event.key === "Escape") { event.preventDefault(); event.target.blur(); } return; }
    if (event.target.tagName === "SELECT") { if (!"jk/".includes(event.key)) return; event.preventDefault(); } // not for its list
    if (event.key === "g") { const grid = list.children[now]?.querySelector("details"); if (grid) grid.open = !grid.open; }
    else if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else if (event.key === "/") { event.preventDefault(); $("f-search").focus(); }
  });
  const measure = () => list.style.setProperty("--filters", getComputedStyle($("filters")).position === "sticky" ? `${$("filters").offsetHeight}px` : "0px");
  window.addEventListener("resize", () => { measure(); for (const item of list.children) if (item.firstChild) fitLabels(item); });
  window.addEventListener("beforeprint", () => {
    watcher.disconnect();
    for (const item of list.children) if (!item.firstChild) fillItem(item);
    for (const label of list.querySelectorAll(".g-label")) label.removeAttribute("style");
  });
  window.addEventListener("afterprint", () => {
    const items = [...list.children].filter((item) => !item.querySelector("details[open]"));
    const heights = items.map((item) => item.getBoundingClientRect().height);
    items.forEach((item, n) => { item.style.minHeight = `${heights[n]}px`; item.replaceChildren(); });
    watch();
  });
  measure();
  $("f-error").value = two ? "error" : "error0";
  apply();
})();
