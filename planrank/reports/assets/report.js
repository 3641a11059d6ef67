// The page of `planrank report`.

const RUNS = DATA.runs.map((row) => Object.fromEntries(row.map((value, i) => [DATA.columns[i], value])));
for (const run of RUNS) run.series = `${run.search} · ${run.guide.replace(/^model:/, "")}`;
const SERIES = unique(RUNS.map((run) => run.series));
const DOMAINS = unique(RUNS.map((run) => run.domain)).sort();
const MEASURES = {
  expanded: "expansions", evaluated: "evaluations", generated: "generated states", plan_length: "steps of the plan",
  plan_cost: "cost of the plan", total_seconds: "seconds",
};

const solved = (run) => run.status === "solved";
const colourOf = (series) => palette(SERIES.indexOf(series));
const asPercent = (share) => `${Math.round(100 * share)} %`;

// What is looked at; every part of the page is drawn again when it changes.
const view = { domain: "", hidden: new Set(), coverageBy: "total_seconds", measure: "expanded", x: null, y: null };
const parts = [];
const redraw = () => parts.forEach((draw) => draw());
const chosen = () => RUNS.filter((run) => (!view.domain || run.domain === view.domain) && !view.hidden.has(run.series));

function grouped(runs, key) {
  const groups = new Map();
  for (const run of runs) {
    if (!groups.has(run[key])) groups.set(run[key], []);
    groups.get(run[key]).push(run);
  }
  return groups;
}

/** Problems that all series solve which were run on their domain. */
function common(runs) {
  const found = [];
  for (const some of grouped(runs, "domain").values()) {
    const [first, ...others] = [...grouped(some, "series").values()].map((group) => new Set(group.filter(solved).map((run) => run.instance_sha)));
    found.push(...[...first].filter((one) => others.every((group) => group.has(one))));
  }
  return new Set(found);
}

/** Two series to begin with: the first, and the one that shares most problems with it. */
function rivals() {
  const problems = (series) => new Set(RUNS.filter((run) => run.series === series).map((run) => run.instance_sha));
  const first = problems(SERIES[0]);
  const shared = (series) => [...problems(series)].filter((one) => first.has(one)).length;
  return [SERIES.slice(1).reduce((best, series) => (shared(series) > shared(best) ? series : best)), SERIES[0]];
}

/** A logarithmic axis with a label for each power of ten, or more where there are few of these. */
const logarithmic = (values) => {
  const known = values.filter((value) => value > 0);
  const decades = known.length ? Math.log10(Math.max(...known) / Math.min(...known)) : 1;
  return { type: "log", exponentformat: "SI", ...(decades > 1.5 ? { dtick: 1 } : {}) };
};

function filters() {
  const domain = choice("Domain", "domain", [["", `all ${DOMAINS.length}`], ...DOMAINS.map((name) => [name, name])], "",
    (value) => { view.domain = value; redraw(); });
  const chips = SERIES.map((series) => {
    const swatch = h("i");
    const chip = h("button.chip", { type: "button", "aria-pressed": "true", onclick: () => {
      view.hidden.has(series) ? view.hidden.delete(series) : view.hidden.add(series);
      chip.setAttribute("aria-pressed", String(!view.hidden.has(series)));
      redraw();
    } }, swatch, series);
    charts.set(swatch, () => { swatch.style.background = colourOf(series); }); // follows the theme as charts do
    return chip;
  });
  const every = h("button", { type: "button", onclick: () => {
    const hide = view.hidden.size === 0;
    view.hidden = new Set(hide ? SERIES : []);
    chips.forEach((chip) => chip.setAttribute("aria-pressed", String(!hide)));
    redraw();
  } }, "all or none");
  return h("div.card", { id: "filters" }, h("div.controls", {}, DOMAINS.length > 1 ? domain : null,
    SERIES.length > 5 ? every : null, h("div.chips", {}, chips)));
}

function card(title, text, ...children) {
  return h("section.card", {}, h("h2", {}, title), text ? h("p.soft", {}, text) : null, children);
}

/** A line for each series and domain. */
function summaryLines() {
  const shared = common(chosen());
  const lines = [];
  for (const group of grouped(chosen(), "series").values()) {
    for (const [domain, runs] of grouped(group, "domain")) {
      const done = runs.filter(solved), both = done.filter((run) => shared.has(run.instance_sha));
      const steps = done.reduce((sum, run) => sum + run.plan_length, 0);
      const line = { domain, search: runs[0].search, guide: runs[0].guide, share: done.length / runs.length,
        done: done.length, runs: runs.length,
        per_step: steps ? done.reduce((sum, run) => sum + run.expanded, 0) / steps : null };
      for (const name of Object.keys(MEASURES)) {
        line[name] = mean(done.map((run) => run[name]).filter((value) => value !== null));
        line[`common ${name}`] = mean(both.map((run) => run[name]).filter((value) => value !== null));
      }
      lines.push(line);
    }
  }
  return lines;
}

