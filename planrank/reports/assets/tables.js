// Tables that sort when a heading is pressed and filter as one types.

/**
 * `columns`: {name, get, words, show, class}: what stands in a column of a row, as a value to sort by, and how it is
 * shown. Its element has `update`, which takes other rows. `options`: {id, filter: placeholder, sort: [column, direction], most: rows shown at first}.
 */
function sortable(columns, rows, options = {}) {
  let [by, direction] = options.sort || [null, 1];
  let wanted = "", most = options.most || 200;
  const head = h("tr", {}, columns.map((column, i) => h(`th${column.words ? ".words" : ""}`, { scope: "col" },
    h("button", { type: "button", onclick: () => {
      direction = by === i ? -direction : column.words ? 1 : -1;
      by = i;
      fill();
    } }, column.name))));
  const body = h("tbody");
  const count = h("span.soft", { "aria-live": "polite" });
  const more = h("button.more", { type: "button", onclick: () => { most *= 5; fill(); } }, "Show more");
  const texts = new Map();
  const textOf = (row) => {
    if (!texts.has(row)) texts.set(row, columns.map((column) => column.get(row)).join(" ").toLowerCase());
    return texts.get(row);
  };

  function compare(a, b) {
    const [x, y] = [columns[by].get(a), columns[by].get(b)];
    const nothing = (value) => value === null || value === undefined || value === "";
    if (nothing(x) || nothing(y)) return nothing(x) - nothing(y); // last, whatever the direction
    return direction * (columns[by].words ? String(x).localeCompare(String(y), "en", { numeric: true }) : x - y);
  }

  function fill() {
    const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
    const kept = rows.filter((row) => words.every((word) => textOf(row).includes(word)));
    if (by !== null) kept.sort(compare);
    [...head.children].forEach((cell, i) =>
      i === by ? cell.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending") : cell.removeAttribute("aria-sort"));
    body.replaceChildren(...kept.slice(0, most).map((row) => h("tr", {}, columns.map((column) => {
      const shown = column.show ? column.show(row) : column.words ? String(column.get(row) ?? "–") : short(column.get(row));
      const cell = h(`td${column.words ? ".words" : ""}${column.long ? ".long" : ""}`, {}, shown);
      const mark = column.class && column.class(row);
      if (mark) cell.classList.add(mark);
      return cell;
    }))));
    count.textContent = `${Math.min(kept.length, most)} of ${rows.length} rows`;
    more.hidden = kept.length <= most;
  }

  const parts = [];
  if (options.filter) {
    const box = h("input", { type: "search", placeholder: options.filter, "aria-label": options.filter,
      oninput: () => { wanted = box.value; fill(); } });
    parts.push(h("div.controls", {}, box, count));
  }
  parts.push(h("div.scroll", { tabindex: 0 }, h("table", { id: options.id }, h("thead", {}, head), body)), more);
  fill();
  const made = h("div", {}, parts);
  made.update = (others) => { rows = others; fill(); }; // what is sorted and filtered by stays
  return made;
}
