// What the page holds, and what is chosen of it. The choice is in the URL's fragment, so that a link shows the same
// view. Nothing is computed of samples: the program wrote what is shown.

/** @typedef {{at: number, type: string, words?: string[]}} Column  as page.py packed it */
/** @typedef {{length: number, columns: Record<string, Column>}} Stored */
/**
 * @typedef {{name: string, missing: string[], machine: any, rows?: Table, catalog?: Table, verdicts?: Table,
 * releases?: Table, means?: Table, samples?: Table, index: number}} Folder
 */
/** @typedef {{row: number, n: number, y: number, low: number, high: number, folder: Folder, series: Series}} Point */
/**
 * @typedef {{key: string, label: string, variant: string, settings: string, group: string, kind: string, rows:
 * number[], folder: Folder}} Series  one variant with one choice of settings, in one folder
 */
/** @typedef {{color: string, symbol: any, dash: string, hollow: boolean}} Look */

// ---------------------------------------------------------------------------------------------------- data

const ARRAYS = /** @type {Record<string, any>} */ ({f8: Float64Array, f4: Float32Array, u4: Uint32Array});

class Table {
  constructor(/** @type {Stored} */ stored, /** @type {ArrayBuffer} */ buffer, /** @type {number} */ base) {
    this.length = stored.length;
    /** @type {Record<string, {array: any, words?: string[]}>} */
    this.columns = {};
    for (const [name, {at, type, words}] of Object.entries(stored.columns))
      this.columns[name] = {array: new ARRAYS[type](buffer, base + at, stored.length), words};
  }
  /** A field's word; "" where the file has none. */
  word(/** @type {string} */ name, /** @type {number} */ i) {
    const column = this.columns[name], value = column ? column.array[i] : NaN;
    return isNaN(value) ? "" : column.words?.[value] ?? String(value);
  }
  number(/** @type {string} */ name, /** @type {number} */ i) {
    const column = this.columns[name];
    return column && !column.words ? column.array[i] : NaN;
  }
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
    const tables = ["rows", "catalog", "verdicts", "releases", "means", "samples"].filter(name => folder[name]);
    const open = tables.map(name => [name, new Table(folder[name], buffer, base)]);
    return {...folder, index, ...Object.fromEntries(open)};
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
  const table = means ? folder.means : folder.samples, samples = /** @type {any[]} */ ([]);
  if (table)
    for (let i = d3.bisectLeft(table.columns.row.array, row); table.number("row", i) === row; ++i)
      samples.push({
        context: table.number("context", i),
        round: table.number("round", i),
        us: table.number("time_s", i) * 1e6
      });
  return samples;
}

/** base / mine of each context that has a mean of both. */
function pairs(/** @type {Folder} */ folder, /** @type {number} */ base, /** @type {number} */ mine) {
  const b = new Map(samplesOf(folder, base, true).map(s => [s.context, s.us]));
  return samplesOf(folder, mine, true).filter(s => b.has(s.context)).map(s => ({
    context: s.context,
    ratio: b.get(s.context) / s.us
  }));
}

// ---------------------------------------------------------------------------------------------------- state

/** Words of the address, "" where it has none: of the chart, the claims and the releases. */
const SIMPLE = ["view", "value", "base", "scale", "size", "point", "document", "verdict", "differ", "release-pair",
  "release-call", "release-element_type", "release-timing_mode", "release-cache_state", "release-n"];
/**
 * These words, and `asked`: what the reader chose of columns; `choice`: the same where there are such rows, else the
 * usual; `series`: the chosen variants, null for the first view's; `only`: the chosen folders, null for all.
 *
 * @type {Record<string, any>}
 */
const state = {};
/** Where several words can be chosen, the first of these that there is. */
const USUAL = /** @type {Record<string, string[]>} */ ({
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
  "release-pair": ["newest"],
  "release-call": ["cub/sum determinism=run_to_run", "cub/sum"],
  "release-element_type": ["f32"],
  "release-timing_mode": ["graph"],
  "release-cache_state": ["warm"],
});