function summary() {
  let lines = summaryLines();
  const number = (name, key) => ({ name, get: (line) => line[key] });
  const withLeast = (name, key) => ({ ...number(name, key), class: (line) => {
    const rivals = lines.filter((other) => other.domain === line.domain && other[key] !== null).map((other) => other[key]);
    return line[key] !== null && rivals.length > 1 && line[key] === Math.min(...rivals) ? "best" : "";
  } });
  const costs = RUNS.some((run) => run.plan_cost !== run.plan_length);
  const table = sortable([
    { name: "Guide", get: (line) => line.guide, words: true },
    { name: "Search", get: (line) => line.search, words: true },
    { name: "Domain", get: (line) => line.domain, words: true },
    { name: "Solved", get: (line) => line.share, show: (line) => h("span", {}, `${line.done} of ${line.runs}`,
      h("span.share", {}, h("i", { style: `width:${100 * line.share}%` }))) },
    number("Expanded", "expanded"),
    number("Evaluated", "evaluated"),
    number("Steps", "plan_length"),
    ...(costs ? [number("Cost", "plan_cost")] : []),
    number("Seconds", "total_seconds"),
    withLeast("Expanded per step", "per_step"),
    withLeast("Expanded, all solve", "common expanded"),
    withLeast("Steps, all solve", "common plan_length"),
  ], lines, { id: "summary", filter: "filter the table", sort: [3, -1] });
  parts.push(() => { lines = summaryLines(); table.update(lines); });
  return card("Who solved how much", "Means over the problems solved. “All solve”: over those that every guide shown solves; " +
    "the least of a domain is bold.", table);
}

function coverage() {
  const place = h("div.chart", { id: "coverage" });
  parts.push(() => chart(place, () => {
    const key = view.coverageBy;
    const traces = [...grouped(chosen(), "series")].map(([series, runs]) => {
      const points = runs.filter((run) => solved(run) && run[key] !== null).map((run) => Math.max(run[key], 1e-3)).sort((a, b) => a - b);
      const end = Math.max(...runs.map((run) => (key === "total_seconds" ? run.time_limit : 0) || 0), points.at(-1) || 0);
      const share = points.map((_, i) => (i + 1) / runs.length);
      if (end) { points.push(end); share.push(share.at(-1) || 0); }
      return { x: points, y: share, name: series, mode: "lines", line: { shape: "hv", color: colourOf(series), width: 2.5 },
        hovertemplate: `%{y:.0%} after %{x:.3~s} ${key === "total_seconds" ? "s" : MEASURES[key]}<extra>${series}</extra>` };
    });
    return { traces, layout: {
      showlegend: printing, // the filters are one
      xaxis: { ...logarithmic(traces.flatMap((trace) => trace.x)), title: { text: MEASURES[key] } },
      yaxis: { tickformat: ".0%", range: [0, 1.04], title: { text: "solved" } } } };
  }));
  const by = choice("over", "coverage-by", ["total_seconds", "expanded", "evaluated"].map((key) => [key, MEASURES[key]]),
    view.coverageBy, (value) => { view.coverageBy = value; redraw(); });
  return card("Coverage over time", "The share of the problems solved within so much.", h("div.controls", {}, by), place);
}

