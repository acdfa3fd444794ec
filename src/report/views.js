// The other views, and what starts the page.

/** "cub/sum determinism=run_to_run" of "cub@3.2.0/sum determinism=run_to_run". */
const callOf = (/** @type {string} */ variant) => variant.replace(/@[^/]*/, "");
const releaseOf = (/** @type {string} */ variant) => /@([^/]*)/.exec(variant)?.[1] ?? "";
const byRelease = (/** @type {string} */ a, /** @type {string} */ b) => a.localeCompare(b, "en", {numeric: true});
const PAIRS = /** @type {Record<string, string>} */ ({
  newest: "the newest over each release",
  adjacent: "each release over the one before",
  determinism: "over the same release, run to run"
});

/** Speedups between releases of a library, a line for each n. */
function showReleases() {
  const folder = /** @type {Folder} */ (folders.find(f => f.releases)), table = /** @type {Table} */ (folder.releases);
  const names = ["pair", "call", "element_type", "timing_mode", "cache_state"].map(name => `release-${name}`);
  const wordAt = (/** @type {number} */ i, /** @type {string} */ name) =>
    (name === "release-call" ? callOf(table.word("variant", i)) : table.word(name.replace("release-", ""), i));
  const offered = new Map(), v = (/** @type {string} */ name) => (/** @type {number} */ i) => table.number(name, i);
  const of = narrowed(d3.range(table.length), names, wordAt, state, state, offered);
  const every = d3.sort(new Set(of.map(v("n"))));
  if (!every.map(String).includes(state["release-n"])) state["release-n"] = "";
  const filters = names.map(name => choose(name, nameOfColumn(name.replace("release-", "")),
    offered.get(name).map(w => [w, own(PAIRS, w) ?? labelOf(w)])));
  filters.push(choose("release-n", "n", [["", "all"], ...sizesToChoose(every)]));
  const rows = of.filter(i => !state["release-n"] || String(table.number("n", i)) === state["release-n"]);

  const pair = state["release-pair"], over = pair === "newest", colors = ink();
  const release = (/** @type {number} */ i) => releaseOf(table.word(over ? "base" : "variant", i));
  const decided = (/** @type {number} */ i) => ["FASTER", "SLOWER"].includes(table.word("verdict", i));
  const hue = (/** @type {number} */ i) => {
    const share = every.indexOf(table.number("n", i)) / Math.max(1, every.length - 1);
    return d3.interpolateViridis(darkness.matches ? 0.4 + 0.6 * share : 0.85 * share);
  };
  const speedup = (/** @type {number} */ i) => interval(v("speedup")(i), v("ci_low")(i), v("ci_high")(i));
  const tell = (/** @type {number} */ i) => [`${table.word("variant", i)} over ${table.word("base", i)}`,
    `n: ${size(table.number("n", i))}`, `speedup: ${speedup(i)}`,
    `time: ${micro(v("time_s")(i) * 1e6)} us instead of ${micro(v("base_time_s")(i) * 1e6)} us`,
    `verdict: ${table.word("verdict", i)}`].join("\n");
  const inOrder = d3.sort(rows, (a, b) => byRelease(release(a), release(b)));
  const drawn = plotOf({
    width: Math.max(280, Math.min(1100, $("releases-view").clientWidth)),
    height: 440,
    marginLeft: 56,
    marginBottom: 46,
    marginTop: 26,
    x: {
      type: "point",
      domain: [...new Set(inOrder.map(release))],
      label: over ? "release that is the base" : "release",
      ...centred
    },
    y: {label: `speedup, ${own(PAIRS, pair) ?? pair}`, grid: true, labelArrow: "none", tickFormat: ".3~f"},
    marks: [
      Plot.ruleY([1], {stroke: colors.text}),
      Plot.line(inOrder, {x: release, y: v("speedup"), z: v("n"), stroke: hue, strokeWidth: 1}),
      Plot.ruleX(rows.filter(i => state["release-n"] || decided(i)),
        {x: release, y1: v("ci_low"), y2: v("ci_high"), stroke: hue, strokeOpacity: 0.5, strokeWidth: 2}),
      Plot.dot(rows, {x: release, y: v("speedup"), r: 3, stroke: hue, fill: i => (decided(i) ? hue(i) : colors.paper)}),
      Plot.tip(rows, Plot.pointer({x: release, y: v("speedup"), title: tell, fill: colors.paper, stroke: colors.edge}))
    ]
  });
  const lines = state["release-n"] ? "" :
    `A line for each n, from ${size(every[0])} to ${size(every.at(-1) ?? 0)}, the lighter the larger. `;
  const verdicts = d3.rollups(rows, k => k.length, i => table.word("verdict", i)).map(([word, k]) => `${k} ${word}`);
  $("releases-view").replaceChildren(
    make("h2", {}, `Releases of ${state["release-call"].startsWith("thrust/") ? "Thrust" : "CUB"}, ${
      machineOf(folder, "gpu.name") ?? folder.name}`),
    make("div", {class: "filters"}, ...filters),
    make("p", {class: "hint"},
      `${lines}Full, with its interval: FASTER or SLOWER. All intervals hold at once. ${verdicts.join(", ")}.`),
    drawn,
    make("details", {}, make("summary", {}, "The numbers"),
      scrolled(tableOf("Speedups between releases", ["base", "release", "n", "speedup", "verdict", "same machine code"],
        rows.map(i => [table.word("base", i), table.word("variant", i), size(table.number("n", i)), speedup(i),
                   table.word("verdict", i), table.word("same_code", i)])))));
}

