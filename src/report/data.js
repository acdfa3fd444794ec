// What the page holds, and what is chosen of it. The choice is in the URL's fragment, so that a link shows the same
// view. Nothing is computed of samples: the program wrote what is shown.

/** @typedef {{at: number, type: string, length: number, words?: string[]}} Stored  a column, as page.py packed it */
/** @typedef {{length: number, columns: Record<string, Stored>}} StoredTable */
/**
 * @typedef {{name: string, missing: string[], machine: any, rows: Table?, catalog: Table?, verdicts: Table?, releases:
 * Table?, means: any, samples: any, speedups: Record<string, any[]>, index: number}} Folder
 */
/** @typedef {{row: number, n: number, y: number, low: number, high: number, folder: Folder, series: Series}} Point */
/**
 * @typedef {{key: string, label: string, variant: string, settings: string, group: string, kind: string, rows:
 * number[], folder: Folder}} Series  one variant with one choice of settings, in one folder
 */
/** @typedef {{color: string, symbol: string, dash: string, hollow: boolean}} Look */

// ---------------------------------------------------------------------------------------------------- data

class Table {
  constructor(/** @type {StoredTable} */ stored, /** @type {ArrayBuffer} */ buffer, /** @type {number} */ base) {
    this.length = stored.length;
    /** @type {Record<string, {array: any, words?: string[]}>} */
    this.columns = {};
    for (const [name, column] of Object.entries(stored.columns))
      this.columns[name] = {array: arrayOf(column, buffer, base), words: column.words};
  }
  /** A field's word; "" where the file has none. */
  word(/** @type {string} */ name, /** @type {number} */ i) {
    const column = this.columns[name];
    return !column           ? "" :
      column.words           ? column.words[column.array[i]] :
      isNaN(column.array[i]) ? "" :
                               String(column.array[i]);
  }
  number(/** @type {string} */ name, /** @type {number} */ i) {
    const column = this.columns[name];
    return column && !column.words ? column.array[i] : NaN;
  }
}

function arrayOf(
  /** @type {Stored} */ {at, type, length}, /** @type {ArrayBuffer} */ buffer, /** @type {number} */ base) {
  const typed =
    /** @type {any} */ ({f8: Float64Array, f4: Float32Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array});
  return new typed[type](buffer, base + at, length);
}

/** @type {any} */ let header;
/** @type {Folder[]} */ let folders = [];

async function load() {
  const text = $("data").textContent ?? "", packed = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const length = Number(new DataView(buffer).getBigUint64(0, true)), base = 8 + length;
  header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  folders = header.folders.map((folder, index) => {
    const open = (/** @type {StoredTable?} */ table) => table && new Table(table, buffer, base);
    const arrays = (/** @type {any} */ held) =>
      held && Object.fromEntries(Object.entries(held).map(([name, stored]) => [name, arrayOf(stored, buffer, base)]));
    return {
      ...folder,
      index,
      rows: open(folder.rows),
      catalog: open(folder.catalog),
      verdicts: open(folder.verdicts),
      releases: open(folder.releases),
      means: arrays(folder.means),
      samples: arrays(folder.samples),
      speedups: Object.fromEntries(Object.entries(folder.speedups ?? {})
                                     .map(([name, stored]) => [name, stored.map((/** @type {Stored} */ s) => arrayOf(s, buffer, base))]))
    };
  });
  $("data").remove();
}

/** The line of the catalogue, by variant. */
function catalogue(/** @type {Folder} */ folder, /** @type {string} */ variant) {
  const table = folder.catalog, i = d3.range(table?.length).find(k => table?.word("variant", k) === variant);
  return table && i !== undefined ?
    Object.fromEntries(Object.keys(table.columns).map(name => [name, table.word(name, i)])) :
    {};
}

// ---------------------------------------------------------------------------------------------------- samples

/** Of a row the samples, or the contexts' means, which the program made: what the page holds. */
function samplesOf(/** @type {Folder} */ folder, /** @type {number} */ row, means = !folder.samples) {
  const s = means ? folder.means : folder.samples, samples = [];
  if (s)
    for (let i = d3.bisectLeft(s.row, row); s.row[i] === row; ++i)
      samples.push({context: s.context[i], round: s.round[i], time: s.time[i]});
  return samples;
}

