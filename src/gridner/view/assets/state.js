// What the page knows, and who is told when it changes. Nothing of it leaves the browser but texts that are read.
import { inTextOrder, normalFragments } from "./offsets.js";

// A document: { id, text, phase, problem, notes, found, annotated, reviewed, past }. `phase` is waiting, reading, read or failed.
// An entity: { key, type, fragments in UTF-16, score }; a reviewed one also has a verdict: suggested, accepted or rejected.
export const state = {
  models: [], // of the service
  documents: [],
  current: 0,
  threshold: 0.5,
  moved: false, // the user chose the threshold
  types: [], // of the model
  hiddenTypes: new Set(),
  view: "found", // found, annotated, compare, review
  grid: false,
  chosen: null, // the key of an entity
  stale: false, // the text was edited after it was read
};
const listeners = new Set();
export const onChange = (listener) => listeners.add(listener);
// `what`: document (another one, or other entities in it), filter, chosen, list.
export const changed = (...what) => {
  for (const listener of listeners) listener(new Set(what));
};

export const currentDocument = () => state.documents[state.current];
export const current = () => {
  const one = currentDocument();
  return one?.phase === "read" ? one : undefined;
};

// The types of the model and of annotations.
export const allTypes = () => [
  ...new Set([
    ...state.types,
    ...state.documents.flatMap(({ annotated, reviewed }) => [...(annotated ?? []), ...(reviewed ?? [])].map(({ type }) => type)),
  ]),
];

let keys = 0;
export const nextKey = () => String((keys += 1));
export const withKeys = (text, entities) =>
  entities
    .map((one) => ({ ...one, key: nextKey(), fragments: normalFragments(text, one.fragments) }))
    .filter(({ fragments }) => fragments.length)
    .sort(inTextOrder);

export const isSure = (entity) => entity.score === undefined || entity.score > state.threshold;

// Those of a list that are shown: not of a hidden type, and sure enough.
export const passing = (entities) =>
  entities.filter((one) => !state.hiddenTypes.has(one.type) && (one.verdict === "accepted" || isSure(one)));