// ---------------------------------------------------------------------------------------------------- claims

/** A row for each claim, and in it what each folder says. */
function showClaims() {
  const judged = folders.filter(f => f.verdicts), tables = judged.map(f => /** @type {Table} */ (f.verdicts));
  /** Of each claim its line in each folder. @type {Map<string, (number | undefined)[]>} */
  const claims = new Map();
  tables.forEach((table, k) => d3.range(table.length).filter(i => table.word("role", i) === "claim").forEach(i => {
    const id = table.word("claim", i);
    if (!claims.has(id)) claims.set(id, tables.map(() => undefined));
    /** @type {any[]} */ (claims.get(id))[k] = i;
  }));
  const all = [...claims.values()];
  const words = (/** @type {(number | undefined)[]} */ at, /** @type {string} */ name) =>
    at.map((i, k) => (i === undefined ? "" : tables[k].word(name, i)));
  const first = (/** @type {(number | undefined)[]} */ at, /** @type {string} */ name) =>
    words(at, name).find(word => word) ?? "";
  const shown = all.filter(at => (!state.document || first(at, "document") === state.document) &&
                             (!state.verdict || words(at, "verdict").includes(state.verdict)) &&
                             (!state.differ || new Set(words(at, "verdict")).size > 1));
  const call = (/** @type {string} */ text, before = "") => {
    const source = sourceOf(text.split(":")[0]);
    return text && make("div", {}, before, text, ...(source ? [" (", source, ")"] : []));
  };
  const ratioAt = (/** @type {Table} */ t, /** @type {number} */ i) => {
    const [ratio, low, high] = ["ratio", "ci_low", "ci_high"].map(name => t.number(name, i));
    return isFinite(ratio) ? interval(ratio, low, high) : "";
  };
  const sizeAt = (/** @type {Table} */ t, /** @type {number} */ i) => {
    const n = t.number("n", i);
    return n > 0 ? size(n) : "";
  };
  /** What one folder says of a claim: verdict, ratio, why, and its further tests. */
  const judgement = (/** @type {Table} */ t, /** @type {number} */ i) => {
    const more = [], verdict = t.word("verdict", i);
    for (let m = i + 1; m < t.length && t.word("role", m) !== "claim"; ++m) more.push(m);
    const kind = verdict.startsWith("holds") ? "holds" : verdict === "reversed" ? verdict : "other";
    return make("div", {}, make("strong", {class: kind}, verdict),
      make("div", {}, [ratioAt(t, i), sizeAt(t, i)].filter(Boolean).join(" at ")), t.word("reason", i),
      more.length ? make("details", {}, make("summary", {}, counted(more.length, "more test")),
                      tableOf(`Tests of ${t.word("claim", i)}`, ["role", "n", "ratio", "demanded", "verdict", "why"],
                        more.map(m => [t.word("role", m), sizeAt(t, m), ratioAt(t, m), t.word("threshold", m),
                                   t.word("verdict", m), t.word("reason", m)]))) :
                    null);
  };
  const rows = shown.map(at => [first(at, "claim"),
    make("div", {}, first(at, "statement"), call(first(at, "variant")), call(first(at, "base"), "over ")),
    first(at, "text_figure"), first(at, "threshold"),
    ...at.map((i, k) => (i === undefined ? "" : judgement(tables[k], i)))]);
  const choices = (/** @type {string[]} */ given) =>
    [["", "all"], ...[...new Set(given)].filter(Boolean).map(word => [word, word])];
  const counts = judged.map((folder, k) => {
    const verdicts = d3.rollups(all.map(at => words(at, "verdict")[k]).filter(Boolean), of => of.length, word => word);
    return make("p", {}, `${folder.name}: ${verdicts.map(([verdict, count]) => `${verdict} ${count}`).join(", ")}.`);
  });
  $("claims-view").replaceChildren(
    make("h2", {}, `The documents' claims, judged by ${judged.map(f => f.name).join(" and ")}`), ...counts,
    make("p", {}, `${counted(all.length, "claim")}. Shown: ${shown.length}.`),
    make("div", {class: "filters"},
      choose("document", "document", choices(all.map(at => first(at, "document")))),
      choose("verdict", "verdict", choices(all.flatMap(at => words(at, "verdict")))),
      judged.length > 1 ? choose("differ", "verdicts", [["", "all"], ["yes", "that differ between the folders"]]) : ""),
    scrolled(tableOf("Claims and verdicts",
      ["claim", "says", "the document's figure", "demanded", ...judged.map(f => f.name)], rows, "cards")));
}

