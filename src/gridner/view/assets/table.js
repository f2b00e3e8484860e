// The entities as a table: sorted, grouped, counted. On a phone its rows are cards.
import { $, colourOf, make, many, twoDigits } from "./elements.js";
import { inCodePoints, wordsOf } from "./offsets.js";
import { choose, light } from "./reading.js";
import { current, onChange, state } from "./state.js";
import { listed } from "./views.js";

const ROWS = 500;
let sorting = { column: "place", down: false },
  all = false;

const VERDICTS = {
  right: "right",
  missed: "missed",
  wrong: "wrong",
  accepted: "accepted",
  rejected: "rejected",
  suggested: "to decide",
};
export const verdictOf = (entity) => VERDICTS[entity.kind ?? entity.verdict] ?? "";
const COLUMNS = [
  { id: "type", value: (row) => row.entity.type },
  { id: "text", value: (row) => row.text },
  { id: "place", name: "fragments", value: (row) => row.entity.fragments[0][0] },
  { id: "score", value: (row) => row.entity.score ?? -1 },
  { id: "verdict", value: (row) => verdictOf(row.entity), only: () => state.view === "compare" || state.view === "review" },
];
const columns = () => COLUMNS.filter(({ only }) => !only || only());

// All that the view shows, with texts and offsets as files have them.
export const rowsOf = (document_) => {
  const entities = listed(document_),
    counted = inCodePoints(document_.text, entities);
  return entities.map((entity, n) => ({
    entity,
    text: wordsOf(document_.text, entity.fragments),
    places: counted[n].fragments.map(([start, end]) => `${start}–${end}`).join(", "),
    score: entity.score === undefined ? "" : twoDigits(entity.score),
  }));
};

const heads = () =>
  columns().map(({ id, name = id }) => {
    const button = make(
      "button",
      { type: "button", "data-sort": id },
      name,
      make("span", { "aria-hidden": "true" }, sorting.column === id ? (sorting.down ? " ▾" : " ▴") : ""),
    );
    return make(
      "th",
      { scope: "col", "aria-sort": sorting.column === id ? (sorting.down ? "descending" : "ascending") : "none" },
      button,
    );
  });
const rowOf = ({ entity, text, places, score }, n) => {
  const swatch = make("span", { class: "swatch", "aria-hidden": "true" });
  swatch.style.background = colourOf(entity.type);
  const cells = {
    type: make("td", { "data-name": "type" }, swatch, entity.type),
    text: make("td", { "data-name": "text", dir: "auto" }, text),
    place: make("td", { "data-name": "fragments" }, places),
    score: make("td", { "data-name": "score" }, score),
    verdict: make("td", { "data-name": "verdict", class: entity.kind ?? entity.verdict ?? "" }, verdictOf(entity)),
  };
  return make(
    "tr",
    {
      tabindex: n ? "-1" : "0",
      "data-key": entity.key,
      ...(entity.key === state.chosen ? { class: "now", "aria-current": "true" } : {}),
    },
    ...columns().map(({ id }) => cells[id]),
  );
};
const grouped = (rows, by) => {
  const groups = new Map();
  for (const row of rows) {
    const name = by === "type" ? row.entity.type : row.text.replace(/\s+/g, " ").toLowerCase();
    groups.set(name, [...(groups.get(name) ?? []), row]);
  }
  return [...groups].sort(([a, some], [b, others]) => others.length - some.length || a.localeCompare(b, "en"));
};

const show = () => {
  $("listing").hidden = !current();
  if (!current()) return;
  const { value } = COLUMNS.find(({ id }) => id === sorting.column),
    sign = sorting.down ? -1 : 1;
  const order = (a, b) => (typeof a === "string" ? a.localeCompare(b, "en") : a - b);
  const rows = rowsOf(current()).sort(
    (a, b) => sign * order(value(a), value(b)) || a.entity.fragments[0][0] - b.entity.fragments[0][0],
  );
  const limit = all ? Infinity : ROWS,
    by = $("group").value;
  $("table")
    .querySelector("thead tr")
    .replaceChildren(...heads());
  let items = rows.slice(0, limit).map(rowOf);
  if (by) {
    let n = 0;
    items = grouped(rows, by).flatMap(([name, some]) => {
      if (n >= limit) return [];
      const head = make(
        "tr",
        { class: "group" },
        make(
          "th",
          { scope: "rowgroup", colspan: columns().length, dir: "auto" },
          name,
          " ",
          make("span", { class: "count" }, some.length.toLocaleString("en")),
        ),
      );
      return [head, ...some.slice(0, limit - n).map((row) => rowOf(row, n++))];
    });
  }
  const focused = $("rows").contains(document.activeElement) ? document.activeElement.dataset.key : null;
  $("listing").hidden = !rows.length && state.view !== "review";
  $("rows").replaceChildren(...items);
  if (focused)
    ($("rows").querySelector(`[data-key="${state.chosen ?? focused}"]`) ?? $("rows").querySelector("[data-key]"))?.focus();
  $("h-listing").textContent = rows.length ? `Table: ${many(rows.length, "entity", "entities")}` : "Table";
  const more = make("button", { type: "button" }, `Show all ${rows.length.toLocaleString("en")}`);
  more.addEventListener("click", () => {
    all = true;
    show();
  });
  $("more").replaceChildren(
    ...(rows.length > limit ? [`The first ${ROWS} rows. Copies and files have all of them. `, more] : []),
  );
};
const mark = () => {
  for (const row of $("rows").querySelectorAll("[data-key]")) {
    const is = row.dataset.key === state.chosen;
    row.classList.toggle("now", is);
    if (is) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
  }
};

const keyOf = (event) => event.target.closest("tr[data-key]")?.dataset.key ?? null;
$("rows").addEventListener("mouseover", (event) => light(keyOf(event)));
$("rows").addEventListener("mouseleave", () => light(null));
$("rows").addEventListener("click", (event) => {
  if (keyOf(event)) choose(keyOf(event));
});
$("rows").addEventListener("focusin", (event) => {
  if (keyOf(event) && keyOf(event) !== state.chosen) choose(keyOf(event), { scroll: false });
});
$("rows").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && keyOf(event)) choose(keyOf(event));
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!by) return;
  event.preventDefault();
  const rows = [...$("rows").querySelectorAll("[data-key]")],
    to = rows[rows.indexOf(event.target) + by];
  if (to) {
    event.target.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  }
});
$("table")
  .querySelector("thead")
  .addEventListener("click", (event) => {
    const column = event.target.closest("button")?.dataset.sort;
    if (!column) return;
    sorting = { column, down: sorting.column === column ? !sorting.down : column === "score" };
    show();
    $("table").querySelector(`[data-sort="${column}"]`).focus();
  });
$("group").addEventListener("change", show);
onChange((what) => {
  if (what.has("document")) all = false;
  if (what.has("document") || what.has("filter")) show();
  else if (what.has("chosen")) mark();
});
