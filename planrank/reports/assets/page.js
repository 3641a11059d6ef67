"use strict";
// What all pages share: their data, elements, themes, charts that follow the theme.

const DATA = JSON.parse(document.getElementById("data").textContent);
const PALETTES = {
  light: ["#2f5bd8", "#d1662c", "#1a8f5f", "#a13d9c", "#b8890b", "#0f8ba8", "#c2324b", "#6b6f76", "#7a5230", "#5b49c0"],
  dark: ["#86a8ff", "#ff9d66", "#54d39a", "#e28ade", "#e8c14f", "#5fd0e8", "#ff8fa0", "#aeb6c2", "#cfa27c", "#b3a6ff"],
};
const charts = new Map(); // of elements: what draws them again

/** An element with properties and children; texts are only ever texts. */
function h(name, properties = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const made = document.createElement(tag);
  if (classes.length) made.className = classes.join(" ");
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return made;
}

/** About three digits, none lost before the point. */
function short(number) {
  if (number === null || number === undefined) return "–";
  const size = Math.abs(number);
  if (Number.isInteger(number) || size >= 100) return Math.round(number).toLocaleString("en");
  return number.toFixed(size >= 10 ? 1 : size >= 0.1 ? 2 : 3);
}

const mean = (numbers) => (numbers.length ? numbers.reduce((a, b) => a + b, 0) / numbers.length : null);
const unique = (values) => [...new Set(values)];

// Themes

const systemIsDark = window.matchMedia("(prefers-color-scheme: dark)");
let printing = false;

function chosenTheme() {
  try { return localStorage.getItem("planrank-theme") || "auto"; } catch { return document.body.dataset.chosen || "auto"; }
}

function theme() {
  if (printing) return "light";
  const chosen = chosenTheme();
  return chosen === "auto" ? (systemIsDark.matches ? "dark" : "light") : chosen;
}

function applyTheme() {
  document.documentElement.dataset.theme = theme();
  for (const draw of charts.values()) draw();
}

function themeSwitch() {
  const names = { auto: "◐ as the system", light: "☀ light", dark: "☾ dark" };
  const button = h("button", { id: "theme", title: "Light or dark", onclick: () => {
    const next = { auto: "dark", dark: "light", light: "auto" }[chosenTheme()];
    document.body.dataset.chosen = next;
    try { localStorage.setItem("planrank-theme", next); } catch { /* kept for this page only */ }
    button.textContent = names[next];
    applyTheme();
  } }, names[chosenTheme()]);
  return button;
}

systemIsDark.addEventListener("change", applyTheme);
window.addEventListener("beforeprint", () => { printing = true; applyTheme(); });
window.addEventListener("afterprint", () => { printing = false; applyTheme(); });

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const palette = (i) => PALETTES[theme()][i % PALETTES.light.length];

// Charts

async function unpackPlotly() {
  const packed = Uint8Array.from(atob(document.getElementById("plotly").textContent), (c) => c.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = h("script");
  script.textContent = await new Response(unpacked).text();
  document.head.append(script);
}

/** Draw a chart, and again whenever the theme changes. `make` gives Plotly's traces and what is special in the layout. */
function chart(element, make) {
  const narrow = () => element.clientWidth < 520;
  const draw = () => {
    if (!element.isConnected) { charts.delete(element); return; }
    const { traces, layout = {} } = make();
    const axis = { gridcolor: colour("line"), zerolinecolor: colour("line"), linecolor: colour("line"), automargin: true };
    const legend = traces.filter((trace) => trace.showlegend !== false).length > 1 && layout.showlegend !== false;
    const whole = {
      font: { family: "system-ui, sans-serif", color: colour("ink"), size: 12 },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", hovermode: "closest",
      hoverlabel: { bgcolor: colour("card"), bordercolor: colour("line"), font: { color: colour("ink") }, align: "left" },
      margin: { l: 50, r: 12, t: legend ? 34 : 10, b: 42 },
      ...layout,
      showlegend: legend,
      legend: { orientation: "h", y: 1, yanchor: "bottom", font: { size: narrow() ? 10 : 12 } },
      xaxis: { ...axis, ...layout.xaxis }, yaxis: { ...axis, ...layout.yaxis },
    };
    if (layout.yaxis2) whole.yaxis2 = { ...axis, ...layout.yaxis2 };
    Plotly.react(element, traces, whole, { displaylogo: false, responsive: true, displayModeBar: narrow() ? false : "hover" });
  };
  charts.set(element, draw);
  draw();
  return draw;
}

// The frame of a page

/** Head, body and foot. `build` gets the element to fill, when everything is at hand. */
async function open(subtitle, build) {
  applyTheme();
  const page = document.getElementById("page");
  page.append(h("header", {}, h("h1", {}, DATA.title), themeSwitch()), h("p.soft", {}, subtitle));
  for (const notice of DATA.notices || []) page.append(h("p.notice", { role: "note" }, notice));
  await unpackPlotly();
  build(page);
  page.append(h("footer", {}, `Made by planrank ${DATA.version}. This file needs no network.`));
  document.body.dataset.ready = "yes";
}

function figures(entries) {
  return h("div.figures", {}, Object.entries(entries).map(([name, value]) =>
    h("div.figure", {}, h("b", {}, String(value)), h("span", {}, name))));
}

function choice(label, id, options, chosen, change) {
  const select = h("select", { id, onchange: () => change(select.value) },
    options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)));
  return h("label", {}, label, select);
}