// ---------------------------------------------------------------------------------------------------- conditions

/** Rows without a time, by experiment, status and reason, whatever numbers a reason holds. */
function refusals(/** @type {Table | undefined} */ table) {
  const without = d3.range(table?.length).filter(i => table?.word("status", i) !== "ok");
  return [...d3.group(without, i => ["experiment", "status", "reason"].map(name => table?.word(name, i)).join("|")
                                      .replace(/[\d.,]+/g, "#")).values()];
}

const UNITS = /** @type {[RegExp, number, string][]} */ ([
  [/_bytes_per_s$/, 1e12, "TB/s"],
  [/_hz$/, 1e6, "MHz"],
  [/memory_bytes$/, 2 ** 30, "GiB"],
  [/_bytes$/, 2 ** 20, "MiB"],
]);
/** What machine.json tells of the machine and the build: words by name. */
function machineFields(/** @type {Folder} */ folder) {
  const {gpu, cpu, os, build} = folder.machine, fields = /** @type {[string, any][]} */ ([["operating system", os]]);
  for (const [part, held] of Object.entries({gpu, cpu, build}))
    for (const [name, value] of Object.entries(held ?? {})) fields.push([`${part} ${name}`, value]);
  return fields.map(([name, value]) => {
    const unit = typeof value === "number" ? UNITS.find(([ending]) => ending.test(name)) : undefined;
    const said = unit ? `${plain(Number((value / unit[1]).toPrecision(4)))} ${unit[2]}` : String(value ?? "");
    return /** @type {[string, string]} */ ([name.replace(/_(bytes|hz|bytes_per_s)$/, "").replaceAll("_", " "), said]);
  });
}
const runsOf = (/** @type {Folder} */ folder) => /** @type {any[]} */ (folder.machine.runs);
/** What these runs recorded, each word once; of several with how many. */
function allOf(/** @type {any[]} */ runs, /** @type {(run: any) => any} */ what) {
  const counts = d3.rollups(runs.filter(run => what(run)), of => of.length, run => String(what(run)));
  return counts.map(([word, k]) => (counts.length > 1 ? `${word} (${counted(k, "run")})` : word)).join(", ");
}
const revisionOf = (/** @type {any} */ run) => String(run.git_revision ?? "").slice(0, 7);
const dayOf = (/** @type {any} */ run) => String(run.started_utc ?? "").slice(0, 10);

