// The data of a report: sentences { d: document, s: text, e: entities, n: grids }. An entity: { t: type, f: fragments,
// h: who has it (1 gold, 2 and 4 the systems), s: scores, g: discontinuous, o: overlap, x: head and tail right, c: confused }.
import { $ } from "./elements.js";

export const data = JSON.parse($("data").textContent);
export const two = data.systems.length > 1;
export const NAMES = two ? ["A", "B"] : ["the system"];

export const right = (one, n) => Boolean(one.h & 1 && one.h & (2 << n));
export const missed = (one, n) => Boolean(one.h & 1 && !(one.h & (2 << n)));
export const wrong = (one, n) => Boolean(!(one.h & 1) && one.h & (2 << n));
export const error = (one, n) => missed(one, n) || wrong(one, n);
const overlaps = (one, n, name) =>
  Array.isArray(one.o) ? (n === undefined ? one.o.includes(name) : one.o[n] === name) : one.o === name;
const shares = (one) => Boolean(one.o) && one.o !== "none"; // of gold entities

// What "Show" offers: [name, which entities, of which system].
export const ERRORS = { "": ["all sentences", null] };
if (two) ERRORS.error = ["with errors, A or B", (one) => error(one, 0) || error(one, 1)];
NAMES.forEach((name, n) => {
  const of = two ? `, ${name}` : "";
  Object.assign(ERRORS, {
    [`error${n}`]: [`with errors${of}`, (one) => error(one, n), n],
    [`missed${n}`]: [`missed${of}`, (one) => missed(one, n), n],
    [`missed-right${n}`]: [`missed, first and last word found${of}`, (one) => missed(one, n) && one.x[n], n],
    [`missed-wrong${n}`]: [`missed, first or last word too${of}`, (one) => missed(one, n) && !one.x[n], n],
    [`wrong${n}`]: [`wrong${of}`, (one) => wrong(one, n), n],
    [`wrong-right${n}`]: [`wrong, first and last word right${of}`, (one) => wrong(one, n) && one.x[n], n],
    [`wrong-wrong${n}`]: [`wrong, first or last word too${of}`, (one) => wrong(one, n) && !one.x[n], n],
    [`confused${n}`]: [`right words, wrong type${of}`, (one) => wrong(one, n) && one.c?.some(([, has]) => !(has & (2 << n))), n],
    [`right${n}`]: [`right${of}`, (one) => right(one, n), n],
  });
});
if (two)
  Object.assign(ERRORS, {
    "a-b": ["A right, B wrong", (one) => !error(one, 0) && error(one, 1), 1],
    "b-a": ["B right, A wrong", (one) => !error(one, 1) && error(one, 0), 0],
  });

// What "Kind" offers: [name, which entities, in which sentences].
export const KINDS = {
  "": ["all"],
  discontinuous: ["discontinuous", (one) => one.g],
  none: ["discontinuous, no overlap", (one, n) => one.g && overlaps(one, n, "none")],
  left: ["discontinuous, overlap left", (one, n) => one.g && overlaps(one, n, "left")],
  right: ["discontinuous, overlap right", (one, n) => one.g && overlaps(one, n, "right")],
  multiple: ["discontinuous, overlap multiple", (one, n) => one.g && overlaps(one, n, "multiple")],
  continuous: ["continuous", (one) => !one.g],
  overlapped: ["continuous, overlapped", (one, n) => !one.g && overlaps(one, n, "overlapped")],
  flat: ["flat (no gap, no overlap)", (one, n) => !one.g && !overlaps(one, n, "overlapped")],
  "in-discontinuous": ["in sentences with a discontinuous gold entity", null, (gold) => gold.some((one) => one.g)],
  "in-flat": ["in sentences with a flat gold entity", null, (gold) => gold.some((one) => !one.g && !shares(one))],
  "in-overlapped": ["in sentences with an overlapped gold entity", null, (gold) => gold.some(shares)],
};

// The entities that pass filters: a test of an entity in its sentence; null if all do.
export const chooser = ({ show = "", type = "", kind = "" }) => {
  const [, chosen, of] = ERRORS[show] ?? ERRORS[""],
    [, own, sentences] = KINDS[kind] ?? KINDS[""],
    wanted = data.types.indexOf(type);
  if (!chosen && !own && !sentences && !type) return null;
  return (one, sentence) =>
    (!chosen || chosen(one)) &&
    (!own || own(one, of)) &&
    (!type || one.t === wanted) &&
    (!sentences || sentences(sentence.e.filter(({ h }) => h & 1)));
};

// Filters live in the address, so that a link leads to what it counts.
export const address = (filters) =>
  `#${new URLSearchParams(Object.entries({ show: "", ...filters }).filter(([name, value]) => value || name === "show"))}`;
export const fromAddress = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
