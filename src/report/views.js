// The other views, and what starts the page.

/** Speedups between releases of a library, a line for each n. */
function showReleases() {
  const folder = /** @type {Folder} */ (folders.find(f => f.releases));
  const names = ["pair", "call", "element_type", "timing_mode", "cache_state"].map(name => `release-${name}`);
  const wordOf = (/** @type {Row} */ row, /** @type {string} */ name) =>  // a call is a variant without its release
    (name === "release-call" ? row.word("variant").replace(/@[^/]*/, "") : row.word(name.replace("release-", "")));
  const offered = /** @type {Map<string, string[]>} */ (new Map());
  const rows = narrowed(folder.releases ?? [], names, wordOf, state, state, offered);
  const sizes = /** @type {number[]} */ (d3.sort(new Set(rows.map(row => row.number("n")))));
  const filters = names.map(name => choose(name, nameOfColumn(name.replace("release-", "")),
    offered.get(name)?.map(w => [w, labelOf(w)]) ?? []));

  const pair = state["release-pair"], over = pair === "newest", colors = ink();
  const v = (/** @type {string} */ name) => (/** @type {Row} */ row) => row.number(name);
  const release = (/** @type {Row} */ row) => /@([^/]*)/.exec(row.word(over ? "base" : "variant"))?.[1] ?? "";
  const decided = (/** @type {Row} */ row) => ["FASTER", "SLOWER"].includes(row.word("verdict"));
  const hue = (/** @type {Row} */ row) => {
    const share = sizes.indexOf(row.number("n")) / Math.max(1, sizes.length - 1);
    return d3.interpolateViridis(darkness.matches ? 0.4 + 0.6 * share : 0.85 * share);
  };
  const ratio = (/** @type {Row} */ row) => interval(v("speedup")(row), v("ci_low")(row), v("ci_high")(row));
  const tell = (/** @type {Row} */ row) => [`${row.word("variant")} over ${row.word("base")}`,
    `n: ${size(row.number("n"))}`, `speedup: ${ratio(row)}`,
    `time: ${micro(row.number("time_s"))} instead of ${micro(row.number("base_time_s"))}`,
    `verdict: ${row.word("verdict")}`];
  const inOrder = d3.sort(rows, (a, b) => release(a).localeCompare(release(b), "en", {numeric: true}));
  const drawn = plotOf({
    width: Math.max(280, Math.min(1100, $("releases-view").clientWidth)), height: 440,
    marginTop: 26, marginBottom: 46, marginLeft: 56,
    x: {
      type: "point", domain: [...new Set(inOrder.map(release))], labelAnchor: "center", labelArrow: "none",
      label: over ? "release that is the base" : "release"
    },
    y: {label: `speedup, ${labelOf(pair)}`, grid: true, labelArrow: "none", tickFormat: ".3~f"},
    marks: [
      Plot.ruleY([1], {stroke: colors.text}),
      Plot.line(inOrder, {x: release, y: v("speedup"), z: v("n"), stroke: hue, strokeWidth: 1}),
      Plot.ruleX(rows.filter(decided),
        {x: release, y1: v("ci_low"), y2: v("ci_high"), stroke: hue, strokeOpacity: 0.5, strokeWidth: 2}),
      Plot.dot(rows,
        {x: release, y: v("speedup"), r: 3, stroke: hue, fill: row => (decided(row) ? hue(row) : colors.paper)}),
      tipOf(rows, release, v("speedup"), tell)
    ]
  });
  const verdicts = d3.rollups(rows, of => of.length, row => row.word("verdict")).map(([word, k]) => `${k} ${word}`);
  $("releases-view").replaceChildren(
    make("h2", {}, `Releases of ${state["release-call"].startsWith("thrust/") ? "Thrust" : "CUB"}, ${
      machineOf(folder, "gpu.name") ?? folder.name}`),
    make("div", {class: "filters"}, ...filters),
    make("p", {class: "hint"}, `A line for each n, from ${size(sizes[0])} to ${size(sizes.at(-1) ?? 0)}, the lighter the
      larger. Full, with its interval: FASTER or SLOWER. All intervals hold at once. ${verdicts.join(", ")}.`),
    drawn,
    make("details", {}, make("summary", {}, "The numbers"),
      tableOf("Speedups between releases", ["base", "release", "n", "speedup", "verdict", "same machine code"],
        rows.map(row => [row.word("base"), row.word("variant"), size(row.number("n")), ratio(row), row.word("verdict"),
                   row.word("same_code")]))));
}

