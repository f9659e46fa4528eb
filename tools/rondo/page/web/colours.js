// Colours of chunks: eight that people with any colour vision can tell apart (after Paul Tol), then
// the same again. A chunk is also known by its place in the row and by its letter, so nothing
// depends on colour alone.

const chunkColours = ["#4477aa", "#ee8866", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#99aabb",
  "#ee6677"];
const inkOnChunk = ["#ffffff", "#231006", "#ffffff", "#1d1a05", "#06202a", "#ffffff", "#10161c",
  "#2a070c"];

/** What decides the colour of a value: its chunk, or in an all-to-all the rank it came from. */
function colourIndex(schedule, value) {
  const by = schedule.collective === "all_to_all" ? ranksOf(value.set)[0] ?? 0 : value.chunk;
  return Math.max(0, by) % chunkColours.length;
}

/** The page's own colours, from its style sheet. */
function themeColours() {
  const probe = document.body.appendChild(document.createElement("i"));
  const read = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const names = ["ink", "quiet", "line", "card", "accent", "empty"];
  const colours = Object.fromEntries(names.map((name) => [name, read(name)]));
  probe.remove();
  return colours;
}
