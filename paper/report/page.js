// @ts-check
// The page of `reductio report`: reads the data that it holds, and shows what is chosen. Text from results becomes text
// nodes and attributes alone, never markup. The state is in the URL's fragment, so that a link shows the same view.

/** @typedef {{at: number, type: string, length: number, words?: string[]}} Stored  a column, as report.py packed it */
/** @typedef {{length: number, columns: Record<string, Stored>}} StoredTable */
/** @typedef {{name: string, missing: string[], machine: any, rows: Table?, catalog: Table?, verdicts: Table?, releases: Table?, samples: any,
 *             index: number}} Folder */
/** @typedef {{row: number, n: number, y: number, low: number, high: number, folder: Folder, series: Series}} Point */
/** @typedef {{key: string, label: string, variant: string, settings: string, group: string, kind: string, rows: number[],
 *             folder: Folder}} Series  one variant with one choice of settings, in one folder */
/** @typedef {{color: string, symbol: string, dash: string, hollow: boolean}} Look */

const { Plot, d3 } = /** @type {any} */ (window);

// ---------------------------------------------------------------------------------------------------- words and numbers

/** What an object holds itself: a variant may be called `constructor`. */
const own = (/** @type {any} */ of, /** @type {string} */ name) => (Object.hasOwn(of, name) ? of[name] : undefined);
const NAMES = /** @type {Record<string, string>} */ ({
  device: "runs on", element_type: "element type", timing_mode: "timing mode", cache_state: "cache state",
  offset_elements: "offset", dataset: "data", caller: "called",
});
const WORDS = /** @type {Record<string, string>} */ ({
  sum_of_squares: "sum of squares", moments: "sum and sum of squares", wide_sum: "wide sum", device: "device time",
  end_to_end: "end to end", launch_to_idle: "launch to idle", graph: "graph replay", replay: "one-call graph",
  cold_dirty: "L2 cold and dirty", cold_clean: "L2 cold and clean", warm: "L2 warm", cuda: "GPU", cpu: "CPU",
  sim: "simulated device", first: "after other calls", "": "in a loop",
});
/** A column's name, and a word that it holds. */
const nameOfColumn = (/** @type {string} */ name) => NAMES[name] ?? name;
const labelOf = (/** @type {string} */ word) => own(WORDS, word) ?? word;
const grouped = (/** @type {number} */ v, digits = 0) =>
  v.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
/** Microseconds, three digits: 8.40, 10.0, 255, 1,225. */
const micro = (/** @type {number} */ us) => grouped(us, us >= 99.95 ? 0 : us >= 9.995 ? 1 : 2);
const digitsOfRatio = (/** @type {number} */ v) => (v < 2 ? 3 : v < 10 ? 2 : v < 1000 ? 1 : 0);
/** "0.572 [0.570, 0.574]" */
function interval(/** @type {number} */ v, /** @type {number} */ low, /** @type {number} */ high, digits = digitsOfRatio(v)) {
  return grouped(v, digits) + (isFinite(low) && isFinite(high) ? ` [${grouped(low, digits)}, ${grouped(high, digits)}]` : "");
}
function microInterval(/** @type {number} */ v, /** @type {number} */ low, /** @type {number} */ high) {
  const us = v * 1e6, digits = us >= 99.95 ? 1 : 2;
  return micro(us) + (isFinite(low) && isFinite(high) ? ` [${grouped(low * 1e6, digits)}, ${grouped(high * 1e6, digits)}]` : "") + " us";
}
/** "2^28", "1,000,000" */
function size(/** @type {number} */ n) {
  const power = Math.log2(n);
  return n > 0 && Number.isInteger(power) && power > 3 ? `2^${power}` : grouped(n);
}
const counted = (/** @type {number} */ k, /** @type {string} */ what) => `${grouped(k)} ${what}${k === 1 ? "" : "s"}`;

/** What the chart can show of a row. `good`: whether a line higher up is faster. */
const VALUES = /** @type {Record<string, {label: string, unit: string, log: boolean, tell: (p: Point) => string}>} */ ({
  speedup: { label: "speedup", unit: "speedup over the base, t(base) / t", log: false, tell: p => interval(p.y, p.low, p.high) },
  rate: { label: "throughput", unit: "throughput (GB/s)", log: true, tell: p => `${interval(p.y, p.low, p.high, p.y >= 100 ? 0 : 2)} GB/s` },
  time: { label: "time", unit: "time (us)", log: true, tell: p => microInterval(p.y / 1e6, p.low / 1e6, p.high / 1e6) },
  part: { label: "device part of the time", unit: "device part (us)", log: true, tell: p => microInterval(p.y / 1e6, p.low / 1e6, p.high / 1e6) },
  share: { label: "share of the read ceiling", unit: "share of the read ceiling (%)", log: false, tell: p => `${grouped(p.y, 1)} %` },
  error: { label: "error", unit: "error / sum of magnitudes", log: true, tell: p => (p.y ? p.y.toExponential(2) : "exact") },
  cycles: { label: "cycles", unit: "cycles", log: true, tell: p => grouped(p.y) },
});

// ---------------------------------------------------------------------------------------------------- data

class Table {
  constructor(/** @type {StoredTable} */ stored, /** @type {ArrayBuffer} */ buffer, /** @type {number} */ base) {
    this.length = stored.length;
    /** @type {Record<string, {array: any, words?: string[]}>} */
    this.columns = {};
    for (const [name, column] of Object.entries(stored.columns))
      this.columns[name] = { array: arrayOf(column, buffer, base), words: column.words };
  }
  /** A field's word; "" where the file has none. */
  word(/** @type {string} */ name, /** @type {number} */ i) {
    const column = this.columns[name];
    return !column ? "" : column.words ? column.words[column.array[i]] : isNaN(column.array[i]) ? "" : String(column.array[i]);
  }
  number(/** @type {string} */ name, /** @type {number} */ i) {
    const column = this.columns[name];
    return column && !column.words ? column.array[i] : NaN;
  }
}

function arrayOf(/** @type {Stored} */ { at, type, length }, /** @type {ArrayBuffer} */ buffer, /** @type {number} */ base) {
  const of = /** @type {any} */ ({ f8: Float64Array, f4: Float32Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array });
  return new of[type](buffer, base + at, length);
}

/** @type {any} */ let header;
/** @type {Folder[]} */ let folders = [];

async function load() {
  const text = $("data").textContent ?? "", packed = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const length = Number(new DataView(buffer).getBigUint64(0, true)), base = 8 + length;
  header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  folders = header.folders.map((/** @type {any} */ folder, /** @type {number} */ index) => {
    const open = (/** @type {StoredTable?} */ table) => table && new Table(table, buffer, base);
    const samples = folder.samples && Object.fromEntries(
      Object.entries(folder.samples).map(([name, stored]) => [name, arrayOf(stored, buffer, base)]));
    return { ...folder, index, rows: open(folder.rows), catalog: open(folder.catalog), verdicts: open(folder.verdicts),
             releases: open(folder.releases), samples };
  });
  $("data").remove();
}

/** The line of the catalogue, by variant. */
function catalogue(/** @type {Folder} */ folder, /** @type {string} */ variant) {
  const table = folder.catalog;
  if (!table) return {};
  for (let i = 0; i < table.length; ++i)
    if (table.word("variant", i) === variant)
      return Object.fromEntries(Object.keys(table.columns).map(name => [name, table.word(name, i)]));
  return {};
}

// ---------------------------------------------------------------------------------------------------- samples

/** As trimmed_mean() of src/measure/stats/statistics.cpp. */
function trimmedMean(/** @type {number[]} */ values) {
  const n = values.length, cut = n / 10;
  const weighted = d3.sort(values).map((/** @type {number} */ v, /** @type {number} */ i) =>
    v * Math.max(0, Math.min(i + 1, n - cut) - Math.max(i, cut)));
  return d3.sum(weighted) / (n - 2 * cut);
}

/** As centre_of() there: the Hodges-Lehmann centre, and Wilcoxon's interval of 95 % or more; the range of few values. */
function centreOf(/** @type {number[]} */ values) {
  const n = values.length, means = [];
  for (let i = 0; i < n; ++i) for (let j = i; j < n; ++j) means.push((values[i] + values[j]) / 2);
  means.sort((a, b) => a - b);
  const p = new Float64Array(means.length + 1);
  p[0] = 1;
  for (let rank = 1, most = 0; rank <= n; ++rank) {
    most += rank;
    for (let sum = most; sum >= 0; --sum) p[sum] = (p[sum] + (sum >= rank ? p[sum - rank] : 0)) / 2;
  }
  let k = 1, covered = 1 - 2 * p[0];
  while (2 * (k + 1) <= means.length && covered - 2 * p[k] >= 0.95) covered -= 2 * p[k++];
  return { value: d3.median(means), low: means[k - 1], high: means[means.length - k], enough: covered >= 0.95 };
}

/** The samples of a row, or its contexts' means: what the page holds. */
function samplesOf(/** @type {Folder} */ folder, /** @type {number} */ row) {
  const s = folder.samples, found = [];
  if (s) for (let i = d3.bisectLeft(s.row, row); s.row[i] === row; ++i)
    found.push({ context: s.context[i], round: s.round[i], time: s.time[i] });
  return found;
}

/** By context the trimmed mean of the logarithms. */
function logMeans(/** @type {Folder} */ folder, /** @type {number} */ row) {
  const of = d3.group(samplesOf(folder, row), (/** @type {any} */ s) => s.context);
  return new Map([...of].map(([context, samples]) => [context, trimmedMean(samples.map((/** @type {any} */ s) => Math.log(s.time)))]));
}

/** base / mine at each context that has both, as logarithms. */
function pairs(/** @type {Folder} */ folder, /** @type {number} */ base, /** @type {number} */ mine) {
  const b = logMeans(folder, base), m = logMeans(folder, mine);
  return [...m].filter(([context]) => b.has(context)).map(([context, log]) => ({ context, log: /** @type {number} */ (b.get(context)) - log }));
}

// ---------------------------------------------------------------------------------------------------- state

/** @type {{view: string, value: string, base: string, compare: string, choice: Record<string, string>, series: string[]?,
 *          only: string[]?, point: string, scale: string, size: string, releases: Record<string, string>, claims: Record<string, string>}} */
