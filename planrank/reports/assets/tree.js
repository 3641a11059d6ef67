// Where the search went, as a tree.

/** Depth from left to right; a node stands in the middle of its children, the plan on one line. */
function layout() {
  const children = NODES.map(() => []);
  NODES.forEach((node, i) => {
    if (node.parent !== null) children[node.parent].push(i);
  });
  const depth = NODES.map(() => 0),
    height = NODES.map(() => 0);
  NODES.forEach((node, i) => {
    if (node.parent !== null) depth[i] = depth[node.parent] + 1;
  });
  const nodeOnPlan = (i) => NODES[i].on !== null;
  let next = 0;
  // Without recursion: a tree may be thousands deep.
  const stack = NODES.map((node, i) => i)
    .filter((i) => NODES[i].parent === null)
    .map((i) => [i, false]);
  while (stack.length) {
    const [i, seen] = stack.pop();
    const below = children[i];
    if (!below.length) {
      height[i] = next;
      next += 1;
      continue;
    }
    if (!seen) {
      stack.push([i, true], ...below.map((child) => [child, false]).reverse());
      continue;
    }
    const kept = below.filter(nodeOnPlan);
    height[i] = nodeOnPlan(i) && kept.length ? height[kept[0]] : mean(below.map((child) => height[child]));
  }
  return { depth, height, rows: next };
}

function tree() {
  const { depth, height, rows } = layout();
  const place = h("div.chart", { id: "tree", style: `height:${Math.max(200, Math.min(640, 90 + 16 * rows))}px` });
  const edges = (keep) => {
    const [x, y] = [[], []];
    NODES.forEach((node, i) => {
      if (node.parent === null || keep !== (node.on !== null && NODES[node.parent].on !== null)) return;
      const bend = depth[node.parent] + 0.5;
      x.push(depth[node.parent], bend, bend, depth[i], null);
      y.push(height[node.parent], height[node.parent], height[i], height[i], null);
    });
    return { x, y };
  };
  const nodes = (keep) => NODES.map((node, i) => i).filter((i) => keep === (NODES[i].on !== null));
  const trace = (keep, name, size) => {
    const some = nodes(keep);
    return {
      x: some.map((i) => depth[i]),
      y: some.map((i) => height[i]),
      customdata: some,
      name,
      mode: "markers",
      text: some.map(
        (i) =>
          `<b>${NODES[i].step || "the start"}</b><br>expansion ${i + 1}` +
          (NODES[i].h === null ? "" : `, h = ${short(NODES[i].h)}`),
      ),
      hovertemplate: `%{text}<extra>${name}</extra>`,
      marker: { color: keep ? palette(0) : colour("bad"), size, opacity: keep ? 1 : 0.75 },
    };
  };
  watch(
    place,
    () => {
      const here = looked === null ? NODES.findIndex((node) => node.on === step) : looked;
      const line = (keep, stroke, width) => ({
        ...edges(keep),
        mode: "lines",
        hoverinfo: "skip",
        showlegend: false,
        line: { color: stroke, width },
      });
      const traces = [
        line(false, colour("soft"), 1),
        line(true, palette(0), 3),
        trace(false, "off the plan", 7),
        trace(true, "on the plan", 9),
      ];
      if (here >= 0)
        traces.push({
          x: [depth[here]],
          y: [height[here]],
          mode: "markers",
          hoverinfo: "skip",
          showlegend: false,
          marker: { size: 17, symbol: "circle-open", color: colour("ink"), line: { width: 2 } },
        });
      return {
        traces: traces.filter((one) => one.x.length),
        layout: {
          xaxis: { title: { text: "steps from the start" }, zeroline: false },
          yaxis: { visible: false, range: [rows - 0.3, -0.7] },
          margin: { l: 12, r: 12, t: 30, b: 40 },
        },
      };
    },
    (point) => {
      if (point.customdata !== undefined) look(point.customdata);
    },
  );
  const told = [
    OFF
      ? `${OFF} of the ${NODES.length} states drawn are off the plan. Press one to see it above.`
      : "The search never left the plan.",
    DATA.whole
      ? ""
      : `These are the first ${NODES.length} of ${short(DATA.counters.expanded)} expansions; --expansions draws more.`,
  ].join(" ");
  return h("section.card", {}, h("h2", {}, "Where the search went"), h("p.soft", {}, told), place);
}
