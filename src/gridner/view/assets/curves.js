// What the scores of entities say: precision and recall as they fall, and how often entities with such a score are right.
import { make, svg } from "./elements.js";

const SYSTEMS = ["var(--accent)", "var(--second)"];
const drawPlot = (caption, x, y, lines) => {
  // lines: { points in 0..1, n of its colour, name, dots, dashed }
  const [left, top, size] = [38, 8, 240];
  const at = (point) => `${left + size * point[0]},${top + size * (1 - point[1])}`;
  const picture = svg("svg", { width: left + size + 12, height: top + size + 36, role: "img", "aria-label": caption });
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    const across = top + size * (1 - share),
      along = left + size * share;
    picture.append(svg("line", { x1: left, x2: left + size, y1: across, y2: across, stroke: "var(--line)" }));
    picture.append(svg("text", { x: left - 5, y: across + 4, "text-anchor": "end" }, String(100 * share)));
    picture.append(svg("text", { x: along, y: top + size + 14, "text-anchor": "middle" }, String(100 * share)));
  }
  picture.append(svg("text", { x: left + size / 2, y: top + size + 30, "text-anchor": "middle" }, x));
  picture.append(
    svg("text", { x: 10, y: top + size / 2, transform: `rotate(-90 10 ${top + size / 2})`, "text-anchor": "middle" }, y),
  );
  for (const { points, n, dots, dashed } of lines) {
    const colour = dashed ? "var(--soft)" : SYSTEMS[n];
    picture.append(
      svg("polyline", {
        points: points.map(at).join(" "),
        fill: "none",
        stroke: colour,
        "stroke-width": dashed ? 1 : 2,
        "stroke-dasharray": dashed ? "4 4" : "none",
      }),
    );
    if (dots)
      for (const point of points) {
        const [cx, cy] = at(point).split(",");
        picture.append(svg("circle", { cx, cy, r: 3.5, fill: colour }));
      }
  }
  const keys = lines.map(({ name, n }) => (name ? make("span", { style: `color:${SYSTEMS[n]}` }, `■ ${name} `) : ""));
  return make("figure", {}, picture, make("figcaption", {}, `${caption} `, ...keys));
};

const FEWEST = 5; // entities that a point of the calibration rests on

export const drawCurves = (data, names) => {
  // the figures, and what is not in them
  const every = data.sentences.flatMap((sentence) => sentence.e),
    drawn = [],
    notes = [];
  const gold = every.filter((one) => one.h & 1).length;
  const systems = names
    .map((name, n) => {
      const all = every.filter((one) => one.h & (2 << n));
      const found = all
        .filter((one) => one.s && one.s[n] !== null)
        .map((one) => [one.s[n], one.h & 1])
        .sort((a, b) => b[0] - a[0]);
      if (found.length && found.length < all.length)
        notes.push(
          `Of ${name}, ${found.length.toLocaleString("en")} of ${all.length.toLocaleString("en")} predictions have a score; only these are drawn.`,
        );
      return { name: names.length > 1 ? name : "", called: name, n, found };
    })
    .filter(({ found }) => found.length > 1);
  if (!systems.length) return [];

  const thinned = (points) => points.filter((_, n) => n % Math.ceil(points.length / 400) === 0 || n === points.length - 1);
  drawn.push(
    drawPlot(
      "Precision and recall of what was predicted, by falling score.",
      "recall, %",
      "precision, %",
      systems.map(({ name, n, found }) => {
        let right = 0; // entities of one score come together: a point for each score
        const points = found
          .map(([score, ok], place) => {
            right += ok;
            return found[place + 1]?.[0] === score ? null : [right / Math.max(1, gold), right / (place + 1)];
          })
          .filter(Boolean);
        return { name, n, dots: points.length < 8, points: thinned(points) };
      }),
    ),
  );

  const mean = (bin, place) => bin.reduce((sum, one) => sum + one[place], 0) / bin.length;
  const lines = [];
  let left = 0;
  for (const { name, called, n, found } of systems) {
    if (!found.every(([score]) => score >= 0 && score <= 1)) {
      notes.push(`Some scores of ${called} are below 0 or above 1, so what they mean is not drawn.`);
      continue;
    }
    const bins = Array.from({ length: 10 }, (_, place) =>
      found.filter(([score]) => (score > place / 10 || !place) && score <= (place + 1) / 10),
    );
    left += bins.filter((bin) => bin.length < FEWEST).reduce((sum, bin) => sum + bin.length, 0);
    const points = bins.filter((bin) => bin.length >= FEWEST).map((bin) => [mean(bin, 0), mean(bin, 1)]);
    if (points.length) lines.push({ name, n, dots: true, points });
  }
  if (lines.length)
    drawn.push(
      drawPlot("How often entities with such a score are right.", "score, %", "right, %", [
        ...lines,
        {
          points: [
            [0, 0],
            [1, 1],
          ],
          dashed: true,
        },
      ]),
    );
  if (left)
    notes.push(
      `What a score means is drawn for tenths with at least ${FEWEST} entities; ${left.toLocaleString("en")} in others ${left === 1 ? "is" : "are"} left out.`,
    );
  return notes.length ? [...drawn, make("p", { class: "said" }, notes.join(" "))] : drawn;
};
