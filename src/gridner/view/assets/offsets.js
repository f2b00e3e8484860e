// Offsets: the service and its formats count code points, JavaScript counts UTF-16 units. They differ after an emoji.
const ASTRAL = /[\u{10000}-\u{10ffff}]/u;

// The place in UTF-16 of each code point of a text, and of its end; null where both count alike.
const units = (text) => {
  if (!ASTRAL.test(text)) return null;
  const places = [0];
  for (const letter of text) places.push(places.at(-1) + letter.length);
  return places;
};
const mapped = (entities, place) => entities.map((one) => ({ ...one, fragments: one.fragments.map((pair) => pair.map(place)) }));

export const inUnits = (text, entities) => {
  const places = units(text);
  return places ? mapped(entities, (at) => places[at]) : entities;
};
export const inCodePoints = (text, entities) => {
  const places = units(text);
  if (!places) return entities;
  const numbers = new Map(places.map((place, number) => [place, number]));
  return mapped(entities, (at) => numbers.get(at));
};

// The fragments in their normal form, as scoring has them: no white space at the edges, none that alone separates two.
export const normalFragments = (text, fragments) => {
  const found = [];
  for (let [start, end] of [...fragments].sort((a, b) => a[0] - b[0] || a[1] - b[1])) {
    while (start < end && /\s/.test(text[start])) start += 1;
    while (end > start && /\s/.test(text[end - 1])) end -= 1;
    const last = found.at(-1);
    if (start === end) continue;
    if (last && !text.slice(last[1], start).trim()) last[1] = Math.max(last[1], end);
    else found.push([start, end]);
  }
  return found;
};
export const wordsOf = (text, fragments) => fragments.map(([start, end]) => text.slice(start, end)).join(" … ");
// The order of entities everywhere: as they begin, longer ones first.
export const inTextOrder = (a, b) => a.fragments[0][0] - b.fragments[0][0] || b.fragments.at(-1)[1] - a.fragments.at(-1)[1];
export const name = ({ type, fragments }) => `${type}|${fragments}`; // equal for equal entities
