// @ts-check
// Words, numbers and elements of the page. page.py joins base.js, data.js, chart.js and views.js, in this order, to
// one module. Text from results becomes text nodes and attributes alone, never markup.

const {Plot, d3, DecompressionStream} = /** @type {any} */ (window);

// ---------------------------------------------------------------------------------------------------- words, numbers

/** What an object holds itself: a variant may be called `constructor`. */
const own = (/** @type {any} */ it, /** @type {string} */ name) => (Object.hasOwn(it, name) ? it[name] : undefined);
const NAMES = /** @type {Record<string, string>} */ (
  {device: "runs on", offset_elements: "offset", dataset: "data", caller: "called"});
const WORDS = /** @type {Record<string, string>} */ ({
  moments: "sum and sum of squares",
  row_sums: "sums of rows",
  column_sums: "sums of columns",
  segment_sums: "sums of segments",
  device: "device time",
  graph: "graph replay",
  replay: "one-call graph",
  cold_dirty: "L2 cold and dirty",
  cold_clean: "L2 cold and clean",
  warm: "L2 warm",
  cuda: "GPU",
  cpu: "CPU",
  sim: "simulated device",
  first: "after other calls",
  "": "in a loop",
  newest: "the newest over each release",
  adjacent: "each release over the one before",
  determinism: "over the same release, run to run",
});
/** A column's name, and a word that it holds. */
const nameOfColumn = (/** @type {string} */ name) => NAMES[name] ?? name.replaceAll("_", " ");
const labelOf = (/** @type {string} */ word) =>
  own(WORDS, word) ?? (/^[a-z_]+$/.test(word) ? word.replaceAll("_", " ") : word);
const grouped = (/** @type {number} */ v, digits = 0) => d3.format(`,.${digits}f`)(v);
/** "0.572 [0.570, 0.574]" */
function interval(/** @type {number} */ v, low = NaN, high = NaN, digits = v < 2 ? 3 : v < 10 ? 2 : v < 1000 ? 1 : 0) {
  const ends = isFinite(low) && isFinite(high) ? ` [${grouped(low, digits)}, ${grouped(high, digits)}]` : "";
  return grouped(v, digits) + ends;
}
/** "16.47 [16.32, 16.63] us" of seconds */
const micro = (/** @type {number} */ s, low = NaN, high = NaN) =>
  `${interval(s * 1e6, low * 1e6, high * 1e6, s >= 99.95e-6 ? 1 : 2)} us`;
/** "2^28", "1,000,000" */
function size(/** @type {number} */ n) {
  const power = Math.log2(n);
  return n > 0 && Number.isInteger(power) && power > 3 ? `2^${power}` : grouped(n);
}
const counted = (/** @type {number} */ k, /** @type {string} */ what) => `${grouped(k)} ${what}${k === 1 ? "" : "s"}`;

/** A row's speedup and its interval, over the recorded base or a further one that the program computed. */
const speedupOf = (/** @type {Row} */ row, base = "") =>
  ["", "_ci_low", "_ci_high"].map(end => row.number(`speedup${base && `_${base}`}${end}`));
/**
 * What the chart can show of a row: `of` its value and interval. `less`: the smallest is the best.
 *
 * @type {Record<string, {label: string, unit?: string, log?: boolean, less?: boolean, of: (row: Row) => number[],
 *   tell: (p: Point) => string}>}
 */
