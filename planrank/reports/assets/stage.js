// A plan step by step: which state is looked at, how it is drawn, what moves it.

const LENGTH = DATA.steps.length - 1;
const NODES = DATA.nodes;
const OFF = NODES.filter((node) => node.on === null).length;
const MOST_BLOCKS = Math.max(
  ...DATA.states.map((state) => (state.scene?.towers || []).flat().length + (state.scene?.held || []).length),
  1,
);
const MOST_GOALS = 12; // more are shown when they are asked for
const WRONG = DATA.ranking.filter((step) => step.wrong).length;
const THING = DATA.rank === "actions" ? "action" : "state";

let step = 0; // of the plan …
let looked = null; // … or a node of the tree that is looked at instead
const watching = []; // called when either changes
const update = () => watching.forEach((draw) => draw());
function go(to) {
  step = Math.max(0, Math.min(LENGTH, to));
  looked = null;
  update();
}
function look(node) {
  looked = NODES[node].on === null ? node : null;
  if (looked === null) step = NODES[node].on;
  update();
}

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
  const goal = h("div.facts", { id: "goal" });
  const reached = h("summary.soft");
  const range = h("input", {
    type: "range",
    id: "slider",
    min: 0,
    max: LENGTH,
    value: 0,
    "aria-label": "step of the plan",
    oninput: () => go(Number(range.value)),
  });
  const place = h("span", { id: "step" });
  let playing = null;
  const play = h(
    "button",
    {
      type: "button",
      id: "play",
      onclick: () => {
        if (playing) {
          stop();
          return;
        }
        if (step === LENGTH) go(0);
        play.textContent = "❚❚";
        playing = setInterval(() => {
          go(step + 1);
          if (step === LENGTH) stop();
        }, 700);
      },
      "aria-label": "play",
    },
    "▶",
  );
  const stop = () => {
    clearInterval(playing);
    playing = null;
    play.textContent = "▶";
  };
  const list = h(
    "ol.steps",
    { id: "steps" },
    DATA.steps.map((name, i) =>
      h(
        "li",
        {
          onclick: () => go(i),
          title: i && DATA.ranking[i - 1].wrong ? `${DATA.ranking[i - 1].wrong} ranked at least as good` : null,
        },
        h("span", {}, String(i)),
        i ? name : "the start",
        i && DATA.ranking[i - 1].wrong ? h("b.bad", {}, "●") : null,
      ),
    ),
  );

  const fact = (number, kind) =>
    h(`span.fact${kind}${DATA.goal.includes(number) ? ".goal" : ""}`, {}, DATA.facts[number]);
  const sorted = (numbers) =>
    [...numbers].sort((a, b) => DATA.facts[a].localeCompare(DATA.facts[b], "en", { numeric: true }));
  watching.push(() => {
    const now = stateShown(),
      before = stateBefore();
    if (now.scene) drawing.replaceChildren(DRAWERS[now.scene.kind](now.scene, { width: MOST_BLOCKS }));
    else
      drawing.replaceChildren(
        h(
          "div.facts",
          {},
          sorted(now.facts).map((one) => fact(one, before && !before.facts.includes(one) ? ".new" : "")),
          before ? sorted(before.facts.filter((one) => !now.facts.includes(one))).map((one) => fact(one, ".gone")) : [],
        ),
      );
    const node = looked === null ? null : NODES[looked];
    action.textContent = node ? `Off the plan: ${node.step}` : step ? DATA.steps[step] : "The start";
    action.classList.toggle("bad", Boolean(node));
    const [gained, lost] = before
      ? [now.facts.filter((one) => !before.facts.includes(one)), before.facts.filter((one) => !now.facts.includes(one))]
      : [[], []];
    changed.replaceChildren(
      ...sorted(gained).map((one) => fact(one, ".new")),
      ...sorted(lost).map((one) => fact(one, ".gone")),
    );
    every.replaceChildren(...sorted(now.facts).map((one) => fact(one, "")));
    const holds = (one) => now.facts.includes(one);
    goal.replaceChildren(...sorted(DATA.goal).map((one) => fact(one, holds(one) ? "" : ".missing")));
    reached.textContent = `the goal: ${DATA.goal.filter(holds).length} of ${DATA.goal.length} facts hold`;
    range.value = step;
    place.textContent = `${step} / ${LENGTH}`;
    [...list.children].forEach((line, i) => {
      if (i === step && looked === null) line.setAttribute("aria-current", "step");
      else line.removeAttribute("aria-current");
    });
    const current = list.children[step]; // in sight, without moving the page
    if (
      current.offsetTop < list.scrollTop + list.offsetTop ||
      current.offsetTop > list.scrollTop + list.offsetTop + list.clientHeight - 30
    )
      list.scrollTop = current.offsetTop - list.offsetTop - list.clientHeight / 2;
  });
  document.addEventListener("keydown", (event) => {
    if (event.target.matches("input:not([type=range]), select") || event.ctrlKey || event.metaKey || event.altKey)
      return;
    const to = { ArrowRight: step + 1, ArrowLeft: step - 1, Home: 0, End: LENGTH }[event.key];
    if (to === undefined) return;
    event.preventDefault(); // the slider would move once more
    go(to);
  });
  return h(
    "section.card",
    {},
    h(
      "div.stage",
      {},
      h(
        "div",
        {},
        drawing,
        h(
          "div.slider",
          {},
          h("button", { type: "button", "aria-label": "back", onclick: () => go(step - 1) }, "◀"),
          play,
          h("button", { type: "button", "aria-label": "on", onclick: () => go(step + 1) }, "▶▏"),
          range,
          place,
        ),
        action,
        changed,
        DATA.goal.length ? h("details", { open: DATA.goal.length <= MOST_GOALS }, reached, goal) : null,
        h("details", {}, h("summary.soft", {}, "all facts of this state (outlined: the goal wants them)"), every),
      ),
      h(
        "div",
        {},
        h("h2", {}, "The plan"),
        h(
          "p.soft",
          {},
          "Arrow keys, Home and End move. A dot marks steps at which something else ranks no worse.",
        ),
        list,
      ),
    ),
  );
}
