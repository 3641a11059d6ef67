// Charts of runs.

/** Two series to begin with: the first, and the one that shares most problems with it. */
function rivals() {
  const problems = (series) => new Set(RUNS.filter((run) => run.series === series).map((run) => run.instance_sha));
  const first = problems(SERIES[0]);
  const shared = (series) => [...problems(series)].filter((one) => first.has(one)).length;
  return [SERIES.slice(1).reduce((best, series) => (shared(series) > shared(best) ? series : best)), SERIES[0]];
}

/** A logarithmic axis with a label for each power of ten, or at 1, 2 and 5 where there are few of these. */
const logarithmic = (values) => {
  const known = values.filter((value) => value > 0);
  const decades = known.length ? Math.log10(Math.max(...known) / Math.min(...known)) : 1;
  return { type: "log", exponentformat: "SI", ...(decades > 1.5 ? { dtick: 1 } : decades > 0.6 ? { dtick: "D2" } : {}) };
};

function coverage() {
  const place = h("div.chart", { id: "coverage" });
  parts.push(() =>
    chart(place, () => {
      const key = view.coverageBy;
      const unit = key === "total_seconds" ? "s" : MEASURES[key];
      const traces = [...grouped(chosen(), "series")].map(([series, runs]) => {
        const points = runs
          .filter((run) => solved(run) && run[key] !== null)
          .map((run) => Math.max(run[key], 1e-3))
          .sort((a, b) => a - b);
        const end = Math.max(
          ...runs.map((run) => (key === "total_seconds" ? run.time_limit : 0) || 0),
          points.at(-1) || 0,
        );
        const share = points.map((_, i) => (i + 1) / runs.length);
        if (end) {
          points.push(end);
          share.push(share.at(-1) || 0);
        }
        return {
          x: points,
          y: share,
          name: series,
          mode: "lines",
          line: { shape: "hv", color: colourOf(series), width: 2.5 },
          hovertemplate: `%{y:.0%} after %{x:.3~s} ${unit}<extra>${series}</extra>`,
        };
      });
      return {
        traces,
        layout: {
          showlegend: printing, // the filters are one
          xaxis: { ...logarithmic(traces.flatMap((trace) => trace.x)), title: { text: MEASURES[key] } },
          yaxis: { tickformat: ".0%", range: [0, 1.04], title: { text: "solved" } },
        },
      };
    }),
  );
  const by = choice(
    "over",
    "coverage-by",
    ["total_seconds", "expanded", "evaluated"].map((key) => [key, MEASURES[key]]),
    view.coverageBy,
    (value) => {
      view.coverageBy = value;
      redraw();
    },
  );
  return card(
    "Coverage over time",
    "The share of the problems solved within so much.",
    h("div.controls", {}, by),
    place,
  );
}