/** What is lacking and why times may mislead, a line each; `host`: also of those that the host's clock took. */
function warnings(/** @type {Folder} */ folder, host = true) {
  const lines = folder.missing.map(line => `Left out: ${line}`), build = folder.machine.build ?? {};
  const tell = (/** @type {(run: any) => any} */ so, /** @type {string} */ text) => {
    const which = new Set(runsOf(folder).filter(so).map(run => run.experiment));
    if (which.size) lines.push(`${text}: ${[...which].join(", ")}.`);
  };
  if (build.build_type && build.build_type !== "Release")
    lines.push(`The program was built as ${build.build_type}, not Release: its times are too long.`);
  if (build.git_dirty) lines.push("The program had uncommitted changes.");
  tell(run => run.memory_idle_at_start === false, "The GPU's memory was busy when these runs began");
  tell(run => run.times_memory_stayed_busy > 0, "The GPU's memory stayed busy during these runs");
  tell(run => [run.gpu_state_at_start, run.gpu_state_at_end].some(s => (s?.throttle_reasons ?? "none") !== "none"),
    "The GPU throttled at the start or end of these runs");
  tell(run => run.interrupted, "These runs were interrupted");
  tell(run => host && run.host_cpu?.on_busy_cpu > 0.1 * run.host_cpu?.samples,
    "No core was quiet during more than 10 % of the calls timed by the host");
  const {rows} = folder, count = (/** @type {(rows: Table, i: number) => boolean} */ so) =>
    (rows ? d3.range(rows.length).filter(i => so(rows, i)).length : 0);
  const rejected = count((rows, i) => rows.number("n_rejected", i) > 0);
  const simulated = count((rows, i) => rows.word("device", i) === "sim");
  if (rejected) lines.push(`At ${counted(rejected, "point")} samples were discarded because the GPU throttled.`);
  if (simulated) lines.push(`${counted(simulated, "row")} of the simulated device have no times.`);
  return lines;
}

/** What may mislead of what is shown, each once. */
function showBanners() {
  const host = state.view === "chart" && ["end_to_end", "launch_to_idle"].includes(state.choice.timing_mode);
  const all = folders.flatMap(folder =>
    warnings(folder, host && shownFolders().includes(folder)).map(line => ({line, name: folder.name})));
  const banners = d3.rollups(all, of => of.map(({name}) => name).join(", "), ({line}) => line);
  $("banners").replaceChildren(...banners.map(([line, names]) =>
    make("p", {class: "banner"}, folders.length > 1 ? `${names}: ${line}` : line)));
  $("banners").hidden = state.view === "conditions";  // which tells the same
}

/** The machine, and cards, revisions and rules as the runs recorded them: words by name. */
function recorded(/** @type {Folder} */ folder) {
  const runs = runsOf(folder);
  const rules = [...new Set(runs.flatMap(run => Object.keys(run.rules ?? {})))];
  return new Map(/** @type {[string, string][]} */ ([
    ...machineFields(folder),
    ["cards", allOf(runs, run => run.machine_id)],
    ["revisions", allOf(runs, revisionOf)],
    ["days", allOf(runs, dayOf)],
    ...rules.map(name => [name.replaceAll("_", " "), allOf(runs, run => String(run.rules?.[name] ?? ""))]),
  ]));
}