function versus() {
  const place = h("div.chart", { id: "versus" });
  const told = h("p.soft", { id: "versus-told" });
  [view.x, view.y] = rivals();
  parts.push(() => chart(place, () => {
    const key = view.measure;
    const ofSeries = (series) => new Map(RUNS.filter((run) => run.series === series && (!view.domain || run.domain === view.domain))
      .map((run) => [run.instance_sha, run]));
    const [xs, ys] = [ofSeries(view.x), ofSeries(view.y)];
    const pairs = [...xs.keys()].filter((one) => ys.has(one)).map((one) => [xs.get(one), ys.get(one)]);
    const values = pairs.flat().filter((run) => solved(run) && run[key] > 0).map((run) => run[key]);
    const [low, high] = values.length ? [Math.min(...values), Math.max(...values)] : [1, 10];
    const rail = high * Math.max(2, (high / low) ** 0.08); // where what is not solved stands
    const at = (run) => (solved(run) ? Math.max(run[key], low) : rail);
    const told_of = (run) => (solved(run) ? `${short(run[key])} ${MEASURES[key]}` : run.status);
    const shown = pairs.filter(([a, b]) => solved(a) || solved(b));
    const traces = [...grouped(shown.map((pair) => ({ pair, domain: pair[0].domain })), "domain")].map(([domain, some]) => ({
      type: "scatter", mode: "markers", name: domain,
      x: some.map(({ pair }) => at(pair[0])), y: some.map(({ pair }) => at(pair[1])),
      text: some.map(({ pair: [a, b] }) => `<b>${a.problem}</b> (${a.domain})<br>${view.x}: ${told_of(a)}<br>${view.y}: ${told_of(b)}`),
      hovertemplate: "%{text}<extra></extra>",
      marker: { size: 10, opacity: 0.8, color: palette(DOMAINS.indexOf(domain)), line: { width: 1, color: colour("card") },
        symbol: some.map(({ pair: [a, b] }) => (solved(a) && solved(b) ? "circle" : "x")) },
    }));
    const ends = [low / 1.3, rail * 1.3];
    const line = (x, y, dash) => ({ type: "line", x0: x[0], x1: x[1], y0: y[0], y1: y[1], layer: "below",
      line: { color: colour("soft"), width: 1, dash } });
    const [less, more] = [1, -1].map((sign) => shown.filter(([a, b]) => sign * (at(b) - at(a)) < 0).length);
    told.textContent = `${view.y} needs less on ${less}, more on ${more} of ${shown.length} problems that one of them ` +
      `solves; crosses are problems that only one solves.`;
    const axis = { ...logarithmic(ends), range: ends.map(Math.log10) };
    return { traces, layout: {
      xaxis: { ...axis, title: { text: `${view.x}: ${MEASURES[key]}` } },
      yaxis: { ...axis, title: { text: `${view.y}: ${MEASURES[key]}` } },
      shapes: [line(ends, ends, "solid"), line([rail, rail], ends, "dot"), line(ends, [rail, rail], "dot")] } };
  }));
  const series = SERIES.map((name) => [name, name]);
  const change = (key) => (value) => { view[key] = value; redraw(); };
  return card("One guide against another", "A point is a problem; below the diagonal the guide on the left is better.",
    h("div.controls", {}, choice("left", "versus-y", series, view.y, change("y")), choice("bottom", "versus-x", series, view.x, change("x")),
      choice("compare", "measure", Object.entries(MEASURES), view.measure, change("measure"))), place, told);
}

function lengths() {
  const place = h("div.chart", { id: "lengths" });
  parts.push(() => chart(place, () => {
    const best = new Map();
    for (const run of RUNS.filter(solved)) best.set(run.instance_sha, Math.min(best.get(run.instance_sha) ?? Infinity, run.plan_length));
    const traces = [...grouped(chosen().filter((run) => solved(run) && best.get(run.instance_sha) > 0), "series")].map(([series, runs]) => ({
      type: "box", name: series, y: runs.map((run) => run.plan_length / best.get(run.instance_sha)), showlegend: false,
      boxpoints: "all", jitter: 0.5, pointpos: 0, boxmean: true, fillcolor: "rgba(0,0,0,0)",
      marker: { color: colourOf(series), size: 5, opacity: 0.6 }, line: { color: colourOf(series), width: 1.5 },
      text: runs.map((run) => `<b>${run.problem}</b>: ${run.plan_length} steps, the shortest ${best.get(run.instance_sha)}`),
      hovertemplate: "%{text}<extra></extra>", hoveron: "points" }));
    return { traces, layout: { yaxis: { title: { text: "length / shortest plan found" } }, xaxis: { tickangle: "auto" } } };
  }));
  return card("Plan lengths", "Each plan over the shortest that anyone here found for the problem. A point is a problem.", place);
}

function allRuns() {
  const table = sortable([
    { name: "Problem", get: (run) => run.problem, words: true },
    { name: "Domain", get: (run) => run.domain, words: true },
    { name: "Search", get: (run) => run.search, words: true },
    { name: "Guide", get: (run) => run.guide, words: true },
    { name: "Status", get: (run) => run.status, words: true, class: (run) => (solved(run) ? "good" : "bad"),
      show: (run) => h("span", { title: run.reason || null }, run.status) },
    { name: "Expanded", get: (run) => run.expanded },
    { name: "Evaluated", get: (run) => run.evaluated },
    { name: "Steps", get: (run) => run.plan_length },
    { name: "Cost", get: (run) => run.plan_cost },
    { name: "Seconds", get: (run) => run.total_seconds },
    { name: "MB", get: (run) => run.peak_kb && run.peak_kb / 1024 },
  ], chosen(), { id: "runs", filter: "filter: ferry out of time …", most: 100 });
  parts.push(() => table.update(chosen()));
  const found = card("Every run", "", table);
  found.classList.add("long");
  return found;
}