/** base / mine of each context that has a mean of both. */
function pairs(/** @type {Folder} */ folder, /** @type {number} */ base, /** @type {number} */ mine) {
  const b = new Map(samplesOf(folder, base, true).map(s => [s.context, s.time]));
  return samplesOf(folder, mine, true).filter(s => b.has(s.context)).map(s => ({
    context: s.context,
    ratio: b.get(s.context) / s.time
  }));
}

// ---------------------------------------------------------------------------------------------------- state

/**
 * `asked`: what the reader chose of columns; `choice`: the same where there are such rows, else the usual.
 * `series`: the chosen variants; null: the first view's. `only`: the chosen folders; null: all.
 *
 * @type {{view: string, value: string, base: string, compare: string, point: string, scale: string, size: string,
 *   asked: Record<string, string>, choice: Record<string, string>, series: string[]?, only: string[]?,
 *   releases: Record<string, string>, claims: Record<string, string>}}
 */
const state = {
  view: "chart",
  value: "",
  base: "",
  compare: "",
  asked: {},
  choice: {},
  series: null,
  only: null,
  point: "",
  scale: "",
  size: "",
  releases: {pair: "newest", call: "", type: "", mode: "", cache: "", n: ""},
  claims: {document: "", verdict: "", differ: "", search: ""}
};
const PREFERRED = /** @type {Record<string, string[]>} */ ({
  experiment: ["comparison", "cpu"],
  device: ["cuda", "cpu"],
  operation: ["sum"],
  element_type: ["f32"],
  timing_mode: ["device", "end_to_end"],
  cache_state: ["cold_dirty"],
  offset_elements: ["0"],
  dataset: ["random"],
  seed: ["1"],
  caller: [""],
});

const SIMPLE = ["view", "value", "base", "compare", "scale", "size", "point"];

/** The address tells the view. Another of the views is a step that the Back button takes back. */
function writeFragment() {
  const said = new URLSearchParams();
  for (const name of SIMPLE)
    if (/** @type {any} */ (state)[name]) said.set(name, /** @type {any} */ (state)[name]);
  for (const [name, word] of Object.entries(state.choice))
    if (options.get(name)?.length !== 1) said.set(name, word);
  for (const part of /** @type {("claims" | "releases")[]} */ (["claims", "releases"]))
    if (state.view === part)
      for (const [name, word] of Object.entries(state[part]))
        if (word) said.set(`${part}_${name}`, word);
  for (const key of state.series ?? []) said.append("s", key);
  if (state.series?.length === 0) said.set("s", "");
  for (const name of state.only ?? []) said.append("folder", name);
  const before = new URLSearchParams(location.hash.slice(1)).get("view");
  history[before && before !== state.view ? "pushState" : "replaceState"](null, "", `#${said}`);
}

function readFragment() {
  const said = new URLSearchParams(location.hash.slice(1));
  for (const name of SIMPLE) /** @type {any} */
    (state)[name] = said.get(name) ?? "";
  state.asked = {};
  for (const name of ["experiment", ...header.keys])
    if (said.has(name)) state.asked[name] = said.get(name) ?? "";
  for (const part of /** @type {("claims" | "releases")[]} */ (["claims", "releases"]))
    for (const name of Object.keys(state[part])) state[part][name] = said.get(`${part}_${name}`) ?? "";
  state.series = said.has("s") ? said.getAll("s").filter(key => key) : null;
  const only = said.getAll("folder").filter(name => folders.some(f => f.rows && f.name === name));
  state.only = only.length ? only : null;
}

// ---------------------------------------------------------------------------------------------------- selection

/** @type {Map<string, string[]>} by key the words that can be chosen, given those before it */
let options = new Map();
/** @type {Series[]} */ let series = [];
/** @type {Point[]} */ let points = [];
/** Chosen rows without a time. */ let refused = 0;

