// Entities in their text: covered words tinted, a bar under each entity, solid on fragments and dotted across gaps.
// One drawing for the page and the report. lanes.js then says how far below its words a bar lies.
import { make } from "./elements.js";
import { inTextOrder } from "./offsets.js";

// Text that is safe to show, as long as before: controls (also of direction) as a mark, line ends as line ends.
export const visible = (text) =>
  text
    .replace(/\r\n/g, " \n")
    .replace(/\r/g, "\n")
    .replace(/[\v\f\u0085\u2028\u2029]/g, " ")
    .replace(/[\0-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");

// The cells of text[start, end): what lies under the same entities, words and spaces apart where there are any.
// Entities, in text order: { fragments: [[start, end], …] }. A cell: { start, end, bars: [{ entity, solid, first, last }] }.
export const cellsOf = (text, start, end, entities) => {
  const cuts = new Set([start, end]);
  for (const { fragments } of entities)
    for (const pair of fragments) for (const at of pair) if (at > start && at < end) cuts.add(at);
  const places = [...cuts].sort((a, b) => a - b),
    cells = [];
  const order = [...entities].sort(inTextOrder);
  const part = new Map(); // the fragment of each entity that is not behind
  let here = [],
    begun = 0;
  for (let n = 0; n + 1 < places.length; n += 1) {
    const [from, to] = [places[n], places[n + 1]];
    while (begun < order.length && order[begun].fragments[0][0] <= from) {
      here.push(order[begun]);
      part.set(order[begun], 0);
      begun += 1;
    }
    here = here.filter(({ fragments }) => fragments.at(-1)[1] > from);
    if (!here.length) {
      cells.push({ start: from, end: to, bars: [] });
      continue;
    }
    const over = here.map((entity) => {
      const { fragments } = entity;
      let at = part.get(entity);
      while (fragments[at][1] <= from) at += 1;
      part.set(entity, at);
      return { entity, solid: fragments[at][0] <= from };
    });
    for (const { 0: word, index } of text.slice(from, to).matchAll(/\s+|\S+/g)) {
      const [left, right] = [from + index, from + index + word.length];
      const bars = over.map((bar) => ({
        ...bar,
        first: bar.entity.fragments[0][0] === left,
        last: bar.entity.fragments.at(-1)[1] === right,
      }));
      cells.push({ start: left, end: right, bars: /\n/.test(word) ? [] : bars });
    }
  }
  return cells;
};

const length = ({ fragments }) => fragments.at(-1)[1] - fragments[0][0];
const barOf = ({ entity, solid, first, last }) => {
  const bar = make("span", { "aria-hidden": "true", "data-key": entity.key });
  bar.className = `g-bar${solid ? "" : " g-gap"}${first ? " g-first" : ""}${last ? " g-last" : ""}${entity.kind ? ` g-${entity.kind}` : ""}`;
  bar.style.setProperty("--colour", entity.colour);
  if (first) bar.append(make("span", { class: "g-label" }, make("bdi", {}, ...entity.label())));
  return bar;
};

// Where each text node of a block begins in its document: for selections.
export const starts = new WeakMap();

// A block: text[start, end) with its entities: { key, fragments, colour, label, said, kind }, `label` a function that gives
// nodes, `said` what a screen reader says of it, `kind` right, missed, wrong, suggested or nothing.
export const drawBlock = (text, start, end, entities) => {
  const shown = visible(text.slice(start, end)),
    block = make("div", { class: "g-block", dir: "auto" });
  const node = (from, to) => {
    const words = document.createTextNode(shown.slice(from - start, to - start));
    starts.set(words, from);
    return words;
  };
  for (const { start: from, end: to, bars } of cellsOf(text, start, end, entities)) {
    if (!bars.length) {
      block.append(node(from, to));
      continue;
    }
    const cell = make("span", { class: "g-cell" }, node(from, to));
    const solid = bars.filter((bar) => bar.solid).sort((a, b) => length(a.entity) - length(b.entity))[0];
    if (solid) {
      cell.classList.add("g-on");
      cell.style.setProperty("--tint", solid.entity.colour);
    }
    cell.append(...bars.map(barOf));
    block.append(cell);
  }
  const said = entities.filter(({ fragments }) => fragments[0][0] >= start).map((one) => one.said);
  if (said.length) block.append(make("span", { class: "g-said" }, ` (${said.join("; ")})`));
  return block;
};
