// The page of `planrank show`.

const LENGTH = DATA.steps.length - 1;
const NODES = DATA.nodes;
const OFF = NODES.filter((node) => node.on === null).length;
const MOST_BLOCKS = Math.max(...DATA.states.map((state) => (state.scene?.towers || []).flat().length + (state.scene?.held || []).length), 1);
const WRONG = DATA.ranking.filter((step) => step.wrong).length;
const THING = DATA.rank === "actions" ? "action" : "state";

let step = 0; // of the plan …
let looked = null; // … or a node of the tree that is looked at instead
const watching = []; // called when either changes
const update = () => watching.forEach((draw) => draw());
function go(to) { step = Math.max(0, Math.min(LENGTH, to)); looked = null; update(); }
function look(node) { looked = NODES[node].on === null ? node : null; if (looked === null) step = NODES[node].on; update(); }

const stateShown = () => DATA.states[looked === null ? step : NODES[looked].state];
const stateBefore = () => {
  if (looked !== null) return NODES[looked].parent === null ? null : DATA.states[NODES[NODES[looked].parent].state];
  return step ? DATA.states[step - 1] : null;
};

function stage() {
  const drawing = h("div.drawing", { id: "drawing" });
  const action = h("p.action", { id: "action", "aria-live": "polite" });
  const changed = h("div.facts", { id: "changed" });
  const every = h("div.facts", { id: "facts" });
  const range = h("input", { type: "range", id: "slider", min: 0, max: LENGTH, value: 0, "aria-label": "step of the plan",
    oninput: () => go(Number(range.value)) });
  const place = h("span", { id: "step" });
  let playing = null;
  const play = h("button", { type: "button", id: "play", onclick: () => {
    if (playing) { stop(); return; }
    if (step === LENGTH) go(0);
    play.textContent = "❚❚";
    playing = setInterval(() => { go(step + 1); if (step === LENGTH) stop(); }, 700);
  }, "aria-label": "play" }, "▶");
  const stop = () => { clearInterval(playing); playing = null; play.textContent = "▶"; };
  const list = h("ol.steps", { id: "steps" }, DATA.steps.map((name, i) =>
    h("li", { onclick: () => go(i), title: i && DATA.ranking[i - 1].wrong ? `${DATA.ranking[i - 1].wrong} ranked at least as good` : null },
      h("span", {}, String(i)), i ? name : "the start", i && DATA.ranking[i - 1].wrong ? h("b.bad", {}, "●") : null)));

  const fact = (number, kind) => h(`span.fact${kind}${DATA.goal.includes(number) ? ".goal" : ""}`, {}, DATA.facts[number]);
  const sorted = (numbers) => [...numbers].sort((a, b) => DATA.facts[a].localeCompare(DATA.facts[b], "en", { numeric: true }));
  watching.push(() => {
    const now = stateShown(), before = stateBefore();
    if (now.scene) drawing.replaceChildren(DRAWERS[now.scene.kind](now.scene, { width: MOST_BLOCKS }));
    else drawing.replaceChildren(h("div.facts", {}, sorted(now.facts).map((one) => fact(one, before && !before.facts.includes(one) ? ".new" : "")),
      before ? sorted(before.facts.filter((one) => !now.facts.includes(one))).map((one) => fact(one, ".gone")) : []));
    const node = looked === null ? null : NODES[looked];
    action.textContent = node ? `Off the plan: ${node.step}` : step ? DATA.steps[step] : "The start";
    action.classList.toggle("bad", Boolean(node));
    const [gained, lost] = before ? [now.facts.filter((one) => !before.facts.includes(one)), before.facts.filter((one) => !now.facts.includes(one))] : [[], []];
    changed.replaceChildren(...sorted(gained).map((one) => fact(one, ".new")), ...sorted(lost).map((one) => fact(one, ".gone")));
    every.replaceChildren(...sorted(now.facts).map((one) => fact(one, "")));
    range.value = step;
    place.textContent = `${step} / ${LENGTH}`;
    [...list.children].forEach((line, i) => {
      if (i === step && looked === null) line.setAttribute("aria-current", "step"); else line.removeAttribute("aria-current");
    });
    const current = list.children[step]; // in sight, without moving the page
    if (current.offsetTop < list.scrollTop + list.offsetTop || current.offsetTop > list.scrollTop + list.offsetTop + list.clientHeight - 30)
      list.scrollTop = current.offsetTop - list.offsetTop - list.clientHeight / 2;
  });
  document.addEventListener("keydown", (event) => {
    if (event.target.matches("input:not([type=range]), select") || event.ctrlKey || event.metaKey || event.altKey) return;
    const to = { ArrowRight: step + 1, ArrowLeft: step - 1, Home: 0, End: LENGTH }[event.key];
    if (to === undefined) return;
    event.preventDefault(); // the slider would move once more
    go(to);
  });
  return h("section.card", {}, h("div.stage", {},
    h("div", {}, drawing, h("div.slider", {},
      h("button", { type: "button", "aria-label": "back", onclick: () => go(step - 1) }, "◀"), play,
      h("button", { type: "button", "aria-label": "on", onclick: () => go(step + 1) }, "▶▏"), range, place), action, changed,
    h("details", {}, h("summary.soft", {}, "all facts of this state (outlined: the goal wants them)"), every)),
    h("div", {}, h("h2", {}, "The plan"), h("p.soft", {}, "Arrow keys, Home and End move. A dot marks steps at which the ranking prefers something else."), list)));
}