const state = { view: "chart", value: "", base: "", compare: "", choice: {}, series: null, only: null, point: "", scale: "", size: "",
                releases: { pair: "newest", call: "", type: "", mode: "", cache: "", n: "" }, claims: { document: "", verdict: "", search: "" } };
const PREFERRED = /** @type {Record<string, string[]>} */ ({
  experiment: ["comparison", "cpu"], device: ["cuda", "cpu"], operation: ["sum"], element_type: ["f32"],
  timing_mode: ["device", "end_to_end"], cache_state: ["cold_dirty"], offset_elements: ["0"], dataset: ["random"],
  seed: ["1"], caller: [""], context: [""],
});

const SIMPLE = ["view", "value", "base", "compare", "scale", "size", "point"];

function writeFragment() {
  const said = new URLSearchParams();
  for (const name of SIMPLE)
    if (/** @type {any} */ (state)[name]) said.set(name, /** @type {any} */ (state)[name]);
  for (const [name, word] of Object.entries(state.choice)) if (options.get(name)?.length !== 1) said.set(name, word);
  for (const part of /** @type {("claims" | "releases")[]} */ (["claims", "releases"]))
    if (state.view === part) for (const [name, word] of Object.entries(state[part])) if (word) said.set(`${part}_${name}`, word);
  for (const key of state.series ?? []) said.append("s", key);
  if (state.series?.length === 0) said.set("s", "");
  for (const name of state.only ?? []) said.append("folder", name);
  history.replaceState(null, "", `#${said}`);
}

function readFragment() {
  const said = new URLSearchParams(location.hash.slice(1));
  for (const name of SIMPLE) /** @type {any} */ (state)[name] = said.get(name) ?? "";
  state.choice = {};
  for (const name of ["experiment", ...header.keys]) if (said.has(name)) state.choice[name] = said.get(name) ?? "";
  for (const part of /** @type {("claims" | "releases")[]} */ (["claims", "releases"]))
    for (const name of Object.keys(state[part])) state[part][name] = said.get(`${part}_${name}`) ?? "";
  state.series = said.has("s") ? said.getAll("s").filter(key => key) : null;
  const only = said.getAll("folder").filter(name => folders.some(f => f.rows && f.name === name));
  state.only = only.length ? only : null;
}

// ---------------------------------------------------------------------------------------------------- elements

const $ = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** An element; strings among the children become text. `on...` is a listener, null is left out.
 * @param {string} tag @param {Record<string, any>} [attributes] @param {...any} children @returns {any} */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
}

const NUMBER = /^[\d.,^]+( \[.*\])?( us| GB\/s| %)?$/;
const cells = (/** @type {string} */ tag, /** @type {any[]} */ of) =>
  of.map(c => make(tag, { class: tag === "td" && typeof c === "string" && NUMBER.test(c) ? "number" : null }, c));
const tableOf = (/** @type {any[]} */ head, /** @type {any[][]} */ rows) => make("table", {},
  make("thead", {}, make("tr", {}, ...cells("th", head))), make("tbody", {}, ...rows.map(row => make("tr", {}, ...cells("td", row)))));
const definitions = (/** @type {[string, any][]} */ pairs) => make("dl", {},
  ...pairs.filter(([, v]) => v !== "" && v !== undefined && v !== null).flatMap(([k, v]) => [make("dt", {}, k), make("dd", {}, v)]));

function choose(/** @type {string} */ name, /** @type {string} */ label, /** @type {[string, string][]} */ of,
                /** @type {string} */ chosen, /** @type {(word: string) => void} */ change, wide = false) {
  const select = make("select", { name, id: `choice-${name}`, onchange: (/** @type {any} */ e) => change(e.target.value) },
    ...of.map(([word, text]) => make("option", { value: word }, text)));
  select.value = chosen;
  return make("label", { class: wide ? "wide" : null }, label, select);
}

/** The kernel's source: a link where the page lies in reductio's folder. */
function sourceOf(/** @type {string} */ variant) {
  const path = own(header.sources, variant) ?? own(header.sources, `${variant.split("/")[0]}/`);
  return !path ? "" : header.root === null ? path : make("a", { href: header.root + path }, path);
}

// ---------------------------------------------------------------------------------------------------- selection

/** @type {Map<string, string[]>} by key the words that can be chosen, given those before it */
let options = new Map();
/** @type {Series[]} */ let series = [];
/** @type {Point[]} */ let points = [];

const shownFolders = () => folders.filter(f => f.rows && (!state.only || state.only.includes(f.name)));

/** Rows of the chosen experiment, operation and so on: each choice limits those after it. */
function selectRows() {
  let rows = shownFolders().map(folder => ({ folder, of: d3.range(folder.rows?.length) }));
  options = new Map();
  for (const name of ["experiment", ...header.keys]) {
    const counts = new Map();
    for (const { folder, of } of rows) {
      const column = folder.rows?.columns[name];
      if (!column) counts.set("", (counts.get("") ?? 0) + of.length);
      else for (const i of of) { const word = column.words ? column.words[column.array[i]] : String(column.array[i]); counts.set(word, (counts.get(word) ?? 0) + 1); }
    }
    const words = [...counts.keys()].sort(d3.ascending), told = state.choice[name];
    const most = d3.greatest(words, (/** @type {string} */ w) => counts.get(w)) ?? "";
    const chosen = words.includes(told) ? told : (PREFERRED[name] ?? []).find(w => counts.has(w)) ?? most;
    options.set(name, words);
    state.choice[name] = chosen;
    rows = rows.map(({ folder, of }) => ({ folder, of: of.filter((/** @type {number} */ i) => folder.rows?.word(name, i) === chosen) }));
  }
  return rows;
}

/** The chosen rows by variant and settings; those without a time are `refused`. */
function selectSeries() {
  /** @type {Map<string, Series>} */ const found = new Map();
  for (const { folder, of } of selectRows()) {
    const table = /** @type {Table} */ (folder.rows);
    for (const row of of) {
      if (table.word("status", row) !== "ok") continue;
      const variant = table.word("variant", row), settings = table.word("settings", row), words = table.word("words", row);
      const key = variant + (settings && `:${settings}`), id = `${folder.index} ${key}`;
      let one = found.get(id);
      if (!one) found.set(id, one = { key, variant, settings, label: variant + (words && ` [${words}]`), rows: [], folder,
        group: variant.split("/")[0].split("@")[0], kind: table.word("kind", row) });
      one.rows.push(row);
    }
  }
  const kinds = ["yours", "document", "ours", "library", "cpu"];
  const place = (/** @type {Series} */ s) => [kinds.indexOf(s.kind), header.documents.indexOf(s.group), s.group, s.label];
  series = [...found.values()].sort((a, b) => {
    const x = place(a), y = place(b);
    for (let i = 0; i < x.length; ++i) if (x[i] !== y[i]) return x[i] < y[i] ? -1 : 1;
    return a.folder.index - b.folder.index;
  });
  for (const s of series) s.rows.sort((a, b) => numberOf(s, "n", a) - numberOf(s, "n", b));
}

const numberOf = (/** @type {Series} */ s, /** @type {string} */ name, /** @type {number} */ row) => s.folder.rows?.number(name, row) ?? NaN;
const wordOf = (/** @type {Series} */ s, /** @type {string} */ name, /** @type {number} */ row) => s.folder.rows?.word(name, row) ?? "";
const keys = () => [...new Set(series.map(s => s.key))];

/** Of few all; else of each group, or of each variant where there are few groups, the one that is fastest at its largest
 * n, and what CUB's speedups are over. */
function byDefault() {
  const all = keys();
  if (all.length <= 9) return all;
  const groups = new Set(series.filter(s => s.kind !== "library").map(s => s.group));
  const chosen = new Set(), last = (/** @type {Series} */ s) => /** @type {number} */ (s.rows.at(-1));
  for (const of of d3.group(series, (/** @type {Series} */ s) => (groups.size > 2 ? s.group : s.variant)).values()) {
    const most = d3.max(of, (/** @type {Series} */ s) => numberOf(s, "n", last(s)));
    const time = (/** @type {Series} */ s) => numberOf(s, state.choice.timing_mode === "clock" ? "cycles_median" : "time_median_s", last(s));
    chosen.add(d3.least(of.filter((/** @type {Series} */ s) => numberOf(s, "n", last(s)) === most), time)?.key);
    for (const s of of) if (wordOf(s, "is_base", last(s)) === "True" && numberOf(s, "speedup", last(s)) === 1) chosen.add(s.key);
  }
  return all.filter(key => chosen.has(key)).slice(0, 14);
}

const chosenKeys = () => state.series ?? byDefault();
const RECORDED = "";

/** Whose rows the speedups are over: the recorded base, or any other of the selection. */
function baseRow(/** @type {Series} */ s, /** @type {number} */ n) {
  const base = series.find(b => b.key === state.base && b.folder === s.folder);
  const row = base?.rows.find(r => numberOf(base, "n", r) === n);
  return row === undefined ? null : row;
}

/** How far one row's time is from another's, as t(base) / t. Samples of one run pair by context. */
function ratio(/** @type {Folder} */ of, /** @type {number} */ base, /** @type {Folder} */ folder, /** @type {number} */ row) {
  const t = (/** @type {Folder} */ f, /** @type {number} */ r, /** @type {string} */ c) => f.rows?.number(`time_${c}_s`, r) ?? NaN;
  if (of === folder && base === row) return { y: 1, low: 1, high: 1 };
  const paired = of === folder && of.rows?.word("run_id", base) === of.rows?.word("run_id", row) ? pairs(of, base, row) : [];
  if (paired.length > 1) {
    const { value, low, high } = centreOf(paired.map(p => p.log));
    return { y: Math.exp(value), low: Math.exp(low), high: Math.exp(high) };
  }
  // Two errors that have nothing to do with each other.
  const y = t(of, base, "median") / t(folder, row, "median");
  const error = (/** @type {string} */ one, /** @type {string} */ other) => Math.hypot(
    Math.log(t(of, base, one) / t(of, base, "median")), Math.log(t(folder, row, other) / t(folder, row, "median")));
  return { y, low: y * Math.exp(-error("ci_low", "ci_high")), high: y * Math.exp(error("ci_high", "ci_low")) };
}

