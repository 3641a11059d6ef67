// Learning curves, and documents that benchmarks write.

function trainings() {
  const logs = Object.entries(DATA.trainings).map(([name, rows]) => [
    name,
    rows.map((row) => Object.fromEntries(row.map((value, i) => [DATA.log_columns[i], value]))),
  ]);
  const panels = [
    ["Loss", (row) => row.loss, { type: "log" }],
    ["0-1 loss: share of pairs in the wrong order", (row) => row.zero_one, { rangemode: "tozero" }],
    [
      "Validation: share solved",
      (row) => (row.of ? row.solved / row.of : null),
      { tickformat: ".0%", range: [0, 1.05] },
    ],
    ["Validation: expansions", (row) => row.expansions, { type: "log" }],
  ].filter(([, get]) => logs.some(([, rows]) => rows.some((row) => (get(row) ?? null) !== null))); // as losses have it
  const drawn = panels.map(([title, get, axis]) => {
    const place = h("div.chart.low");
    parts.push(() =>
      chart(place, () => ({
        traces: logs.map(([name, rows], i) => {
          const points = rows.filter((row) => get(row) !== null && get(row) !== undefined);
          return {
            x: points.map((row) => row.step),
            y: points.map(get),
            name,
            mode: points.length < 40 ? "lines+markers" : "lines",
            showlegend: false,
            line: { color: palette(i), width: 2 },
            hovertemplate: `%{y:.4~g} at step %{x}<extra>${name}</extra>`,
          };
        }),
        layout: { xaxis: { title: { text: "step" } }, yaxis: axis },
      })),
    );
    return h("figure", { style: "margin:0" }, h("h3", {}, title), place);
  });
  const better = (a, b) =>
    b === null || a.solved > b.solved || (a.solved === b.solved && a.expansions < b.expansions) ? a : b;
  const lines = logs.map(([name, rows], i) => {
    const best = rows.filter((row) => row.of).reduce((found, row) => better(row, found), null);
    const losses = rows.filter((row) => row.loss !== null);
    return { name, i, steps: rows.at(-1).step, seconds: rows.at(-1).seconds, loss: losses.at(-1)?.loss, best };
  });
  const table = sortable(
    [
      {
        name: "Training",
        get: (line) => line.name,
        words: true,
        show: (line) => {
          const swatch = h("i", {
            style: "display:inline-block;width:.8rem;height:.8rem;border-radius:3px;margin-right:.5rem",
          });
          charts.set(swatch, () => {
            swatch.style.background = palette(line.i);
          });
          return h("span", {}, swatch, line.name);
        },
      },
      { name: "Steps", get: (line) => line.steps },
      { name: "Last loss", get: (line) => line.loss },
      {
        name: "Solved at best",
        get: (line) => line.best && line.best.solved / line.best.of,
        show: (line) => (line.best ? `${line.best.solved} of ${line.best.of}` : "–"),
      },
      { name: "Expansions at best", get: (line) => line.best?.expansions },
      { name: "Best step", get: (line) => line.best?.step },
      { name: "Seconds", get: (line) => line.seconds },
    ],
    lines,
    { id: "trainings", filter: logs.length > 8 ? "filter the trainings" : null },
  );
  return card("Learning curves", "", table, h("div.pair", {}, drawn));
}

// Such as 98.9 ± 0.4 (100 ± 0), below, which sorts as 98.9.
const NUMBER = /^-?[\d.,]+ ?%?( ± [\d.,]+)?( \(-?[\d.,]+( ± [\d.,]+)?\)(, (above|below))?)?$/;

/** Sections that a benchmark wrote: a text, and a table whose cells may be {text, mark: good|bad|unsure}. */
function documentCard(document) {
  const sections = document.sections.map((section) => {
    const found = [h("h3", {}, section.title)];
    for (const line of [].concat(section.text || [])) found.push(h("p.soft", {}, line));
    if (section.header) {
      const textOf = (cell) => (cell !== null && typeof cell === "object" ? cell.text : String(cell ?? "-"));
      const nothing = (text) => text === "-" || text === "";
      const columns = section.header.map((name, i) => {
        const texts = section.rows.map((row) => textOf(row[i]));
        const words = texts.every(nothing) || !texts.every((text) => nothing(text) || NUMBER.test(text));
        const value = (text) => (nothing(text) ? null : parseFloat(text.replaceAll(",", "")));
        return {
          name,
          words,
          long: texts.some((text) => text.length > 50),
          class: (row) => row[i]?.mark,
          get: (row) => (words ? textOf(row[i]) : value(textOf(row[i]))),
          show: (row) => textOf(row[i]),
        };
      });
      found.push(sortable(columns, section.rows, { filter: section.rows.length > 12 ? "filter the table" : null }));
    }
    return found;
  });
  const made = card(document.title, "", sections);
  made.classList.add("long");
  return made;
}