function ranking() {
  const place = h("div.chart.low", { id: "ranking" });
  const told = h("div", { id: "rivals" });
  const steps = DATA.ranking.map((_, i) => i + 1);
  watch(place, () => {
    const wrong = steps.filter((i) => DATA.ranking[i - 1].wrong);
    const own = (i) => DATA.ranking[i - 1];
    return { traces: [
      { x: steps, y: steps.map((i) => own(i).f), name: `f of the plan's own ${THING}`, mode: "lines+markers", line: { color: palette(0), width: 2.5 },
        text: steps.map((i) => `${DATA.steps[i]}<br>f = ${short(own(i).f)}, ${own(i).open} open`), hovertemplate: "%{x}. %{text}<extra></extra>" },
      { x: steps, y: steps.map((i) => own(i).other), name: "the best of all others", mode: "lines", line: { color: palette(1), width: 1.5, dash: "dot" },
        hovertemplate: "the best other: %{y:.4~g}<extra></extra>" },
      { x: wrong, y: wrong.map((i) => own(i).f), name: "not strictly the best", mode: "markers", hoverinfo: "skip",
        marker: { color: colour("bad"), size: 12, symbol: "circle-open", line: { width: 3 } } },
    ], layout: { xaxis: { title: { text: "step" }, range: [0.5, LENGTH + 0.5] }, yaxis: { title: { text: "f" } }, shapes: [marker(step)] } };
  }, (point) => go(point.x));
  watching.push(() => {
    if (!step) { told.replaceChildren(h("p.soft", {}, "Move to a step to see what else was open there.")); return; }
    const { open, wrong, rivals } = DATA.ranking[step - 1];
    const words = wrong ? `${wrong} of ${open - 1} others in the open list ${wrong === 1 ? "is" : "are"} ranked at least as good as ${DATA.steps[step]}:`
      : `${DATA.steps[step]} is strictly the best of the ${open} in the open list.`;
    told.replaceChildren(h(wrong ? "p.bad" : "p.good", {}, words),
      h("ul", {}, rivals.map((rival) => h("li", {}, `f = ${short(rival.f)}: ${rival.what}`)), wrong > rivals.length ? h("li", {}, `and ${wrong - rivals.length} more`) : null));
  });
  return [h("h2", {}, "What the ranking says along the plan"), h("p.soft", {}, "If the search had taken the plan so far: the blue line must lie below " +
    "the dotted one at every step, else it goes astray there. Lower is better."), place, told];
}

const marker = (x) => ({ type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1, line: { color: colour("soft"), width: 1, dash: "dash" } });

/** A chart that is drawn when its element is in the page and knows how wide it is, and whenever something changes. */
function watch(place, make, pressed) {
  let drawn = false;
  watching.push(() => {
    chart(place, make);
    if (!drawn && pressed) place.on("plotly_click", (event) => pressed(event.points[0]));
    drawn = true;
  });
}