/** What a row shows, null where it does not have it.
 * @returns {{y: number, low: number, high: number}?} */
function valueOf(/** @type {Series} */ s, /** @type {number} */ row) {
  const v = (/** @type {string} */ name) => numberOf(s, name, row), time = v("time_median_s");
  if (state.compare) {
    const base = series.find(b => b.key === s.key && b.folder.name === state.compare);
    const at = base?.rows.find(r => numberOf(base, "n", r) === v("n"));
    return base && at !== undefined && base.folder !== s.folder ? ratio(base.folder, at, s.folder, row) : null;
  }
  switch (state.value) {
    case "time": return { y: time * 1e6, low: v("time_ci_low_s") * 1e6, high: v("time_ci_high_s") * 1e6 };
    case "part": return { y: v("device_part_median_s") * 1e6, low: v("device_part_ci_low_s") * 1e6, high: v("device_part_ci_high_s") * 1e6 };
    case "rate": { const b = v("bytes") / 1e9; return { y: b / time, low: b / v("time_ci_high_s"), high: b / v("time_ci_low_s") }; }
    case "share": return { y: v("share_of_read_ceiling") * 100, low: NaN, high: NaN };
    case "error": return String(v("n")) === state.size ? { y: v("abs_error") / v("sum_of_magnitudes"), low: NaN, high: NaN } : null;
    case "cycles": return { y: v("cycles_median"), low: NaN, high: NaN };
    default: {
      if (state.base === RECORDED) return { y: v("speedup"), low: v("speedup_ci_low"), high: v("speedup_ci_high") };
      const base = baseRow(s, v("n"));
      return base === null ? null : ratio(s.folder, base, s.folder, row);
    }
  }
}

/** The values that some row of the selection has. */
function valuesHere() {
  const has = (/** @type {string} */ name) => series.some(s => s.rows.some(row => numberOf(s, name, row) > 0));
  return Object.keys(VALUES).filter(value => ({ speedup: has("time_median_s"), rate: has("bytes") && has("time_median_s"), time: has("time_median_s"),
    part: has("device_part_median_s"), share: has("share_of_read_ceiling"), error: has("abs_error") && has("sum_of_magnitudes"), cycles: has("cycles_median") })[value]);
}

function selectPoints() {
  const chosen = chosenKeys();
  points = [];
  for (const s of series) if (chosen.includes(s.key)) for (const row of s.rows) {
    const value = valueOf(s, row);
    if (value && isFinite(value.y) && (value.y > 0 || state.value === "error")) points.push({ ...value, row, n: numberOf(s, "n", row), folder: s.folder, series: s });
  }
}

// ---------------------------------------------------------------------------------------------------- looks

// The colours of the paper's figures: Tol's muted scheme, on dark ground his light one; libraries black and grey.
const LINES = { light: ["#332288", "#CC6677", "#117733", "#AA4499", "#88CCEE", "#882255", "#999933", "#44AA99", "#DDCC77"],
                dark: ["#77AADD", "#EE8866", "#44BB99", "#FFAABB", "#EEDD88", "#99DDFF", "#BBCC33", "#DDDDDD", "#AAAA00"] };
const LIBRARIES = { light: { cub: "#000000", thrust: "#7F7F7F", cublas: "#9A9A9A" }, dark: { cub: "#FFFFFF", thrust: "#A8A8A8", cublas: "#8A8A8A" } };
const SYMBOLS = ["circle", "square", "triangle", "diamond", "cross", "star", "wye", "hexagon", "triangle2"];
const DASHES = ["", "5 2", "1.5 2", "7 2 2 2", "4 2 1 2 1 2"];
const darkness = matchMedia("(prefers-color-scheme: dark)");
const theme = () => (darkness.matches ? "dark" : "light");
const ink = () => (darkness.matches ? { text: "#e8e8e6", faint: "#a9a9a5", paper: "#16181b", shade: "#2b2f35", edge: "#6f757d" }
                                    : { text: "#1a1a1a", faint: "#555555", paper: "#ffffff", shade: "#EFEFEF", edge: "#A8A8A8" });

/** A variant keeps its look while it is shown: @type {Map<string, number>} */
const slots = new Map();

function assignSlots() {
  const chosen = chosenKeys();
  for (const key of slots.keys()) if (!chosen.includes(key)) slots.delete(key);
  for (const key of chosen) if (!slots.has(key)) {
    const library = series.find(s => s.key === key)?.kind === "library", taken = new Set();
    for (const [other, slot] of slots) if ((series.find(s => s.key === other)?.kind === "library") === library) taken.add(slot);
    let slot = 0;
    while (taken.has(slot)) ++slot;
    slots.set(key, slot);
  }
}

/** @returns {Look} */
function lookOf(/** @type {Series} */ s) {
  const slot = slots.get(s.key) ?? 0, several = shownFolders().length > 1 && !state.compare;
  const dash = several ? DASHES[s.folder.index % DASHES.length] : "";
  if (s.kind === "library") {
    const colors = /** @type {Record<string, string>} */ (LIBRARIES[theme()]);
    return { color: own(colors, s.group) ?? ink().faint, symbol: SYMBOLS[(slot + 5) % SYMBOLS.length], dash: dash || (slot ? DASHES[slot % DASHES.length] : ""), hollow: true };
  }
  const k = slot % 9;
  return { color: LINES[theme()][k], symbol: SYMBOLS[k], dash: dash || DASHES[Math.floor(slot / 18) % DASHES.length], hollow: Math.floor(slot / 9) % 2 === 1 };
}

const nameOf = (/** @type {Series} */ s) =>
  s.label + (shownFolders().length > (state.compare ? 2 : 1) ? `, ${s.folder.name}` : "");

// ---------------------------------------------------------------------------------------------------- chart

/** @type {any} */ let chart = null;      // what Plot drew
/** @type {Point?} */ let focused = null;

const isLog = () => (state.scale ? state.scale === "log" : !state.compare && VALUES[state.value].log);

/** By n what bounds the values: reading the input alone, and an empty call. */
function bounds() {
  if (state.compare || !["time", "rate", "speedup"].includes(state.value)) return { read: [], floor: [] };
  const shown = new Set(points.map(p => p.series)), read = new Map(), floor = new Map();
  const of = (/** @type {Map<number, number[]>} */ map, /** @type {number} */ n, /** @type {number} */ v) => isFinite(v) && v > 0 && map.set(n, [...(map.get(n) ?? []), v]);
  if (new Set([...shown].map(s => s.folder)).size > 1) return { read: [], floor: [] };
  for (const s of shown) for (const row of s.rows) {
    const n = numberOf(s, "n", row), bytes = numberOf(s, "bytes", row) / 1e9, time = numberOf(s, "time_median_s", row);
    const base = state.base === RECORDED ? numberOf(s, "speedup", row) * time : NaN;
    const over = state.value === "time" ? (/** @type {number} */ t) => t * 1e6 : state.value === "rate" ? (/** @type {number} */ t) => bytes / t
      : (/** @type {number} */ t) => (state.base === RECORDED ? base : numberOf(s, "time_median_s", baseRow(s, n) ?? -1)) / t;
    of(read, n, over(numberOf(s, "read_time_s", row)));
    of(floor, n, over(numberOf(s, "launch_floor_s", row)));
  }
  const line = (/** @type {Map<number, number[]>} */ map) => d3.sort([...map].map(([n, v]) => ({ n, y: d3.median(v) })), (/** @type {any} */ b) => b.n);
  return { read: line(read), floor: line(floor) };
}

/** Positions near the wanted ones, at least `gap` apart, within low ... high where there is room. */
function spread(/** @type {number[]} */ wanted, /** @type {number} */ gap, /** @type {number} */ low, /** @type {number} */ high) {
  const order = d3.sort(d3.range(wanted.length), (/** @type {number} */ i) => wanted[i]), at = order.map((/** @type {number} */ i) => wanted[i]);
  for (let turn = 0; turn < 100; ++turn) {
    for (let i = 0; i + 1 < at.length; ++i) {
      const lacking = gap - (at[i + 1] - at[i]);
      if (lacking > 1e-6) { at[i] -= lacking / 2; at[i + 1] += lacking / 2; }
    }
    for (let i = 0; i < at.length; ++i) at[i] = Math.min(Math.max(at[i], low + i * gap), high - (at.length - 1 - i) * gap);
  }
  const out = /** @type {number[]} */ ([]);
  order.forEach((/** @type {number} */ i, /** @type {number} */ k) => { out[i] = at[k]; });
  return out;
}

const centred = { labelAnchor: "center", labelArrow: "none" };
const plotOf = (/** @type {any} */ given) => {
  const drawn = Plot.plot({ className: header.chart, color: { type: "identity" }, symbol: { type: "identity" }, ...given });
  drawn.style.background = ink().paper;
  drawn.style.color = ink().text;
  drawn.style.fontSize = "12px";
  return drawn;
};

/** How wide the names right of a chart are. */
const marginOf = (/** @type {Point[]} */ of, /** @type {number} */ width) =>
  Math.min(width * 0.42, 36 + 7 * (d3.max(of, (/** @type {Point} */ p) => nameOf(p.series).length) ?? 0));

/** A variant's name beside the chart, with its mark where no line leads there. */
function label(/** @type {any} */ drawn, /** @type {number} */ x, /** @type {number} */ y, /** @type {Point} */ p, /** @type {Look} */ look, mark = true) {
  const svg = d3.select(drawn);
  if (mark) svg.append("path").attr("d", d3.symbol(symbolOf(look), 40)()).attr("transform", `translate(${x - 8},${y})`).attr("stroke", look.color).attr("fill", look.hollow ? ink().paper : look.color);
  svg.append("text").attr("x", x).attr("y", y).attr("dy", "0.35em").attr("text-anchor", "start").attr("fill", look.color).text(nameOf(p.series));
}

const symbolOf = (/** @type {Look} */ look) => /** @type {any} */ ({ circle: d3.symbolCircle, square: d3.symbolSquare, triangle: d3.symbolTriangle,
  diamond: d3.symbolDiamond, cross: d3.symbolCross, star: d3.symbolStar, wye: d3.symbolWye })[look.symbol] ?? d3.symbolCircle;

