// The page of `planrank report`.

const counted = (count, what) => (count ? `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}` : null);
open(
  [
    counted(RUNS.length, "run"),
    counted(Object.keys(DATA.trainings).length, "training"),
    counted(Object.keys(DATA.improvements).length, "improvement"),
  ]
    .filter(Boolean)
    .join(", "),
  (page) => {
    for (const document of DATA.documents) page.append(documentCard(document));
    if (RUNS.length) {
      const done = RUNS.filter(solved).length;
      page.append(
        figures({
          runs: RUNS.length.toLocaleString("en"),
          problems: unique(RUNS.map((run) => run.instance_sha)).length,
          domains: DOMAINS.length,
          guides: SERIES.length,
          solved: asPercent(done / RUNS.length),
        }),
        filters(),
        summary(),
        h("div.pair", {}, coverage(), SERIES.length > 1 ? versus() : null),
        lengths(),
      );
    }
    if (Object.keys(DATA.trainings).length) page.append(trainings());
    for (const [name, rows] of Object.entries(DATA.improvements)) page.append(improvement(name, rows));
    if (RUNS.length) page.append(allRuns());
    redraw();
    applyTheme();
  },
);
