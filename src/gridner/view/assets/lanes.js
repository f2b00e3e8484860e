// How far below its words a bar lies: lanes are packed anew for each visual line, as the browser broke the lines.
// A line is as high as the lanes under it need, and a label never meets the next bar of its lane.
const GAP = 5; // pixels between a label and what follows in its lane
const LEAST = 30; // pixels of a label that may be cut
const STEP = 1.2; // em: the height of a lane, as in draw.css

// The lane of each { left, right }: the first that is free, those on the left and longer ones first.
export const packed = (items) => {
  const free = []; // where each lane is free from
  const lanes = new Map();
  for (const item of [...items].sort((a, b) => a.left - b.left || b.right - a.right)) {
    let lane = free.findIndex((from) => from <= item.left);
    if (lane < 0) lane = free.length;
    free[lane] = item.right + GAP;
    lanes.set(item, lane);
  }
  return lanes;
};

const pen = document.createElement("canvas").getContext("2d");
const widths = new Map();
const widthOf = (words, font) => {
  const name = `${font}|${words}`;
  if (!widths.has(name)) {
    pen.font = font;
    widths.set(name, Math.ceil(pen.measureText(words).width * 1.02) + 2);
  }
  return widths.get(name);
};

// The lines of a block: for each entity on a line where it lies, its bars, and its label if it begins there.
const linesOf = (block) => {
  const cells = [...block.querySelectorAll(".g-cell")];
  const places = cells.map((cell) => cell.getClientRects()[0]); // all are read before one is changed
  const lines = [];
  let line = null;
  cells.forEach((cell, n) => {
    const place = places[n];
    if (!place) return;
    if (!line || Math.abs(place.top - line.top) > place.height / 2)
      lines.push((line = { top: place.top, cells: [], items: new Map() }));
    line.cells.push(cell);
    for (const bar of cell.children) {
      const item = line.items.get(bar.dataset.key) ?? { left: Infinity, right: -Infinity, bars: [], label: null };
      Object.assign(item, { left: Math.min(item.left, place.left), right: Math.max(item.right, place.right) });
      item.bars.push(bar);
      if (bar.firstChild) Object.assign(item, { label: bar.firstChild, from: place });
      line.items.set(bar.dataset.key, item);
    }
  });
  return lines;
};

// Where a label lies: at the beginning of its bar, or as near to it as the edge of the block lets it.
const placed = (item, edge, rightToLeft, labels, font) => {
  if (!item.label) return;
  const scores = [...item.label.querySelectorAll(".g-score")].map((one) => one.textContent).join("");
  const all = widthOf(item.label.textContent, font),
    short = all - (scores ? widthOf(scores, font) - 2 : 0);
  const width = { whole: all, short, cut: Math.min(short, LEAST) }[labels];
  if (rightToLeft) {
    const right = Math.max(item.from.right, Math.min(edge.left + width, edge.right));
    Object.assign(item, {
      all,
      short,
      at: right,
      shift: item.from.right - right,
      left: Math.min(item.left, right - width),
      right: Math.max(item.right, right),
    });
  } else {
    const left = Math.min(item.from.left, Math.max(edge.right - width, edge.left));
    Object.assign(item, {
      all,
      short,
      at: left,
      shift: left - item.from.left,
      left: Math.min(item.left, left),
      right: Math.max(item.right, left + width),
    });
  }
};

// Show as much of a label as there is room in its lane: all of it, all but the score, or its beginning.
const fitted = (item, room) => {
  const { label, all, short, shift } = item;
  label.classList.toggle("g-short", room < all);
  label.style.maxWidth = room < short ? `${Math.max(room, LEAST)}px` : "";
  label.style.marginInlineStart = shift ? `${shift}px` : "";
};

// Lay out some blocks that are in the page. Labels are whole (on paper), may go without their scores (short), or may be cut.
export const layOut = (blocks, labels) => {
  const measured = blocks.map((block) => {
    const style = getComputedStyle(block),
      size = parseFloat(style.fontSize);
    const font = `600 ${0.72 * size}px ${style.fontFamily}`;
    return { edge: block.getBoundingClientRect(), rightToLeft: style.direction === "rtl", lines: linesOf(block), font, size };
  });
  for (const { edge, rightToLeft, lines, font, size } of measured) {
    for (const { cells, items } of lines) {
      const all = [...items.values()];
      for (const item of all) placed(item, edge, rightToLeft, labels, font);
      const lanes = packed(all);
      const ends = rightToLeft ? edge.left : edge.right;
      for (const item of all) {
        for (const bar of item.bars) bar.style.setProperty("--lane", lanes.get(item));
        if (!item.label) continue;
        const others = all.filter((other) => other !== item && lanes.get(other) === lanes.get(item));
        const room = rightToLeft
          ? item.at - Math.max(ends, ...others.filter((one) => one.left < item.left).map((one) => one.right + GAP))
          : Math.min(ends, ...others.filter((one) => one.left > item.left).map((one) => one.left - GAP)) - item.at;
        fitted(item, labels === "whole" ? Infinity : labels === "short" ? Math.max(room, item.short) : room);
      }
      const count = Math.max(...lanes.values()) + 1;
      cells.forEach((cell, n) => {
        cell.classList.toggle("g-room", n === 0);
        if (n === 0) cell.style.setProperty("--room", `${(count * STEP * size).toFixed(1)}px`);
      });
    }
  }
};
