"use strict";
// Texts to try, written for gridner; a link to one is #example=NAME.
const EXAMPLES = { // eslint-disable-line no-unused-vars
  coordination: "Loss of rod and cone photoreceptors, with apoptosis of bipolar and amacrine cells.",
  abstract:
    "In the mutant mice, rod and cone photoreceptors degenerated within three weeks of birth, while bipolar, amacrine and ganglion cells were spared. "
    + "We asked whether retinal or lens development was disturbed before that. Proliferation and differentiation of neural progenitor cells were normal at embryonic day 14. "
    + "Between postnatal days 10 and 16, T and B lymphocytes were seen in the outer retina, and microglial activation and migration followed. "
    + "Loss of photoreceptors was accompanied by apoptosis, not by necrosis. "
    + "The findings resemble early-onset and late-onset retinitis pigmentosa in human patients, who lose night and colour vision.",
  "signs and scripts":
    "🐭 Mice without the gene lost their hair cells 😢.\nDéveloppement of β-cells – and of α-cells – was slower.\nהתאים: T cells and B cells.",
};
