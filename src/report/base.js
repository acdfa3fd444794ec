// @ts-check
// Words, numbers and elements of the page. page.py joins base.js, data.js, chart.js and views.js, in this order, to
// one module. Text from results becomes text nodes and attributes alone, never markup.

const {Plot, d3, DecompressionStream} = /** @type {any} */ (window);

// ---------------------------------------------------------------------------------------------------- words and
// numbers

/** What an object holds itself: a variant may be called `constructor`. */
const own = (/** @type {any} */ it, /** @type {string} */ name) => (Object.hasOwn(it, name) ? it[name] : undefined);
const NAMES = /** @type {Record<string, string>} */ ({
  device: "runs on",
  element_type: "element type",
  timing_mode: "timing mode",
  cache_state: "cache state",
  offset_elements: "offset",
  dataset: "data",
  caller: "called",
});
const WORDS = /** @type {Record<string, string>} */ ({
  sum_of_squares: "sum of squares",
  moments: "sum and sum of squares",
  wide_sum: "wide sum",
  row_sums: "sums of rows",
  column_sums: "sums of columns",
  segment_sums: "sums of segments",
  device: "device time",
  end_to_end: "end to end",
  launch_to_idle: "launch to idle",
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
});
/** A column's name, and a word that it holds. */
const nameOfColumn = (/** @type {string} */ name) => NAMES[name] ?? name;
const labelOf = (/** @type {string} */ word) => own(WORDS, word) ?? word;
const grouped = (/** @type {number} */ v, digits = 0) =>
  v.toLocaleString("en-US", {minimumFractionDigits: digits, maximumFractionDigits: digits});
/** Microseconds, three digits: 8.40, 10.0, 255, 1,225. */
const micro = (/** @type {number} */ us) => grouped(us, us >= 99.95 ? 0 : us >= 9.995 ? 1 : 2);
const digitsOfRatio = (/** @type {number} */ v) => (v < 2 ? 3 : v < 10 ? 2 : v < 1000 ? 1 : 0);
const ends = (/** @type {number} */ low, /** @type {number} */ high, /** @type {number} */ digits) =>
  (isFinite(low) && isFinite(high) ? ` [${grouped(low, digits)}, ${grouped(high, digits)}]` : "");
/** "0.572 [0.570, 0.574]" */
const interval = (
  /** @type {number} */ v, /** @type {number} */ low, /** @type {number} */ high, digits = digitsOfRatio(v)) =>
  grouped(v, digits) + ends(low, high, digits);
const microInterval = (/** @type {number} */ s, low = NaN, high = NaN) =>
  `${micro(s * 1e6)}${ends(low * 1e6, high * 1e6, s >= 99.95e-6 ? 1 : 2)} us`;
/** "2^28", "1,000,000" */
function size(/** @type {number} */ n) {
  const power = Math.log2(n);
  return n > 0 && Number.isInteger(power) && power > 3 ? `2^${power}` : grouped(n);
}
const counted = (/** @type {number} */ k, /** @type {string} */ what) => `${grouped(k)} ${what}${k === 1 ? "" : "s"}`;

const tellTime = (/** @type {Point} */ p) => microInterval(p.y / 1e6, p.low / 1e6, p.high / 1e6);
/** What the chart can show of a row. */
const VALUES = /** @type {Record<string, {label: string, unit: string, log: boolean, tell: (p: Point) => string}>} */ ({
  speedup:
    {label: "speedup", unit: "speedup over the base, t(base) / t", log: false, tell: p => interval(p.y, p.low, p.high)},
  rate: {
    label: "throughput",
    unit: "throughput (GB/s)",
    log: true,
    tell: p => `${interval(p.y, p.low, p.high, p.y >= 100 ? 0 : 2)} GB/s`
  },
  time: {label: "time", unit: "time (us)", log: true, tell: tellTime},
  part: {label: "device part of the time", unit: "device part (us)", log: true, tell: tellTime},
  share: {
    label: "share of the read ceiling",
    unit: "share of the read ceiling (%)",
    log: false,
    tell: p => `${grouped(p.y, 1)} %`
  },
  error:
    {label: "error", unit: "error / sum of magnitudes", log: true, tell: p => (p.y ? p.y.toExponential(2) : "exact")},
  cycles: {label: "cycles", unit: "cycles", log: true, tell: p => grouped(p.y)},
});

// ---------------------------------------------------------------------------------------------------- elements

const $ = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * An element; strings among the children become text. `on...` is a listener, null is left out.
 * @param {string} tag @param {Record<string, any>} [attributes] @param {...any} children @returns {any}
 */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (name.startsWith("on"))
      element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false)
      element.setAttribute(name, value === true ? "" : String(value));
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
}

const NUMBER = /^[\d.,^]+( \[.*\])?( us| GB\/s| %)?$/;
/** A table; where there is little room its rows are cards, each field under its column's name. */
const tableOf = (/** @type {string} */ caption, /** @type {any[]} */ head, /** @type {any[][]} */ rows,
  cards = false) => make("table", {class: cards ? "cards" : null}, make("caption", {}, caption),
  make("thead", {}, make("tr", {}, ...head.map(c => make("th", {scope: "col"}, c)))),
  make("tbody", {},
    ...rows.map(row => make("tr", {},
                  ...row.map((c, i) =>
                               make("td", {
                                 class: typeof c === "string" && NUMBER.test(c) ? "number" : null,
                                 "data-label": typeof head[i] === "string" ? head[i] : head[i].textContent
                               },
                                 c))))));
const definitions = (/** @type {any[][]} */ pairs) =>
  make("dl", {}, ...pairs.filter(([, v]) => v || v === 0).flatMap(([k, v]) => [make("dt", {}, k), make("dd", {}, v)]));

const button = (/** @type {string?} */ id, /** @type {any} */ content, /** @type {(event: any) => void} */ onclick,
  /** @type {Record<string, any>} */ more = {}) => make("button", {type: "button", id, onclick, ...more}, content);
/** What can be chosen: each of these sizes. */
const sizesToChoose = (/** @type {number[]} */ sizes) =>
  sizes.map(n => /** @type {[string, string]} */ ([String(n), size(n)]));
const scrolled = (/** @type {any} */ table) => make("div", {class: "scroll"}, table);

function choose(/** @type {string} */ name, /** @type {string} */ label, /** @type {[string, string][]} */ options,
  /** @type {string} */ chosen, /** @type {(word: string) => void} */ change, wide = false) {
  const select = make("select", {name, id: `choice-${name}`, onchange: e => change(e.target.value)},
    ...options.map(([word, text]) => make("option", {value: word}, text)));
  select.value = chosen;
  return make("label", {class: wide ? "wide" : null}, label, select);
}

/** The kernel's source: a link where the page lies in reductio's folder. */
function sourceOf(/** @type {string} */ variant) {
  const path = own(header.sources, variant) ?? own(header.sources, `${variant.split("/")[0]}/`);
  return !path ? "" : header.root === null ? path : make("a", {href: header.root + path}, path);
}