// ---------------------------------------------------------------------------------------------------- claims

/** What one folder says of a claim: verdict, ratio, why, and its further tests. */
function judgement(/** @type {Row} */ own, /** @type {Row[]} */ tests) {
  const ratio = (/** @type {Row} */ row) => (isFinite(row.number("ratio")) ?
    interval(row.number("ratio"), row.number("ci_low"), row.number("ci_high")) : "");
  const n = (/** @type {Row} */ row) => (row.number("n") > 0 ? size(row.number("n")) : "");
  const verdict = own.word("verdict"), kind = ["holds", "reversed"].find(word => verdict.startsWith(word));
  const more = make("details", {}, make("summary", {}, counted(tests.length, "more test")),
    tableOf(`Tests of ${own.word("claim")}`, ["role", "n", "ratio", "demanded", "verdict", "why"],
      tests.map(row => [row.word("role"), n(row), ratio(row), row.word("threshold"), row.word("verdict"),
                  row.word("reason")])));
  return make("div", {}, make("strong", {class: kind ?? "other"}, verdict),
    make("div", {}, [ratio(own), n(own)].filter(Boolean).join(" at ")), own.word("reason"), tests.length ? more : null);
}

/** A row for each claim, and in it what each folder says. */
function showClaims() {
  const judged = folders.filter(f => f.verdicts), rows = judged.flatMap(f => f.verdicts ?? []);
  // Of each claim its rows in each folder: first what is said of it, then its further tests.
  const claims = d3.groups(rows, row => row.word("claim"))
                   .map(([, own]) => judged.map(f => /** @type {Row[]} */ (own).filter(row => row.folder === f)));
  const verdicts = (/** @type {Row[][]} */ claim) => claim.map(([own]) => own?.word("verdict") ?? "");
  const shown = claims.filter(claim => !state.verdict || verdicts(claim).includes(state.verdict) ||
                                (state.verdict === "differ" && new Set(verdicts(claim)).size > 1));
  const call = (/** @type {string} */ text, before = "") => {
    const source = sourceOf(text.split(":")[0]);
    return text && make("div", {}, before, text, ...(source ? [" (", source, ")"] : []));
  };
  const cells = (/** @type {Row[][]} */ claim) => {
    const word = (/** @type {string} */ name) => claim.flat()[0].word(name);
    return [word("claim"), make("div", {}, word("statement"), call(word("variant")), call(word("base"), "over ")),
      word("text_figure"), word("threshold"),
      ...claim.map(([own, ...tests]) => (own ? judgement(own, tests) : ""))];
  };
  const counts = judged.map((folder, k) => {
    const counted = d3.rollups(claims.map(claim => verdicts(claim)[k]).filter(Boolean), of => of.length, word => word);
    return make("p", {}, `${folder.name}: ${counted.map(([verdict, count]) => `${verdict} ${count}`).join(", ")}.`);
  });
  const words = [...new Set(claims.flatMap(verdicts))].filter(Boolean).map(word => [word, word]);
  if (judged.length > 1) words.push(["differ", "that differ between the folders"]);
  $("claims-view").replaceChildren(
    make("h2", {}, `The documents' claims, judged by ${judged.map(f => f.name).join(" and ")}`), ...counts,
    make("p", {}, `${counted(claims.length, "claim")}. Shown: ${shown.length}.`),
    make("div", {class: "filters"}, choose("verdict", "verdicts", [["", "all"], ...words])),
    tableOf("Claims and verdicts", ["claim", "says", "the document's figure", "demanded", ...judged.map(f => f.name)],
      shown.map(cells), "cards"));
}

// ---------------------------------------------------------------------------------------------------- conditions