/** Lines against n, or of one size a line of dots, the fastest first. */
function draw(/** @type {number} */ width, /** @type {number} */ height, /** @type {boolean} */ labelled) {
  const colors = ink(), { read, floor } = bounds(), log = isLog();
  const look = new Map(points.map(p => [p.series, p.series]));
  for (const s of look.keys()) look.set(s, /** @type {any} */ (lookOf(s)));
  const of = (/** @type {Point} */ p) => /** @type {Look} */ (/** @type {any} */ (look.get(p.series)));
  const others = shownFolders().filter(f => f.name !== state.compare);
  const unit = state.compare ? `speedup ${others.length === 1 ? `of ${others[0].name} ` : ""}over ${state.compare}` : state.value === "speedup" ? `speedup over ${baseName()}, t(base) / t` : VALUES[state.value].unit;
  const sizes = [...new Set(points.map(p => p.n))], shadeUp = state.value !== "time";
  const dots = (/** @type {any} */ x, /** @type {any} */ y) => Plot.dot(points, { x, y, stroke: (/** @type {Point} */ p) => of(p).color,
    fill: (/** @type {Point} */ p) => (of(p).hollow ? colors.paper : of(p).color), symbol: (/** @type {Point} */ p) => of(p).symbol, r: 3.2, strokeWidth: 1.2 });
  const spans = points.filter(p => isFinite(p.low) && isFinite(p.high) && p.low > 0);
  if (state.value === "error" && !state.compare) {
    const low = (d3.min(points, (/** @type {Point} */ p) => p.y || Infinity) ?? 1) / 4, time = (/** @type {Point} */ p) => numberOf(p.series, "time_median_s", p.row) * 1e6;
    const y = (/** @type {Point} */ p) => Math.max(p.y, Math.min(low, 1e-9)), across = d3.extent(points, time), up = d3.extent(points, y);
    const x = [across[0] / 1.2, across[1] * 1.2], ends = d3.sort(points, (/** @type {Point} */ p) => -y(p)), right = labelled ? marginOf(ends, width) : 20;
    const drawn = plotOf({ width, height, marginLeft: 60, marginRight: right, marginBottom: 40, marginTop: 26,
      x: { type: "log", label: "time (us)", ...centred, domain: x, ticks: decades(x), tickFormat: plain, grid: true },
      y: { type: log ? "log" : "linear", label: unit, labelArrow: "none", grid: true, domain: log ? [up[0] / 1.5, up[1] * 1.5] : [0, up[1] * 1.08],
        ticks: log ? decades([up[0] / 1.5, up[1] * 1.5]) : 6, tickFormat: (/** @type {number} */ v) => v.toExponential(0) },
      marks: [dots(time, y)] });
    // Several are exact, at one height: so names stand beside the chart, from the least exact on.
    if (labelled) ends.forEach((/** @type {Point} */ p, /** @type {number} */ i) => label(drawn, width - right + 17, 36 + 16 * i, p, of(p)));
    return Object.assign(drawn, { at: (/** @type {Point} */ p) => [drawn.scale("x").apply(time(p)), drawn.scale("y").apply(y(p))] });
  }
  if (sizes.length === 1) {
    const name = (/** @type {Point} */ p) => nameOf(p.series);
    const names = d3.sort(points, (/** @type {Point} */ p) => (state.value === "time" || state.value === "cycles" || state.value === "part" ? p.y : -p.y)).map(name);
    const left = Math.min(width / 2, 20 + 6.4 * (d3.max(names, (/** @type {string} */ s) => s.length) ?? 0));
    const drawn = plotOf({ width, height: 70 + 22 * names.length, marginLeft: left, marginBottom: 44, marginTop: 10, x: { label: unit, ...centred, type: log ? "log" : "linear", grid: true, tickFormat: log ? short : plain },
      y: { domain: names, label: null }, marks: [
        ...(state.value === "speedup" || state.compare ? [Plot.ruleX([1], { stroke: colors.text })] : []),
        Plot.ruleY(spans, { y: name, x1: "low", x2: "high", stroke: (/** @type {Point} */ p) => of(p).color, strokeWidth: 2 }),
        Plot.dot(points, { x: "y", y: name, r: 3.6, stroke: (/** @type {Point} */ p) => of(p).color, fill: (/** @type {Point} */ p) => (of(p).hollow ? colors.paper : of(p).color), symbol: (/** @type {Point} */ p) => of(p).symbol })] });
    return Object.assign(drawn, { at: (/** @type {Point} */ p) => [drawn.scale("x").apply(p.y), drawn.scale("y").apply(name(p)) + drawn.scale("y").bandwidth / 2] });
  }
  const tops = [...points.map(p => p.y), ...(shadeUp ? read.map((/** @type {any} */ b) => b.y) : [])];
  const lows = [...points.map(p => p.y), ...(state.value === "time" ? read.map((/** @type {any} */ b) => b.y) : [])];
  const domain = log ? [d3.min(lows) / 1.3, d3.max(tops) * 1.3] : [0, d3.max(tops) * 1.08];
  const clip = (/** @type {number} */ y) => Math.min(Math.max(y, domain[0]), domain[1]);
  const ends = [...d3.group(points, (/** @type {Point} */ p) => p.series).values()].map((/** @type {Point[]} */ line) => /** @type {Point} */ (line.at(-1)));
  const right = labelled ? marginOf(ends, width) : 20;
  const l2 = machineOf(points[0].folder, "gpu.l2_bytes"), element = numberOf(points[0].series, "bytes", points[0].row) / points[0].n;
  const full = new Set(points.map(p => machineOf(p.folder, "gpu.l2_bytes"))).size === 1 ? l2 / element : NaN, span = d3.extent(sizes);
  const marks = [
    ...(read.length ? [Plot.areaY(read, { x: "n", y1: (/** @type {any} */ b) => clip(b.y), y2: shadeUp ? domain[1] : domain[0], fill: colors.shade }),
      Plot.line(read, { x: "n", y: (/** @type {any} */ b) => clip(b.y), stroke: colors.edge, strokeWidth: 1 })] : []),
    ...(floor.length && state.value !== "speedup" ? [Plot.line(floor.filter((/** @type {any} */ b) => b.y >= domain[0] && b.y <= domain[1]), { x: "n", y: "y", stroke: colors.edge, strokeDasharray: "1 3", strokeWidth: 1.5 })] : []),
    ...(full >= span[0] && full <= span[1] ? [Plot.ruleX([full], { stroke: colors.edge, strokeDasharray: "4 3" }),
      Plot.text([full], { x: (/** @type {number} */ n) => n, y: domain[1], text: [`L2 is full: ${grouped(l2 / 2 ** 20)} MiB`], dx: 4, dy: 7, textAnchor: "start", fill: colors.faint })] : []),
    ...(state.value === "speedup" || state.compare ? [Plot.ruleY([1], { stroke: colors.text })] : []),
    Plot.ruleX(spans, { x: "n", y1: (/** @type {Point} */ p) => clip(p.low), y2: (/** @type {Point} */ p) => clip(p.high), stroke: (/** @type {Point} */ p) => of(p).color, strokeWidth: 2.5, strokeOpacity: 0.5 }),
    ...[...look.keys()].map(s => Plot.line(points.filter(p => p.series === s), { x: "n", y: "y", stroke: lookOf(s).color, strokeWidth: s.kind === "library" ? 2 : 1.4, strokeDasharray: lookOf(s).dash || undefined })),
    dots("n", "y"),
  ];
  const powers = d3.range(Math.ceil(Math.log2(span[0])), Math.floor(Math.log2(span[1])) + 1);
  const ticks = powers.filter((/** @type {number} */ k) => k % Math.ceil(powers.length / Math.max(2, (width - right) / 60)) === 0).map((/** @type {number} */ k) => 2 ** k);
  const drawn = plotOf({ width, height, marginRight: right, marginLeft: 56, marginBottom: 40, marginTop: 26,
    x: { type: "log", base: 2, label: "n (elements)", ...centred, ticks: ticks.length > 1 ? ticks : undefined, tickFormat: size, domain: [span[0] / 1.1, span[1] * 1.1] },
    y: { type: log ? "log" : "linear", label: unit, grid: true, domain, ticks: log ? decades(domain) : 8, tickFormat: log ? short : plain, labelArrow: "none" }, marks });
  const x = drawn.scale("x"), y = drawn.scale("y");
  if (labelled) {
    const svg = d3.select(drawn), at = spread(ends.map(p => y.apply(p.y)), 14, 20, height - 30), edge = width - right;
    ends.forEach((p, i) => {
      svg.append("path").attr("d", `M${x.apply(p.n) + 5},${y.apply(p.y)}L${edge + 4},${y.apply(p.y)}L${edge + 14},${at[i]}`).attr("stroke", of(p).color).attr("fill", "none").attr("stroke-width", 0.7);
      label(drawn, edge + 17, at[i], p, of(p), false);
    });
  }
  return Object.assign(drawn, { at: (/** @type {Point} */ p) => [x.apply(p.n), y.apply(p.y)] });
}

const short = (/** @type {number} */ v) => v.toLocaleString("en-US", { maximumSignificantDigits: 3 });
const plain = (/** @type {number} */ v) => grouped(v, v !== 0 && Math.abs(v) < 1 ? 2 : Number.isInteger(v) ? 0 : 1);
/** Of a logarithmic axis 1, 2 and 5 of each decade where there are few, else 1. */
const decades = (/** @type {number[]} */ [low, high]) => d3.range(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)) + 1)
  .flatMap((/** @type {number} */ k) => (high / low < 100 ? [1, 2, 5] : [1]).map(m => Number(`${m}e${k}`)))
  .filter((/** @type {number} */ v) => v >= low && v <= high);
const machineOf = (/** @type {Folder} */ folder, /** @type {string} */ path) => path.split(".").reduce((/** @type {any} */ node, name) => node?.[name], folder.machine);

