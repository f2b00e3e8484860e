// The text of the current document with its entities, a paragraph at a time when it comes near the screen.
import { $, colourOf, make, twoDigits } from "./elements.js";
import { drawBlock, starts } from "./draw.js";
import { layOut } from "./lanes.js";
import { wordsOf } from "./offsets.js";
import { changed, current, onChange, state } from "./state.js";
import { drawn } from "./views.js";

const LONG = 3000; // characters after which a paragraph is cut at the end of a sentence
const blocks = $("blocks");
let spans = [],
  inBlock = [],
  printing = false;

// The lines of a text: its own line breaks and indents stay.
const paragraphs = (text) => {
  const found = [];
  for (const { 0: line, index } of text.matchAll(/[^\r\n]*(?:\r\n?|\n|$)/g)) {
    const end = index + line.replace(/[\r\n]+$/, "").length;
    if (index === text.length && found.length) break;
    let start = index;
    while (end - start > LONG) {
      const stop = /[.!?]\s+/g;
      stop.lastIndex = start + LONG;
      const cut = stop.exec(text)?.[0] && stop.lastIndex < end ? stop.lastIndex : end;
      found.push([start, cut]);
      start = cut;
    }
    found.push([start, end]);
  }
  return found;
};

const WORDS = { missed: " missed", wrong: " wrong", right: " ✓" };
const labelled = (text) => (entity) => {
  const score = entity.score === undefined ? "" : ` ${twoDigits(entity.score)}`,
    verdict = WORDS[entity.kind] ?? "";
  return {
    ...entity,
    kind: entity.kind ?? (entity.verdict === "suggested" ? "suggested" : undefined),
    colour: colourOf(entity.type),
    label: () => [
      entity.type,
      ...(verdict ? [make("span", { class: entity.kind }, verdict)] : []),
      ...(score ? [make("span", { class: "g-score" }, score)] : []),
    ],
    said: `${entity.verdict === "suggested" ? "suggested " : ""}${entity.type}${verdict.replace("✓", "right")}${score}: ${wordsOf(text, entity.fragments)}`,
  };
};

const lit = (name, key) => {
  for (const one of blocks.querySelectorAll(`.${name}`)) one.classList.remove(name);
  if (key === null || key === undefined) return;
  for (const bar of blocks.querySelectorAll(`.g-bar[data-key="${key}"]`)) {
    bar.classList.add(name);
    if (!bar.classList.contains("g-gap")) {
      bar.parentElement.classList.add(name);
      bar.parentElement.style.setProperty("--lit", bar.style.getPropertyValue("--colour"));
    }
  }
};
export const light = (key) => lit("lit", key);

const labels = () => (printing ? "whole" : state.view === "compare" ? "short" : "cut");
const drawSome = (items) => {
  const { text } = current();
  for (const item of items) {
    const [start, end] = spans[item.dataset.n];
    item.replaceChildren(drawBlock(text, start, end, inBlock[item.dataset.n]));
    item.dataset.drawn = "yes";
  }
  layOut(
    items.map((item) => item.firstChild),
    labels(),
  );
  lit("chosen", state.chosen);
};
const watcher = new IntersectionObserver(
  (entries) => {
    const near = [];
    for (const { target, isIntersecting } of entries) {
      target.dataset.near = isIntersecting ? "yes" : "no";
      if (isIntersecting && target.dataset.drawn !== "yes" && current()) near.push(target);
    }
    if (near.length) drawSome(near);
  },
  { rootMargin: "800px" },
);

// Which paragraphs each entity touches.
const distribute = () => {
  const { text } = current();
  inBlock = spans.map(() => []);
  let first = 0;
  for (const entity of drawn(current()).map(labelled(text))) {
    const [from, to] = [entity.fragments[0][0], entity.fragments.at(-1)[1]];
    while (first + 1 < spans.length && spans[first + 1][0] <= from) first += 1;
    for (let n = first; n < spans.length && spans[n][0] < to; n += 1) inBlock[n].push(entity);
  }
};