const VALUES = {
  speedup: {label: "speedup", of: row => speedupOf(row), tell: p => interval(p.y, p.low, p.high)},
  rate: {
    label: "throughput", unit: "GB/s", log: true,
    of: row => ["median", "ci_high", "ci_low"].map(end => row.number("bytes") / 1e9 / row.number(`time_${end}_s`)),
    tell: p => `${interval(p.y, p.low, p.high, p.y >= 100 ? 0 : 2)} GB/s`
  },
  time: {
    label: "time", unit: "us", log: true, less: true,
    of: row => ["median", "ci_low", "ci_high"].map(end => row.number(`time_${end}_s`) * 1e6),
    tell: p => micro(p.y / 1e6, p.low / 1e6, p.high / 1e6)
  },
  share: {
    label: "share of the read ceiling", unit: "%",
    of: row => [row.number("share_of_read_ceiling") * 100],
    tell: p => `${grouped(p.y, 1)} %`
  },
  error: {
    label: "error", unit: "share of the sum of magnitudes", log: true, less: true,
    of: row => [row.number("abs_error") / row.number("sum_of_magnitudes")],
    tell: p => (p.y ? p.y.toExponential(2) : "exact")
  },
  cycles: {label: "cycles", log: true, less: true, of: row => [row.number("cycles_median")], tell: p => grouped(p.y)}
};

// ---------------------------------------------------------------------------------------------------- elements

const $ = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));

const SHAPES = ["svg", "path", "rect", "text"];
/**
 * An element, of a picture if it is a shape; strings among the children become text. `on...` is a listener, null is
 * left out.
 *
 * @param {string} tag @param {Record<string, any>} [attributes] @param {...any} children @returns {any}
 */
function make(tag, attributes = {}, ...children) {
  const kind = SHAPES.includes(tag) ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml";
  const element = document.createElementNS(kind, tag);
  for (const [name, value] of Object.entries(attributes))
    if (name.startsWith("on"))
      element.addEventListener(name.slice(2), value);
    else if (value !== null)
      element.setAttribute(name, String(value));
  element.append(...children.filter(child => child !== null));
  return element;
}

const NUMBER = /^[\d.,^]+( \[.*\])?( us| GB\/s| %)?$/;
/**
 * A table of numbers and words, or of words alone, or of cards: where there is little room, its rows are cards, each
 * field under its column's name.
 */
function tableOf(/** @type {string} */ caption, /** @type {any[]} */ head, /** @type {any[][]} */ rows, kind = "") {
  const cell = (/** @type {any} */ content, /** @type {number} */ i) => {
    const made = make("td", {"data-label": kind === "cards" ? head[i] : null}, content);
    if (!kind && NUMBER.test(made.textContent)) made.className = "number";
    return made;
  };
  return make("div", {class: "scroll"}, make("table", {class: kind || null}, make("caption", {}, caption),
    make("thead", {}, make("tr", {}, ...head.map(content => make("th", {scope: "col"}, content)))),
    make("tbody", {}, ...rows.map(row => make("tr", {}, ...row.map(cell))))));
}

/** Changes what is chosen and shows it; the focus stays on the control, which may be drawn anew. */
function after(/** @type {() => void} */ change) {
  const id = document.activeElement?.id;
  change();
  show();
  if (id) document.getElementById(id)?.focus();
}
const button = (/** @type {string} */ id, /** @type {any} */ content, /** @type {(event: any) => void} */ onclick,
  /** @type {Record<string, any>} */ more = {}) => make("button", {type: "button", id, onclick, ...more}, content);

/** A choice of words, each with its label; `state` has it, unless `chosen` and `change` say another place. */
function choose(/** @type {string} */ name, /** @type {string} */ label, /** @type {Iterable<string[]>} */ options,
  wide = false, /** @type {string} */ chosen = state[name],
  /** @type {(word: string) => void} */ change = word => state[name] = word) {
  const select = make("select", {name, id: `choice-${name}`, onchange: e => after(() => change(e.target.value))},
    ...[...options].map(([word, text]) => make("option", {value: word}, text)));
  select.value = chosen;
  return make("label", {class: wide ? "wide" : null}, label, select);
}

/** The kernel's source: a link where the page lies in reductio's folder. */
function sourceOf(/** @type {string} */ variant) {
  const path = own(header.sources, variant) ?? own(header.sources, `${variant.split("/")[0]}/`);
  return !path ? "" : header.root === null ? path : make("a", {href: header.root + path}, path);
}
