// Elements. All text goes in as text, so nothing in it becomes markup.
const filled = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};
export const $ = (id) => document.getElementById(id);
export const make = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);
export const svg = (tag, attributes = {}, ...children) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

// The colour of a type: the same wherever it is shown and whatever else is (FNV-1a; draw.py has the same).
const COLOURS = 12,
  SEED = 1608753152;
export const colourOf = (type) =>
  `var(--g${new TextEncoder().encode(type).reduce((number, byte) => Math.imul(number ^ byte, 16777619) >>> 0, SEED) % COLOURS})`;

// A score as Python writes it: rounded once, and a tie (1/8, 3/8, …) to the even digit.
export const twoDigits = (score) =>
  (Number.isInteger(8 * score) && !Number.isInteger(4 * score) ? Math.round(50 * score) / 50 : score).toFixed(2);
export const many = (count, word, words = `${word}s`) => `${count.toLocaleString("en")} ${count === 1 ? word : words}`;
