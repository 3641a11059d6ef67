// The page of `planrank show`.

const verdict = WRONG ? `${LENGTH - WRONG} of ${LENGTH}` : "all";
const guide = `${DATA.guide_is_model ? "the model " : ""}${DATA.guide}`;
open(
  `${DATA.domain} · ${DATA.search} guided by ${guide}, which ranks ${DATA.rank}` +
    (DATA.given ? " · the plan was given" : ""),
  (page) => {
    page.append(
      figures({
        "steps of the plan": LENGTH,
        cost: short(DATA.cost),
        "expansions of the search": short(DATA.counters.expanded),
        evaluations: short(DATA.counters.evaluated),
        "steps ranked strictly best": verdict,
        "the search": DATA.status,
      }),
    );
    page.append(stage());
    const beside = [h("div.card", {}, ranking()), h("div.card", {}, openList())];
    page.append(h("div.pair", {}, beside), tree());
    update();
    applyTheme();
  },
);
