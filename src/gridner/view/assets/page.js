"use strict";
// The page of the service: asks, draws the answer, and hides what is below the threshold or of a type that is not wanted.
(() => {
  const $ = (id) => document.getElementById(id);
  const ROWS = 500, LINK = 6000;
  const many = (count, word, words) => `${count.toLocaleString("en")} ${count === 1 ? word : words ?? `${word}s`}`;
  let drawings = {}; // by source: what is found, what the file says
  let source = "found", level = 0.5, hidden = new Set(), types = [], file = null, asking = null;

  const now = () => drawings[source];
  const isSure = (entity) => source !== "found" || entity.score > level;
  const isShown = (entity) => !hidden.has(entity.type) && isSure(entity);
  const piecesOf = (document_, entity) => entity.fragments.map(([start, end]) => document_.letters.slice(start, end).join(""));

  const placesOf = (entity) => entity.fragments.map(([start, end]) => `${start}–${end}`).join(", ");
  const scoreOf = (entity) => (entity.score === undefined ? "" : twoDigits(entity.score));
  // A cell of a table that is copied: on one line, and no formula to a spreadsheet.
  const plainCell = (value) => value.replace(/[\t\n\v\f\r\u0085\u2028\u2029]+/g, " ").replace(/^[=+\-@＝＋－＠]/, "'$&");

  // Asking
  const ask = async (path, body, signal) => {
    const headers = { "Content-Type": "application/json" };
    if ($("token").value) headers.Authorization = `Bearer ${$("token").value}`;
    const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal }).catch((error) => {
      if (error.name === "AbortError") throw error;
      throw new Error("The service does not answer. Is it still running?");
    });
    if (response.ok) return response;
    const { detail } = await response.json().catch(() => ({ detail: `status ${response.status}` }));
    if (response.status === 401) { $("token-row").hidden = false; $("token").focus(); throw new Error("The service wants its token."); }
    const later = response.headers.get("Retry-After");
    throw new Error(later ? `The service is busy (${detail}). Try again in ${later} s.` : `This did not work: ${detail}.`);
  };
  const say = (error) => { $("error").textContent = error.message; $("status").textContent = ""; };

  // A text area turns line ends into its own; a file that was not edited is sent as it is, for its offsets to hold.
  const text = () => (file && $("text").value === file.text.replace(/\r\n?/g, "\n") ? file.text : $("text").value);

  // Nothing of the old result changes until all of the new one is there, so that what is seen is what is saved.
  const find = async (said = []) => { // said: what the user must know beside the result
    asking?.abort();
    $("error").textContent = "";
    const sent = text(), given = file, own = new AbortController(), began = performance.now();
    if (!sent.trim()) { say(new Error("There is no text yet.")); return; }
    asking = own;
    $("find").setAttribute("aria-busy", "true");
    $("status").textContent = "Reading …";
    const drawing = async (more) => {
      const one = await (await ask("page/draw", { text: sent, id: given?.text === sent ? given.id : "text", ...more }, own.signal)).json();
      one.document.letters = Array.from(one.document.text);
      return one;
    };
    try {
      const next = { found: await drawing({}) };
      if (given?.ann !== undefined && given.text !== sent) said.push(`The text was edited, so ${given.annName} is not shown.`);
      else if (given?.ann !== undefined) {
        try { next.file = await drawing({ ann: given.ann }); } catch (error) {
          if (error.name === "AbortError") throw error;
          said.push(`${given.annName} is not shown. ${error.message}`);
        }
      }
      drawings = next;
      types = [...new Set([...next.found.types, ...Object.values(next).flatMap((one) => one.document.entities.map(({ type }) => type))])];
      hidden = new Set();
      source = "found";
      $("threshold").value = level = next.found.threshold; // the slider rounds it
      $("result").hidden = $("listing").hidden = false;
      $("source").hidden = !next.file;
      show();
      const seconds = ((performance.now() - began) / 1000).toFixed(1);
      const notes = Object.values(next).flatMap((one) => one.notes).map(({ what, count }) => ` Note: ${count.toLocaleString("en")} × ${what}.`);
      $("status").textContent = `${many(next.found.blocks.length, "sentence")} read in ${seconds} s.${notes.join("")}`;
      $("error").textContent = said.join(" ");
    } catch (error) {
      if (error.name === "AbortError") return;
      $("result").hidden = $("listing").hidden = true; // it is of another text
      say(new Error([...said, error.message].join(" ")));
    } finally {
      if (asking === own) $("find").removeAttribute("aria-busy");
    }
  };

  // Drawing: a block when it comes near the screen
  const blocks = $("blocks");
  const drawn = (item) => {
    const { document: document_, blocks: all } = now(), block = all[item.dataset.n];
    const entities = block.entities.map((place) => {
      const entity = document_.entities[place];
      if (!isShown(entity)) return null;
      return { colour: colourOf(entity.type), label: () => [`${entity.type} ${scoreOf(entity)}`.trim()] };
    });
    const old = item.querySelector(".g-block"), next = drawBlock(block.cells, entities);
    for (const bar of next.querySelectorAll(".g-bar")) bar.dataset.place = block.entities[bar.dataset.entity];
    if (old) old.replaceWith(next); else item.prepend(next);
    if (!item.querySelector("details") && source === "found") item.append(gridOf(block));
    fitLabels(item);
    item.dataset.drawn = "yes";
  };
  const watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      target.dataset.near = isIntersecting ? "yes" : "no";
      if (isIntersecting && target.dataset.drawn !== "yes") drawn(target);
    }
  }, { rootMargin: "600px" });

  const gridOf = (block) => {
    const details = make("details", { class: "grid" }, make("summary", {}, "grid"));
    details.addEventListener("toggle", async () => {
      if (!details.open || details.dataset.asked) return;
      details.dataset.asked = "yes";
      try {
        const { windows } = await (await ask("page/grid", { text: now().document.text, start: block.start })).json();
        details.append(...(windows.length ? windows.map(drawGrid) : [make("p", { class: "g-note" }, "No tag is likely anywhere in this sentence.")]));
      } catch (error) {
        delete details.dataset.asked;
        details.open = false;
        say(error);
      }
    });
    return details;
  };

  const show = () => { // all of it: another text or source
    watcher.disconnect();
    blocks.replaceChildren(...now().blocks.map((_, n) => make("li", { "data-n": n })));
    for (const item of blocks.children) watcher.observe(item);
    legend();
    for (const button of $("source").querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset.source === source));
    $("threshold").disabled = source !== "found";
    count();
  };
  const apply = () => { // what is shown of it
    for (const item of blocks.children) {
      delete item.dataset.drawn;
      if (item.dataset.near === "yes") drawn(item);
    }
    count();
  };
  const count = () => {
    const { document: document_ } = now(), shown = document_.entities.filter(isShown), places = new Map(document_.entities.map((entity, place) => [entity, place]));
    const gaps = shown.filter(({ fragments }) => fragments.length > 1).length;
    $("h-result").textContent = `${many(shown.length, "entity", "entities")}, ${gaps.toLocaleString("en")} of them in pieces`;
    $("threshold-said").textContent = level.toFixed(2);
    for (const button of $("legend").querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(!hidden.has(button.dataset.type)));
      button.querySelector(".count").textContent = document_.entities.filter((one) => one.type === button.dataset.type && isSure(one)).length;
    }
    const rows = shown.slice(0, ROWS).map((entity) => {
      const swatch = make("span", { class: "swatch", "aria-hidden": "true" });
      swatch.style.background = colourOf(entity.type);
      return make("tr", { tabindex: "0", "data-place": places.get(entity) },
        make("td", {}, swatch, entity.type), make("td", { dir: "auto" }, piecesOf(document_, entity).join(" … ")),
        make("td", {}, placesOf(entity)), make("td", {}, scoreOf(entity)));
    });
    $("rows").replaceChildren(...rows);
    $("more").textContent = shown.length > ROWS ? `The first ${ROWS} of ${shown.length.toLocaleString("en")}; copies and files have them all.` : "";
  };
  const legend = () => {
    const buttons = types.map((type) => {
      const button = make("button", { type: "button", "data-type": type, "aria-pressed": "true" }, type, " ", make("span", { class: "count" }));
      button.style.setProperty("--colour", colourOf(type));
      button.addEventListener("click", () => { if (!hidden.delete(type)) hidden.add(type); apply(); });
      return button;
    });
    $("legend").replaceChildren($("legend").querySelector("legend"), ...buttons);
  };

  // The pieces of one entity, lit up
  const light = (place, scroll = false) => {
    blocks.classList.toggle("one", place !== null);
    for (const lit of blocks.querySelectorAll(".lit")) lit.classList.remove("lit");
    if (place === null) return;
    if (scroll) {
      const number = now().blocks.findIndex(({ entities }) => entities.includes(Number(place)));
      if (blocks.children[number]?.dataset.drawn !== "yes") drawn(blocks.children[number]);
    }
    for (const bar of blocks.querySelectorAll(`.g-bar[data-place="${place}"]`)) {
      bar.classList.add("lit");
      if (!bar.classList.contains("g-gap")) { bar.parentElement.classList.add("lit"); bar.parentElement.style.setProperty("--colour", bar.style.getPropertyValue("--colour")); }
    }
  };
  blocks.addEventListener("mouseover", (event) => light(event.target.closest(".g-bar")?.dataset.place ?? null));
  blocks.addEventListener("mouseleave", () => light(null));
  $("rows").addEventListener("mouseover", (event) => light(event.target.closest("tr").dataset.place, true));
  $("rows").addEventListener("mouseleave", () => light(null));
  $("rows").addEventListener("focusin", (event) => light(event.target.dataset.place, true));
  $("rows").addEventListener("focusout", () => light(null));
  $("rows").addEventListener("keydown", (event) => {
    if (event.key === "Enter") blocks.querySelector(".lit")?.scrollIntoView({ block: "center" });
    const to = { ArrowDown: event.target.nextElementSibling, ArrowUp: event.target.previousElementSibling }[event.key];
    if (to) { event.preventDefault(); to.focus(); }
  });

  // Files, links, copies
  const open = async (list) => {
    const given = [...list], isAnn = ({ name }) => /\.ann$/i.test(name), stem = ({ name }) => name.replace(/\.[^.]*$/, "");
    const texts = given.filter((one) => !isAnn(one)), anns = given.filter(isAnn), txt = texts[0];
    const ann = anns.find((one) => !txt || stem(one) === stem(txt)) ?? (given.length === 2 ? anns[0] : undefined);
    const others = given.filter((one) => one !== txt && one !== ann);
    $("error").textContent = "";
    if (!given.length) return;
    const read = async (one) => {
      try { return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await one.arrayBuffer()); } catch { throw new Error(`${one.name} is no text in UTF-8.`); }
    };
    try {
      const next = { text: txt ? await read(txt) : text(), id: stem(txt ?? ann) };
      if (ann) Object.assign(next, { ann: await read(ann), annName: ann.name });
      file = next;
    } catch (error) { say(error); return; }
    $("text").value = file.text;
    await find(others.length ? [`Not read: ${others.map(({ name }) => name).join(", ")}. The page takes one text at a time, with its .ann file.`] : []);
  };
  const copy = async (words, said) => {
    try { await navigator.clipboard.writeText(words); } catch { // not over plain HTTP from another machine
      const area = make("textarea", { class: "g-said" });
      area.value = words;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    $("status").textContent = said;
  };
  const save = async (format) => {
    try {
      const { id, text: whole, entities } = now().document;
      const response = await ask("page/save", { format, document: { id, text: whole, entities: entities.filter(isShown) } });
      const link = make("a", { href: URL.createObjectURL(await response.blob()), download: `${id}.${{ brat: "zip", jsonl: "jsonl", csv: "csv" }[format]}` });
      link.click();
      const notes = response.headers.get("Gridner-Notes");
      $("status").textContent = `Saved as ${link.download}.${notes ? ` Note: ${notes}.` : ""}`;
      URL.revokeObjectURL(link.href);
    } catch (error) { say(error); }
  };
  $("ask").addEventListener("submit", (event) => { event.preventDefault(); find(); });
  $("text").addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); find(); } });
  $("open").addEventListener("click", () => $("files").click());
  $("files").addEventListener("change", () => { open($("files").files); $("files").value = ""; });
  $("threshold").addEventListener("input", () => { level = Number($("threshold").value); apply(); });
  $("source").addEventListener("click", (event) => { if (event.target.dataset.source) { source = event.target.dataset.source; show(); } });
  $("saving").addEventListener("click", (event) => { if (event.target.dataset.format) save(event.target.dataset.format); });
  $("copy").addEventListener("click", () => { // all that is shown, also past the rows of the page
    const { document: document_ } = now(), shown = document_.entities.filter(isShown);
    const rows = shown.map((entity) => [entity.type, piecesOf(document_, entity).join(" … "), placesOf(entity), scoreOf(entity)].map(plainCell).join("\t"));
    copy([["type", "text", "fragments", "score"].join("\t"), ...rows].join("\n"), `The table is copied: ${many(shown.length, "entity", "entities")}.`);
  });
  $("share").addEventListener("click", () => {
    if (text().length > LINK) { say(new Error(`A link takes at most ${LINK.toLocaleString("en")} characters; this text has ${text().length.toLocaleString("en")}.`)); return; }
    copy(`${location.href.split("#")[0]}#text=${encodeURIComponent(text())}`, "The link is copied. The text is in the link itself.");
  });
  for (const name of Object.keys(EXAMPLES)) $("examples").append(make("a", { href: `#example=${encodeURIComponent(name)}` }, name));
  for (const kind of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
      event.preventDefault();
      document.body.classList.toggle("dropping", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files.length) open(event.dataTransfer.files);
    });
  }
  const follow = () => { // a link to a text
    let [, kind, value] = /^#(text|example)=(.*)$/s.exec(location.hash) ?? [];
    try { value = decodeURIComponent(value ?? ""); } catch { kind = null; say(new Error("This link is broken.")); }
    const linked = kind === "example" ? EXAMPLES[value] : kind === "text" ? value : null;
    if (linked) { file = null; $("text").value = linked; find(); }
  };
  window.addEventListener("hashchange", follow);
  window.addEventListener("resize", () => { for (const item of blocks.children) if (item.dataset.near === "yes") fitLabels(item); });
  follow();
})();
