// What the page holds, and what is chosen of it. The choice is in the URL's fragment, so that a link shows the same
// view. Nothing is computed of samples: the program wrote what is shown.

/** @typedef {Record<string, {array: any, words?: string[]}>} Columns */
/**
 * @typedef {{name: string, missing: string[], machine: any, rows?: Row[], catalog?: Row[], verdicts?: Row[],
 * releases?: Row[], means?: Columns, samples?: Columns, index: number}} Folder
 */
/**
 * @typedef {{row: Row, n: number, y: number, low: number, high: number, series: Series, name: string, look: Look}}
 *   Point
 * @typedef {{key: string, label: string, variant: string, group: string, kind: string, rows: Row[], folder: Folder}}
 *   Series  one variant with one choice of settings, in one folder
 * @typedef {{color: string, symbol: any, dash: string, hollow: boolean}} Look
 */

// ---------------------------------------------------------------------------------------------------- data

const ARRAYS = /** @type {Record<string, any>} */ ({f8: Float64Array, f4: Float32Array, u4: Uint32Array});

/** A line of a table. */
class Row {
  constructor(/** @type {Folder} */ folder, /** @type {Columns} */ columns, /** @type {number} */ at) {
    this.folder = folder;
    this.columns = columns;
    this.at = at;
  }
  /** A field's word; "" where the file has none. */
  word(/** @type {string} */ name) {
    const column = this.columns[name], value = column ? column.array[this.at] : NaN;
    return isNaN(value) ? "" : column.words?.[value] ?? String(value);
  }
  number(/** @type {string} */ name) {
    const column = this.columns[name];
    return column && !column.words ? column.array[this.at] : NaN;
  }
}

/** @type {any} */ let header;
/** @type {Folder[]} */ let folders = [];

async function load() {
  const text = $("data").textContent ?? "", packed = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  folders = header.folders;
  folders.forEach((/** @type {any} */ folder, index) => {
    folder.index = index;
    for (const name of ["rows", "catalog", "verdicts", "releases", "means", "samples"].filter(name => folder[name])) {
      const table = folder[name], columns = /** @type {Columns} */ ({});
      for (const [column, {at, type, words}] of /** @type {[string, any][]} */ (Object.entries(table.columns)))
        columns[column] = {array: new ARRAYS[type](buffer, 8 + length + at, table.length), words};
      const whole = name === "means" || name === "samples";
      folder[name] = whole ? columns : d3.range(table.length).map(at => new Row(folder, columns, at));
    }
  });
  $("data").remove();
}

/** The variant's line of the catalogue. */
const catalogue = (/** @type {Series} */ s) => s.folder.catalog?.find(line => line.word("variant") === s.variant);

// ---------------------------------------------------------------------------------------------------- samples

/** Of a row the samples, or the contexts' means, which the program made: what the page holds. */
function samplesOf(/** @type {Row} */ row, means = !row.folder.samples) {
  const table = means ? row.folder.means : row.folder.samples;
  if (!table) return [];
  const [of, context, round, time] = ["row", "context", "round", "time_s"].map(name => table[name].array);
  const lines = d3.range(d3.bisectLeft(of, row.at), d3.bisectRight(of, row.at));
  return lines.map(i => ({context: context[i], round: round[i], us: time[i] * 1e6}));
}

/** base / mine of each context that has a mean of both. */
function pairs(/** @type {Row} */ base, /** @type {Row} */ mine) {
  const b = new Map(samplesOf(base, true).map(s => [s.context, s.us]));
  const both = samplesOf(mine, true).filter(s => b.has(s.context));
  return both.map(({context, us}) => ({context, ratio: b.get(context) / us}));
}

// ---------------------------------------------------------------------------------------------------- state

/** Words of the address, "" where it has none: of the chart, the claims and the releases. */
const SIMPLE = ["view", "folder", "value", "base", "scale", "size", "point", "verdict", "release-pair", "release-call",
  "release-element_type", "release-timing_mode", "release-cache_state"];
/**
 * These words, and `asked`: what the reader chose of columns; `choice`: the same where there are such rows, else the
 * usual; `series`: the chosen variants, null for the first view's.
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
  // Until there is a chart, what the address asked for stays in it.
  for (const [name, word] of Object.entries({...state.asked, ...state.choice}))
    if (word !== null && options.get(name)?.length !== 1) said.set(name, word);
  for (const key of state.series ?? []) said.append("s", key);
  if (state.series?.length === 0) said.set("s", "");
  const before = new URLSearchParams(location.hash.slice(1)).get("view");
  history[before && before !== state.view ? "pushState" : "replaceState"](null, "", `#${said}`);
}

function readFragment() {
  const said = new URLSearchParams(location.hash.slice(1));
  for (const name of SIMPLE) state[name] = said.get(name) ?? "";
  state.asked = Object.fromEntries(["experiment", ...header.keys].map(name => [name, said.get(name)]));
  state.choice = {};
  state.series = said.has("s") ? said.getAll("s").filter(key => key) : null;
  if (!withRows().some(f => f.name === state.folder)) state.folder = "";
}

// ---------------------------------------------------------------------------------------------------- selection

/** @type {Map<string, string[]>} */ let options = new Map();  // by column the words to choose, given those before it
/** @type {Series[]} */ let series = [];
/** @type {string[]} */ let shownKeys = [];  // of the variants that are shown
/** @type {Point[]} */ let points = [];
let refused = 0;  // chosen rows without a time

