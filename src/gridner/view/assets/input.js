// The text area: it folds once its text is read, and what is shown goes stale when it is edited.
import { $, many } from "./elements.js";
import { exampleNamed } from "./model.js";
import { readAll } from "./documents.js";
import { mayReplace } from "./review.js";
import { complain } from "./service.js";
import { changed, currentDocument, onChange, state } from "./state.js";

let sending = null; // what the text area had when its text was sent
const asArea = (text) => text.replace(/\r\n?/g, "\n"); // a text area has line ends of its own
// The text as it is sent: a file that was not edited as it is, so that its offsets hold.
export const text = () => {
  const own = currentDocument()?.text;
  return own !== undefined && $("text").value === asArea(own) ? own : $("text").value;
};

const fold = (folded) => {
  const several = state.documents.length > 1;
  $("ask").hidden = folded;
  $("folded").hidden = !currentDocument();
  $("unfold").setAttribute("aria-expanded", String(!folded));
  $("unfold").textContent = folded ? "Edit text" : "Hide text";
  document.body.classList.toggle("folded", folded);
  document.body.classList.toggle("read", Boolean(currentDocument()));
  if (!currentDocument()) return;
  const { id, text: own } = currentDocument();
  $("folded-text").textContent = (several ? `${id}: ` : "") + own.trim().slice(0, 120).replace(/\s+/g, " ");
  $("folded-size").textContent = many(own.length, "character");
};

export const find = async () => {
  complain("");
  const sent = text(),
    old = currentDocument();
  if (!sent.trim()) {
    complain("There is no text yet.");
    $("text").focus();
    return;
  }
  if (!mayReplace()) return;
  sending = $("text").value;
  if (old && state.documents.length > 1) {
    // one of several
    if (old.text !== sent) Object.assign(old, { text: sent, annotated: null, ann: undefined, edited: true });
    await readAll([old]);
  } else {
    const own = old && old.text === sent ? { id: old.id, ann: old.ann, annName: old.annName } : { id: "text" };
    const lost = old?.ann !== undefined && own.ann === undefined ? old.annName : null;
    await readAll([{ ...own, text: sent, notes: [] }], lost ? [`The text was edited, so ${lost} is not shown.`] : []);
  }
};

const edited = () => {
  const stale = currentDocument()?.phase === "read" && $("text").value !== asArea(currentDocument().text);
  if (stale === state.stale) return;
  state.stale = stale;
  changed("stale");
};

const follow = () => {
  // a link to a text
  let [, kind, value] = /^#(text|example)=(.*)$/s.exec(location.hash) ?? [];
  try {
    value = decodeURIComponent(value ?? "");
  } catch {
    kind = null;
    complain("This link is broken.");
  }
  const linked = kind === "example" ? exampleNamed(value) : kind === "text" ? value : null;
  if (!linked) return;
  state.documents = [];
  $("text").value = linked;
  find();
};

const clear = () => {
  if (!mayReplace()) return;
  state.documents = [];
  $("text").value = "";
  history.replaceState(null, "", location.pathname);
  changed("document", "list");
  fold(false);
  $("text").focus();
};

onChange((what) => {
  if (what.has("stale")) $("stale").hidden = !state.stale;
  if (what.has("stale")) $("result").classList.toggle("stale", state.stale);
  if (!what.has("document")) return;
  const one = currentDocument(),
    typing = sending !== null && $("text").value !== sending; // while it was read
  sending = null;
  if (one && !typing) $("text").value = one.text;
  fold(!typing && (one?.phase === "read" || state.documents.length > 1));
  edited();
});
$("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  find();
});
$("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    find();
  }
});
$("text").addEventListener("input", edited);
$("again").addEventListener("click", find);
$("clear").addEventListener("click", clear);
$("unfold").addEventListener("click", () => {
  fold(!$("ask").hidden);
  if (!$("ask").hidden) $("text").focus();
});
window.addEventListener("hashchange", follow);
export { follow };