function openList() {
  const place = h("div.chart.low", { id: "open" });
  const astray = NODES.some((node) => node.on === null);
  watch(place, () => ({ traces: [
    { x: NODES.map((_, i) => i), y: NODES.map((node) => node.open), name: "open", fill: "tozeroy", mode: "lines", fillcolor: `${palette(5)}33`, line: { color: palette(5), width: 1.5 },
      hovertemplate: "%{y} open after %{x} expansions<extra></extra>", showlegend: astray },
    ...(astray ? [{ x: NODES.flatMap((node, i) => (node.on === null ? [i] : [])), y: NODES.flatMap((node) => (node.on === null ? [node.open] : [])),
      name: "off the plan", mode: "markers", marker: { color: colour("bad"), size: 5 }, hoverinfo: "skip" }] : []),
    ...(DATA.given ? [{ x: DATA.ranking.map((_, i) => i + 1), y: DATA.ranking.map((one) => one.open), name: "if it took the plan", mode: "lines",
      line: { color: palette(0), dash: "dot" }, hovertemplate: "%{y} open at step %{x} of the plan<extra></extra>" }] : []),
  ], layout: { xaxis: { title: { text: "expansions" } }, yaxis: { title: { text: `open ${THING}s` }, rangemode: "tozero" } } }));
  return [h("h2", {}, "The open list"), h("p.soft", {}, `How many ${DATA.rank === "actions" ? "actions not yet taken" : "states not yet expanded"} the search had before it.`), place];
}

/** Depth from left to right; a node stands in the middle of its children, the plan on one line. */
function layout() {
  const children = NODES.map(() => []);
  NODES.forEach((node, i) => { if (node.parent !== null) children[node.parent].push(i); });
  const depth = NODES.map(() => 0), height = NODES.map(() => 0);
  NODES.forEach((node, i) => { if (node.parent !== null) depth[i] = depth[node.parent] + 1; });
  const nodeOnPlan = (i) => NODES[i].on !== null;
  let next = 0;
  // Without recursion: a tree may be thousands deep.
  const stack = NODES.map((node, i) => i).filter((i) => NODES[i].parent === null).map((i) => [i, false]);
  while (stack.length) {
    const [i, seen] = stack.pop();
    const below = children[i];
    if (!below.length) { height[i] = next; next += 1; continue; }
    if (!seen) { stack.push([i, true], ...below.map((child) => [child, false]).reverse()); continue; }
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
    return { x: some.map((i) => depth[i]), y: some.map((i) => height[i]), customdata: some, name, mode: "markers",
      text: some.map((i) => `<b>${NODES[i].step || "the start"}</b><br>expansion ${i + 1}` + (NODES[i].h === null ? "" : `, h = ${short(NODES[i].h)}`)),
      hovertemplate: `%{text}<extra>${name}</extra>`, marker: { color: keep ? palette(0) : colour("bad"), size, opacity: keep ? 1 : 0.75 } };
  };
  watch(place, () => {
    const here = looked === null ? NODES.findIndex((node) => node.on === step) : looked;
    const line = (keep, stroke, width) => ({ ...edges(keep), mode: "lines", hoverinfo: "skip", showlegend: false, line: { color: stroke, width } });
    const traces = [line(false, colour("soft"), 1), line(true, palette(0), 3), trace(false, "off the plan", 7), trace(true, "on the plan", 9)];
    if (here >= 0) traces.push({ x: [depth[here]], y: [height[here]], mode: "markers", hoverinfo: "skip", showlegend: false,
      marker: { size: 17, symbol: "circle-open", color: colour("ink"), line: { width: 2 } } });
    return { traces: traces.filter((one) => one.x.length), layout: {
      xaxis: { title: { text: "steps from the start" }, zeroline: false }, yaxis: { visible: false, range: [rows - 0.3, -0.7] }, margin: { l: 12, r: 12, t: 30, b: 40 } } };
  }, (point) => { if (point.customdata !== undefined) look(point.customdata); });
  const told = [
    OFF ? `${OFF} of the ${NODES.length} states drawn are off the plan. Press one to see it above.` : "The search never left the plan.",
    DATA.whole ? "" : `These are the first ${NODES.length} of ${DATA.counters.expanded.toLocaleString("en")} expansions; --expansions draws more.`,
  ].join(" ");
  return h("section.card", {}, h("h2", {}, "Where the search went"), h("p.soft", {}, told), place);
}

const verdict = WRONG ? `${LENGTH - WRONG} of ${LENGTH}` : "all";
open(`${DATA.domain} · ${DATA.search} guided by ${DATA.guide_is_model ? "the model " : ""}${DATA.guide}, which ranks ${DATA.rank}` +
  (DATA.given ? " · the plan was given" : ""), (page) => {
  page.append(figures({ "steps of the plan": LENGTH, cost: short(DATA.cost), "expansions of the search": short(DATA.counters.expanded),
    evaluations: short(DATA.counters.evaluated), "steps ranked strictly best": verdict, "the search": DATA.status }));
  page.append(stage());
  const beside = [h("div.card", {}, ranking()), h("div.card", {}, openList())];
  page.append(h("div.pair", {}, beside), tree());
  update();
  applyTheme();
});
