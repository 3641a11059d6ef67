// Runs: which of them are looked at, and their tables.

const RUNS = DATA.runs.map((row) => Object.fromEntries(row.map((value, i) => [DATA.columns[i], value])));
for (const run of RUNS) run.series = `${run.search} · ${run.guide.replace(/^model:/, "")}`;
const SERIES = unique(RUNS.map((run) => run.series));
const DOMAINS = unique(RUNS.map((run) => run.domain)).sort();
const MEASURES = {
  expanded: "expansions",
  evaluated: "evaluations",
  generated: "generated states",
  plan_length: "steps of the plan",
  plan_cost: "cost of the plan",
  total_seconds: "seconds",
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
    const [first, ...others] = [...grouped(some, "series").values()].map(
      (group) => new Set(group.filter(solved).map((run) => run.instance_sha)),
    );
    found.push(...[...first].filter((one) => others.every((group) => group.has(one))));
  }
  return new Set(found);
}

function filters() {
  const domain = choice(
    "Domain",
    "domain",
    [["", `all ${DOMAINS.length}`], ...DOMAINS.map((name) => [name, name])],
    "",
    (value) => {
      view.domain = value;
      redraw();
    },
  );
  const chips = SERIES.map((series) => {
    const swatch = h("i");
    const chip = h(
      "button.chip",
      {
        type: "button",
        "aria-pressed": "true",
        onclick: () => {
          view.hidden.has(series) ? view.hidden.delete(series) : view.hidden.add(series);
          chip.setAttribute("aria-pressed", String(!view.hidden.has(series)));
          redraw();
        },
      },
      swatch,
      series,
    );
    charts.set(swatch, () => {
      swatch.style.background = colourOf(series);
    }); // follows the theme as charts do
    return chip;
  });
  const every = h(
    "button",
    {
      type: "button",
      onclick: () => {
        const hide = view.hidden.size === 0;
        view.hidden = new Set(hide ? SERIES : []);
        chips.forEach((chip) => chip.setAttribute("aria-pressed", String(!hide)));
        redraw();
      },
    },
    "all or none",
  );
  return h(
    "div.card",
    { id: "filters" },
    h(
      "div.controls",
      {},
      DOMAINS.length > 1 ? domain : null,
      SERIES.length > 5 ? every : null,
      h("div.chips", {}, chips),
    ),
  );
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
      const done = runs.filter(solved),
        both = done.filter((run) => shared.has(run.instance_sha));
      const steps = done.reduce((sum, run) => sum + run.plan_length, 0);
      const line = {
        domain,
        search: runs[0].search,
        guide: runs[0].guide,
        share: done.length / runs.length,
        done: done.length,
        runs: runs.length,
        per_step: steps ? done.reduce((sum, run) => sum + run.expanded, 0) / steps : null,
      };
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
  const withLeast = (name, key) => ({
    ...number(name, key),
    class: (line) => {
      const rivals = lines
        .filter((other) => other.domain === line.domain && other[key] !== null)
        .map((other) => other[key]);
      return line[key] !== null && rivals.length > 1 && line[key] === Math.min(...rivals) ? "best" : "";
    },
  });
  const costs = RUNS.some((run) => run.plan_cost !== run.plan_length);
  const table = sortable(
    [
      { name: "Guide", get: (line) => line.guide, words: true },
      { name: "Search", get: (line) => line.search, words: true },
      { name: "Domain", get: (line) => line.domain, words: true },
      {
        name: "Solved",
        get: (line) => line.share,
        show: (line) =>
          h(
            "span",
            {},
            `${line.done} of ${line.runs}`,
            h("span.share", {}, h("i", { style: `width:${100 * line.share}%` })),
          ),
      },
      number("Expanded", "expanded"),
      number("Evaluated", "evaluated"),
      number("Steps", "plan_length"),
      ...(costs ? [number("Cost", "plan_cost")] : []),
      number("Seconds", "total_seconds"),
      withLeast("Expanded per step", "per_step"),
      withLeast("Expanded, all solve", "common expanded"),
      withLeast("Steps, all solve", "common plan_length"),
    ],
    lines,
    { id: "summary", filter: "filter the table", sort: [3, -1] },
  );
  parts.push(() => {
    lines = summaryLines();
    table.update(lines);
  });
  return card(
    "Who solved how much",
    "Means over the problems solved. “All solve”: over those that every guide shown solves; " +
      "the least of a domain is bold.",
    table,
  );
}

function allRuns() {
  const table = sortable(
    [
      { name: "Problem", get: (run) => run.problem, words: true },
      { name: "Domain", get: (run) => run.domain, words: true },
      { name: "Search", get: (run) => run.search, words: true },
      { name: "Guide", get: (run) => run.guide, words: true },
      {
        name: "Status",
        get: (run) => run.status,
        words: true,
        class: (run) => (solved(run) ? "good" : "bad"),
        show: (run) => h("span", { title: run.reason || null }, run.status),
      },
      { name: "Expanded", get: (run) => run.expanded },
      { name: "Evaluated", get: (run) => run.evaluated },
      { name: "Steps", get: (run) => run.plan_length },
      { name: "Cost", get: (run) => run.plan_cost },
      { name: "Seconds", get: (run) => run.total_seconds },
      { name: "MB", get: (run) => run.peak_kb && run.peak_kb / 1024 },
    ],
    chosen(),
    { id: "runs", filter: "filter: ferry out of time …", most: 100 },
  );
  parts.push(() => table.update(chosen()));
  const found = card("Every run", "", table);
  found.classList.add("long");
  return found;
}
