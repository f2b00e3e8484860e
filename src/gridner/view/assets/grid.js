// The grid of a sentence: a heat map for each tag, rows and columns its words, with the decoded mentions over it.
import { colourOf, make, svg, twoDigits } from "./elements.js";

export const drawGrid = (() => {
  const SAYS = {
    NNW: "the next word after the row's is the column's",
    PNW: "the word before the row's is the column's",
    HTW: "the row's word is the head, the column's the tail",
    THW: "the row's word is the tail, the column's the head",
  };
  const tagOf = (label) => label.split(/[:@]/, 1)[0]; // HTW:type, NNW@group
  const short = (word) => (word.length > 12 ? `${word.slice(0, 11)}…` : word);
  // The cells of a mention in the panel of a tag: its path for neighbours, one cell for head and tail.
  const cellsOf = (tag, words) => {
    const head = words[0],
      tail = words[words.length - 1];
    if (tag === "HTW") return [[head, tail]];
    if (tag === "THW") return [[tail, head]];
    const steps = words.slice(1).map((word, n) => [words[n], word]);
    return tag === "NNW" ? steps : steps.map(([a, b]) => [b, a]);
  };

  const panel = (tag, window) => {
    const { words, tags, mentions } = window;
    const n = words.length,
      size = n > 60 ? 8 : n > 30 ? 11 : 15,
      room = 84,
      font = Math.min(11, size - 1);
    const across = room + n * size + 46,
      down = room + n * size + 6; // words stand out to the right
    const x = (column) => room + column * size,
      y = (row) => room + row * size;
    const picture = svg("svg", {
      width: across,
      height: down,
      viewBox: `0 0 ${across} ${down}`,
      role: "img",
      "aria-label": `${tag}: ${SAYS[tag]}`,
    });
    picture.append(svg("rect", { x: room, y: room, width: n * size, height: n * size, class: "grid-back" }));
    words.forEach((word, place) => {
      const line = svg("path", { d: `M${room} ${y(place)}h${n * size}M${x(place)} ${room}v${n * size}`, class: "grid-line" });
      const row = svg("text", { x: room - 4, y: y(place) + size * 0.75, "text-anchor": "end", "font-size": font }, short(word));
      const at = `${x(place) + size * 0.75} ${room - 4}`;
      const column = svg("text", { transform: `translate(${at}) rotate(-60)`, "font-size": font }, short(word));
      picture.append(line, row, column);
    });
    for (const [label, cells] of Object.entries(tags)) {
      const [name, type] = [tagOf(label), label.slice(label.indexOf(":") + 1)];
      if (name !== tag) continue;
      for (const [row, column, value] of cells) {
        const cell = svg("rect", {
          x: x(column) + 0.5,
          y: y(row) + 0.5,
          width: size - 1,
          height: size - 1,
          fill: label.includes(":") ? colourOf(type) : "var(--fore)",
          "fill-opacity": (0.08 + 0.92 * value).toFixed(2),
        });
        cell.append(svg("title", {}, `${label}: ${words[row]} → ${words[column]}, ${twoDigits(value)}`));
        picture.append(cell);
      }
    }
    mentions.forEach(([type, places], number) => {
      const cells = cellsOf(tag, places);
      const group = svg("g", { class: "grid-path", "data-mention": number, stroke: colourOf(type) });
      for (const [row, column] of cells)
        group.append(svg("rect", { x: x(column) - 1, y: y(row) - 1, width: size + 2, height: size + 2, rx: 2 }));
      if (cells.length > 1)
        group.append(
          svg("polyline", { points: cells.map(([row, column]) => `${x(column) + size / 2},${y(row) + size / 2}`).join(" ") }),
        );
      picture.append(group);
    });
    const said = make("figcaption", {}, make("strong", {}, tag), ` ${SAYS[tag]}`);
    return make(
      "figure",
      { class: "grid-panel" },
      said,
      make("div", { class: "grid-scroll", tabindex: "0", role: "region", "aria-label": `${tag}, the grid` }, picture),
    );
  };

  return (window) => {
    const tags = [...new Set(Object.keys(window.tags).map(tagOf))];
    const list = make("ul", { class: "grid-mentions" });
    const whole = make(
      "div",
      { class: "grid-whole" },
      list,
      make("div", { class: "grid-panels" }, ...tags.map((tag) => panel(tag, window))),
    );
    const light = (number) => {
      whole.classList.toggle("grid-one", number !== null);
      for (const path of whole.querySelectorAll(".grid-path"))
        path.classList.toggle("lit", path.dataset.mention === String(number));
    };
    let kept = null;
    window.mentions.forEach(([type, places, score], number) => {
      const text = places.map((place, n) => (n && place > places[n - 1] + 1 ? "… " : "") + window.words[place]).join(" ");
      const named = make("span", {}, type);
      named.style.color = colourOf(type);
      const button = make("button", { type: "button", "aria-pressed": "false" }, named, ` ${text} ${twoDigits(score)}`);
      button.addEventListener("mouseenter", () => light(number));
      button.addEventListener("mouseleave", () => light(kept));
      button.addEventListener("click", () => {
        kept = kept === number ? null : number;
        for (const other of list.querySelectorAll("button"))
          other.setAttribute("aria-pressed", String(other === button && kept !== null));
        light(kept);
      });
      list.append(make("li", {}, button));
    });
    if (!window.mentions.length) list.append(make("li", {}, "nothing decoded"));
    whole.append(
      make(
        "p",
        { class: "g-note" },
        "Shades: how sure the network is of a tag. Outlined: what is decoded, which rests on thresholds and known names too.",
      ),
    );
    return whole;
  };
})();