const withRows = () => folders.filter(f => f.rows);
const shownFolders = () => withRows().filter(f => !state.folder || f.name === state.folder);

/**
 * Of rows those that have the words chosen of these columns. Each choice limits those after it: `offered` has what it
 * was made from, `chosen` gets what it is: what is asked for, or the usual word unless nearly all rows have another.
 *
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
  options = new Map();
  const rows = narrowed(shownFolders().flatMap(folder => folder.rows ?? []), ["experiment", ...header.keys],
    (row, name) => row.word(name), state.asked, state.choice, options);
  const timed = rows.filter(row => row.word("status") === "ok");
  refused = rows.length - timed.length;
  const keyOf = (/** @type {Row} */ row) => [row.word("variant"), row.word("settings")].filter(Boolean).join(":");
  const all = d3.groups(timed, row => `${row.folder.index} ${keyOf(row)}`).map(([, alike]) => {
    const [first] = alike, variant = first.word("variant"), words = first.word("words");
    return {
      key: keyOf(first),
      variant,
      label: variant + (words && ` [${words}]`),
      group: variant.split("/")[0].split("@")[0],
      kind: first.word("kind"),
      rows: d3.sort(alike, row => row.number("n")),
      folder: first.folder
    };
  });
  const kinds = ["yours", "document", "ours", "library", "cpu"];
  series = d3.sort(all, s => kinds.indexOf(s.kind), s => header.documents.indexOf(s.group), s => s.group, s => s.label,
    s => s.folder.index);
}

/** Whether some row of the selection has it. */
const some = (/** @type {(row: Row) => any} */ has) => series.some(s => s.rows.some(has));
const keys = () => [...new Set(series.map(s => s.key))];
const sizesHere = () => d3.sort(new Set(series.flatMap(s => s.rows.map(row => row.number("n")))));

/**
 * Of few all; else of each group, or of each variant where there are few groups, the one that is fastest at its
 * largest n, and what CUB's speedups are over.
 */
function byDefault() {
  const all = keys();
  if (all.length <= 9) return all;
  const groups = new Set(series.filter(s => s.kind !== "library").map(s => s.group));
  const last = (/** @type {Series} */ s, /** @type {string} */ name) => s.rows[s.rows.length - 1].number(name);
  const time = state.choice.timing_mode === "clock" ? "cycles_median" : "time_median_s";
  const bases = series.filter(s => s.rows[0].word("is_base") === "True" && last(s, "speedup") === 1);
  const first = d3.rollups(series, alike => d3.sort(alike, s => -last(s, "n"), s => last(s, time))[0],
    s => (groups.size > 2 ? s.group : s.variant)).map(([, s]) => s);
  const usual = new Set([...bases, ...first].map(s => s.key));
  return all.filter(key => usual.has(key)).slice(0, 14);
}

/** Those of the chosen variants that are there; where none of them is, the first view's. */
function chosenKeys() {
  const all = keys(), there = state.series?.filter(key => all.includes(key));
  return there && (there.length || !state.series?.length) ? there : byDefault();
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
  const among = shownFolders(), has = (/** @type {string} */ base) => some(row => speedupOf(row, base)[0] > 0);
  const recorded = new Set(series.flatMap(s => s.rows.map(row => row.word("speedup_reference"))).filter(Boolean));
  return new Map(/** @type {[string, string][]} */ ([
    ...(has("") ? [["", [...recorded].join(", ") || "CUB"]] : []),
    ...Object.entries(COMPUTED).filter(([name]) => has(name)),
    ...(among.length > 1 ? among.map(f => [`in ${f.name}`, `the same in ${f.name}`]) : []),
    ...series.map(s => [s.key, s.label])
  ]));
}

/** The row that a speedup is a quotient to: of the chosen base, or of the same variant in the chosen folder. */
function baseRow(/** @type {Series} */ s, /** @type {Row} */ row) {
  const other = baseFolder();
  const base = series.find(other ? b => b.key === s.key && b.folder === other && other !== s.folder :
                                   b => b.key === state.base && b.folder === s.folder);
  return base?.rows.find(of => of.number("n") === row.number("n"));
}

/** What a row shows, and its interval. */
function valueOf(/** @type {Series} */ s, /** @type {Row} */ row) {
  if (state.value !== "speedup") return VALUES[state.value].of(row);
  if (!state.base || own(COMPUTED, state.base)) return speedupOf(row, state.base);
  const base = baseRow(s, row);
  return base ? [base.number("time_median_s") / row.number("time_median_s")] : [];
}

/** The values that some row of the selection has; with times there are speedups over any variant. */
const valuesHere = () => Object.keys(VALUES).filter(
  value => some(row => VALUES[value === "speedup" ? "time" : value].of(row)[0] > 0));

function selectPoints() {
  points = [];
  for (const s of series.filter(({key}) => shownKeys.includes(key)))
    for (const row of s.rows) {
      const [y = NaN, low = NaN, high = NaN] = valueOf(s, row), n = row.number("n");
      const shown = state.value === "error" ? String(n) === state.size : y > 0;
      if (isFinite(y) && shown) points.push({row, n, y, low, high, series: s, name: nameOf(s), look: lookOf(s)});
    }
}