const show = () => {
  // another document
  const { text } = current();
  watcher.disconnect();
  spans = paragraphs(text);
  distribute();
  blocks.replaceChildren(
    ...spans.map(([start, end], n) => {
      const words = document.createTextNode(text.slice(start, end));
      starts.set(words, start);
      return make("div", { class: "paragraph", "data-n": n }, make("div", { class: "g-block", dir: "auto" }, words)); // read and searched before it is drawn
    }),
  );
  for (const item of blocks.children) watcher.observe(item);
};
const refresh = () => {
  // other entities
  distribute();
  const near = [];
  for (const item of blocks.children) {
    delete item.dataset.drawn;
    if (item.dataset.near === "yes") near.push(item);
  }
  drawSome(near);
};

const itemAt = (place) =>
  blocks.children[
    Math.max(
      0,
      spans.findLastIndex(([start]) => start <= place),
    )
  ];
export const reveal = (place) => {
  // draw what has this character, and bring it to the screen if it is not there
  const item = itemAt(place);
  if (!item) return;
  if (item.dataset.drawn !== "yes") drawSome([item]);
  const mark = blocks.querySelector(".chosen") ?? item,
    { top, bottom } = mark.getBoundingClientRect();
  if (top < 120 || bottom > innerHeight - 160) mark.scrollIntoView({ block: "center" });
};
export const nodeAt = (place) => {
  // the text node that has this character, and where in it
  const item = itemAt(place),
    walker = document.createTreeWalker(item, NodeFilter.SHOW_TEXT);
  let found = null;
  while (walker.nextNode()) {
    const start = starts.get(walker.currentNode);
    if (start !== undefined && start <= place) found = walker.currentNode;
  }
  return found && [found, Math.min(found.length, place - starts.get(found))];
};
export const placeOf = (node, offset) => {
  // the character of the document at a place in the page
  if (starts.has(node)) return starts.get(node) + offset;
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  const rest = node.childNodes[offset] ?? null;
  let last = null;
  while (walker.nextNode()) {
    if (!starts.has(walker.currentNode)) continue;
    if (
      rest &&
      (rest === walker.currentNode || rest.contains(walker.currentNode) || rest.compareDocumentPosition(walker.currentNode) & 4)
    )
      return starts.get(walker.currentNode);
    last = walker.currentNode;
  }
  return last && starts.get(last) + last.length;
};

export const choose = (key, { scroll = true } = {}) => {
  state.chosen = key;
  lit("chosen", key);
  const entity = key && drawn(current()).find((one) => one.key === key);
  if (entity && scroll) {
    reveal(entity.fragments[0][0]);
    lit("chosen", key);
  }
  changed("chosen");
};

// Pointing and clicking: a bar is its entity, a word each of those that cover it in turn.
const keysAt = (target) => {
  const bar = target.closest(".g-bar");
  if (bar) return [bar.dataset.key];
  return [...(target.closest(".g-cell")?.children ?? [])]
    .filter((one) => !one.classList.contains("g-gap"))
    .map((one) => one.dataset.key);
};
blocks.addEventListener("mouseover", (event) => light(keysAt(event.target)[0] ?? null));
blocks.addEventListener("mouseleave", () => light(null));
blocks.addEventListener("click", (event) => {
  if (!getSelection().isCollapsed) return; // words are being selected
  const keys = keysAt(event.target),
    next = keys[(keys.indexOf(state.chosen) + 1) % keys.length] ?? null;
  choose(next, { scroll: false });
});

let width = 0;
new ResizeObserver(() => {
  if (blocks.clientWidth === width || printing) return;
  width = blocks.clientWidth;
  layOut(
    [...blocks.children].filter((item) => item.dataset.drawn === "yes").map((item) => item.firstChild),
    labels(),
  );
}).observe(blocks);
window.addEventListener("beforeprint", () => {
  if (!current()) return;
  printing = true;
  document.body.classList.add("paper"); // as wide as paper, so that lines break where they will
  drawSome([...blocks.children]);
});
window.addEventListener("afterprint", () => {
  printing = false;
  document.body.classList.remove("paper");
  if (current()) refresh();
});
onChange((what) => {
  if (!current()) return;
  if (what.has("document")) show();
  else if (what.has("filter")) refresh();
});
