// A report: its tables, its curves, and its sentences behind filters.
import { $, make, many } from "./elements.js";
import { drawCurves } from "./curves.js";
import { ERRORS, KINDS, NAMES, address, chooser, data, fromAddress, two } from "./report-data.js";
import { fitLanes, fromPaper, showSentences, shownCount, step, toPaper, toggleGrid } from "./report-list.js";
import { showTables } from "./report-scores.js";

const MOST = 300; // sentences that are printed without asking
const FIELDS = { show: "f-error", type: "f-type", kind: "f-kind", search: "f-search" };
const FIRST = { show: two ? "error" : "error0" };

const fillSelect = (id, options) => {
  for (const [value, name] of options) $(id).append(make("option", { value }, name));
};
const readFields = () => Object.fromEntries(Object.entries(FIELDS).map(([name, id]) => [name, $(id).value]));
const writeFields = (filters) => {
  for (const [name, id] of Object.entries(FIELDS)) {
    $(id).value = filters[name] ?? "";
    if ($(id).selectedIndex === -1) $(id).value = ""; // an address of another report
  }
};
const apply = () => {
  const filters = readFields();
  showSentences(chooser(filters), filters.search);
};
const changedFields = () => {
  history.replaceState(null, "", address(readFields()));
  apply();
};
const follow = () => {
  // a link of a table, or the address of a page that was kept
  writeFields(location.hash ? fromAddress() : FIRST);
  apply();
};

let allowed = false; // to print all of many sentences
const print = () => {
  if (shownCount() > MOST && !window.confirm(`Print ${many(shownCount(), "sentence")}? Filters make the list shorter.`)) return;
  allowed = true;
  window.print();
  allowed = false;
};

showTables();
$("plots").append(...drawCurves(data, NAMES));
$("curves").hidden = !$("plots").firstChild;
fillSelect(
  "f-error",
  Object.entries(ERRORS).map(([value, [name]]) => [value, name]),
);
fillSelect("f-type", [["", "all"], ...data.types.map((name) => [name, name])]);
fillSelect(
  "f-kind",
  Object.entries(KINDS).map(([value, [name]]) => [value, name]),
);
if (!data.text) {
  $("f-search").disabled = true;
  $("f-search").placeholder = "a report without text";
}

$("filters").addEventListener("input", changedFields);
$("filters").addEventListener("reset", () => setTimeout(changedFields));
$("filters").addEventListener("submit", (event) => event.preventDefault());
window.addEventListener("hashchange", () => {
  follow();
  $("h-browse").scrollIntoView();
  $("count").focus({ preventScroll: true });
});
$("print").addEventListener("click", print);
document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "p") {
    event.preventDefault();
    print();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.id === "f-search") {
    if (event.key === "Escape") {
      event.preventDefault();
      event.target.blur();
    }
    return;
  }
  if (event.target.tagName === "SELECT") {
    if (!"jk/".includes(event.key)) return;
    event.preventDefault();
  } // not for its list
  if (event.key === "g") toggleGrid();
  else if (event.key === "j") step(1);
  else if (event.key === "k") step(-1);
  else if (event.key === "/") {
    event.preventDefault();
    $("f-search").focus();
  }
});
const measure = () =>
  $("list").style.setProperty(
    "--filters",
    getComputedStyle($("filters")).position === "sticky" ? `${$("filters").offsetHeight}px` : "0px",
  );
window.addEventListener("resize", () => {
  measure();
  fitLanes();
});
window.addEventListener("beforeprint", () => toPaper(allowed ? Infinity : MOST));
window.addEventListener("afterprint", fromPaper);
measure();
follow();