const UNITS = /** @type {[RegExp, number, string][]} */ ([
  [/_bytes_per_s$/, 1e12, "TB/s"],
  [/_hz$/, 1e6, "MHz"],
  [/memory_bytes$/, 2 ** 30, "GiB"],
  [/_bytes$/, 2 ** 20, "MiB"],
]);
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
  const count = (/** @type {(row: Row) => boolean} */ so) => (folder.rows ?? []).filter(so).length;
  const rejected = count(row => row.number("n_rejected") > 0), simulated = count(row => row.word("device") === "sim");
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
  const runs = runsOf(folder), {gpu, cpu, os, build} = folder.machine;
  const parts = Object.entries({gpu, cpu, build}).flatMap(
    ([part, held]) => Object.entries(held ?? {}).map(([name, value]) => [`${part} ${name}`, value]));
  const machine = [["operating system", os], ...parts].map(([name, value]) => {
    const [, factor, unit] = UNITS.find(([ending]) => ending.test(name)) ?? [/./, 1, ""];
    return [name.replace(/_(bytes|hz|bytes_per_s)$/, "").replaceAll("_", " "),
      unit && typeof value === "number" ? `${plain(Number((value / factor).toPrecision(4)))} ${unit}` : value];
  });
  const rules = [...new Set(runs.flatMap(run => Object.keys(run.rules ?? {})))];
  return new Map([
    ...machine,
    ["cards", allOf(runs, run => run.machine_id)],
    ["revisions", allOf(runs, revisionOf)],
    ["days", allOf(runs, dayOf)],
    ...rules.map(name => [name.replaceAll("_", " "), allOf(runs, run => String(run.rules?.[name] ?? ""))]),
  ].map(([name, said]) => [name, String(said ?? "")]));
}

/** The rows without a time, by experiment, status and reason, whatever numbers a reason holds. */
function refusals(/** @type {Folder} */ folder) {
  const without = (folder.rows ?? []).filter(row => row.word("status") !== "ok");
  const alike = d3.groups(without, row => ["experiment", "status", "reason"].map(name => row.word(name)).join("|")
                                             .replace(/[\d.,]+/g, "#"));
  return alike.map(([, rows]) => {
    const all = (/** @type {string} */ name) => [...new Set(rows.map(row => row.word(name)))];
    const ids = all("variant"), [least, most] = d3.extent(rows, row => row.number("n"));
    const many = make("details", {}, make("summary", {}, counted(ids.length, "variant")), ids.join(", "));
    return [...["experiment", "status", "reason"].map(name => all(name)[0]), grouped(rows.length),
      ids.length < 4 ? ids.join(", ") : many, all("element_type").join(", "),
      all("timing_mode").map(labelOf).join(", "), least === most ? size(least) : `${size(least)} to ${size(most)}`];
  });
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
    tableOf("As the runs recorded it", ["", ...folders.map(f => f.name)],
      several ? d3.sort(rows, ([, ...words]) => new Set(words).size === 1) : rows, "words"));
  for (const folder of folders) {
    const {tools} = folder.machine, runs = [...runsOf(folder), ...(Array.isArray(tools) ? tools : [])];
    const refused = refusals(folder);
    place.append(make("h2", {}, folder.name), ...warnings(folder).map(line => make("p", {class: "banner"}, line)),
      ...!runs.length ? [] : [make("details", {}, make("summary", {}, counted(runs.length, "run")),
        tableOf(`Runs of ${folder.name}`,
          ["experiment", "started", "revision", "card", "launch floor", "temperature", "command"],
          runs.map(run => {
            const floor = run.timing?.device?.launch_floor_s, celsius = run.gpu_state_at_end?.temperature_c;
            return [run.experiment ?? run.tool, run.started_utc, revisionOf(run), run.machine_id,
              floor >= 0 ? micro(floor) : "", celsius && `${celsius} °C`,
              [run.arguments ?? []].flat().join(" ")].map(word => String(word ?? ""));
          })))],
      make("h3", {}, "Points without a time"),
      refused.length ?
        tableOf(`Points without a time, ${folder.name}`,
          ["experiment", "status", "reason", "points", "variants", "types", "timed", "n"], refused) :
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
  button("save-svg", "Picture as SVG", () => points.length && save(svgBlob(), "svg")),
  button("save-png", "as PNG", () => points.length && savePng()));
// Plot would hold a tip until the next press, and open nothing else by that one.
$("plot").addEventListener("pointerdown", event => event.stopPropagation(), true);
window.addEventListener("hashchange", () => after(readFragment));
darkness.addEventListener("change", show);
let drawnFor = innerWidth;  // a phone's keyboard changes the height alone
window.addEventListener("resize", () => {
  if (innerWidth !== drawnFor && ["chart", "releases"].includes(state.view)) after(() => {});
  drawnFor = innerWidth;
});
show();
performance.mark("ready");
document.documentElement.dataset.ready = "yes";
