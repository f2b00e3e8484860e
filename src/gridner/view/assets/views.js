// What each view shows of a document: what was found, what is annotated, one against the other, or the review.
import { inTextOrder, name } from "./offsets.js";
import { passing, state } from "./state.js";

// Right, missed and wrong, as the report has them.
export const compared = (found, annotated) => {
  const own = new Map(found.map((one) => [name(one), one])),
    golds = new Set(annotated.map(name));
  return [
    ...annotated.map((one) =>
      own.has(name(one)) ? { ...one, score: own.get(name(one)).score, kind: "right" } : { ...one, kind: "missed" },
    ),
    ...found.filter((one) => !golds.has(name(one))).map((one) => ({ ...one, kind: "wrong" })),
  ].sort(inTextOrder);
};

// Precision, recall and F1 of such a list, in percent; null where there is nothing to divide by.
export const scoresOf = (entities) => {
  const [right, missed, wrong] = ["right", "missed", "wrong"].map((kind) => entities.filter((one) => one.kind === kind).length);
  const share = (part, whole) => (whole ? (100 * part) / whole : null);
  return {
    right,
    missed,
    wrong,
    precision: share(right, right + wrong),
    recall: share(right, right + missed),
    f1: share(2 * right, 2 * right + missed + wrong),
  };
};

// What a review begins with: annotations are accepted, what was found beside them is suggested.
export const toReview = ({ found, annotated }) => {
  const known = new Set((annotated ?? []).map(name));
  return [
    ...(annotated ?? []).map((one) => ({ ...one, verdict: "accepted" })),
    ...found.filter((one) => !known.has(name(one))).map((one) => ({ ...one, verdict: "suggested" })),
  ].sort(inTextOrder);
};

// The entities of a document in a view, of all types and scores.
export const allIn = (document_, view = state.view) => {
  const { found, annotated, reviewed } = document_;
  if (view === "annotated") return annotated ?? [];
  if (view === "review") return reviewed ?? toReview(document_);
  return found;
};
// Those that are shown, in the table as well.
export const listed = (document_, view = state.view) => {
  if (view === "compare") return compared(passing(document_.found), passing(document_.annotated ?? []));
  return passing(allIn(document_, view)).filter((one) => one.verdict !== "rejected" || document_.reviewed);
};
// Those that are drawn: what was rejected takes no room.
export const drawn = (document_) => listed(document_).filter(({ verdict }) => verdict !== "rejected");
// Those that a file gets.
export const kept = (document_) => {
  if (state.view === "review") return listed(document_).filter(({ verdict }) => verdict === "accepted");
  if (state.view === "compare" || (state.view === "annotated" && !document_.annotated)) return passing(document_.found);
  return listed(document_);
};
