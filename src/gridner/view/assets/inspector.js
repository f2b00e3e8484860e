// The bar of the review: what is chosen or selected, what can be done with it, and the keys for it.
import { $, colourOf, make, many, twoDigits } from "./elements.js";
import { wordsOf } from "./offsets.js";
import { choose } from "./reading.js";
import {
  acceptAll,
  add,
  addFragment,
  chosenEntity,
  counts,
  decide,
  ensureReview,
  inReview,
  neighbour,
  nextSuggestion,
  removeRange,
  setType,
  undo,
} from "./review.js";
import { selectedRange, step, unselect } from "./selecting.js";
import { allTypes, current, onChange } from "./state.js";

const speak = (words) => {
  $("spoken").textContent = words;
};
const describe = (one) =>
  `${one.verdict === "suggested" ? "suggested " : one.verdict === "rejected" ? "rejected " : ""}${one.type}: ${wordsOf(current().text, one.fragments)}`;

const accept = () => settle("accepted");
const reject = () => settle("rejected");
const settle = (verdict) => {
  // and on to the next suggestion
  const one = chosenEntity();
  if (!one) return;
  const next = nextSuggestion();
  decide(verdict);
  choose(next ?? (verdict === "accepted" ? one.key : null));
  speak(
    `${verdict}: ${wordsOf(current().text, one.fragments)}. ${next ? describe(chosenEntity()) : "Nothing is left to decide."}`,
  );
};
const typed = (type) => {
  // the selected words are added, or the chosen entity gets the type
  const range = selectedRange();
  if (range) {
    const key = add(type, range);
    unselect();
    choose(key, { scroll: false });
  } else setType(type);
  if (chosenEntity()) speak(describe(chosenEntity()));
};
const withSelection = (change) => {
  if (!change(selectedRange())) return;
  unselect();
  choose(chosenEntity().key, { scroll: false });
  speak(describe(chosenEntity()));
};
const grow = () => withSelection(addFragment),
  shrink = () => withSelection(removeRange);
const back = () => {
  if (undo()) speak("undone");
};
const move = (by) => {
  choose(neighbour(by));
  if (chosenEntity()) speak(describe(chosenEntity()));
};

const button = (words, key, action, attributes = {}) => {
  const one = make(
    "button",
    { type: "button", "aria-keyshortcuts": key, ...attributes },
    words,
    " ",
    make("kbd", { "aria-hidden": "true" }, key),
  );
  one.addEventListener("mousedown", (event) => event.preventDefault()); // the selection stays
  one.addEventListener("click", action);
  return one;
};
const typeButtons = (chosen) =>
  allTypes().map((type, n) => {
    const one = button(type, String(n + 1), () => typed(type), {
      class: "type",
      ...(chosen ? { "aria-pressed": String(chosen.type === type) } : {}),
    });
    one.style.setProperty("--colour", colourOf(type));
    if (n > 8) {
      one.querySelector("kbd").remove();
      one.removeAttribute("aria-keyshortcuts");
    }
    return one;
  });

const selectionRow = (range, chosen) => {
  const words = make("q", { dir: "auto" }, current().text.slice(...range));
  const row = make("div", { class: "row" }, make("span", { class: "what" }, "Add ", words, " as"), ...typeButtons(null));
  if (chosen)
    row.append(
      make("span", { class: "what" }, "or"),
      button("Add to the chosen entity", "F", grow),
      button("Remove from it", "X", shrink),
    );
  return row;
};
const entityRow = (one) => {
  const score = one.score === undefined ? "" : ` ${twoDigits(one.score)}`;
  return make(
    "div",
    { class: "row" },
    make("span", { class: "what" }, make("q", { dir: "auto" }, wordsOf(current().text, one.fragments)), `${score} is`),
    ...typeButtons(one),
    button("Accept", "A", accept, { class: "accept", "aria-pressed": String(one.verdict === "accepted") }),
    button("Reject", "R", reject, { class: "reject", "aria-pressed": String(one.verdict === "rejected") }),
  );
};
const overview = () => {
  const { accepted, rejected, suggested } = counts();
  const row = make(
    "div",
    { class: "row" },
    make("span", { class: "what tally" }, `${accepted} accepted, ${rejected} rejected, ${suggested} to decide`),
  );
  if (suggested)
    row.append(
      button("Accept all shown", "⇧A", () => {
        const many_ = counts().suggested;
        acceptAll();
        speak(`${many(many_, "suggestion")} accepted`);
      }),
    );
  if (current().past.length) row.append(button("Undo", "U", back));
  row.append(
    make(
      "span",
      { class: "hint" },
      make("kbd", {}, "N"),
      " ",
      make("kbd", {}, "P"),
      " next and previous entity, ",
      make("kbd", {}, "←"),
      " ",
      make("kbd", {}, "→"),
      " select a word, with ",
      make("kbd", {}, "Shift"),
      " more words",
    ),
  );
  return row;
};

let shown = "";
const show = () => {
  $("inspector").hidden = !inReview();
  document.body.classList.toggle("reviewing", inReview());
  if (!inReview()) {
    shown = "";
    return;
  }
  ensureReview();
  const range = selectedRange(),
    chosen = chosenEntity();
  const next = JSON.stringify([range, chosen, counts(), current().past.length, allTypes()]);
  if (next === shown) return; // buttons keep their focus
  shown = next;
  const focused = $("inspector").contains(document.activeElement) ? document.activeElement.textContent : null;
  $("inspector").replaceChildren(
    ...(range ? [selectionRow(range, chosen)] : []),
    ...(chosen && !range ? [entityRow(chosen)] : []),
    overview(),
  );
  if (focused !== null)
    ([...$("inspector").querySelectorAll("button")].find((one) => one.textContent === focused) ?? $("reading")).focus();
};

const KEYS = { a: accept, r: reject, Delete: reject, f: grow, x: shrink, u: back, n: () => move(1), p: () => move(-1) };
const pressed = (event) => {
  if (!current() || event.ctrlKey || event.metaKey || event.altKey) return;
  const arrow = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (event.key === "Escape") {
    unselect();
    choose(null);
    return;
  }
  if (!inReview()) {
    if ("np".includes(event.key)) choose(neighbour(event.key === "n" ? 1 : -1));
    return;
  }
  if (event.key === "A") {
    acceptAll();
    speak("all accepted");
    return;
  }
  const type = /^[1-9]$/.test(event.key) ? allTypes()[event.key - 1] : undefined;
  const inText = event.currentTarget === $("reading");
  if (arrow && inText) {
    event.preventDefault();
    speak(step(arrow, event.shiftKey, chosenEntity()?.fragments[0][0]) ?? "");
  } else if (type) typed(type);
  else if (KEYS[event.key]) {
    event.preventDefault();
    KEYS[event.key]();
  }
};
for (const id of ["reading", "rows", "inspector"]) $(id).addEventListener("keydown", pressed);
onChange((what) => {
  if (what.size) show();
});