/** Of the recorded speedups what they are over. */
function recordedBase() {
  const found = new Set(series.flatMap(s => s.rows.map(row => wordOf(s, "speedup_reference", row))).filter(word => word));
  return found.size ? [...found].join(", ") : "CUB";
}
const baseName = () => (state.base === RECORDED ? recordedBase() : series.find(s => s.key === state.base)?.label ?? state.base);

/** "sum of f32, device time, L2 cold and dirty, on one NVIDIA H200" */
function captionOf() {
  const c = state.choice, words = [`${labelOf(c.operation)} of ${c.element_type}`, labelOf(c.timing_mode), labelOf(c.cache_state)];
  for (const name of ["dataset", "offset_elements", "seed", "caller"]) if ((options.get(name)?.length ?? 0) > 1) words.push(`${nameOfColumn(name)}: ${labelOf(c[name])}`);
  return `${c.experiment}: ${words.join(", ")}; ${shownFolders().map(f => machineOf(f, "gpu.name") && c.device === "cuda" ? `${machineOf(f, "gpu.name")} (${f.name})` : f.name).join(", ")}`;
}

/** What is known of a point, for the card and below the chart. @returns {[string, any][]} */
function facts(/** @type {Point} */ p) {
  const s = p.series, v = (/** @type {string} */ name) => numberOf(s, name, p.row), w = (/** @type {string} */ name) => wordOf(s, name, p.row);
  const shown = state.compare ? `speedup over ${state.compare}` : state.value === "speedup" ? `speedup over ${baseName()}` : VALUES[state.value].label;
  return [["n", size(p.n)], [shown, state.compare ? interval(p.y, p.low, p.high) : VALUES[state.value].tell(p)],
    ["time", state.value === "time" && !state.compare || !isFinite(v("time_median_s")) ? "" : microInterval(v("time_median_s"), v("time_ci_low_s"), v("time_ci_high_s"))],
    ["throughput", isFinite(v("bandwidth_bytes_per_s")) && (state.value !== "rate" || state.compare) ? `${grouped(v("bandwidth_bytes_per_s") / 1e9, 1)} GB/s` : ""],
    ["samples", `${grouped(v("n_samples"))}${v("n_rejected") > 0 ? `, ${grouped(v("n_rejected"))} discarded because the GPU throttled` : ""}`],
    ["settings", w("settings")]];
}

function describe(/** @type {Point} */ p) {
  const c = /** @type {Record<string, string>} */ (catalogue(p.folder, p.series.variant)), grid = p.series;
  return definitions([["variant", nameOf(p.series)], ...facts(p),
    ["launch", isFinite(numberOf(grid, "grid_blocks", p.row)) ? `${grouped(numberOf(grid, "grid_blocks", p.row))} blocks of ${grouped(numberOf(grid, "block_threads", p.row))} threads` : ""],
    ["fastest sample", microInterval(numberOf(grid, "time_min_s", p.row), NaN, NaN)], ["95th percentile", microInterval(numberOf(grid, "time_p95_s", p.row), NaN, NaN)],
    ["title", c.title ?? ""], ["source", c.cites ?? ""],
    ["strategy", [c.thread && `thread: ${c.thread}`, c.block && `block: ${c.block}`, c.grid && `grid: ${c.grid}`].filter(Boolean).join("; ")],
    ["code", sourceOf(p.series.variant)], ["run", wordOf(p.series, "run_id", p.row)]]);
}

function focus(/** @type {Point?} */ p, /** @type {boolean} */ told) {
  focused = p;
  const tip = $("tip");
  tip.hidden = !p;
  d3.select(chart).selectAll(".ring").remove();
  if (!p) return;
  const [x, y] = chart.at(p), width = $("plot").clientWidth, scale = width / chart.viewBox.baseVal.width;
  d3.select(chart).append("circle").attr("class", "ring").attr("cx", x).attr("cy", y).attr("r", 7).attr("fill", "none").attr("stroke", ink().text).attr("stroke-width", 1.5);
  tip.replaceChildren(make("strong", {}, nameOf(p.series)), definitions([...facts(p), ["title", catalogue(p.folder, p.series.variant).title ?? ""],
    ["source", catalogue(p.folder, p.series.variant).cites ?? ""]]));
  const box = tip.getBoundingClientRect(), left = x * scale + 14;
  tip.style.left = `${Math.max(0, left + box.width > width ? x * scale - box.width - 14 : left)}px`;
  tip.style.top = `${$("plot").offsetTop + Math.max(0, Math.min(y * scale - box.height / 2, $("plot").clientHeight - box.height))}px`;
  if (told) $("point").replaceChildren(describe(p));
}

const idOf = (/** @type {Point} */ p) => `${p.folder.name} ${p.n} ${p.series.key}`;

function nearest(/** @type {PointerEvent} */ event) {
  const box = chart.getBoundingClientRect(), scale = chart.viewBox.baseVal.width / box.width;
  const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
  const away = (/** @type {Point} */ p) => { const [px, py] = chart.at(p); return Math.hypot(px - x, py - y); };
  const found = d3.least(points, away);
  return found && away(found) < 40 ? found : null;
}

function step(/** @type {KeyboardEvent} */ event) {
  if (!points.length || !["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Enter", "Escape"].includes(event.key)) return;
  event.preventDefault();
  if (event.key === "Escape") return focus(null, false);
  const here = focused && points.includes(focused) ? focused : points[0];
  if (event.key === "Enter") return open(here);
  if (!focused) return focus(here, true);
  const along = event.key === "ArrowLeft" || event.key === "ArrowRight", forward = event.key === "ArrowRight" || event.key === "ArrowUp";
  const line = along ? points.filter(p => p.series === here.series) : d3.sort(points.filter(p => p.n === here.n), (/** @type {Point} */ p) => p.y);
  focus(line[Math.min(Math.max(line.indexOf(here) + (forward ? 1 : -1), 0), line.length - 1)], true);
}

function open(/** @type {Point} */ p) {
  state.point = idOf(p);
  writeFragment();
  focus(p, true);
  showSamples();
}

// ---------------------------------------------------------------------------------------------------- a point's samples

function showSamples() {
  const p = points.find(q => idOf(q) === state.point), place = $("samples");
  place.replaceChildren();
  if (!p) return;
  if (focused !== p) $("point").replaceChildren(describe(p));
  const samples = samplesOf(p.folder, p.row), means = header.samples === "means";
  place.append(make("h3", {}, `Samples of ${nameOf(p.series)} at n = ${size(p.n)}`));
  if (!samples.length) {
    place.append(make("p", {}, header.samples === "none" ? "The page was made with --samples none." :
      `${p.folder.name} has no samples of this point: its experiment's .samples.csv.gz is not there.`));
    return;
  }
  const contexts = [...new Set(samples.map(s => s.context))], colors = ink(), hue = (/** @type {number} */ c) => LINES[theme()][contexts.indexOf(c) % 9];
  place.append(make("p", { class: "hint" }, means ? `The page holds the mean of each of ${counted(contexts.length, "context")}; --samples all holds every sample.`
    : `${counted(samples.length, "sample")} of ${counted(contexts.length, "context")}.`));
  const us = samples.map((s, order) => ({ ...s, order, us: s.time * 1e6 })), width = Math.min(460, Math.max(260, $("shown").clientWidth));
  /** @type {any[]} */ const steps = [];
  for (const [context, of] of means ? [[0, us]] : d3.group(us, (/** @type {any} */ s) => s.context))
    d3.sort(of, (/** @type {any} */ s) => s.us).forEach((/** @type {any} */ s, /** @type {number} */ i) => steps.push({ context, us: s.us, share: (i + 1) / of.length }));
  const panel = (/** @type {string} */ title, /** @type {any} */ drawn) => make("figure", { "aria-label": title }, make("figcaption", { class: "hint" }, title), drawn);
  const charts = make("div", { class: "charts" },
    panel(means ? "Cumulative share of the contexts' means" : "Cumulative share of the samples, a line for each context", plotOf({ width, height: 240, marginLeft: 46, marginBottom: 40,
      x: { label: "time (us)", nice: true, ...centred }, y: { label: "share", domain: [0, 1], grid: true }, marks: [Plot.line(steps, { x: "us", y: "share", z: "context", curve: "step-after",
        stroke: (/** @type {any} */ s) => (means ? colors.text : hue(s.context)) })] })),
    panel(means ? "The contexts in the order in which they were opened" : "In the order in which they were taken, a colour for each context", plotOf({ width, height: 240, marginLeft: 56, marginBottom: 40,
      x: { label: means ? "context" : "round", ...centred }, y: { label: "time (us)", grid: true, nice: true }, marks: [Plot.dot(us, { x: means ? "context" : "round", y: "us", r: 2.5,
        stroke: (/** @type {any} */ s) => hue(s.context) })] })));
  const base = baseOf(p), paired = base === null ? [] : pairs(p.folder, base, p.row);
  if (paired.length > 1 && base !== p.row) {
    const centre = centreOf(paired.map(q => q.log)), [y, low, high] = [centre.value, centre.low, centre.high].map(Math.exp);
    charts.append(panel(`Paired ratio to ${p.folder.rows?.word("variant", /** @type {number} */ (base))} by context: ${interval(y, low, high)}`, plotOf({ width, height: 240, marginLeft: 56, marginBottom: 40,
      x: { label: "context", ...centred }, y: { label: "t(base) / t", grid: true, nice: true }, marks: [Plot.ruleY([y], { stroke: colors.text }), Plot.ruleY([low, high], { stroke: colors.edge, strokeDasharray: "4 3" }),
        Plot.dot(paired, { x: "context", y: (/** @type {any} */ q) => Math.exp(q.log), r: 3, stroke: (/** @type {any} */ q) => hue(q.context) })] })));
  }
  place.append(charts);
}

/** The row that a point's ratio is to: the chosen base, or the recorded one. */
function baseOf(/** @type {Point} */ p) {
  if (state.base !== RECORDED) return baseRow(p.series, p.n);
  const name = wordOf(p.series, "speedup_reference", p.row);
  for (const s of series) if (s.folder === p.folder && (name ? s.variant === name : wordOf(s, "is_base", s.rows[0]) === "True")) {
    const row = s.rows.find(r => numberOf(s, "n", r) === p.n && numberOf(s, "speedup", r) === 1);
    if (row !== undefined) return row;
  }
  return null;
}