function versus() {
  const place = h("div.chart", { id: "versus" });
  const told = h("p.soft", { id: "versus-told" });
  [view.x, view.y] = rivals();
  parts.push(() =>
    chart(place, () => {
      const key = view.measure;
      const ofSeries = (series) =>
        new Map(
          RUNS.filter((run) => run.series === series && (!view.domain || run.domain === view.domain)).map((run) => [
            run.instance_sha,
            run,
          ]),
        );
      const [xs, ys] = [ofSeries(view.x), ofSeries(view.y)];
      const pairs = [...xs.keys()].filter((one) => ys.has(one)).map((one) => [xs.get(one), ys.get(one)]);
      const values = pairs
        .flat()
        .filter((run) => solved(run) && run[key] > 0)
        .map((run) => run[key]);
      const [low, high] = values.length ? [Math.min(...values), Math.max(...values)] : [1, 10];
      const rail = high * Math.max(2, (high / low) ** 0.08); // where what is not solved stands
      const at = (run) => (solved(run) ? Math.max(run[key], low) : rail);
      const told_of = (run) => (solved(run) ? `${short(run[key])} ${MEASURES[key]}` : run.status);
      const shown = pairs.filter(([a, b]) => solved(a) || solved(b));
      const traces = [
        ...grouped(
          shown.map((pair) => ({ pair, domain: pair[0].domain })),
          "domain",
        ),
      ].map(([domain, some]) => ({
        type: "scatter",
        mode: "markers",
        name: domain,
        x: some.map(({ pair }) => at(pair[0])),
        y: some.map(({ pair }) => at(pair[1])),
        text: some.map(
          ({ pair: [a, b] }) =>
            `<b>${a.problem}</b> (${a.domain})<br>${view.x}: ${told_of(a)}<br>${view.y}: ${told_of(b)}`,
        ),
        hovertemplate: "%{text}<extra></extra>",
        marker: {
          size: 10,
          opacity: 0.8,
          color: palette(DOMAINS.indexOf(domain)),
          line: { width: 1, color: colour("card") },
          symbol: some.map(({ pair: [a, b] }) => (solved(a) && solved(b) ? "circle" : "x")),
        },
      }));
      const ends = [low / 1.3, rail * 1.3];
      const line = (x, y, dash) => ({
        type: "line",
        x0: x[0],
        x1: x[1],
        y0: y[0],
        y1: y[1],
        layer: "below",
        line: { color: colour("soft"), width: 1, dash },
      });
      const [less, more] = [1, -1].map((sign) => shown.filter(([a, b]) => sign * (at(b) - at(a)) < 0).length);
      told.textContent =
        `${view.y} needs less on ${less}, more on ${more} of ${shown.length} problems that one of them ` +
        `solves; crosses are problems that only one solves.`;
      const axis = { ...logarithmic(ends), range: ends.map(Math.log10) };
      return {
        traces,
        layout: {
          xaxis: { ...axis, title: { text: `${view.x}: ${MEASURES[key]}` } },
          yaxis: { ...axis, title: { text: `${view.y}: ${MEASURES[key]}` } },
          shapes: [line(ends, ends, "solid"), line([rail, rail], ends, "dot"), line(ends, [rail, rail], "dot")],
        },
      };
    }),
  );
  const series = SERIES.map((name) => [name, name]);
  const change = (key) => (value) => {
    view[key] = value;
    redraw();
  };
  return card(
    "One guide against another",
    "A point is a problem; below the diagonal the guide on the left is better.",
    h(
      "div.controls",
      {},
      choice("left", "versus-y", series, view.y, change("y")),
      choice("bottom", "versus-x", series, view.x, change("x")),
      choice("compare", "measure", Object.entries(MEASURES), view.measure, change("measure")),
    ),
    place,
    told,
  );
}

function lengths() {
  const place = h("div.chart", { id: "lengths" });
  parts.push(() =>
    chart(place, () => {
      const best = new Map();
      for (const run of RUNS.filter(solved))
        best.set(run.instance_sha, Math.min(best.get(run.instance_sha) ?? Infinity, run.plan_length));
      const traces = [
        ...grouped(
          chosen().filter((run) => solved(run) && best.get(run.instance_sha) > 0),
          "series",
        ),
      ].map(([series, runs]) => ({
        type: "box",
        name: series,
        y: runs.map((run) => run.plan_length / best.get(run.instance_sha)),
        showlegend: false,
        boxpoints: "all",
        jitter: 0.5,
        pointpos: 0,
        boxmean: true,
        fillcolor: "rgba(0,0,0,0)",
        marker: { color: colourOf(series), size: 5, opacity: 0.6 },
        line: { color: colourOf(series), width: 1.5 },
        text: runs.map(
          (run) => `<b>${run.problem}</b>: ${run.plan_length} steps, the shortest ${best.get(run.instance_sha)}`,
        ),
        hovertemplate: "%{text}<extra></extra>",
        hoveron: "points",
      }));
      return {
        traces,
        layout: { yaxis: { title: { text: "length / shortest plan found" } }, xaxis: { tickangle: "auto" } },
      };
    }),
  );
  return card(
    "Plan lengths",
    "Each plan over the shortest that anyone here found for the problem. A point is a problem.",
    place,
  );
}