const shownFolders = () => folders.filter(f => f.rows && (!state.only || state.only.includes(f.name)));

/** Rows of the chosen experiment, operation and so on: each choice limits those after it. */
function selectRows() {
  let rows = shownFolders().map(folder => ({folder, indices: d3.range(folder.rows?.length)}));
  options = new Map();
  for (const name of ["experiment", ...header.keys]) {
    const counts = new Map();
    for (const {folder, indices} of rows) {
      const column = folder.rows?.columns[name];
      if (!column)
        counts.set("", (counts.get("") ?? 0) + indices.length);
      else
        for (const i of indices) {
          const word = column.words ? column.words[column.array[i]] : String(column.array[i]);
          counts.set(word, (counts.get(word) ?? 0) + 1);
        }
    }
    const words = [...counts.keys()].sort(d3.ascending), asked = state.asked[name];
    const most = d3.greatest(words, w => counts.get(w)) ?? "";
    // The usual word, unless nearly all rows have another.
    const usual = (PREFERRED[name] ?? []).find(w => counts.get(w) > counts.get(most) / 6);
    const chosen = words.includes(asked) ? asked : usual ?? most;
    options.set(name, words);
    state.choice[name] = chosen;
    rows = rows.map(
      ({folder, indices}) => ({folder, indices: indices.filter(i => folder.rows?.word(name, i) === chosen)}));
  }
  return rows;
}

/** The chosen rows by variant and settings; those without a time are counted in `refused`. */
function selectSeries() {
  refused = 0;
  /** @type {Map<string, Series>} */ const byId = new Map();
  for (const {folder, indices} of selectRows()) {
    const table = /** @type {Table} */ (folder.rows);
    for (const row of indices) {
      if (table.word("status", row) !== "ok") {
        ++refused;
        continue;
      }
      const variant = table.word("variant", row), settings = table.word("settings", row),
            words = table.word("words", row);
      const key = variant + (settings && `:${settings}`), id = `${folder.index} ${key}`;
      let entry = byId.get(id);
      if (!entry)
        byId.set(id, entry = {
          key,
          variant,
          settings,
          label: variant + (words && ` [${words}]`),
          rows: [],
          folder,
          group: variant.split("/")[0].split("@")[0],
          kind: table.word("kind", row)
        });
      entry.rows.push(row);
    }
  }
  const kinds = ["yours", "document", "ours", "library", "cpu"];
  series = d3.sort(byId.values(), s => kinds.indexOf(s.kind), s => header.documents.indexOf(s.group), s => s.group,
    s => s.label, s => s.folder.index);
  for (const s of series) s.rows = d3.sort(s.rows, row => numberOf(s, "n", row));
}

const numberOf = (/** @type {Series} */ s, /** @type {string} */ name, /** @type {number} */ row) =>
  s.folder.rows?.number(name, row) ?? NaN;
const wordOf = (/** @type {Series} */ s, /** @type {string} */ name, /** @type {number} */ row) =>
  s.folder.rows?.word(name, row) ?? "";
const keys = () => [...new Set(series.map(s => s.key))];

/**
 * Of few all; else of each group, or of each variant where there are few groups, the one that is fastest at its
 * largest n, and what CUB's speedups are over.
 */
function byDefault() {
  const all = keys();
  if (all.length <= 9) return all;
  const groups = new Set(series.filter(s => s.kind !== "library").map(s => s.group));
  const chosen = new Set(), last = (/** @type {Series} */ s) => /** @type {number} */ (s.rows.at(-1));
  for (const alike of d3.group(series, s => (groups.size > 2 ? s.group : s.variant)).values()) {
    const most = d3.max(alike, s => numberOf(s, "n", last(s)));
    const time = (/** @type {Series} */ s) =>
      numberOf(s, state.choice.timing_mode === "clock" ? "cycles_median" : "time_median_s", last(s));
    chosen.add(d3.least(alike.filter(s => numberOf(s, "n", last(s)) === most), time)?.key);
    for (const s of alike)
      if (wordOf(s, "is_base", last(s)) === "True" && numberOf(s, "speedup", last(s)) === 1) chosen.add(s.key);
  }
  return all.filter(key => chosen.has(key)).slice(0, 14);
}

