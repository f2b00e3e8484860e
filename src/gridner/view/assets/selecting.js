// Selected words of the text, with the mouse or with the arrow keys: the browser's own selection shows them.
import { $ } from "./elements.js";
import { nodeAt, placeOf, reveal } from "./reading.js";
import { changed, current, onChange } from "./state.js";

const WORD = /[\p{L}\p{M}\p{N}]+|[^\s\p{L}\p{M}\p{N}]/gu;
const reading = $("reading");
let tokens = [],
  anchor = -1,
  focus = -1,
  exact = false,
  own = false,
  of = null;

const tokensOf = () => {
  if (of !== current()?.text) {
    of = current()?.text;
    tokens = of === undefined ? [] : [...of.matchAll(WORD)].map(({ 0: word, index }) => [index, index + word.length]);
    anchor = focus = -1;
  }
  return tokens;
};
// What is selected: [start, end) in the document, at the edges of words unless Alt was held; null if nothing is.
export const selectedRange = () => {
  const selection = getSelection();
  if (selection.isCollapsed || !selection.rangeCount || !$("blocks").contains(selection.anchorNode)) return null;
  const range = selection.getRangeAt(0);
  let [start, end] = [
    placeOf(range.startContainer, range.startOffset),
    $("blocks").contains(range.endContainer) ? placeOf(range.endContainer, range.endOffset) : null,
  ];
  if (start === null || end === null || start >= end) return null;
  if (!exact) {
    const inside = tokensOf().filter(([from, to]) => from < end && to > start);
    if (!inside.length) return null;
    [start, end] = [inside[0][0], inside.at(-1)[1]];
  }
  return [start, end];
};
const select = (start, end) => {
  own = true; // not the mouse's
  const from = nodeAt(start),
    to = nodeAt(end - 1);
  if (from && to) getSelection().setBaseAndExtent(from[0], from[1], to[0], Math.min(to[0].length, to[1] + 1));
};
export const unselect = () => {
  getSelection().removeAllRanges();
  anchor = focus = -1;
};

// One word on or back; with `extend` the selection grows or shrinks. Returns the words that are selected.
export const step = (by, extend, from = 0) => {
  const all = tokensOf();
  if (!all.length) return null;
  const begin = Math.max(
    0,
    all.findIndex(([, end]) => end > from),
  );
  const to = focus < 0 ? begin : Math.min(all.length - 1, Math.max(0, focus + by));
  focus = to;
  if (!extend || anchor < 0) anchor = to;
  const [first, last] = [Math.min(anchor, focus), Math.max(anchor, focus)];
  reveal(all[focus][0]);
  exact = false;
  select(all[first][0], all[last][1]);
  return current().text.slice(all[first][0], all[last][1]);
};
document.addEventListener("selectionchange", () => {
  if (!own) anchor = focus = -1;
  own = false;
  if (current()) changed("selection");
});
reading.addEventListener("mouseup", (event) => {
  exact = event.altKey;
});
onChange((what) => {
  if (what.has("document")) unselect();
});
