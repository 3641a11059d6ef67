// What the ranking says along the plan, and how long the open list is.

function ranking() {
  const place = h("div.chart.low", { id: "ranking" });
  const told = h("div", { id: "rivals" });
  const steps = DATA.ranking.map((_, i) => i + 1);
  watch(
    place,
    () => {
      const wrong = steps.filter((i) => DATA.ranking[i - 1].wrong);
      const own = (i) => DATA.ranking[i - 1];
      return {
        traces: [
          {
            x: steps,
            y: steps.map((i) => own(i).f),
            name: `f of the plan's own ${THING}`,
            mode: "lines+markers",
            line: { color: palette(0), width: 2.5 },
            text: steps.map((i) => `${DATA.steps[i]}<br>f = ${short(own(i).f)}, ${own(i).open} open`),
            hovertemplate: "%{x}. %{text}<extra></extra>",
          },
          {
            x: steps,
            y: steps.map((i) => own(i).other),
            name: "the best of all others",
            mode: "lines",
            line: { color: palette(1), width: 1.5, dash: "dot" },
            hovertemplate: "the best other: %{y:.4~g}<extra></extra>",
          },
          {
            x: wrong,
            y: wrong.map((i) => own(i).f),
            name: "not strictly the best",
            mode: "markers",
            hoverinfo: "skip",
            marker: { color: colour("bad"), size: 12, symbol: "circle-open", line: { width: 3 } },
          },
        ],
        layout: {
          xaxis: { title: { text: "step" }, range: [0.5, LENGTH + 0.5] },
          yaxis: { title: { text: "f" } },
          shapes: [marker(step)],
        },
      };
    },
    (point) => go(point.x),
  );
  watching.push(() => {
    if (!step) {
      told.replaceChildren(h("p.soft", {}, "Move to a step to see what else was open there."));
      return;
    }
    const { open, wrong, rivals } = DATA.ranking[step - 1];
    const words = wrong
      ? `Of ${open - 1} others that are open ${wrong} rank no worse than ${DATA.steps[step]}:`
      : `${DATA.steps[step]} is strictly the best of the ${open} in the open list.`;
    told.replaceChildren(
      h(wrong ? "p.bad" : "p.good", {}, words),
      h(
        "ul",
        {},
        rivals.map((rival) => h("li", {}, `f = ${short(rival.f)}: ${rival.what}`)),
        wrong > rivals.length ? h("li", {}, `and ${wrong - rivals.length} more`) : null,
      ),
    );
  });
  return [
    h("h2", {}, "What the ranking says along the plan"),
    h(
      "p.soft",
      {},
      "If the search had taken the plan so far: the blue line must lie below " +
        "the dotted one at every step, else it goes astray there. Lower is better.",
    ),
    place,
    told,
  ];
}

const marker = (x) => ({
  type: "line",
  x0: x,
  x1: x,
  yref: "paper",
  y0: 0,
  y1: 1,
  line: { color: colour("soft"), width: 1, dash: "dash" },
});

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
  watch(place, () => ({
    traces: [
      {
        x: NODES.map((_, i) => i),
        y: NODES.map((node) => node.open),
        name: "open",
        fill: "tozeroy",
        mode: "lines",
        fillcolor: `${palette(5)}33`,
        line: { color: palette(5), width: 1.5 },
        hovertemplate: "%{y} open after %{x} expansions<extra></extra>",
        showlegend: astray,
      },
      ...(astray
        ? [
            {
              x: NODES.flatMap((node, i) => (node.on === null ? [i] : [])),
              y: NODES.flatMap((node) => (node.on === null ? [node.open] : [])),
              name: "off the plan",
              mode: "markers",
              marker: { color: colour("bad"), size: 5 },
              hoverinfo: "skip",
            },
          ]
        : []),
      ...(DATA.given
        ? [
            {
              x: DATA.ranking.map((_, i) => i + 1),
              y: DATA.ranking.map((one) => one.open),
              name: "if it took the plan",
              mode: "lines",
              line: { color: palette(0), dash: "dot" },
              hovertemplate: "%{y} open at step %{x} of the plan<extra></extra>",
            },
          ]
        : []),
    ],
    layout: {
      xaxis: { title: { text: "expansions" } },
      yaxis: { title: { text: `open ${THING}s` }, rangemode: "tozero" },
    },
  }));
  return [
    h("h2", {}, "The open list"),
    h(
      "p.soft",
      {},
      `How many ${THING}s the search had before it, not yet ${DATA.rank === "actions" ? "taken" : "expanded"}.`,
    ),
    place,
  ];
}
