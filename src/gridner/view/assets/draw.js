"use strict";
// Elements, and entities as lanes under their text. All text goes in as text, so nothing in it becomes markup; styles are
// set one by one, as a strict policy wants it. The layout was made by draw.py; here lanes without a shown entity close up.
/* eslint-disable no-unused-vars */
const filled = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};
const make = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

// The colour of a type: the same wherever it is shown and whatever else is (FNV-1a; draw.py has the same).
const COLOURS = 12, SEED = 2167974784;
const colourOf = (type) => `var(--g${new TextEncoder().encode(type).reduce((number, byte) => Math.imul(number ^ byte, 16777619) >>> 0, SEED) % COLOURS})`;

// A score as Python writes it: rounded once, and a tie (1/8, 3/8, …) to the even digit.
const twoDigits = (score) => (Number.isInteger(8 * score) && !Number.isInteger(4 * score) ? Math.round(50 * score) / 50 : score).toFixed(2);

// `cells`: [text, bar, …], a bar being entity * ENTITY + (lane << 2 | solid << 1 | first). `entities`: for each its colour
// and its label (a function that gives what to show), null if it is not to be shown.
const ENTITY = 2 ** 20; // past 32 bits, so the entity is found by division
const drawBlock = (cells, entities) => {
  const of = (bar) => {
    const number = Math.floor(bar / ENTITY), rest = bar % ENTITY;
    return { number, one: entities[number], lane: rest >> 2, solid: rest & 2, first: rest & 1 };
  };
  const shown = cells.map(([text, ...bars]) => [text, bars.map(of).filter(({ one }) => one)]);
  const taken = [...new Set(shown.flatMap(([, bars]) => bars.map(({ lane }) => lane)))].sort((a, b) => a - b);
  const lanes = new Map(taken.map((lane, place) => [lane, place]));
  const block = make("div", { class: "g-block", dir: "auto" });
  block.style.setProperty("--lanes", lanes.size);
  const said = new Map(); // what a screen reader says of each entity
  for (const [text, bars] of shown) {
    if (!bars.length) { block.append(text); continue; }
    const cell = make("span", { class: "g-cell" }, text);
    for (const { number, one, lane, solid, first } of bars) {
      const drawn = make("span", { class: solid ? "g-bar" : "g-bar g-gap", "aria-hidden": "true", "data-entity": number });
      drawn.style.setProperty("--lane", lanes.get(lane));
      drawn.style.setProperty("--colour", one.colour);
      if (first) drawn.append(make("span", { class: "g-label" }, make("bdi", {}, ...one.label())));
      cell.append(drawn);
      const words = said.get(number) ?? { text: "", gap: false };
      if (solid) words.text += words.gap ? ` … ${text}` : text;
      said.set(number, { text: words.text, gap: !solid });
    }
    block.append(cell);
  }
  const spoken = entities.flatMap((one, number) => (said.has(number) ? [`${one.label().map((part) => part.textContent ?? part).join("")}: ${said.get(number).text}`] : []));
  if (spoken.length) block.append(make("span", { class: "g-said" }, ` (${spoken.join("; ")})`));
  return block;
};

const fitLabels = (item) => { // a label that would leave the page ends where its word ends
  const edge = item.getBoundingClientRect(), labels = [...item.querySelectorAll(".g-label")];
  for (const label of labels) label.removeAttribute("style");
  const places = labels.map((label) => label.getBoundingClientRect()); // all are read before one is moved
  labels.forEach((label, n) => {
    if (places[n].right > edge.right || places[n].left < edge.left) Object.assign(label.style, { insetInlineStart: "auto", insetInlineEnd: "0" });
  });
};
