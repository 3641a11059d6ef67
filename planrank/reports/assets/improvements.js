// A model that improves by itself: what it solves of every size, round by round.

function improvement(name, table) {
  const rows = table.map((row) => Object.fromEntries(row.map((value, i) => [DATA.round_columns[i], value])));
  const rounds = rows.filter((row) => row.better !== null);
  const tried = rows.filter((row) => row.held_out_of && row.which !== "best");
  const perStep = (row) => (row.held_out_plan_steps ? row.held_out_expansions / row.held_out_plan_steps : null);
  const panels = [
    ["Searched: share solved, by size", rounds, "size", (row) => row.solved / row.of, { tickformat: ".0%", range: [-0.05, 1.05] }],
    [
      "Held out: share solved, by size",
      tried,
      "held_out_size",
      (row) => row.held_out_solved / row.held_out_of,
      { tickformat: ".0%", range: [-0.05, 1.05] },
    ],
    ["Held out: expansions for each step of the plans", tried, "held_out_size", perStep, logarithmic(tried.map(perStep))],
    ["Loss", rounds, null, (row) => row.loss, { rangemode: "tozero" }],
  ];
  const sizes = unique(rows.flatMap((row) => [row.size, row.held_out_size]).filter(Boolean));
  const drawn = panels.map(([title, source, key, get, axis]) => {
    const place = h("div.chart.low");
    const lines = key === null ? ["loss"] : sizes;
    parts.push(() =>
      chart(place, () => ({
        traces: lines
          .map((size, i) => {
            const points = source.filter((row) => (key === null || row[key] === size) && get(row) !== null);
            return {
              x: points.map((row) => row.round),
              y: points.map(get),
              name: size,
              mode: "lines+markers",
              line: { color: palette(i), width: 2 },
              hovertemplate: `%{y:.4~g} in round %{x}<extra>${size}</extra>`,
            };
          })
          .filter((trace) => trace.x.length),
        layout: { xaxis: { title: { text: "round" } }, yaxis: axis },
      })),
    );
    return h("figure", { style: "margin:0" }, h("h3", {}, title), place);
  });
  const heldOut = (row) => tried.filter((one) => one.round === row.round).at(-1);
  const list = sortable(
    [
      { name: "Round", get: (row) => row.round },
      { name: "Size", get: (row) => row.size, words: true },
      { name: "Expansions at most", get: (row) => row.budget },
      { name: "Solved", get: (row) => row.solved / row.of, show: (row) => `${row.solved} of ${row.of}` },
      { name: "Plans", get: (row) => row.plans },
      { name: "Held out", get: (row) => heldOut(row)?.held_out_size, words: true },
      {
        name: "Solved of these",
        get: (row) => (heldOut(row) ? heldOut(row).held_out_solved / heldOut(row).held_out_of : null),
        show: (row) => (heldOut(row) ? `${heldOut(row).held_out_solved} of ${heldOut(row).held_out_of}` : "–"),
      },
      { name: "Expansions a step", get: (row) => (heldOut(row) ? perStep(heldOut(row)) : null) },
      { name: "Kept", get: (row) => (row.better ? "yes" : "no"), words: true },
      { name: "Seconds", get: (row) => row.seconds },
    ],
    rounds,
    { id: `improvement ${name}` },
  );
  return card(`Improvement: ${name}`, "", list, h("div.pair", {}, drawn));
}