/** Those of the chosen variants that are there; where none of them is, the first view's. */
function chosenKeys() {
  const all = keys(), chosen = state.series?.filter(key => all.includes(key));
  return chosen && (chosen.length || !state.series?.length) ? chosen : byDefault();
}
const RECORDED = "";
/** Further bases whose intervals the program computed. */
const COMPUTED = /** @type {Record<string, string>} */ ({
  fastest: "the fastest at each n",
  first: "the document's first"
});

/** Whose rows the speedups are over: the recorded base, or any other of the selection. */
function baseRow(/** @type {Series} */ s, /** @type {number} */ n) {
  const base = series.find(b => b.key === state.base && b.folder === s.folder);
  const row = base?.rows.find(r => numberOf(base, "n", r) === n);
  return row === undefined ? null : row;
}

const withoutInterval = (/** @type {number} */ y) => ({y, low: NaN, high: NaN});
/** The time of a row over that of one it was not judged with: a quotient, which has no interval. */
const quotient = (/** @type {Series} */ from, /** @type {number} */ base, /** @type {number} */ time) =>
  withoutInterval(numberOf(from, "time_median_s", base) / time);

/**
 * What a row shows, null where it does not have it.
 * @returns {{y: number, low: number, high: number}?}
 */
function valueOf(/** @type {Series} */ s, /** @type {number} */ row) {
  const v = (/** @type {string} */ name) => numberOf(s, name, row), time = v("time_median_s");
  if (state.compare) {
    const base = series.find(b => b.key === s.key && b.folder.name === state.compare);
    const at = base?.rows.find(r => numberOf(base, "n", r) === v("n"));
    return base && at !== undefined && base.folder !== s.folder ? quotient(base, at, time) : null;
  }
  switch (state.value) {
    case "time":
    case "part": {
      const [y, low, high] = ["median", "ci_low", "ci_high"].map(
        end => v(`${state.value === "time" ? "time" : "device_part"}_${end}_s`) * 1e6);
      return {y, low, high};
    }
    case "rate": {
      const b = v("bytes") / 1e9;
      return {y: b / time, low: b / v("time_ci_high_s"), high: b / v("time_ci_low_s")};
    }
    case "share":
      return withoutInterval(v("share_of_read_ceiling") * 100);
    case "error":
      return String(v("n")) === state.size ? withoutInterval(v("abs_error") / v("sum_of_magnitudes")) : null;
    case "cycles":
      return withoutInterval(v("cycles_median"));
    default: {
      if (state.base === RECORDED) return {y: v("speedup"), low: v("speedup_ci_low"), high: v("speedup_ci_high")};
      if (own(COMPUTED, state.base)) {
        const [y, low, high] = (s.folder.speedups[state.base] ?? [[], [], []]).map(numbers => numbers[row]);
        return {y, low, high};
      }
      const base = baseRow(s, v("n"));
      return base === null ? null : quotient(s, base, time);
    }
  }
}

/** The values that some row of the selection has. */
function valuesHere() {
  const has = (/** @type {string} */ name) => series.some(s => s.rows.some(row => numberOf(s, name, row) > 0));
  return Object.keys(VALUES).filter(value => ({
    speedup: has("time_median_s"),
    rate: has("bytes") && has("time_median_s"),
    time: has("time_median_s"),
    part: has("device_part_median_s"),
    share: has("share_of_read_ceiling"),
    error: has("abs_error") && has("sum_of_magnitudes"),
    cycles: has("cycles_median")
  })[value]);
}

function selectPoints() {
  const chosen = chosenKeys();
  points = [];
  for (const s of series)
    if (chosen.includes(s.key))
      for (const row of s.rows) {
        const value = valueOf(s, row);
        if (value && isFinite(value.y) && (value.y > 0 || state.value === "error"))
          points.push({...value, row, n: numberOf(s, "n", row), folder: s.folder, series: s});
      }
}
