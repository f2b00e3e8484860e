// Files and folders: texts with their annotations become documents, and what is not read is named.
import { $, make, many } from "./elements.js";
import { text as typed } from "./input.js";
import { inUnits } from "./offsets.js";
import { readAll } from "./documents.js";
import { mayReplace } from "./review.js";
import { complain } from "./service.js";
import { withKeys } from "./state.js";

const ending = (name) => /\.[^./]*$/.exec(name)?.[0].toLowerCase() ?? "";
const stem = (name) => name.replace(/\.[^./]*$/, "");
const decoded = async (file) => {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await file.arrayBuffer());
  } catch {
    throw new Error("not text in UTF-8");
  }
};

// The documents of a file of JSON lines, gridner's own format; entities in it are annotations.
const fromLines = (content, name) =>
  content
    .replace(/^\ufeff/, "")
    .split("\n")
    .flatMap((line, n) => {
      if (!line.trim()) return [];
      let item;
      try {
        item = JSON.parse(line);
      } catch {
        throw new Error(`line ${n + 1} is not JSON`);
      }
      if (typeof item?.text !== "string") throw new Error(`line ${n + 1} has no "text"`);
      const given = Array.isArray(item.entities) ? item.entities : [];
      const fits = ({ type, fragments }) =>
        typeof type === "string" &&
        Array.isArray(fragments) &&
        fragments.length &&
        fragments.every(
          (pair) =>
            Array.isArray(pair) &&
            pair.length === 2 &&
            pair.every(Number.isInteger) &&
            pair[0] >= 0 &&
            pair[0] < pair[1] &&
            pair[1] <= Array.from(item.text).length,
        );
      if (!given.every(fits)) throw new Error(`line ${n + 1} has an entity that does not fit its text`);
      const annotated = given.length
        ? withKeys(
            item.text,
            inUnits(item.text, given).map(({ type, fragments }) => ({ type, fragments })),
          )
        : null;
      return [{ id: String(item.id ?? `${stem(name)}-${n + 1}`), text: item.text, annotated, notes: [] }];
    });

const skippedList = (skipped) => {
  $("skipped").hidden = !skipped.length;
  $("skipped").querySelector("summary").textContent = `${many(skipped.length, "file")} not read`;
  $("skipped")
    .querySelector("ul")
    .replaceChildren(...skipped.map(([name, why]) => make("li", {}, `${name}: ${why}`)));
};

// `files`: [path, file], the path inside the folder that was opened.
export const openFiles = async (files) => {
  complain("");
  if (!files.length || !mayReplace()) return;
  const sorted = [...files].sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }));
  const documents = [],
    skipped = [];
  const anns = new Map(sorted.filter(([path]) => ending(path) === ".ann").map((one) => [stem(one[0]), one]));
  const texts = sorted.filter(([path]) => ending(path) !== ".ann");
  if (!texts.length && anns.size === 1 && typed().trim()) {
    // annotations of the text that is there
    const [[path, file]] = anns.values();
    try {
      documents.push({ id: stem(path), text: typed(), ann: await decoded(file), annName: path, notes: [] });
    } catch (error) {
      skipped.push([path, error.message]);
    }
    anns.clear();
  }
  const pair = texts.length === 1 && anns.size === 1 ? [...anns.values()][0] : undefined; // whatever their names
  for (const [path, file] of texts) {
    try {
      if (ending(path) === ".jsonl") documents.push(...fromLines(await decoded(file), path));
      else if (ending(path) === ".txt" || (ending(path) !== ".conf" && texts.length === 1)) {
        const one = { id: stem(path), text: await decoded(file), notes: [] },
          ann = anns.get(stem(path)) ?? pair;
        if (!one.text.trim()) throw new Error("empty");
        if (ann) {
          anns.delete(stem(ann[0]));
          Object.assign(one, { ann: await decoded(ann[1]), annName: ann[0] });
        }
        documents.push(one);
      } else throw new Error("neither .txt nor .jsonl");
    } catch (error) {
      skipped.push([path, error.message]);
    }
  }
  for (const [path] of anns.values()) skipped.push([path, "there is no .txt file for it"]);
  skippedList(skipped);
  const said = skipped.length
    ? [
        `Not read: ${skipped
          .slice(0, 5)
          .map(([name, why]) => `${name} (${why})`)
          .join(", ")}${skipped.length > 5 ? ` and ${skipped.length - 5} more` : ""}.`,
      ]
    : [];
  if (documents.length) await readAll(documents, said);
  else complain(said.join(" "));
};

// What was dropped, folders with all that is in them.
const entriesOf = async (entry) => {
  if (entry.isFile)
    return [
      [
        entry.fullPath.slice(1),
        await new Promise((resolve, reject) => {
          entry.file(resolve, reject);
        }),
      ],
    ];
  const reader = entry.createReader(),
    found = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => {
      reader.readEntries(resolve, reject);
    });
    if (!some.length) return found;
    for (const one of some) found.push(...(await entriesOf(one)));
  }
};
const dropped = async (transfer) => {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const found = entries.length
    ? (await Promise.all(entries.map(entriesOf))).flat()
    : [...transfer.files].map((file) => [file.name, file]);
  await openFiles(found);
};
const pathOf = (file) => file.webkitRelativePath.replace(/^[^/]*\//, "") || file.name;
for (const [button, input] of [
  ["open", "files"],
  ["open-folder", "folder"],
]) {
  $(button).addEventListener("click", () => $(input).click());
  $(input).addEventListener("change", async () => {
    const files = [...$(input).files].map((file) => [pathOf(file), file]);
    $(input).value = "";
    await openFiles(files);
  });
}
for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    document.body.classList.toggle("dropping", kind === "dragover");
    if (kind === "drop") dropped(event.dataTransfer).catch(complain);
  });
}
