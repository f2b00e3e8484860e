// The sentences of a report, drawn while they are near what is seen.
import { colourOf, $, make, many, twoDigits } from "./elements.js";
import { drawBlock } from "./draw.js";
import { drawGrid } from "./grid.js";
import { layOut } from "./lanes.js";
import { inUnits, wordsOf } from "./offsets.js";
import { NAMES, data, missed, right, two, wrong } from "./report-data.js";

const list = $("list");
const plain = (text) => text.replace(/\s+/g, " ").trim().toLowerCase();
const words = data.sentences.map((sentence) => plain(sentence.s)),
  ids = data.documents.map(plain);
let shown = [],
  now = -1,
  wanted = "";

// What each system makes of an entity, beside its type.
const badges = (one) =>
  data.systems.flatMap((_, n) => {
    const kind = right(one, n) ? "right" : missed(one, n) ? "missed" : wrong(one, n) ? "wrong" : null;
    if (!kind) return [];
    const score = one.s && one.s[n] !== null ? ` ${twoDigits(one.s[n])}` : "";
    return [
      " ",
      make(
        "span",
        { class: kind },
        `${two ? `${NAMES[n]} ` : ""}${kind === "right" ? "✓" : kind}`,
        ...(score ? [make("span", { class: "g-score" }, score)] : []),
      ),
    ];
  });
// The shape of its bar: solid if all have it, hollow if one misses it, hatched if it is wrong.
const kindOf = (one) => (one.h & 1 ? (data.systems.some((_, n) => missed(one, n)) ? "missed" : "right") : "wrong");
const drawSentence = (sentence) => {
  const entities = inUnits(
    sentence.s,
    sentence.e.map((one, key) => ({ one, key, fragments: one.f })),
  );
  return drawBlock(
    sentence.s,
    0,
    sentence.s.length,
    entities.map(({ one, key, fragments }) => {
      const label = () => [data.types[one.t], ...badges(one)];
      const said = `${label()
        .map((part) => part.textContent ?? part)
        .join("")}: ${wordsOf(sentence.s, fragments)}`;
      return { key, fragments, colour: colourOf(data.types[one.t]), kind: kindOf(one), label, said };
    }),
  );
};
const gridsOf = (sentence) =>
  (sentence.n ?? []).map((window) => {
    // drawn when it is opened
    const details = make("details", { class: "grid" }, make("summary", {}, "grid"));
    details.addEventListener("toggle", () => {
      if (details.open && !details.querySelector(".grid-whole")) details.append(drawGrid(window));
    });
    return details;
  });

const marks = window.Highlight ? new Highlight() : null; // what is searched for, where a browser can mark it
if (marks) CSS.highlights.set("found", marks);
const markFound = (block) => {
  if (!marks || !wanted) return;
  const own = (node) => (node.parentElement.closest(".g-bar, .g-said") ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT);
  const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT, own);
  const nodes = [];
  let whole = "";
  while (walker.nextNode()) {
    nodes.push([whole.length, walker.currentNode]);
    whole += walker.currentNode.data;
  }
  const pattern = wanted
    .split(" ")
    .map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"))
    .join("\\s+");
  for (const { 0: text, index } of whole.matchAll(new RegExp(pattern, "giu"))) {
    for (const [start, node] of nodes) {
      // a piece of text at a time: labels lie between them
      const [from, to] = [index - start, index - start + text.length].map((place) => Math.min(node.length, Math.max(0, place)));
      if (from < to) marks.add(new StaticRange({ startContainer: node, startOffset: from, endContainer: node, endOffset: to }));
    }
  }
};

const labels = () => (document.body.classList.contains("paper") ? "whole" : "short");
const fill = (items) => {
  const blocks = items.map((item) => {
    const sentence = data.sentences[item.dataset.n],
      block = drawSentence(sentence);
    item.append(make("div", { class: "where" }, data.documents[sentence.d]), block, ...gridsOf(sentence));
    return block;
  });
  layOut(blocks, labels());
  blocks.forEach(markFound);
};
const watcher = new IntersectionObserver(
  (entries) => {
    const near = entries.filter(({ target, isIntersecting }) => isIntersecting && !target.firstChild).map(({ target }) => target);
    fill(near);
    for (const item of near) item.style.minHeight = "";
    for (const { target, isIntersecting, boundingClientRect } of entries) {
      if (isIntersecting || !target.firstChild || target.querySelector("details[open]")) continue;
      target.style.minHeight = `${boundingClientRect.height}px`;
      target.replaceChildren();
    }
  },
  { rootMargin: "800px" },
);
const watch = () => {
  // it says of each anew whether it is near
  watcher.disconnect();
  for (const item of list.children) watcher.observe(item);
};

// Show the sentences with an entity that fits (all if `fits` is null) and with the searched words.
export const showSentences = (fits, search) => {
  wanted = plain(search);
  shown = [];
  let entities = 0;
  data.sentences.forEach((sentence, n) => {
    const count = fits ? sentence.e.filter((one) => fits(one, sentence)).length : 0;
    if ((fits && !count) || (wanted && !words[n].includes(wanted) && !ids[sentence.d].includes(wanted))) return;
    shown.push(n);
    entities += count;
  });
  now = -1;
  marks?.clear();
  list.replaceChildren(...shown.map((n) => make("li", { "data-n": n, tabindex: "-1" })));
  watch();
  $("count").textContent =
    `${fits ? `${many(entities, "entity", "entities")} in ` : ""}${many(shown.length, "sentence")} of ${data.sentences.length.toLocaleString("en")}`;
};
export const step = (by) => {
  if (!shown.length) return;
  list.children[now]?.classList.remove("now");
  now = Math.min(shown.length - 1, Math.max(0, now + by));
  const item = list.children[now];
  item.classList.add("now");
  item.scrollIntoView({ block: "start" });
  item.focus({ preventScroll: true });
};
export const toggleGrid = () => {
  const grid = list.children[now]?.querySelector("details");
  if (grid) grid.open = !grid.open;
};
export const shownCount = () => shown.length;
export const fitLanes = () => layOut([...list.querySelectorAll(".g-block")], labels());

// On paper: as wide as paper, so that lines break where they will. What is left out is said.
export const toPaper = (most) => {
  watcher.disconnect();
  document.body.classList.add("paper");
  const all = [...list.children];
  for (const item of all.slice(most)) item.hidden = true;
  fill(all.slice(0, most).filter((item) => !item.firstChild));
  fitLanes();
  $("left-out").hidden = all.length <= most;
  $("left-out").textContent =
    `The first ${most.toLocaleString("en")} of ${many(all.length, "sentence")}. The page's own Print button prints all of them.`;
};
export const fromPaper = () => {
  document.body.classList.remove("paper");
  $("left-out").hidden = true;
  for (const item of list.children) item.hidden = false;
  const items = [...list.children].filter((item) => item.firstChild && !item.querySelector("details[open]"));
  const heights = items.map((item) => item.getBoundingClientRect().height);
  items.forEach((item, n) => {
    item.style.minHeight = `${heights[n]}px`;
    item.replaceChildren();
  });
  watch();
};
