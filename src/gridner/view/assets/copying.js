// Copies and files of what is shown. The service only turns entities into a format; it keeps nothing.
import { $, make, many } from "./elements.js";
import { text as typed } from "./input.js";
import { inCodePoints } from "./offsets.js";
import { ask, complain, headers, say } from "./service.js";
import { current, onChange, state } from "./state.js";
import { rowsOf, verdictOf } from "./table.js";
import { markSaved } from "./review.js";
import { allIn, kept } from "./views.js";

const LINK = 6000; // characters of a text that a link may carry
const PART = 2_500_000; // characters of a request to save: the service takes no more than 4 MB

// A cell of a table that is copied: on one line, and no formula to a spreadsheet.
const plainCell = (value) => value.replace(/[\t\n\v\f\r\u0085\u2028\u2029]+/g, " ").replace(/^[=+\-@＝＋－＠]/, "'$&");
const quoted = (value) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);

const copy = async (words, said) => {
  try {
    await navigator.clipboard.writeText(words);
  } catch {
    // not over plain HTTP from another machine
    const area = make("textarea", { class: "g-said" });
    area.value = words;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say(said);
};

// A document as JSON lines has it, with what the view shows.
const itemOf = (document_) => ({
  id: document_.id,
  text: document_.text,
  entities: inCodePoints(document_.text, kept(document_)).map(({ type, fragments, score }) => ({
    type,
    fragments,
    ...(score === undefined ? {} : { score }),
  })),
});
const table = (separator, cell) => {
  const verdicts = state.view === "compare" || state.view === "review";
  const head = ["type", "text", "fragments", "score", ...(verdicts ? ["verdict"] : [])];
  const rows = rowsOf(current()).map(({ entity, text, places, score }) => [
    entity.type,
    text,
    places,
    score,
    ...(verdicts ? [verdictOf(entity)] : []),
  ]);
  return [head, ...rows].map((row) => row.map((value) => cell(plainCell(value))).join(separator)).join("\n");
};
const request = () => {
  const hidden = state.types.some((type) => state.hiddenTypes.has(type));
  return JSON.stringify({
    text: current().text,
    threshold: state.threshold,
    ...(hidden ? { types: state.types.filter((type) => !state.hiddenTypes.has(type)) } : {}),
  });
};
const address = () => new URL("v1/recognize", location.href.split("#")[0]).href;
const needsToken = () => Boolean(headers().Authorization);

const KINDS = {
  table: () => [table("\t", (value) => value), `The table is copied: ${many(rowsOf(current()).length, "entity", "entities")}.`],
  csv: () => [table(",", quoted), `Copied as CSV: ${many(rowsOf(current()).length, "entity", "entities")}.`],
  json: () => [
    JSON.stringify(itemOf(current()), null, 2),
    `Copied as JSON: ${many(kept(current()).length, "entity", "entities")}.`,
  ],
  curl: () => [
    `curl -s ${address()} -H 'Content-Type: application/json'${needsToken() ? ' -H "Authorization: Bearer $GRIDNER_TOKEN"' : ""} -d '${request().replaceAll("'", "'\\''")}'`,
    "A curl command is copied.",
  ],
  python: () => {
    const token = needsToken() ? ', "Authorization": "Bearer " + __import__("os").environ["GRIDNER_TOKEN"]' : "";
    return [
      `import json, urllib.request as u; print(json.load(u.urlopen(u.Request(${JSON.stringify(address())}, json.dumps(${request()}).encode(), {"Content-Type": "application/json"${token}})))["documents"])`,
      "A line of Python is copied.",
    ];
  },
};
const link = () => {
  const text = current() ? current().text : typed();
  if (text.length > LINK) {
    complain(`A link takes at most ${LINK.toLocaleString("en")} characters; this text has ${text.length.toLocaleString("en")}.`);
    return;
  }
  copy(`${location.href.split("#")[0]}#text=${encodeURIComponent(text)}`, "The link is copied. The text is in the link itself.");
};

// Parts of a list that fit into a request each.
const parts = (items) => {
  const found = [[]];
  let size = 0;
  for (const item of items) {
    const more = JSON.stringify(item).length;
    if (size + more > PART && found.at(-1).length) {
      found.push([]);
      size = 0;
    }
    found.at(-1).push(item);
    size += more;
  }
  return found;
};
const download = (blob, name) => {
  const anchor = make("a", { href: URL.createObjectURL(blob), download: name });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 10_000);
};
const ENDINGS = { brat: "zip", jsonl: "jsonl", csv: "csv" };
const undecided = (documents) => {
  if (state.view !== "review") return "";
  const all = documents.flatMap((one) => allIn(one, "review")),
    of = (wanted) =>
      all.filter(({ verdict, score }) => verdict === wanted && (score === undefined || score > state.threshold)).length;
  return ` The file has what is accepted: ${many(of("suggested"), "suggestion")} to decide and ${many(all.filter(({ verdict }) => verdict === "rejected").length, "rejected one", "rejected ones")} are not in it.`;
};
const save = async (format) => {
  const several = state.documents.length > 1 && $("all").checked;
  const chosen = several ? state.documents.filter(({ phase }) => phase === "read") : [current()];
  const left = several ? state.documents.length - chosen.length : 0,
    name = several ? "documents" : current().id.replace(/[^\p{L}\p{N}._=-]+/gu, "_");
  complain("");
  say("Saving …");
  try {
    const blobs = [],
      notes = [];
    for (const documents of parts(chosen.map(itemOf))) {
      const response = await ask("page/save", { format, documents });
      let content = await response.blob();
      if (format === "csv" && blobs.length) content = new Blob([(await content.text()).replace(/^[^\n]*\n/, "")]);
      blobs.push(content);
      if (response.headers.get("Gridner-Notes")) notes.push(response.headers.get("Gridner-Notes"));
    }
    const names =
      format === "brat" && blobs.length > 1 ? blobs.map((_, n) => `${name}-${n + 1}.zip`) : [`${name}.${ENDINGS[format]}`];
    if (names.length > 1) blobs.forEach((blob, n) => download(blob, names[n]));
    else download(new Blob(blobs), names[0]);
    if (state.view === "review") markSaved(chosen);
    const missing = left ? ` ${many(left, "document")} that could not be read ${left === 1 ? "is" : "are"} not in it.` : "";
    say(`Saved as ${names.join(", ")}.${missing}${undecided(chosen)}${notes.length ? ` Note: ${notes.join("; ")}.` : ""}`);
  } catch (error) {
    complain(error);
  }
};

$("copying").addEventListener("click", (event) => {
  const kind = event.target.dataset.copy;
  if (kind === "link") link();
  else if (kind && current()) copy(...KINDS[kind]());
});
$("saving").addEventListener("click", (event) => {
  if (event.target.dataset.format && current()) save(event.target.dataset.format);
});
onChange((what) => {
  if (!what.has("list")) return;
  $("all-row").hidden = state.documents.length < 2;
  $("all-row").querySelector("span").textContent = `all ${many(state.documents.length, "document")}`;
});