function trainings() {
  const logs = Object.entries(DATA.trainings).map(([name, rows]) =>
    [name, rows.map((row) => Object.fromEntries(row.map((value, i) => [DATA.log_columns[i], value])))]);
  const panels = [
    ["Loss", (row) => row.loss, { type: "log" }],
    ["0-1 loss: share of pairs in the wrong order", (row) => row.zero_one, { rangemode: "tozero" }],
    ["Validation: share solved", (row) => (row.of ? row.solved / row.of : null), { tickformat: ".0%", range: [0, 1.05] }],
    ["Validation: expansions", (row) => row.expansions, { type: "log" }],
  ];
  const drawn = panels.map(([title, get, axis]) => {
    const place = h("div.chart.low");
    parts.push(() => chart(place, () => ({
      traces: logs.map(([name, rows], i) => {
        const points = rows.filter((row) => get(row) !== null && get(row) !== undefined);
        return { x: points.map((row) => row.step), y: points.map(get), name, mode: points.length < 40 ? "lines+markers" : "lines",
          showlegend: false, line: { color: palette(i), width: 2 }, hovertemplate: `%{y:.4~g} at step %{x}<extra>${name}</extra>` };
      }),
      layout: { xaxis: { title: { text: "step" } }, yaxis: axis } })));
    return h("figure", { style: "margin:0" }, h("h3", {}, title), place);
  });
  const better = (a, b) => (b === null || a.solved > b.solved || (a.solved === b.solved && a.expansions < b.expansions) ? a : b);
  const lines = logs.map(([name, rows], i) => {
    const best = rows.filter((row) => row.of).reduce((found, row) => better(row, found), null);
    const losses = rows.filter((row) => row.loss !== null);
    return { name, i, steps: rows.at(-1).step, seconds: rows.at(-1).seconds, loss: losses.at(-1)?.loss, best };
  });
  const table = sortable([
    { name: "Training", get: (line) => line.name, words: true, show: (line) => {
      const swatch = h("i", { style: "display:inline-block;width:.8rem;height:.8rem;border-radius:3px;margin-right:.5rem" });
      charts.set(swatch, () => { swatch.style.background = palette(line.i); });
      return h("span", {}, swatch, line.name);
    } },
    { name: "Steps", get: (line) => line.steps },
    { name: "Last loss", get: (line) => line.loss },
    { name: "Solved at best", get: (line) => line.best && line.best.solved / line.best.of,
      show: (line) => (line.best ? `${line.best.solved} of ${line.best.of}` : "–") },
    { name: "Expansions at best", get: (line) => line.best?.expansions },
    { name: "Best step", get: (line) => line.best?.step },
    { name: "Seconds", get: (line) => line.seconds },
  ], lines, { id: "trainings", filter: logs.length > 8 ? "filter the trainings" : null });
  return card("Learning curves", "", table, h("div.pair", {}, drawn));
}

const NUMBER = /^-?[\d.,]+ ?%?( ± [\d.,]+)?( \(-?[\d.,]+\))?$/; // such as 98.9 ± 0.4 (100), which sorts as 98.9

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
        return { name, words, long: texts.some((text) => text.length > 50), class: (row) => row[i]?.mark,
          get: (row) => (words ? textOf(row[i]) : value(textOf(row[i]))), show: (row) => textOf(row[i]) };
      });
      found.push(sortable(columns, section.rows, { filter: section.rows.length > 12 ? "filter the table" : null }));
    }
    return found;
  });
  const made = card(document.title, "", sections);
  made.classList.add("long");
  return made;
}

const counted = (count, what) => (count ? `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}` : null);
open([counted(RUNS.length, "run"), counted(Object.keys(DATA.trainings).length, "training")].filter(Boolean).join(", "), (page) => {
  for (const document of DATA.documents) page.append(documentCard(document));
  if (RUNS.length) {
    const done = RUNS.filter(solved).length;
    page.append(figures({ runs: RUNS.length.toLocaleString("en"), problems: unique(RUNS.map((run) => run.instance_sha)).length,
      domains: DOMAINS.length, guides: SERIES.length, solved: asPercent(done / RUNS.length) }), filters(), summary(),
    h("div.pair", {}, coverage(), SERIES.length > 1 ? versus() : null), lengths());
  }
  if (Object.keys(DATA.trainings).length) page.append(trainings());
  if (RUNS.length) page.append(allRuns());
  redraw();
  applyTheme();
});
