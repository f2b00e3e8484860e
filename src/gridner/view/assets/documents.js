// Reading documents, one or many: what is read, how far it is, and the list of them.
import { $, make, many } from "./elements.js";
import { askedModel } from "./model.js";
import { inUnits } from "./offsets.js";
import { ask, complain, isAbort, noted, say } from "./service.js";
import { changed, currentDocument, onChange, state, withKeys } from "./state.js";
import { listed } from "./views.js";

const TOGETHER = 4; // requests under way: the service reads them in common batches
const RETRIES = 5;
let reading = null; // what can be cancelled

const pause = (seconds, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, 1000 * seconds);
    signal.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        reject(signal.reason);
      },
      { once: true },
    );
  });
const drawing = async (body, signal, patient) => {
  for (let left = patient ? RETRIES : 0; ; left -= 1) {
    try {
      return await (await ask("page/draw", body, signal)).json();
    } catch (error) {
      if (!error.later || left <= 0) throw error;
      await pause(Number(error.later), signal);
    }
  }
};
const entitiesOf = ({ text }, answer) => withKeys(text, inUnits(text, answer.document.entities));

const readOne = async (one, signal, patient, said) => {
  const { text, id } = one;
  const answer = await drawing({ text, id, model: askedModel() }, signal, patient);
  let annotated = one.annotated ?? null;
  const notes = [...answer.notes];
  if (one.ann !== undefined) {
    try {
      const given = await drawing({ text, id, ann: one.ann }, signal, patient);
      annotated = entitiesOf(one, given);
      notes.push(...given.notes);
    } catch (error) {
      if (isAbort(error)) throw error;
      said.push(`${one.annName} is not shown. ${error.message}`);
    }
  }
  if (!state.moved) state.threshold = answer.threshold;
  state.types = answer.types;
  Object.assign(one, {
    found: entitiesOf(one, answer),
    annotated,
    reviewed: null,
    past: [],
    notes,
    phase: "read",
    problem: null,
  });
};

// What is shown is replaced by documents that were opened.
export const replaceAll = (documents) => {
  Object.assign(state, { documents, current: 0, chosen: null, view: "found", hiddenTypes: new Set() });
};

// Read documents. One alone replaces what is shown when it is read, so that what is seen is what is saved; several at once.
// `said`: what the user must know beside the result.
export const readAll = async (documents, said = []) => {
  reading?.abort();
  const own = (reading = new AbortController()),
    began = performance.now(),
    several = documents.length > 1;
  const waiting = [...documents],
    read = () => documents.filter(({ phase }) => phase === "read");
  for (const one of documents) Object.assign(one, { phase: "waiting", problem: null });
  complain("");
  say(several ? "" : "Reading …");
  $("find").setAttribute("aria-busy", "true");
  $("progress").hidden = false;
  const advance = () => {
    const done = documents.filter(({ phase }) => phase === "read" || phase === "failed").length;
    Object.assign($("bar"), { max: documents.length, value: done });
    $("progress-said").textContent = several
      ? `${done.toLocaleString("en")} of ${many(documents.length, "document")} read`
      : "Reading …";
  };
  const work = async () => {
    while (waiting.length && !own.signal.aborted) {
      const one = waiting.shift();
      one.phase = "reading";
      try {
        await readOne(one, own.signal, several, said);
      } catch (error) {
        Object.assign(one, { phase: "failed", problem: isAbort(error) ? "cancelled" : error.message });
      }
      if (reading !== own) return; // something else is read by now
      advance();
      if (several) changed("list", ...(one === currentDocument() ? ["document"] : []));
    }
  };
  if (several) {
    replaceAll(documents);
    changed("document", "list");
  }
  advance();
  await Promise.all(Array.from({ length: Math.min(TOGETHER, documents.length) }, work));
  if (reading !== own) return;
  reading = null;
  $("find").removeAttribute("aria-busy");
  $("progress").hidden = true;
  for (const one of waiting) Object.assign(one, { phase: "failed", problem: "cancelled" });
  if (several) changed("list");
  else if (!own.signal.aborted) {
    if (!state.documents.includes(documents[0])) replaceAll(documents);
    changed("document", "list");
  }
  tell(documents, own.signal.aborted, ((performance.now() - began) / 1000).toFixed(1), said, read());
};

const tell = (documents, cancelled, seconds, said, read) => {
  const several = documents.length > 1,
    failed = documents.filter(({ phase, problem }) => phase === "failed" && problem !== "cancelled");
  if (cancelled)
    say(several ? `Cancelled: ${read.length.toLocaleString("en")} of ${many(documents.length, "document")} read.` : "Cancelled.");
  else if (read.length)
    say(
      `${several ? many(read.length, "document") : many(read[0].text.length, "character")} read in ${seconds} s.${noted(read.flatMap(({ notes }) => notes))}`,
    );
  else say("");
  const problems = failed.length
    ? [several ? `${many(failed.length, "document")} could not be read; the list says why.` : failed[0].problem]
    : [];
  $("error").textContent = [...said, ...problems].join(" ");
};

const WORDS = { waiting: "waiting", reading: "reading …" };
const itemOf = (one, n) => {
  const said =
    one.phase === "read"
      ? many(listed(one).length, "entity", "entities")
      : one.phase === "failed"
        ? one.problem
        : WORDS[one.phase];
  const more = one.phase === "read" && one.annotated ? `, ${one.annotated.length.toLocaleString("en")} annotated` : "";
  const button = make(
    "button",
    { type: "button", "data-n": n, ...(n === state.current ? { "aria-current": "true" } : {}) },
    make("span", { class: "name" }, one.id),
    make("span", { class: one.phase === "failed" ? "count bad" : "count" }, said + more),
  );
  return make("li", {}, button);
};
let scheduled = false; // the list is drawn once a frame, however often it changes
const list = () => {
  scheduled = false;
  $("documents").hidden = state.documents.length < 2;
  document.body.classList.toggle("several", state.documents.length > 1);
  $("h-documents").textContent = many(state.documents.length, "document");
  if ($("documents").hidden) return;
  const focused = $("document-list").contains(document.activeElement);
  $("document-list").replaceChildren(...state.documents.map(itemOf));
  if (focused) $("document-list").querySelector("[aria-current]")?.focus();
};
export const open = (n) => {
  if (!state.documents[n] || n === state.current) return;
  state.current = n;
  state.chosen = null;
  changed("document", "list");
};
$("document-list").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button) open(Number(button.dataset.n));
});
$("document-list").addEventListener("keydown", (event) => {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (by) {
    event.preventDefault();
    open(state.current + by);
  }
});
$("cancel").addEventListener("click", () => reading?.abort());
onChange((what) => {
  if ((what.has("list") || what.has("filter")) && !scheduled) {
    scheduled = true;
    requestAnimationFrame(list);
  }
});
