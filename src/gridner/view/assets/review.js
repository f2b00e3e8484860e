// The review of a document: accept, reject, add, and change types and fragments. It stays in the browser until it is saved.
import { inTextOrder, name, normalFragments } from "./offsets.js";
import { changed, current, nextKey, state } from "./state.js";
import { drawn, toReview } from "./views.js";

const PAST = 200; // steps that can be undone

export const ensureReview = () => {
  const one = current();
  if (one && !one.reviewed) Object.assign(one, { reviewed: toReview(one), past: [] });
};
export const chosenEntity = () => current()?.reviewed?.find(({ key }) => key === state.chosen);
export const inReview = () => state.view === "review" && Boolean(current());

// Every change makes a new list, so that the old one is kept for undoing.
const replace = (next) => {
  const one = current();
  one.past = [...one.past.slice(-PAST), one.reviewed];
  one.reviewed = next.sort(inTextOrder);
  changed("filter", "chosen", "list");
};
const change = (key, changes) => replace(current().reviewed.map((one) => (one.key === key ? { ...one, ...changes } : one)));

export const undo = () => {
  const one = current();
  if (!one?.past.length) return false;
  one.reviewed = one.past.pop();
  changed("filter", "chosen", "list");
  return true;
};
export const counts = () => {
  const all = current()?.reviewed ?? [],
    of = (verdict) => all.filter((one) => one.verdict === verdict).length;
  return {
    accepted: of("accepted"),
    rejected: of("rejected"),
    suggested: drawn(current()).filter((one) => one.verdict === "suggested").length,
  };
};

// The next suggestion that is shown, from the chosen entity on and then from the beginning; null if there is none.
export const nextSuggestion = () => {
  const all = drawn(current()),
    from = all.findIndex(({ key }) => key === state.chosen);
  const open = ({ key, verdict }) => verdict === "suggested" && key !== state.chosen;
  return (all.slice(from + 1).find(open) ?? all.find(open))?.key ?? null;
};
export const neighbour = (by) => {
  const all = drawn(current()),
    at = all.findIndex(({ key }) => key === state.chosen);
  return all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + by))]?.key ?? null;
};

export const decide = (verdict) => {
  if (chosenEntity()) change(state.chosen, { verdict });
};
export const acceptAll = () => {
  const shown = new Set(drawn(current()).map(({ key }) => key));
  replace(current().reviewed.map((one) => (shown.has(one.key) ? { ...one, verdict: "accepted" } : one)));
};
// What people change or add is theirs: accepted, and without the model's score.
export const setType = (type) => {
  const one = chosenEntity();
  if (one && one.type !== type) change(one.key, { type, verdict: "accepted", score: undefined });
};

const setFragments = (fragments) => {
  const one = chosenEntity(),
    next = normalFragments(current().text, fragments);
  if (!one || !next.length || String(next) === String(one.fragments)) return false;
  change(one.key, { fragments: next, verdict: "accepted", score: undefined });
  return true;
};
export const addFragment = (range) => {
  const one = chosenEntity();
  return Boolean(one && range) && setFragments([...merged(one.fragments, range)]);
};
const merged = (fragments, [start, end]) => {
  // overlapping ones become one
  const apart = fragments.filter(([from, to]) => to < start || from > end),
    touching = fragments.filter(([from, to]) => to >= start && from <= end);
  return [...apart, [Math.min(start, ...touching.map(([from]) => from)), Math.max(end, ...touching.map(([, to]) => to))]];
};
export const removeRange = (range) => {
  const one = chosenEntity();
  if (!one || !range) return false;
  const [start, end] = range;
  return setFragments(
    one.fragments.flatMap(([from, to]) =>
      [
        [from, Math.min(to, start)],
        [Math.max(from, end), to],
      ].filter(([a, b]) => a < b),
    ),
  );
};
export const add = (type, range) => {
  const fragments = normalFragments(current().text, [range]);
  if (!fragments.length) return null;
  const known = current().reviewed.find((one) => name(one) === name({ type, fragments }));
  const key = known?.key ?? nextKey();
  if (known) change(key, { verdict: "accepted" });
  else replace([...current().reviewed, { key, type, fragments, verdict: "accepted" }]);
  return key;
};

// Reviews stay in the browser, so what is not saved must not go by accident.
const unsaved = () => state.documents.some(({ past, reviewed, savedReview }) => past?.length && savedReview !== reviewed);
export const markSaved = (documents) => {
  for (const one of documents) one.savedReview = one.reviewed;
};
export const mayReplace = () => !unsaved() || window.confirm("Your review is not saved and will be lost. Go on?");
window.addEventListener("beforeunload", (event) => {
  if (unsaved()) event.preventDefault();
});
