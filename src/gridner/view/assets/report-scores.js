// The tables of a report: scores with their intervals drawn, errors in plain words. Counts lead to what they count.
import { $, make, many } from "./elements.js";
import { NAMES, address, chooser, data, two } from "./report-data.js";

const percent = (value) => (100 * value).toFixed(1);
const signed = (value) => `${value < 0 ? "−" : "+"}${percent(Math.abs(value))}`;
const number = (value) => value.toLocaleString("en");
const link = (words, filters) => make("a", { href: address(filters) }, words);

const LABELS = {
  all: "all (micro)",
  in_discontinuous_sentences: "sentences with gaps",
  discontinuous: "discontinuous only",
  continuous: "continuous only",
};
const label = (name) => LABELS[name] ?? (name.startsWith("type:") ? name.slice(5) : name.replace("overlap:", "overlap: "));
const filtersOf = (name) => {
  // those that show a row's entities
  if (name.startsWith("type:")) return { type: name.slice(5) };
  if (name.startsWith("overlap:")) return { kind: name.slice(8) };
  return { kind: { all: "", in_discontinuous_sentences: "in-discontinuous" }[name] ?? name };
};

// An interval as a line from 0 to 100 with the score on it.
const drawn = (score, between) => {
  const line = make(
    "span",
    { class: "interval", "aria-hidden": "true" },
    make("span", { class: "range" }),
    make("span", { class: "point" }),
  );
  line.firstChild.style.insetInline = `${100 * between[0]}% ${100 - 100 * between[1]}%`;
  line.lastChild.style.insetInlineStart = `${100 * score}%`;
  return line;
};
const cell = (score, between) => {
  const one = make("td", {}, percent(score));
  if (between) one.append(" ", make("small", {}, `${percent(between[0])}–${percent(between[1])}`), drawn(score, between));
  return one;
};
const counts = ({ tp, fn, fp }, filters, n) =>
  make(
    "td",
    { class: "counts" },
    link(`${number(tp)} right`, { ...filters, show: `right${n}` }),
    " ",
    link(`${number(fn)} missed`, { ...filters, show: `missed${n}` }),
    " ",
    link(`${number(fp)} wrong`, { ...filters, show: `wrong${n}` }),
  );

const exactRow = (name) => {
  const row = make("tr", {}, make("th", { scope: "row" }, label(name)));
  let gold = 0;
  data.evaluations.forEach((evaluation, n) => {
    const score = evaluation.exact[name] ?? { tp: 0, fp: 0, fn: 0 },
      some = score.tp + score.fp + score.fn;
    gold = Math.max(gold, score.tp + score.fn);
    for (const measure of ["precision", "recall", "f1"])
      row.append(some ? cell(score[measure], data.intervals[n]?.[name]?.[measure]) : make("td", {}, "–"));
    row.append(counts(score, filtersOf(name), n));
  });
  if (two) {
    const [difference, p] = data.differences[name];
    const some = data.evaluations.some(({ exact }) => exact[name] && exact[name].tp + exact[name].fp + exact[name].fn);
    row.append(
      some
        ? make(
            "td",
            { class: p < 0.05 ? "clear" : "" },
            signed(difference),
            " ",
            make("small", {}, p < 0.001 ? "p < 0.001" : `p ${p.toFixed(3)}`),
          )
        : make("td", {}, "–"),
    );
  }
  row.append(make("td", {}, number(gold)));
  return row;
};
const plainRow = (name, values, difference, gold) => {
  const cells = values.flatMap((some) => [
    ...some.map((value) => make("td", {}, value === null ? "" : percent(value))),
    make("td"),
  ]);
  return make(
    "tr",
    {},
    make("th", { scope: "row" }, name),
    ...cells,
    ...(two ? [make("td", {}, signed(difference))] : []),
    make("td", {}, gold),
  );
};

const scores = () => {
  const head = [
    "exact match",
    ...NAMES.flatMap((name) => ["P", "R", "F1", "entities"].map((measure) => (two ? `${name} ${measure}` : measure))),
    ...(two ? ["B − A"] : []),
    "gold",
  ];
  const slices = [...new Set(data.evaluations.flatMap((one) => Object.keys(one.exact)))],
    rows = slices.map(exactRow);
  const gain = (value) => value(data.evaluations.at(-1)) - value(data.evaluations[0]);
  if (slices.filter((name) => name.startsWith("type:")).length > 1)
    rows.push(
      plainRow(
        "mean of types (macro)",
        data.evaluations.map((one) => [null, null, one.macro_f1]),
        gain((one) => one.macro_f1),
        "",
      ),
    );
  if (data.evaluations.some(({ relaxed }) => relaxed.predicted + relaxed.gold)) {
    rows.push(
      plainRow(
        "relaxed: a common word",
        data.evaluations.map(({ relaxed }) => [relaxed.precision, relaxed.recall, relaxed.f1]),
        gain(({ relaxed }) => relaxed.f1),
        number(data.evaluations[0].relaxed.gold),
      ),
    );
  }
  const { level, unit, rounds, seed } = data.resampled;
  const meaning = [
    `In small and as lines: ${100 * level} % bootstrap intervals over ${unit}s, ${number(rounds)} resamples, seed ${seed}.`,
    "Relaxed: same type and a common word are enough; not comparable with exact match.",
  ];
  if (two)
    meaning.push(
      `B − A: the difference of F1, and how often swapping the answers of the two for ${unit}s at random makes one as large; bold where p < 0.05.`,
    );
  $("scores").append(
    make(
      "table",
      { class: two ? "tall" : "" },
      make("thead", {}, make("tr", {}, ...head.map((name) => make("th", { scope: "col" }, name)))),
      make("tbody", {}, ...rows),
    ),
    make("p", {}, meaning.join(" ")),
  );
};

