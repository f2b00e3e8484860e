// The model: what it finds, how well, and texts to try.
import { $, colourOf, make, many } from "./elements.js";
import { examplesFor } from "./examples.js";
import { complain, look } from "./service.js";
import { changed, state } from "./state.js";

// Types are names, or say what they mean: { name, description, example }.
const typesOf = ({ types }) => types.map((one) => (typeof one === "string" ? { name: one } : one));
export const currentModel = () => state.models[$("model").selectedIndex > 0 ? $("model").selectedIndex : 0];

const described = ({ name, description, example }) => {
  const swatch = make("span", { class: "swatch", "aria-hidden": "true" });
  swatch.style.background = colourOf(name);
  const said = make("span", { class: "meaning" });
  if (description) said.append(description);
  if (example) said.append(description ? ", such as " : "such as ", make("em", {}, example));
  return make("li", {}, make("strong", {}, swatch, name), ...(description || example ? [said] : []));
};
const LABELS = { all: "all entities", discontinuous: "discontinuous ones" };

const quality = (scores) => {
  const found = Object.entries(scores ?? {});
  if (!found.length)
    return make(
      "p",
      { class: "soft" },
      "The model has no scores on development data, so nobody knows how well it does. Check its results on your texts.",
    );
  const rows = found.map(([name, f1]) => {
    const meter = make("span", { class: "meter", "aria-hidden": "true" }, make("span"));
    meter.firstChild.style.width = `${f1}%`;
    return make(
      "div",
      { class: "score" },
      make("span", {}, LABELS[name] ?? name),
      meter,
      make("span", { class: "number" }, f1.toFixed(1)),
    );
  });
  return make(
    "div",
    { class: "quality" },
    make("h3", {}, "How well"),
    ...rows,
    make("p", { class: "soft" }, "F1 in percent on the development part of its corpus, by exact match. Other texts score lower."),
  );
};

export const lookedFor = () =>
  make("ul", { class: "types" }, ...typesOf(currentModel() ?? { types: state.types }).map(described));

const show = () => {
  const model = currentModel(),
    about = model.description ? [make("p", {}, model.description)] : [];
  const facts = [model.name, model.engine, model.names ? many(model.names, "known name") : ""].filter(Boolean).join(" · ");
  $("about-model").replaceChildren(make("p", { class: "soft" }, facts), ...about, lookedFor(), quality(model.dev_f1));
  state.types = typesOf(model).map(({ name }) => name);
  const examples = examplesFor(model, typesOf(model));
  $("h-examples").hidden = !examples.length;
  $("examples").replaceChildren(
    ...examples.map(({ name, text }) => {
      const link = make(
        "a",
        { href: `#example=${encodeURIComponent(name)}` },
        make("strong", {}, name),
        " ",
        make("span", { class: "soft" }, `${text.replace(/\s+/g, " ").slice(0, 90)}…`),
      );
      return make("li", {}, link);
    }),
  );
};
export const exampleNamed = (wanted) =>
  (currentModel() ? examplesFor(currentModel(), typesOf(currentModel())) : []).find(({ name }) => name === wanted)?.text;

// What several models find together, as if it were one model.
const allOf = (models) => ({
  name: "all models",
  all: true,
  types: [...new Map(models.flatMap(typesOf).map((one) => [one.name, one])).values()],
  dev_f1: Object.fromEntries(
    models.flatMap(({ name, dev_f1 }) => Object.entries(dev_f1 ?? {}).map(([what, f1]) => [`${name}: ${LABELS[what] ?? what}`, f1])),
  ),
});
// The name of the model that the next reading asks; undefined for all of them.
export const askedModel = () => (state.models.length > 1 && !currentModel().all ? currentModel().name : undefined);

export const loadModels = async () => {
  try {
    const { models } = await (await look("v1/models")).json();
    state.models = models.length > 1 ? [allOf(models), ...models] : models;
    $("model").replaceChildren(...state.models.map(({ name }) => make("option", {}, name)));
    $("model-row").hidden = models.length < 2;
    show();
  } catch (error) {
    $("about-model").replaceChildren(make("p", { class: "soft" }, "The service does not say yet what its model finds."));
    complain(error);
  }
};
$("model").addEventListener("change", () => {
  show();
  changed("model");
});
