// Texts to try, written for gridner; a link to one is #example=NAME.
const BIOLOGY = [
  { name: "coordination", text: "Loss of rod and cone photoreceptors, with apoptosis of bipolar and amacrine cells." },
  {
    name: "abstract",
    text:
      "In the mutant mice, rod and cone photoreceptors degenerated within three weeks of birth, while bipolar, amacrine and ganglion cells were spared. " +
      "We asked whether retinal or lens development was disturbed before that. Proliferation and differentiation of neural progenitor cells were normal at embryonic day 14. " +
      "Between postnatal days 10 and 16, T and B lymphocytes were seen in the outer retina, and microglial activation and migration followed. " +
      "Loss of photoreceptors was accompanied by apoptosis, not by necrosis. " +
      "The findings resemble early-onset and late-onset retinitis pigmentosa in human patients, who lose night and colour vision.",
  },
  {
    name: "signs and scripts",
    text: "🐭 Mice without the gene lost their hair cells 😢.\nDéveloppement of β-cells – and of α-cells – was slower.\nהתאים: T cells and B cells.",
  },
];
const CLINIC = [
  {
    name: "patient report",
    text:
      "REPORT 1\n\nStarted the new statin in March.\n  - Pain in left arm and shoulder after two weeks, muscle cramps in both legs at night.\n" +
      "  - Feet and hands were swollen. Felt dizzy and slightly nauseous.\n\nStopped the tablets on 3 May. The cramps went away; the pain in the shoulder did not.",
  },
  { name: "reactions", text: "Swelling of face and lips, itching and burning of the eyes, no fever." },
];

// The model's own examples, else those of its field by its types, else what its types say.
export const examplesFor = (model, types) => {
  if (model.examples?.length)
    return model.examples.map((one, n) => (typeof one === "string" ? { name: `example ${n + 1}`, text: one } : one));
  const has = (...names) => types.some(({ name }) => names.includes(name.toLowerCase()));
  const fields = [
    ...(has("adr", "adversereaction", "symptom", "finding", "sign", "drug", "disorder", "problem") ? CLINIC : []),
    ...(has("cell", "biologicalprocess", "cellline", "gene", "species") ? BIOLOGY : []),
  ];
  if (fields.length) return fields;
  return types.filter(({ example }) => example).map(({ name, example }) => ({ name, text: example }));
};