// Error classes, an example of each from the sentences.
const CLASSES = {
  fp_ends_right: ["wrong-right", "wrong, but begins and ends as a gold entity does: words between were added or left out"],
  fp_ends_wrong: ["wrong-wrong", "wrong, and begins or ends elsewhere, or there is no such entity"],
  fn_ends_right: ["missed-right", "missed, but a prediction begins and ends as it does"],
  fn_ends_wrong: ["missed-wrong", "missed, and no prediction begins and ends as it does"],
};
const IN = {
  all: "all sentences",
  discontinuous: "sentences with discontinuous gold entities",
  flat: "sentences with flat gold entities",
  overlapped: "sentences with overlapped gold entities",
};
const exampleOf = (show) => {
  const fits = chooser({ show });
  for (const sentence of data.sentences) {
    const one = sentence.e.find((entity) => fits(entity, sentence)),
      letters = one && Array.from(sentence.s);
    if (one) return `${data.types[one.t]}: ${one.f.map(([start, end]) => letters.slice(start, end).join("")).join(" … ")}`;
  }
  return null;
};
const errors = () => {
  const blocks = Object.keys(data.evaluations[0].errors);
  data.evaluations.forEach(({ errors: all }, n) => {
    const body = Object.entries(CLASSES).map(([kind, [show, words]]) => {
      const example = data.text ? exampleOf(`${show}${n}`) : null;
      const said = make(
        "th",
        { scope: "row" },
        words,
        ...(example ? [make("small", { class: "example", dir: "auto" }, example)] : []),
      );
      return make(
        "tr",
        {},
        said,
        ...blocks.map((block) =>
          make(
            "td",
            {},
            link(number(all[block].counts[kind]), { show: `${show}${n}`, kind: block === "all" ? "" : `in-${block}` }),
            " ",
            make("small", {}, `${all[block].percent[kind].toFixed(1)} %`),
          ),
        ),
      );
    });
    const columns = [two ? `Errors of ${NAMES[n]}` : "Errors", ...blocks.map((block) => IN[block] ?? block)].map((name) =>
      make("th", { scope: "col" }, name),
    );
    $("errors").append(
      make("table", { class: "errors" }, make("thead", {}, make("tr", {}, ...columns)), make("tbody", {}, ...body)),
    );
  });
};
const confusions = () => {
  const confused = new Map(); // type of gold, type of a wrong prediction on the same words → how often, by system
  for (const one of data.sentences.flatMap((sentence) => sentence.e)) {
    for (const [type, has] of one.c ?? []) {
      const name = `${data.types[type]} taken for ${data.types[one.t]}`;
      if (!confused.has(name)) confused.set(name, { type: data.types[one.t], counts: data.systems.map(() => 0) });
      data.systems.forEach((_, n) => {
        if (one.h & (2 << n) && !(has & (2 << n))) confused.get(name).counts[n] += 1;
      });
    }
  }
  const often = [...confused]
    .filter(([, { counts: all }]) => all.some(Boolean))
    .sort((a, b) => Math.max(...b[1].counts) - Math.max(...a[1].counts));
  if (!often.length) return;
  const body = often.map(([name, { type, counts: all }]) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, name),
      ...all.map((count, n) => make("td", {}, link(number(count), { show: `confused${n}`, type }))),
    ),
  );
  const columns = ["right words, wrong type", ...NAMES.map((name) => (two ? name : "entities"))].map((name) =>
    make("th", { scope: "col" }, name),
  );
  $("errors").append(
    make("table", { id: "confused" }, make("thead", {}, make("tr", {}, ...columns)), make("tbody", {}, ...body)),
  );
};

export const showTables = () => {
  const { version, date, model, threshold } = data.about ?? {};
  const facts = [
    `${many(data.documents.length, "document")}, ${many(data.sentences.length, "sentence")}`,
    data.systems.map((name, n) => (two ? `${NAMES[n]}: ${name}` : name)).join(", "),
    model ? `model ${model}` : "",
    threshold === undefined ? "" : threshold,
    version ? `gridner ${version}` : "",
    date ?? "",
  ];
  $("about").replaceChildren(...facts.filter(Boolean).map((fact) => make("span", {}, fact)));
  scores();
  errors();
  confusions();
};