/** The address tells the view. Another of the views is a step that the Back button takes back. */
function writeFragment() {
  const said = new URLSearchParams(SIMPLE.filter(name => state[name]).map(name => [name, state[name]]));
  // A view without a chart has no choice: what the address asked for stays in it.
  for (const [name, word] of Object.entries(Object.keys(state.choice).length ? state.choice : state.asked))
    if (word !== null && options.get(name)?.length !== 1) said.set(name, word);
  for (const key of state.series ?? []) said.append("s", key);
  if (state.series?.length === 0) said.set("s", "");
  for (const name of state.only ?? []) said.append("folder", name);
  const before = new URLSearchParams(location.hash.slice(1)).get("view");
  history[before && before !== state.view ? "pushState" : "replaceState"](null, "", `#${said}`);
}

function readFragment() {
  const said = new URLSearchParams(location.hash.slice(1));
  for (const name of SIMPLE) state[name] = said.get(name) ?? "";
  state.asked = Object.fromEntries(["experiment", ...header.keys].map(name => [name, said.get(name)]));
  state.choice = {};
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

/**
 * Of rows those that have the words chosen of these columns. Each choice limits those after it: `offered` has what it
 * was made from, `chosen` gets what it is: what is asked for, or the usual word unless nearly all rows have another.
 *
 * @template Row
 * @param {Row[]} rows @param {string[]} names @param {(row: Row, name: string) => string} wordOf
 * @param {Record<string, any>} asked @param {Record<string, any>} chosen @param {Map<string, string[]>} offered
 */
function narrowed(rows, names, wordOf, asked, chosen, offered) {
  for (const name of names) {
    const alike = /** @type {Map<string, Row[]>} */ (d3.group(rows, row => wordOf(row, name)));
    const count = (/** @type {string} */ word) => alike.get(word)?.length ?? 0;
    const words = [...alike.keys()].sort(d3.ascending), most = d3.greatest(words, count) ?? "";
    const usual = (USUAL[name] ?? []).find(word => count(word) > count(most) / 6);
    chosen[name] = alike.has(asked[name]) ? asked[name] : usual ?? most;
    offered.set(name, words);
    rows = alike.get(chosen[name]) ?? [];
  }
  return rows;
}

/** The chosen rows by variant and settings; those without a time are counted in `refused`. */
function selectSeries() {
  refused = 0;
  options = new Map();
  const all = shownFolders().flatMap(folder => d3.range(folder.rows?.length).map(row => ({folder, row})));
  const word = (/** @type {{folder: Folder, row: number}} */ {folder, row}, /** @type {string} */ name) =>
    folder.rows?.word(name, row) ?? "";
  const rows = narrowed(all, ["experiment", ...header.keys], word, state.asked, state.choice, options);
  /** @type {Map<string, Series>} */ const byId = new Map();
  for (const of of rows) {
    if (word(of, "status") !== "ok") {
      ++refused;
      continue;
    }
    const {folder, row} = of, variant = word(of, "variant"), settings = word(of, "settings"), words = word(of, "words");
    const key = variant + (settings && `:${settings}`), id = `${folder.index} ${key}`;
    if (!byId.has(id))
      byId.set(id, {
        key,
        variant,
        settings,
        label: variant + (words && ` [${words}]`),
        rows: [],
        folder,
        group: variant.split("/")[0].split("@")[0],
        kind: word(of, "kind")
      });
    byId.get(id)?.rows.push(row);
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
const sizesHere = () => d3.sort(new Set(series.flatMap(s => s.rows.map(row => numberOf(s, "n", row)))));

/**
 * Of few all; else of each group, or of each variant where there are few groups, the one that is fastest at its
 * largest n, and what CUB's speedups are over.
 */
function byDefault() {
  const all = keys();
  if (all.length <= 9) return all;
  const groups = new Set(series.filter(s => s.kind !== "library").map(s => s.group));
  const last = (/** @type {Series} */ s, /** @type {string} */ name) => numberOf(s, name, s.rows[s.rows.length - 1]);
  const time = state.choice.timing_mode === "clock" ? "cycles_median" : "time_median_s";
  const bases = series.filter(s => wordOf(s, "is_base", s.rows[0]) === "True" && last(s, "speedup") === 1);
  const chosen = new Set(bases.map(s => s.key));
  for (const alike of d3.group(series, s => (groups.size > 2 ? s.group : s.variant)).values()) {
    const [first] = d3.sort(alike, s => -last(s, "n"), s => last(s, time));
    chosen.add(first.key);
  }
  return all.filter(key => chosen.has(key)).slice(0, 14);
}

/** Those of the chosen variants that are there; where none of them is, the first view's. */
function chosenKeys() {
  const all = keys(), chosen = state.series?.filter(key => all.includes(key));
  return chosen && (chosen.length || !state.series?.length) ? chosen : byDefault();
}

// ---------------------------------------------------------------------------------------------------- values

/** Further bases whose intervals the program computed; "" is the recorded one. */
const COMPUTED = /** @type {Record<string, string>} */ ({
  fastest: "the fastest at each n",
  first: "the document's first"
});

/** The folder that each variant's speedup is over the same variant in. */
const baseFolder = () => (state.value === "speedup" && shownFolders().length > 1 ?
  shownFolders().find(f => state.base === `in ${f.name}`) : undefined);

/** By word what speedups can be over here: the recorded base, computed ones, another folder, or any variant. */
function basesHere() {
  const has = (/** @type {(s: Series, row: number) => any} */ so) => series.some(s => s.rows.some(row => so(s, row)));
  const among = shownFolders();
  return new Map(/** @type {[string, string][]} */ ([
    ...(has((s, row) => numberOf(s, "speedup", row) > 0) ? [["", recordedBase()]] : []),
    ...Object.entries(COMPUTED).filter(([name]) => has((s, row) => numberOf(s, `speedup_${name}`, row) > 0)),
    ...(among.length > 1 ? among.map(f => [`in ${f.name}`, `the same in ${f.name}`]) : []),
    ...series.map(s => [s.key, s.label])
  ]));
}

/** What the recorded speedups are over. */
function recordedBase() {
  const bases = new Set(series.flatMap(s => s.rows.map(row => wordOf(s, "speedup_reference", row))).filter(Boolean));
  return bases.size ? [...bases].join(", ") : "CUB";
}

/** The row that a speedup is a quotient to: of the chosen base, or of the same variant in the chosen folder. */
function baseRow(/** @type {Series} */ s, /** @type {number} */ n) {
  const other = baseFolder();
  const base = series.find(other ? b => b.key === s.key && b.folder === other && other !== s.folder :
                                   b => b.key === state.base && b.folder === s.folder);
  return base?.rows.filter(row => numberOf(base, "n", row) === n).map(row => ({base, row}))[0];
}

/** What a row shows, and its interval: NaN where it does not have it. */
function valueOf(/** @type {Series} */ s, /** @type {number} */ row) {
  const v = (/** @type {string} */ name) => numberOf(s, name, row);
  const numbers = () => {
    if (state.value !== "speedup" || !state.base) return VALUES[state.value].of(v);
    if (own(COMPUTED, state.base))
      return VALUES.speedup.of(name => v(name.replace("speedup", `speedup_${state.base}`)));
    const of = baseRow(s, v("n"));
    return of ? [numberOf(of.base, "time_median_s", of.row) / v("time_median_s")] : [];
  };
  const [y = NaN, low = NaN, high = NaN] = numbers();
  return {y, low, high};
}

/** The values that some row of the selection has. */
const valuesHere = () => Object.keys(VALUES).filter(
  value => VALUES[value].needs.every(name => series.some(s => s.rows.some(row => numberOf(s, name, row) > 0))));

function selectPoints() {
  const chosen = chosenKeys();
  points = [];
  for (const s of series.filter(({key}) => chosen.includes(key)))
    for (const row of s.rows) {
      const value = valueOf(s, row), n = numberOf(s, "n", row);
      const shown = state.value === "error" ? String(n) === state.size : value.y > 0;
      if (isFinite(value.y) && shown) points.push({...value, row, n, folder: s.folder, series: s});
    }
}
