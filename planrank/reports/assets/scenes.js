// Draws what `planrank/reports/views.py` makes of a state.

function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.flat());
  return made;
}

const clipped = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** A box with a name in it; green where it belongs. */
function box(x, y, width, height, name, right, extra = {}) {
  const fill = right ? "color-mix(in srgb, var(--good) 35%, var(--card))" : "color-mix(in srgb, var(--accent) 30%, var(--card))";
  return svg("g", {}, svg("title", {}, name),
    svg("rect", { x, y, width, height, rx: 5, style: `fill:${fill};stroke:${right ? "var(--good)" : "var(--accent)"};stroke-width:1.5`, ...extra }),
    svg("text", { x: x + width / 2, y: y + height / 2, style: "fill:var(--ink)" }, clipped(name, Math.max(2, Math.floor(width / 8)))));
}

const DRAWERS = {
  /** As many places as there are blocks at most, so that towers do not jump about. */
  towers(scene, { width: blocks }) {
    const side = 46, gap = 10, top = 60;
    const places = Math.max(scene.towers.length, Math.min(blocks, 4));
    const tallest = Math.max(blocks > 8 ? Math.ceil(blocks / 2) : blocks, ...scene.towers.map((tower) => tower.length));
    const [width, height] = [places * (side + gap) + gap, top + tallest * side + 12];
    const parts = scene.towers.flatMap((tower, i) => tower.map((block, j) =>
      box(gap + i * (side + gap), height - 10 - (j + 1) * side, side, side - 3, block.name, block.right)));
    parts.push(svg("rect", { x: 0, y: height - 10, width, height: 5, rx: 2, style: "fill:var(--soft)" }));
    const hand = width / 2;
    parts.push(svg("path", { d: `M${hand} 0V10M${hand - 26} 22V10H${hand + 26}V22`, style: "fill:none;stroke:var(--soft);stroke-width:3" }));
    scene.held.forEach((name, i) => parts.push(box(hand - side / 2, 12 + i * side, side, side - 3, name, false)));
    return svg("svg", { viewBox: `0 0 ${width} ${height}`, width: Math.min(width * 1.3, 620), role: "img" }, parts);
  },

  board(scene) {
    const side = 44, agents = /player|agent|robot|man|^at/;
    const [width, height] = [scene.columns * side, scene.rows * side];
    const where = ([row, column]) => [column * side, row * side];
    const parts = [svg("rect", { x: 0, y: 0, width, height, rx: 6, style: "fill:var(--soft);opacity:.55" })];
    for (const cell of scene.cells) {
      const [x, y] = where(cell);
      parts.push(svg("rect", { x: x + 1, y: y + 1, width: side - 2, height: side - 2, rx: 3, style: "fill:var(--card)" }));
    }
    for (const target of scene.targets) {
      const [x, y] = where(target);
      parts.push(svg("circle", { cx: x + side / 2, cy: y + side / 2, r: side / 5, style: "fill:none;stroke:var(--good);stroke-width:3" }));
    }
    for (const item of scene.items) {
      const [x, y] = where(item.at);
      if (item.name || !agents.test(item.predicate)) {
        parts.push(box(x + 4, y + 4, side - 8, side - 8, item.name.replace(/^t_?(?=\d)/, "") || item.predicate, item.right));
      } else {
        parts.push(svg("g", {}, svg("title", {}, item.predicate),
          svg("circle", { cx: x + side / 2, cy: y + side / 2, r: side / 3.2, style: "fill:var(--accent)" }),
          svg("circle", { cx: x + side / 2 - 5, cy: y + side / 2 - 3, r: 2.4, style: "fill:var(--card)" }),
          svg("circle", { cx: x + side / 2 + 5, cy: y + side / 2 - 3, r: 2.4, style: "fill:var(--card)" })));
      }
    }
    return svg("svg", { viewBox: `0 0 ${width} ${height}`, width: Math.min(width * 1.5, 620), role: "img" }, parts);
  },
};