function showConditions() {
  const place = $("conditions-view"), told = folders.map(recorded);
  const names = [...new Set(told.flatMap(words => [...words.keys()]))];
  const rows =
    names.map(name => [name, ...told.map(words => words.get(name) ?? "")]).filter(([, ...words]) => words.join(""));
  const page = "docs/measuring.md", several = folders.length > 1;
  place.replaceChildren(make("h2", {}, "The machine, and how it was measured"),
    make("p", {class: "hint"}, several ? "What differs stands first. " : "",
      header.root === null ? page : make("a", {href: header.root + page}, page), " explains the rules."),
    scrolled(tableOf("As the runs recorded it", ["", ...folders.map(f => f.name)],
      several ? d3.sort(rows, ([, ...words]) => new Set(words).size === 1) : rows, "words")));
  for (const folder of folders) {
    place.append(make("h2", {}, folder.name));
    place.append(...warnings(folder).map(line => make("p", {class: "banner"}, line)));
    const {tools} = folder.machine, runs = [...runsOf(folder), ...(Array.isArray(tools) ? tools : [])];
    const known = (/** @type {any} */ value, /** @type {(value: number) => string} */ tell) =>
      (typeof value === "number" ? tell(value) : "");
    if (runs.length)
      place.append(make("details", {}, make("summary", {}, counted(runs.length, "run")),
        scrolled(tableOf(`Runs of ${folder.name}`,
          ["experiment", "started", "revision", "card", "launch floor", "temperature", "command"],
          runs.map(run => [String(run.experiment ?? run.tool ?? ""), String(run.started_utc ?? ""), revisionOf(run),
                     String(run.machine_id ?? ""), known(run.timing?.device?.launch_floor_s, s => microInterval(s)),
                     known(run.gpu_state_at_end?.temperature_c, celsius => `${celsius} °C`),
                     (Array.isArray(run.arguments) ? run.arguments : []).join(" ")])))));
    const refused = refusals(folder.rows).map(rows => {
      const all = (/** @type {string} */ name) => [...new Set(rows.map(i => folder.rows?.word(name, i) ?? ""))];
      const ids = all("variant"), sizes = d3.sort(new Set(rows.map(i => folder.rows?.number("n", i))));
      const many = make("details", {}, make("summary", {}, counted(ids.length, "variant")), ids.join(", "));
      return [...["experiment", "status", "reason"].map(name => all(name)[0]), grouped(rows.length),
        ids.length < 4 ? ids.join(", ") : many, all("element_type").join(", "),
        all("timing_mode").map(labelOf).join(", "),
        sizes.length > 2 ? `${size(sizes[0])} to ${size(sizes[sizes.length - 1])}` : sizes.map(size).join(", ")];
    });
    place.append(make("h3", {}, "Points without a time"),
      refused.length ?
        scrolled(tableOf(`Points without a time, ${folder.name}`,
          ["experiment", "status", "reason", "points", "variants", "types", "timed", "n"], refused)) :
        make("p", {}, "None."));
  }
}

// ---------------------------------------------------------------------------------------------------- views

const VIEWS = /** @type {Record<string, {show: () => void, has: (folder: Folder) => any}>} */ ({
  chart: {show: showChart, has: f => f.rows},
  releases: {show: showReleases, has: f => f.releases},
  claims: {show: showClaims, has: f => f.verdicts},
  conditions: {show: showConditions, has: () => true},
});

function show() {
  const offered = Object.keys(VIEWS).filter(name => folders.some(VIEWS[name].has));
  if (!offered.includes(state.view)) state.view = offered[0];
  $("views").replaceChildren(...offered.map(name => button(`view-${name}`, name[0].toUpperCase() + name.slice(1),
    () => after(() => state.view = name), {"aria-current": name === state.view ? "page" : null})));
  for (const name of Object.keys(VIEWS)) $(`${name}-view`).hidden = name !== state.view;
  VIEWS[state.view].show();
  showBanners();
  writeFragment();
}

if (!DecompressionStream)
  $("banners").append(make("p", {class: "banner"}, "This browser is too old: the page needs one of 2023 or newer."));
await load();
$("loading").remove();
$("title").textContent = `reductio: ${
    [...new Set(folders.map(f => machineOf(f, "gpu.name") ?? machineOf(f, "cpu.model") ?? f.name))].join(", ")}`;
readFragment();
$("search").addEventListener("input", showVariants);
$("controls").addEventListener("submit", event => event.preventDefault());
$("table").addEventListener("toggle", showTable);
for (const [name, keysOf] of /** @type {[string, () => string[]][]} */ ([["all", keys], ["none", () => []]]))
  $("all-none").append(button(`variants-${name}`, name, () => after(() => state.series = keysOf())));
$("take").append(button("save-csv", "Rows as CSV", saveCsv),
  button("save-svg", "Picture as SVG", () => chart && save(svgBlob(), "svg")),
  button("save-png", "as PNG", () => chart && savePng()));
const plot = $("plot");
plot.addEventListener("pointermove", event => chart && focus(nearest(event), false));
plot.addEventListener("pointerleave", () => chart && focus(null, false));
plot.addEventListener("click", event => {
  const p = chart && nearest(/** @type {any} */ (event));
  if (p) open(p);
});
plot.addEventListener("keydown", step);
window.addEventListener("hashchange", () => after(readFragment));
darkness.addEventListener("change", show);
let drawnAt = 0;
new ResizeObserver(() => {
  if (Math.abs(plot.clientWidth - drawnAt) > 4 && state.view === "chart") after(() => drawnAt = plot.clientWidth);
}).observe(plot);
show();
drawnAt = plot.clientWidth;
performance.mark("ready");
document.documentElement.dataset.ready = "yes";
