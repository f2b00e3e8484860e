// What is shown of a document: the view, the threshold, the types, and the grid of a sentence.
import { $, colourOf, make, many } from "./elements.js";
import { drawGrid } from "./grid.js";
import { askedModel, lookedFor } from "./model.js";
import { inCodePoints, inUnits } from "./offsets.js";
import { ensureReview } from "./review.js";
import { ask, complain } from "./service.js";
import { allTypes, changed, current, isSure, onChange, state } from "./state.js";
import { allIn, drawn, listed, scoresOf } from "./views.js";

const setView = (view) => {
  state.view = view;
  if (view === "review") ensureReview();
  changed("filter", "view");
};
const views = () => {
  const annotated = Boolean(current().annotated);
  if (!annotated && (state.view === "annotated" || state.view === "compare")) state.view = "found";
  for (const button of $("views").querySelectorAll("button")) {
    const { view } = button.dataset;
    button.hidden = !annotated && (view === "annotated" || view === "compare");
    button.setAttribute("aria-pressed", String(view === state.view));
  }
};

const typeButton = (type) => {
  const count = allIn(current())
    .concat(state.view === "compare" ? current().annotated : [])
    .filter((one) => one.type === type && isSure(one) && one.verdict !== "rejected").length;
  const on = !state.hiddenTypes.has(type);
  const button = make(
    "button",
    { type: "button", "data-type": type, "aria-pressed": String(on) },
    type,
    " ",
    make("span", { class: "count" }, count.toLocaleString("en")),
  );
  button.style.setProperty("--colour", colourOf(type));
  return button;
};
const legend = () => {
  const focused = $("legend").contains(document.activeElement) ? document.activeElement.dataset.type : null;
  $("legend").replaceChildren($("legend").querySelector("legend"), ...allTypes().map(typeButton));
  if (focused) [...$("legend").querySelectorAll("button")].find((one) => one.dataset.type === focused)?.focus();
};

const said = () => {
  const shown = drawn(current()),
    gaps = shown.filter(({ fragments }) => fragments.length > 1).length;
  $("h-result").textContent = `${many(shown.length, "entity", "entities")}, ${gaps.toLocaleString("en")} discontinuous`;
  $("comparison").hidden = state.view !== "compare";
  if (state.view === "compare") {
    const { right, missed, wrong, precision, recall, f1 } = scoresOf(listed(current())),
      percent = (value) => (value === null ? "–" : value.toFixed(1));
    const key = (kind, words) =>
      make(
        "span",
        { class: "key" },
        make("span", { class: `g-bar g-first g-last g-${kind}`, "aria-hidden": "true" }),
        make("strong", {}, words),
      );
    $("comparison").replaceChildren(
      key("right", `${right} right`),
      key("missed", `${missed} missed`),
      key("wrong", `${wrong} wrong`),
      make(
        "span",
        { class: "soft" },
        `Precision ${percent(precision)}, recall ${percent(recall)}, F1 ${percent(f1)} (exact match)`,
      ),
    );
  }
};
const empty = () => {
  const none = !drawn(current()).length && state.view !== "annotated";
  $("empty").hidden = !none;
  if (!none) return;
  const below = current().found.filter((one) => !isSure(one)).length,
    parts = [make("strong", {}, `Nothing found with a score above ${state.threshold.toFixed(2)}. `)];
  if (below) {
    const lower = make("button", { type: "button" }, `Show ${many(below, "entity", "entities")} with lower scores`);
    lower.addEventListener("click", () => {
      setThreshold(Number($("threshold").min));
      $("threshold").focus();
    });
    parts.push(lower);
  }
  $("empty").replaceChildren(...parts, make("span", { class: "looks" }, "This model looks for:"), lookedFor());
};
const setThreshold = (value) => {
  state.threshold = value;
  state.moved = true;
  changed("filter");
};

const show = () => {
  $("result").hidden = !current();
  if (!current()) return;
  views();
  $("threshold").value = state.threshold;
  $("threshold-said").textContent = state.threshold.toFixed(2);
  $("threshold").disabled = state.view === "annotated";
  legend();
  said();
  empty();
};

// The grid: of the sentence with the chosen entity, or of the first.
let at = null; // [document, start, end] of the sentence that is shown
const grid = async () => {
  $("grid-toggle").setAttribute("aria-pressed", String(state.grid));
  $("grid").hidden = !state.grid || !current();
  if ($("grid").hidden) {
    at = null;
    return;
  }
  const document_ = current(),
    chosen = drawn(document_).find(({ key }) => key === state.chosen) ?? drawn(document_)[0];
  const place = chosen?.fragments[0][0] ?? 0;
  if (at && at[0] === document_ && place >= at[1] && place < at[2]) return;
  at = [document_, place, place + 1];
  try {
    const [
      {
        fragments: [[point]],
      },
    ] = inCodePoints(document_.text, [{ fragments: [[place, place]] }]);
    const answer = await (await ask("page/grid", { text: document_.text, at: point, model: askedModel() })).json();
    if (!at || at[0] !== document_ || at[1] !== place) return; // another one is wanted by now
    const [
      {
        fragments: [[start, end]],
      },
    ] = inUnits(document_.text, [{ fragments: [[answer.start, answer.end]] }]);
    at = [document_, start, end];
    const words = document_.text.slice(start, end).replace(/\s+/g, " ");
    $("grid").replaceChildren(
      make("h3", {}, "The grid of ", make("q", { dir: "auto" }, words.length > 80 ? `${words.slice(0, 79)}…` : words)),
      make(
        "p",
        { class: "soft" },
        "How likely the network thinks each tag is for each pair of words. Choose an entity to see its sentence.",
      ),
      ...(answer.windows.length ? answer.windows.map(drawGrid) : [make("p", {}, "No tag is likely anywhere in this sentence.")]),
    );
  } catch (error) {
    at = null;
    state.grid = false;
    complain(error);
    grid();
  }
};

$("views").addEventListener("click", (event) => {
  if (event.target.dataset.view) setView(event.target.dataset.view);
});
$("threshold").addEventListener("input", () => setThreshold(Number($("threshold").value)));
$("legend").addEventListener("click", (event) => {
  const type = event.target.closest("button")?.dataset.type;
  if (type === undefined) return;
  if (!state.hiddenTypes.delete(type)) state.hiddenTypes.add(type);
  changed("filter");
});
$("grid-toggle").addEventListener("click", () => {
  state.grid = !state.grid;
  changed("grid");
});
onChange((what) => {
  if (what.has("document") || what.has("filter")) show();
  if (what.has("document") || what.has("chosen") || what.has("grid")) grid();
});