// ---------------------------------------------------------------------------------------------------- take along

function save(/** @type {Blob} */ blob, /** @type {string} */ name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** The rows behind what is shown, with the columns that the page holds. */
function csvText() {
  const names = [...new Set(points.flatMap(p => Object.keys(p.folder.rows?.columns ?? {})))].filter(n => !["kind", "group", "words", "is_base"].includes(n));
  const quoted = (/** @type {string} */ text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const lines = [["folder", ...names], ...points.map(p => [p.folder.name, ...names.map(name => wordOf(p.series, name, p.row))])];
  return lines.map(line => line.map(quoted).join(",")).join("\n") + "\n";
}

function svgText() {
  const drawn = draw(900, 480, true), title = d3.select(drawn).append("text");
  title.attr("x", 8).attr("y", 14).attr("text-anchor", "start").attr("font-weight", "bold").text(captionOf());
  drawn.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  drawn.style.fontFamily = "sans-serif";
  return new XMLSerializer().serializeToString(drawn).replace(/[\x00-\x08\x0b\x0c\x0e-\x1f]/g, ""); // no XML holds these
}

function savePng() {
  const image = new Image(), address = URL.createObjectURL(new Blob([svgText()], { type: "image/svg+xml" }));
  image.onload = () => {
    const canvas = make("canvas", { width: image.width * 2, height: image.height * 2 });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((/** @type {Blob} */ blob) => save(blob, "reductio.png"), "image/png");
    URL.revokeObjectURL(address);
  };
  image.src = address;
}

// ---------------------------------------------------------------------------------------------------- the chart's view

function showChoices() {
  const again = (/** @type {() => void} */ change) => { change(); showChart(); };
  const place = $("choices"), several = folders.filter(f => f.rows).length > 1, here = valuesHere();
  const had = /** @type {HTMLElement?} */ (document.activeElement)?.id;
  place.replaceChildren();
  if (several) {
    place.append(make("fieldset", { class: "wide" }, make("legend", { class: "hint" }, "folders"), ...folders.filter(f => f.rows).map(f => {
      const box = make("input", { type: "checkbox", id: `folder-${f.index}`, onchange: () => again(() => {
        const on = new Set(shownFolders().map(g => g.name));
        on.has(f.name) ? on.delete(f.name) : on.add(f.name);
        state.only = on.size === 0 || on.size === folders.length ? null : [...on];
      }) });
      box.checked = shownFolders().includes(f);
      return make("label", { class: "check" }, box, make("span", {}, f.name));
    })));
    place.append(choose("compare", "compare", [["", "side by side"], ...shownFolders().map(f => /** @type {[string, string]} */ ([f.name, `as a ratio to ${f.name}`]))],
      state.compare, word => again(() => { state.compare = word; }), true));
  }
  for (const [name, words] of options)
    if (words.length > 1 || ["experiment", "operation", "element_type", "timing_mode", "cache_state"].includes(name))
      place.append(choose(name, nameOfColumn(name), words.map(w => [w, labelOf(w)]), state.choice[name],
        word => again(() => { state.choice[name] = word; if (name === "experiment") state.series = null; }), name === "experiment"));
  place.append(choose("value", "show", here.map(v => [v, VALUES[v].label]), state.value, word => again(() => { state.value = word; state.scale = ""; })));
  place.append(choose("scale", "axis", [["log", "logarithmic"], ["linear", "linear"]], isLog() ? "log" : "linear", word => again(() => { state.scale = word; })));
  if (state.value === "error" && !state.compare)
    place.append(choose("size", "n", sizesHere().map(n => [String(n), size(n)]), state.size, word => again(() => { state.size = word; })));
  if (state.value === "speedup" && !state.compare) {
    const labels = new Map(series.map(s => [s.key, s.label])), recorded = hasRecorded();
    place.append(choose("base", "speedup over", [...(recorded ? [/** @type {[string, string]} */ ([RECORDED, `${recordedBase()}, as recorded`])] : []), ...labels], state.base, word => again(() => { state.base = word; }), true));
  }
  if (had) document.getElementById(had)?.focus();
}

const sizesHere = () => d3.sort(new Set(series.flatMap(s => s.rows.map(row => numberOf(s, "n", row)))));
const hasRecorded = () => series.some(s => s.rows.some(row => numberOf(s, "speedup", row) > 0));

/** A small picture of a line's look. */
function swatch(/** @type {Look} */ look) {
  const svg = d3.create("svg").attr("width", 26).attr("height", 12).attr("aria-hidden", "true");
  svg.append("path").attr("d", "M0,6H26").attr("stroke", look.color).attr("stroke-width", 1.6).attr("stroke-dasharray", look.dash || null);
  svg.append("path").attr("d", d3.symbol(symbolOf(look), 40)()).attr("transform", "translate(13,6)").attr("stroke", look.color).attr("fill", look.hollow ? ink().paper : look.color);
  return svg.node();
}

function showVariants() {
  const place = $("variants"), words = /** @type {HTMLInputElement} */ ($("search")).value.toLowerCase().split(/\s+/).filter(Boolean);
  const chosen = chosenKeys(), had = /** @type {any} */ (document.activeElement)?.dataset?.key;
  place.replaceChildren();
  let group = "";
  for (const s of d3.rollup(series, (/** @type {Series[]} */ of) => of[0], (/** @type {Series} */ s) => s.key).values()) {
    const c = catalogue(s.folder, s.variant), text = [s.key, s.label, c.title, c.thread, c.block, c.grid].join(" ").toLowerCase();
    if (!words.every(word => text.includes(word))) continue;
    if (s.group !== group) place.append(make("h3", {}, `${group = s.group}${s.kind === "document" ? "" : ` (${s.kind === "yours" ? "yours" : s.kind})`}`));
    const on = chosen.includes(s.key);
    place.append(make("button", { type: "button", "aria-pressed": String(on), "data-key": s.key, title: c.title ?? "", onclick: (/** @type {MouseEvent} */ e) => {
      state.series = e.shiftKey ? [s.key] : on ? chosen.filter(k => k !== s.key) : [...chosen, s.key];
      showChart();
    } }, on ? swatch(lookOf(s)) : make("span", {}), s.label));
  }
  if (!place.children.length) place.append(make("p", { class: "hint" }, series.length ? "No variant matches." : "No variant has times here."));
  if (had !== undefined) [...place.querySelectorAll("button")].find(b => b.dataset.key === had)?.focus();
}

function noteOf() {
  const notes = [];
  if (points.some(p => wordOf(p.series, "device", p.row) === "sim")) notes.push("These rows are of the simulated device, which has no times.");
  if (points.some(p => p.low > 0)) notes.push("Bars: 95 % intervals.");
  const refused = d3.sum(refusals(shownFolders(), true), (/** @type {any} */ r) => r.points);
  if (["time", "rate", "speedup"].includes(state.value) && bounds().read.length) notes.push("Shaded: faster than only reading the input. " + (state.value === "speedup" ? "" : " Dotted: an empty call."));
  if (state.value === "error") notes.push("On the lower edge: exact.");
  if (state.compare) notes.push("Two folders: their errors combine as independent.");
  else if (state.value === "speedup" && state.base !== RECORDED) notes.push("Paired by context where the page holds samples of one run; else the errors combine as independent.");
  if (refused) notes.push(`${counted(refused, "point")} without a time: see Conditions.`);
  return notes.join(" ");
}

function showTable() {
  const place = /** @type {HTMLElement} */ ($("table").querySelector(".scroll"));
  if (!(/** @type {HTMLDetailsElement} */ ($("table")).open)) return place.replaceChildren();
  const lines = [...d3.group(points, (/** @type {Point} */ p) => p.series)], sizes = d3.sort(new Set(points.map(p => p.n)));
  place.replaceChildren(tableOf(["n", ...lines.map(([s]) => nameOf(s))], sizes.map((/** @type {number} */ n) => [size(n),
    ...lines.map(([, of]) => { const p = of.find((/** @type {Point} */ q) => q.n === n); return p ? (state.compare ? interval(p.y, p.low, p.high) : VALUES[state.value].tell(p)) : ""; })])));
}

function showChart() {
  selectSeries();
  const here = valuesHere();
  if (!here.includes(state.value)) state.value = here.includes("speedup") && hasRecorded() ? "speedup" : here[0] === "speedup" ? here[1] ?? "speedup" : here[0] ?? "time";
  if (!sizesHere().map(String).includes(state.size)) state.size = String(sizesHere().at(-1) ?? "");
  if (!keys().includes(state.base)) state.base = hasRecorded() ? RECORDED : keys()[0] ?? "";
  if (!shownFolders().some(f => f.name === state.compare)) state.compare = "";
  if (state.series) state.series = state.series.filter(key => keys().includes(key));
  assignSlots();
  selectPoints();
  showChoices();
  showVariants();
  $("caption").textContent = captionOf();
  $("note").textContent = noteOf();
  const place = $("plot");
  focus(null, false);
  if (!points.length) {
    chart = null;
    place.replaceChildren(make("p", {}, series.length ? (chosenKeys().length ? "None of the chosen variants has this value here." : "Choose a variant.") : "No row of this selection has a time. Conditions tells why."));
  } else {
    const width = Math.max(280, place.clientWidth);
    chart = draw(width, Math.max(320, Math.min(520, width * 0.6)), width >= 640 && new Set(points.map(p => p.series)).size <= 24);
    place.replaceChildren(chart);
    place.setAttribute("aria-label", `Chart: ${captionOf()}`);
  }
  $("point").replaceChildren();
  showSamples();
  showTable();
  writeFragment();
}

// ---------------------------------------------------------------------------------------------------- claims

function showClaims() {
  const place = $("claims-view"), of = state.claims, folder = folders.find(f => f.verdicts);
  if (!folder?.verdicts) { place.replaceChildren(make("p", {}, "No folder has verdicts.csv: paper/verdicts.py writes it.")); return; }
  const table = folder.verdicts, had = /** @type {any} */ (document.activeElement)?.id;
  const w = (/** @type {string} */ name, /** @type {number} */ i) => table.word(name, i), n = (/** @type {string} */ name, /** @type {number} */ i) => table.number(name, i);
  const words = (/** @type {string} */ name) => [...new Set(d3.range(table.length).map((/** @type {number} */ i) => w(name, i)))].filter(Boolean);
  const change = (/** @type {string} */ name) => (/** @type {string} */ word) => { of[name] = word; writeFragment(); showClaims(); };
  const own = d3.range(table.length).filter((/** @type {number} */ i) => w("role", i) === "claim");
  const shown = own.filter((/** @type {number} */ i) => (!of.document || w("document", i) === of.document) && (!of.verdict || w("verdict", i) === of.verdict) &&
    of.search.toLowerCase().split(/\s+/).every(word => `${w("claim", i)} ${w("statement", i)} ${w("variant", i)} ${w("base", i)}`.toLowerCase().includes(word)));
  const call = (/** @type {string} */ text) => { const variant = text.split(":")[0]; return make("div", {}, text, sourceOf(variant) ? make("span", {}, " (", sourceOf(variant), ")") : ""); };
  const ratioAt = (/** @type {number} */ i) => (isFinite(n("ratio", i)) ? interval(n("ratio", i), n("ci_low", i), n("ci_high", i)) : "");
  const rows = shown.map((/** @type {number} */ i) => {
    const more = [];
    for (let k = i + 1; k < table.length && w("role", k) !== "claim"; ++k) more.push(k);
    const verdict = w("verdict", i), first = w("verdicts_before", i).split("; ")[0];
    return [w("claim", i), make("div", {}, w("statement", i), more.length ? make("details", {}, make("summary", {}, counted(more.length, "more test")),
      tableOf(["role", "n", "ratio", "demanded", "verdict", "why"], more.map(k => [w("role", k), isFinite(n("n", k)) ? size(n("n", k)) : "", ratioAt(k), w("threshold", k), w("verdict", k), w("reason", k)]))) : ""),
      w("text_figure", i), isFinite(n("n", i)) ? size(n("n", i)) : "", ratioAt(i), w("threshold", i),
      make("div", {}, make("strong", { class: verdict.startsWith("holds") ? "holds" : verdict === "reversed" ? "reversed" : "other" }, verdict), first && first !== verdict ? ` (as first set: ${first})` : ""),
      make("div", {}, w("reason", i), w("variant", i) ? call(w("variant", i)) : "", w("base", i) ? make("div", {}, "over ", call(w("base", i))) : "")];
  });
  const search = make("input", { type: "search", id: "claims-search", value: of.search, oninput: (/** @type {any} */ e) => change("search")(e.target.value) });
  const counts = d3.rollup(own, (/** @type {number[]} */ v) => v.length, (/** @type {number} */ i) => w("verdict", i));
  place.replaceChildren(make("h2", {}, `The documents' claims, judged by ${folder.name}`),
    make("p", {}, `${grouped(own.length)} claims: ${[...counts].map(([verdict, k]) => `${k} ${verdict}`).join(", ")}. Shown: ${shown.length}.`),
    make("div", { class: "filters" }, choose("document", "document", [["", "all"], ...words("document").map(d => /** @type {[string, string]} */ ([d, d]))], of.document, change("document")),
      choose("verdict", "verdict", [["", "all"], ...words("verdict").map(d => /** @type {[string, string]} */ ([d, d]))], of.verdict, change("verdict")), make("label", {}, "search", search)),
    make("div", { class: "scroll" }, tableOf(["", "claim", "the document's figure", "n", "ratio", "demanded", "verdict", "why, and which calls"], rows)));
  const again = had && document.getElementById(had);
  if (again) { again.focus(); if (again === search) search.setSelectionRange(search.value.length, search.value.length); }
}

// ---------------------------------------------------------------------------------------------------- releases

/** "cub/sum determinism=run_to_run" of "cub@3.2.0/sum determinism=run_to_run". */
const callOf = (/** @type {string} */ variant) => variant.replace(/@[^/]*/, "");
const releaseOf = (/** @type {string} */ variant) => /@([^/]*)/.exec(variant)?.[1] ?? "";
const byRelease = (/** @type {string} */ a, /** @type {string} */ b) => a.localeCompare(b, "en", { numeric: true });
const PAIRS = /** @type {Record<string, string>} */ ({ newest: "the newest over each release", adjacent: "each release over the one before", determinism: "over the same release, run to run" });

/** Speedups between releases of a library, a line for each n. */
function showReleases() {
  const place = $("releases-view"), folder = folders.find(f => f.releases), of = state.releases;
  if (!folder?.releases) { place.replaceChildren(make("p", {}, "No folder has releases.csv: reductio releases writes it.")); return; }
  const table = folder.releases, had = /** @type {any} */ (document.activeElement)?.id;
  const fields = /** @type {Record<string, (i: number) => string>} */ ({ pair: i => table.word("pair", i), call: i => callOf(table.word("variant", i)),
    type: i => table.word("element_type", i), mode: i => table.word("timing_mode", i), cache: i => table.word("cache_state", i) });
  const preferred = ["newest", "cub/sum", "f32", "graph", "warm"], labels = ["pair", "call", "element type", "timing mode", "cache state"];
  let rows = d3.range(table.length);
  const filters = Object.entries(fields).map(([name, field], k) => {
    const words = [...new Set(rows.map(field))];
    if (!words.includes(of[name])) of[name] = words.find(w => w.startsWith(preferred[k])) ?? words[0];
    rows = rows.filter((/** @type {number} */ i) => field(i) === of[name]);
    return choose(`release-${name}`, labels[k], words.map(w => [w, own(PAIRS, w) ?? labelOf(w)]), of[name], word => { of[name] = word; writeFragment(); showReleases(); });
  });
  const every = d3.sort(new Set(rows.map((/** @type {number} */ i) => table.number("n", i))));
  if (!every.map(String).includes(of.n)) of.n = "";
  filters.push(choose("release-n", "n", [["", "all"], ...every.map((/** @type {number} */ n) => /** @type {[string, string]} */ ([String(n), size(n)]))], of.n,
    word => { of.n = word; writeFragment(); showReleases(); }));
  rows = rows.filter((/** @type {number} */ i) => !of.n || String(table.number("n", i)) === of.n);
  const decided = (/** @type {number} */ i) => ["FASTER", "SLOWER"].includes(table.word("verdict", i));
  const over = of.pair === "newest", release = (/** @type {number} */ i) => releaseOf(table.word(over ? "base" : "variant", i));
  const sizes = d3.sort(new Set(rows.map((/** @type {number} */ i) => table.number("n", i)))), last = Math.max(1, sizes.length - 1), dark = darkness.matches;
  const hue = (/** @type {number} */ i) => (dark ? d3.interpolateViridis(0.4 + 0.6 * sizes.indexOf(table.number("n", i)) / last) : d3.interpolateViridis(0.85 * sizes.indexOf(table.number("n", i)) / last));
  const v = (/** @type {string} */ name) => (/** @type {number} */ i) => table.number(name, i), domain = [...new Set(rows.map(release))].sort(byRelease);
  const tell = (/** @type {number} */ i) => [`${table.word("variant", i)} over ${table.word("base", i)}`, `n: ${size(table.number("n", i))}`,
    `speedup: ${interval(table.number("speedup", i), table.number("ci_low", i), table.number("ci_high", i))}`,
    `time: ${micro(table.number("time_s", i) * 1e6)} us instead of ${micro(table.number("base_time_s", i) * 1e6)} us`, `verdict: ${table.word("verdict", i)}`].join("\n");
  const width = Math.max(280, Math.min(1100, place.clientWidth)), colors = ink();
  const drawn = plotOf({ width, height: 440, marginLeft: 56, marginBottom: 46, marginTop: 26, x: { type: "point", domain, label: over ? "release that is the base" : "release", ...centred },
    y: { label: `speedup, ${own(PAIRS, of.pair) ?? of.pair}`, grid: true, labelArrow: "none", tickFormat: ".3~f" },
    marks: [Plot.ruleY([1], { stroke: colors.text }), Plot.line(d3.sort(rows, (/** @type {number} */ a, /** @type {number} */ b) => byRelease(release(a), release(b))), { x: release, y: v("speedup"), z: v("n"), stroke: hue, strokeWidth: 1 }),
      Plot.ruleX(rows.filter((/** @type {number} */ i) => of.n || decided(i)), { x: release, y1: v("ci_low"), y2: v("ci_high"), stroke: hue, strokeOpacity: 0.5, strokeWidth: 2 }),
      Plot.dot(rows, { x: release, y: v("speedup"), r: 3, stroke: hue, fill: (/** @type {number} */ i) => (decided(i) ? hue(i) : colors.paper) }),
      Plot.tip(rows, Plot.pointer({ x: release, y: v("speedup"), title: tell, fill: colors.paper, stroke: colors.edge }))] });
  const told = d3.rollup(rows, (/** @type {number[]} */ k) => k.length, (/** @type {number} */ i) => table.word("verdict", i));
  place.replaceChildren(make("h2", {}, `Releases of ${of.call.split("/")[0] === "thrust" ? "Thrust" : "CUB"}, ${machineOf(folder, "gpu.name") ?? folder.name}`), make("div", { class: "filters" }, ...filters),
    make("p", { class: "hint" }, `${of.n ? "" : `A line for each n, from ${size(sizes[0])} to ${size(sizes.at(-1) ?? 0)}, the lighter the larger. `}Full, with its interval: FASTER or SLOWER. All intervals hold at once. ${[...told].map(([verdict, k]) => `${k} ${verdict}`).join(", ")}.`), drawn,
    make("details", {}, make("summary", {}, "The numbers"), make("div", { class: "scroll" }, tableOf(["base", "release", "n", "speedup", "verdict", "same machine code"],
      rows.map((/** @type {number} */ i) => [table.word("base", i), table.word("variant", i), size(table.number("n", i)), interval(table.number("speedup", i), table.number("ci_low", i), table.number("ci_high", i)), table.word("verdict", i), table.word("same_code", i)])))));
  if (had) document.getElementById(had)?.focus();
}

// ---------------------------------------------------------------------------------------------------- conditions

/** Points without a time, those of one experiment and reason in one line; of the selection alone, or of a folder. */
function refusals(/** @type {Folder[]} */ of, selected = false) {
  const found = new Map();
  for (const folder of of) {
    const table = folder.rows;
    if (table) for (let i = 0; i < table.length; ++i) {
      if (table.word("status", i) === "ok" || (selected && [...options.keys()].some(name => table.word(name, i) !== state.choice[name]))) continue;
      const w = (/** @type {string} */ name) => table.word(name, i), reason = w("reason");
      const id = [w("experiment"), w("status"), reason.replace(/[\d.,]+/g, "#")].join("|");
      if (!found.has(id)) found.set(id, { experiment: w("experiment"), status: w("status"), reason, points: 0, variants: new Set(), types: new Set(), modes: new Set(), sizes: new Set() });
      const one = found.get(id);
      ++one.points;
      one.variants.add(w("variant"));
      one.types.add(w("element_type"));
      one.modes.add(labelOf(w("timing_mode")));
      one.sizes.add(table.number("n", i));
    }
  }
  return [...found.values()];
}

const MACHINE = /** @type {[string, string, ((v: any) => string)?][]} */ ([
  ["GPU", "gpu.name"], ["compute capability", "gpu.compute_capability"], ["SMs", "gpu.sm_count"], ["SM clock", "gpu.sm_clock_hz", v => `${v / 1e6} MHz`],
  ["L2", "gpu.l2_bytes", v => `${grouped(v / 2 ** 20)} MiB`], ["memory", "gpu.memory_bytes", v => `${grouped(v / 2 ** 30)} GiB`],
  ["theoretical peak", "gpu.theoretical_peak_bytes_per_s", v => `${grouped(v / 1e12, 2)} TB/s`], ["driver", "gpu.driver"], ["CUDA runtime", "gpu.runtime"], ["CCCL", "build.cccl"],
  ["CPU", "cpu.model"], ["cores", "cpu.cores"], ["operating system", "os"], ["C++ compiler", "build.cxx_compiler"], ["C++ flags", "build.cxx_flags"],
  ["CUDA compiler", "build.cuda_compiler"], ["CUDA flags", "build.cuda_flags"], ["built for", "build.cuda_architectures"], ["build type", "build.build_type"],
  ["revision", "build.git_revision"], ["uncommitted changes", "build.git_dirty", v => (v ? "yes" : "no")],
]);
function machineField(/** @type {Folder} */ folder, /** @type {string} */ path, /** @type {((v: any) => string)?} */ show) {
  const value = machineOf(folder, path);
  return value === undefined || value === null || value === "" ? "" : show ? show(value) : String(value);
}
const runsOf = (/** @type {Folder} */ folder) => /** @type {any[]} */ (Array.isArray(folder.machine.runs) ? folder.machine.runs : []);

/** Why times may mislead, a line each. */
function warnings(/** @type {Folder} */ folder) {
  const found = [], build = folder.machine.build ?? {}, runs = runsOf(folder);
  const of = (/** @type {(run: any) => any} */ so) => [...new Set(runs.filter(so).map(run => String(run.experiment)))].join(", ");
  const tell = (/** @type {(run: any) => any} */ so, /** @type {string} */ text) => { const which = of(so); if (which) found.push(`${text}: ${which}.`); };
  if (build.build_type && build.build_type !== "Release") found.push(`The program was built as ${build.build_type}, not Release: its times are too long.`);
  if (build.git_dirty) found.push("The program had uncommitted changes.");
  tell(run => run.memory_idle_at_start === false, "The GPU's memory was busy when these runs began");
  tell(run => run.times_memory_stayed_busy > 0, "The GPU's memory stayed busy during these runs");
  tell(run => [run.gpu_state_at_start, run.gpu_state_at_end].some(s => s?.throttle_reasons && s.throttle_reasons !== "none"), "The GPU throttled at the start or end of these runs");
  tell(run => run.interrupted, "These runs were interrupted");
  tell(run => run.host_cpu?.on_busy_cpu > 0.1 * run.host_cpu?.samples, "No core was quiet during more than 10 % of the calls timed by the host");
  const rows = folder.rows;
  if (rows) {
    const count = (/** @type {(i: number) => boolean} */ so) => d3.range(rows.length).filter(so).length;
    const rejected = count(i => rows.number("n_rejected", i) > 0), sim = count(i => rows.word("device", i) === "sim");
    if (rejected) found.push(`At ${counted(rejected, "point")} samples were discarded because the GPU throttled.`);
    if (sim) found.push(`${counted(sim, "row")} of the simulated device have no times.`);
  }
  return found;
}

function showConditions() {
  const place = $("conditions-view");
  place.replaceChildren();
  if (folders.length > 1) {
    const rows = MACHINE.map(([label, path, show]) => [label, ...folders.map(f => machineField(f, path, show ?? null))]).filter(([, ...of]) => new Set(of).size > 1);
    place.append(make("h2", {}, "What differs between the folders"), rows.length ? make("div", { class: "scroll" }, tableOf(["", ...folders.map(f => f.name)], rows)) : make("p", {}, "Nothing that machine.json records."));
  }
  for (const folder of folders) {
    place.append(make("h2", {}, folder.name));
    for (const line of folder.missing) place.append(make("p", { class: "banner" }, `Left out: ${line}`));
    for (const line of warnings(folder)) place.append(make("p", { class: "banner" }, line));
    place.append(Object.keys(folder.machine).length ? definitions(MACHINE.map(([label, path, show]) => [label, machineField(folder, path, show ?? null)])) : make("p", {}, "There is no machine.json."));
    const runs = runsOf(folder);
    if (runs.length) place.append(make("details", {}, make("summary", {}, counted(runs.length, "run")), make("div", { class: "scroll" }, tableOf(
      ["experiment", "started", "revision", "card", "launch floor", "temperature", "command"], runs.map(run => [String(run.experiment ?? ""), String(run.started_utc ?? ""), String(run.git_revision ?? "").slice(0, 7),
        String(run.machine_id ?? ""), isFinite(run.timing?.device?.launch_floor_s ?? NaN) ? microInterval(run.timing.device.launch_floor_s, NaN, NaN) : "",
        isFinite(run.gpu_state_at_end?.temperature_c ?? NaN) ? `${run.gpu_state_at_end.temperature_c} °C` : "", (Array.isArray(run.arguments) ? run.arguments : []).join(" ")])))));
    const refused = refusals([folder]), all = (/** @type {Set<string>} */ of) => [...of].join(", ");
    const many = (/** @type {Set<string>} */ of) => (of.size < 4 ? all(of) : make("details", {}, make("summary", {}, counted(of.size, "variant")), all(of)));
    place.append(make("h3", {}, "Points without a time"), refused.length ? make("div", { class: "scroll" }, tableOf(["experiment", "status", "reason", "points", "variants", "types", "timed", "n"],
      refused.map(r => [r.experiment, r.status, r.reason, grouped(r.points), many(r.variants), all(r.types), all(r.modes),
        r.sizes.size > 2 ? `${size(d3.min(r.sizes))} to ${size(d3.max(r.sizes))}` : [...r.sizes].map(size).join(", ")]))) : make("p", {}, "None."));
  }
}

// ---------------------------------------------------------------------------------------------------- views

const VIEWS = /** @type {Record<string, {label: string, show: () => void, there: () => any}>} */ ({
  chart: { label: "Chart", show: showChart, there: () => folders.some(f => f.rows) },
  releases: { label: "Releases", show: showReleases, there: () => folders.some(f => f.releases) },
  claims: { label: "Claims", show: showClaims, there: () => folders.some(f => f.verdicts) },
  conditions: { label: "Conditions", show: showConditions, there: () => true },
});

function show() {
  const there = Object.keys(VIEWS).filter(name => VIEWS[name].there());
  if (!there.includes(state.view)) state.view = there[0];
  $("views").replaceChildren(...there.map(name => make("button", { type: "button", id: `view-${name}`, "aria-current": name === state.view ? "page" : null,
    onclick: () => { state.view = name; show(); $(`view-${name}`).focus(); } }, VIEWS[name].label)));
  for (const name of Object.keys(VIEWS)) $(`${name}-view`).hidden = name !== state.view;
  $("banners").hidden = state.view === "conditions"; // which tells the same
  VIEWS[state.view].show();
  writeFragment();
}

await load();
document.title = `${folders.map(f => f.name).join(", ")}: reductio`;
$("title").textContent = `reductio: ${[...new Set(folders.map(f => machineOf(f, "gpu.name") ?? machineOf(f, "cpu.model") ?? f.name))].join(", ")}`;
for (const folder of folders) for (const line of [...folder.missing.map(l => `Left out: ${l}`), ...warnings(folder)])
  $("banners").append(make("p", { class: "banner" }, folders.length > 1 ? `${folder.name}: ${line}` : line));
readFragment();
$("search").addEventListener("input", showVariants);
$("controls").addEventListener("submit", event => event.preventDefault());
$("table").addEventListener("toggle", showTable);
$("take").append(make("button", { type: "button", id: "save-csv", onclick: () => save(new Blob([csvText()], { type: "text/csv" }), "reductio.csv") }, "Rows as CSV"),
  make("button", { type: "button", id: "save-svg", onclick: () => chart && save(new Blob([svgText()], { type: "image/svg+xml" }), "reductio.svg") }, "Picture as SVG"),
  make("button", { type: "button", id: "save-png", onclick: () => chart && savePng() }, "as PNG"));
const plot = $("plot");
plot.addEventListener("pointermove", event => chart && focus(nearest(event), false));
plot.addEventListener("pointerleave", () => chart && focus(null, false));
plot.addEventListener("click", event => { const p = chart && nearest(/** @type {any} */ (event)); if (p) open(p); });
plot.addEventListener("keydown", step);
window.addEventListener("hashchange", () => { readFragment(); show(); });
darkness.addEventListener("change", show);
let drawnAt = 0;
new ResizeObserver(() => { if (state.view === "chart" && Math.abs(plot.clientWidth - drawnAt) > 4) { drawnAt = plot.clientWidth; showChart(); } }).observe(plot);
show();
drawnAt = plot.clientWidth;
document.documentElement.dataset.ready = "yes";
