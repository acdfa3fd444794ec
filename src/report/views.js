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
  const place = $("releases-view"), folder = folders.find(f => f.releases), view = state.releases;
  if (!folder?.releases) {
    place.replaceChildren(make("p", {}, "No folder has releases.csv: reductio releases writes it."));
    return;
  }
  const table = folder.releases, had = /** @type {any} */ (document.activeElement)?.id;
  const fields = /** @type {Record<string, (i: number) => string>} */ ({
    pair: i => table.word("pair", i),
    call: i => callOf(table.word("variant", i)),
    type: i => table.word("element_type", i),
    mode: i => table.word("timing_mode", i),
    cache: i => table.word("cache_state", i)
  });
  const preferred = ["newest", "cub/sum", "f32", "graph", "warm"],
        labels = ["pair", "call", "element type", "timing mode", "cache state"];
  let rows = d3.range(table.length);
  const change = (/** @type {string} */ name) => (/** @type {string} */ word) => {
    view[name] = word;
    writeFragment();
    showReleases();
  };
  const filters = Object.entries(fields).map(([name, field], k) => {
    const words = [...new Set(rows.map(field))];
    if (!words.includes(view[name])) view[name] = words.find(w => w.startsWith(preferred[k])) ?? words[0];
    rows = rows.filter(i => field(i) === view[name]);
    return choose(`release-${name}`, labels[k], words.map(w => [w, own(PAIRS, w) ?? labelOf(w)]), view[name],
      change(name));
  });
  const every = d3.sort(new Set(rows.map(i => table.number("n", i))));
  if (!every.map(String).includes(view.n)) view.n = "";
  filters.push(choose("release-n", "n", [["", "all"], ...sizesToChoose(every)], view.n, change("n")));
  rows = rows.filter(i => !view.n || String(table.number("n", i)) === view.n);
  const decided = (/** @type {number} */ i) => ["FASTER", "SLOWER"].includes(table.word("verdict", i));
  const over = view.pair === "newest",
        release = (/** @type {number} */ i) => releaseOf(table.word(over ? "base" : "variant", i));
  const sizes = d3.sort(new Set(rows.map(i => table.number("n", i)))), last = Math.max(1, sizes.length - 1),
        dark = darkness.matches;
  const hue = (/** @type {number} */ i) =>
    (dark ? d3.interpolateViridis(0.4 + 0.6 * sizes.indexOf(table.number("n", i)) / last) :
            d3.interpolateViridis(0.85 * sizes.indexOf(table.number("n", i)) / last));
  const v = (/** @type {string} */ name) => (/** @type {number} */ i) => table.number(name, i),
        domain = [...new Set(rows.map(release))].sort(byRelease);
  const tell = (/** @type {number} */ i) => [`${table.word("variant", i)} over ${table.word("base", i)}`,
    `n: ${size(table.number("n", i))}`,
    `speedup: ${interval(table.number("speedup", i), table.number("ci_low", i), table.number("ci_high", i))}`,
    `time: ${micro(table.number("time_s", i) * 1e6)} us instead of ${micro(table.number("base_time_s", i) * 1e6)} us`,
    `verdict: ${table.word("verdict", i)}`].join("\n");
  const width = Math.max(280, Math.min(1100, place.clientWidth)), colors = ink();
  const drawn = plotOf({
    width,
    height: 440,
    marginLeft: 56,
    marginBottom: 46,
    marginTop: 26,
    x: {type: "point", domain, label: over ? "release that is the base" : "release", ...centred},
    y: {label: `speedup, ${own(PAIRS, view.pair) ?? view.pair}`, grid: true, labelArrow: "none", tickFormat: ".3~f"},
    marks: [
      Plot.ruleY([1], {stroke: colors.text}),
      Plot.line(d3.sort(rows, (a, b) => byRelease(release(a), release(b))),
        {x: release, y: v("speedup"), z: v("n"), stroke: hue, strokeWidth: 1}),
      Plot.ruleX(rows.filter(i => view.n || decided(i)),
        {x: release, y1: v("ci_low"), y2: v("ci_high"), stroke: hue, strokeOpacity: 0.5, strokeWidth: 2}),
      Plot.dot(rows, {x: release, y: v("speedup"), r: 3, stroke: hue, fill: i => (decided(i) ? hue(i) : colors.paper)}),
      Plot.tip(rows, Plot.pointer({x: release, y: v("speedup"), title: tell, fill: colors.paper, stroke: colors.edge}))
    ]
  });
  const verdicts = d3.rollup(rows, k => k.length, i => table.word("verdict", i));
  place.replaceChildren(make("h2", {},
                          `Releases of ${view.call.split("/")[0] === "thrust" ? "Thrust" : "CUB"}, ${
                            machineOf(folder, "gpu.name") ?? folder.name}`),
    make("div", {class: "filters"}, ...filters),
    make("p", {class: "hint"},
      `${
        view.n ?
          "" :
          `A line for each n, from ${size(sizes[0])} to ${
            size(
              sizes.at(-1) ??
              0)}, the lighter the larger. `}Full, with its interval: FASTER or SLOWER. All intervals hold at once. ${
          [...verdicts].map(([verdict, k]) => `${k} ${verdict}`).join(", ")}.`),
    drawn,
    make("details", {}, make("summary", {}, "The numbers"),
      scrolled(
        tableOf("Speedups between releases", ["base", "release", "n", "speedup", "verdict", "same machine code"],
          rows.map(i => [table.word("base", i), table.word("variant", i), size(table.number("n", i)),
                     interval(table.number("speedup", i), table.number("ci_low", i), table.number("ci_high", i)),
                     table.word("verdict", i), table.word("same_code", i)])))));
  if (had) document.getElementById(had)?.focus();
}

// ---------------------------------------------------------------------------------------------------- claims

function showClaims() {
  const place = $("claims-view"), view = state.claims, judged = folders.filter(f => f.verdicts);
  if (!judged.length) {
    place.replaceChildren(make("p", {}, "No folder has verdicts.csv: `reductio summarize` writes it."));
    return;
  }
  const had = /** @type {any} */ (document.activeElement)?.id, several = judged.length > 1;
  const tables = judged.map(f => /** @type {Table} */ (f.verdicts));
  const ids = [...new Set(
    tables.flatMap(t => d3.range(t.length).filter(i => t.word("role", i) === "claim").map(i => t.word("claim", i))))];
  /** Of each claim its line in each folder, -1 where it has none. */
  const claims =
    ids.map(id => tables.map(
              t => d3.range(t.length).find(i => t.word("claim", i) === id && t.word("role", i) === "claim") ?? -1));
  const verdictsOf = (/** @type {number[]} */ at) => at.map((i, k) => (i < 0 ? "" : tables[k].word("verdict", i)));
  const first = (/** @type {number[]} */ at, /** @type {string} */ name) => {
    const k = at.findIndex(i => i >= 0);
    return tables[k].word(name, at[k]);
  };
  const change = (/** @type {string} */ name) => (/** @type {string} */ word) => {
    view[name] = word;
    writeFragment();
    showClaims();
  };
  const shown =
    claims.filter(at => (!view.document || first(at, "document") === view.document) &&
                        (!view.verdict || verdictsOf(at).includes(view.verdict)) &&
                        (!view.differ || !several || new Set(verdictsOf(at)).size > 1) &&
                        view.search.toLowerCase().split(/\s+/).every(word => ["claim", "statement", "variant", "base"]
                                                                             .map(name => first(at, name))
                                                                             .join(" ")
                                                                             .toLowerCase()
                                                                             .includes(word)));
  const call = (/** @type {string} */ text) => {
    const variant = text.split(":")[0];
    return make("div", {}, text, sourceOf(variant) ? make("span", {}, " (", sourceOf(variant), ")") : "");
  };
  const ratioAt = (/** @type {Table} */ t, /** @type {number} */ i) => {
    const n = (/** @type {string} */ name) => t.number(name, i);
    return isFinite(n("ratio")) ? interval(n("ratio"), n("ci_low"), n("ci_high")) : "";
  };
  /** What one folder says of a claim: n, ratio, verdict, and why. */
  const judgement = (/** @type {number} */ k, /** @type {number} */ i) => {
    if (i < 0) return several ? [""] : ["", "", "", ""];
    const table = tables[k], w = (/** @type {string} */ name) => table.word(name, i), more = [];
    for (let m = i + 1; m < table.length && table.word("role", m) !== "claim"; ++m) more.push(m);
    const verdict = w("verdict");
    const at = (/** @type {number} */ m) => (isFinite(table.number("n", m)) ? size(table.number("n", m)) : "");
    const cells = [
      at(i), ratioAt(table, i),
      make("div", {},
        make("strong", {class: verdict.startsWith("holds") ? "holds" :
                               verdict === "reversed"      ? "reversed" :
                                                             "other"},
          verdict)),
      make("div", {}, w("reason"),
        more.length ? make("details", {}, make("summary", {}, counted(more.length, "more test")),
                        tableOf(`Tests of ${w("claim")}`, ["role", "n", "ratio", "demanded", "verdict", "why"],
                          more.map(m => [table.word("role", m), at(m), ratioAt(table, m), table.word("threshold", m),
                                     table.word("verdict", m), table.word("reason", m)]))) :
                      "")
    ];
    const [n, ratio, word, why] = cells, where = [ratio, n && `at ${n}`].filter(Boolean).join(" ");
    return several ? [make("div", {}, word, where ? make("div", {}, where) : "", why)] : cells;
  };
  const rows =
    shown.map(at => [first(at, "claim"),
                make("div", {}, first(at, "statement"), first(at, "variant") ? call(first(at, "variant")) : "",
                  first(at, "base") ? make("div", {}, "over ", call(first(at, "base"))) : ""),
                first(at, "text_figure"), first(at, "threshold"), ...at.flatMap((i, k) => judgement(k, i))]);
  const search = make(
    "input", {type: "search", id: "claims-search", value: view.search, oninput: e => change("search")(e.target.value)});
  const words = (/** @type {string[]} */ all) => /** @type {[string, string][]} */ (
    [["", "all"], ...[...new Set(all)].filter(Boolean).map(word => [word, word])]);
  const counts =
    judged.map((folder, k) => `${folder.name}: ${
                   [...d3.rollup(claims.map(at => verdictsOf(at)[k]).filter(Boolean), v => v.length, v => v)]
                     .map(([verdict, count]) => `${verdict} ${count}`)
                     .join(", ")}.`);
  place.replaceChildren(make("h2", {}, `The documents' claims, judged by ${judged.map(f => f.name).join(" and ")}`),
    ...counts.map(line => make("p", {}, line)),
    make("p", {}, `${counted(ids.length, "claim")}. Shown: ${shown.length}.`),
    make("div", {class: "filters"},
      choose("document", "document", words(claims.map(at => first(at, "document"))), view.document, change("document")),
      choose("verdict", "verdict", words(claims.flatMap(verdictsOf)), view.verdict, change("verdict")),
      several ?
        choose("differ", "verdicts", [["", "all"], ["yes", "that differ between the folders"]], view.differ,
          change("differ")) :
        "",
      make("label", {}, "search", search)),
    scrolled(
      tableOf("Claims and verdicts", ["claim", "says", "the document's figure", "demanded",
        ...(several ? judged.map(f => f.name) : ["n", "ratio", "verdict", "why"])], rows, true)));
  const again = had && document.getElementById(had);
  if (again) {
    again.focus();
    if (again === search) search.setSelectionRange(search.value.length, search.value.length);
  }
}

// ---------------------------------------------------------------------------------------------------- conditions

/** Rows without a time, by experiment, status and reason, whatever numbers a reason holds. */
function refusals(/** @type {Table?} */ table) {
  const without = d3.range(table?.length).filter(i => table?.word("status", i) !== "ok");
  return [...d3.group(without, i => ["experiment", "status", "reason"].map(name => table?.word(name, i)).join("|")
                                      .replace(/[\d.,]+/g, "#")).values()];
}

const MACHINE = /** @type {[string, string, ((v: any) => string)?][]} */ ([
  ["GPU", "gpu.name"],
  ["compute capability", "gpu.compute_capability"],
  ["SMs", "gpu.sm_count"],
  ["SM clock", "gpu.sm_clock_hz", v => `${v / 1e6} MHz`],
  ["L2", "gpu.l2_bytes", v => `${grouped(v / 2 ** 20)} MiB`],
  ["memory", "gpu.memory_bytes", v => `${grouped(v / 2 ** 30)} GiB`],
  ["theoretical peak", "gpu.theoretical_peak_bytes_per_s", v => `${grouped(v / 1e12, 2)} TB/s`],
  ["driver", "gpu.driver"],
  ["CUDA runtime", "gpu.runtime"],
  ["CCCL", "build.cccl"],
  ["CPU", "cpu.model"],
  ["cores", "cpu.cores"],
  ["operating system", "os"],
  ["C++ compiler", "build.cxx_compiler"],
  ["C++ flags", "build.cxx_flags"],
  ["CUDA compiler", "build.cuda_compiler"],
  ["CUDA flags", "build.cuda_flags"],
  ["built for", "build.cuda_architectures"],
  ["build type", "build.build_type"],
  ["uncommitted changes", "build.git_dirty", v => (v ? "yes" : "no")],
]);
function machineField(
  /** @type {Folder} */ folder, /** @type {string} */ path, /** @type {((v: any) => string)?} */ show) {
  const value = machineOf(folder, path);
  return value === undefined || value === null || value === "" ? "" : show ? show(value) : String(value);
}
const recordsOf = (/** @type {Folder} */ folder, /** @type {string} */ name) =>
  /** @type {any[]} */ (Array.isArray(folder.machine[name]) ? folder.machine[name] : []);
const runsOf = (/** @type {Folder} */ folder) => recordsOf(folder, "runs");

/** Why times may mislead, a line each. */
function warnings(/** @type {Folder} */ folder) {
  const lines = [], build = folder.machine.build ?? {}, runs = runsOf(folder);
  const runsWhere =
    (/** @type {(run: any) => any} */ so) => [...new Set(runs.filter(so).map(run => String(run.experiment)))].join(
      ", ");
  const tell = (/** @type {(run: any) => any} */ so, /** @type {string} */ text) => {
    const which = runsWhere(so);
    if (which) lines.push(`${text}: ${which}.`);
  };
  if (build.build_type && build.build_type !== "Release")
    lines.push(`The program was built as ${build.build_type}, not Release: its times are too long.`);
  if (build.git_dirty) lines.push("The program had uncommitted changes.");
  tell(run => run.memory_idle_at_start === false, "The GPU's memory was busy when these runs began");
  tell(run => run.times_memory_stayed_busy > 0, "The GPU's memory stayed busy during these runs");
  tell(run => [run.gpu_state_at_start, run.gpu_state_at_end].some(
         s => s?.throttle_reasons && s.throttle_reasons !== "none"),
    "The GPU throttled at the start or end of these runs");
  tell(run => run.interrupted, "These runs were interrupted");
  const rows = folder.rows;
  if (rows) {
    const count = (/** @type {(i: number) => boolean} */ so) => d3.range(rows.length).filter(so).length;
    const rejected = count(i => rows.number("n_rejected", i) > 0), sim = count(i => rows.word("device", i) === "sim");
    if (rejected) lines.push(`At ${counted(rejected, "point")} samples were discarded because the GPU throttled.`);
    if (sim) lines.push(`${counted(sim, "row")} of the simulated device have no times.`);
  }
  return lines;
}

/** What the host's clock timed without a quiet core: it says nothing about times of the device. */
function busyHost(/** @type {Folder} */ folder) {
  const busy = new Set(runsOf(
    folder).filter(run => run.host_cpu?.on_busy_cpu > 0.1 * run.host_cpu?.samples)
                       .map(run => String(run.experiment)));
  return busy.size ?
    [`No core was quiet during more than 10 % of the calls timed by the host: ${[...busy].join(", ")}.`] :
                   [];
}

/** What may mislead of what is shown, each once. */
function showBanners() {
  const host = state.view === "chart" && ["end_to_end", "launch_to_idle"].includes(state.choice.timing_mode);
  const lines = d3.group(folders.flatMap(folder => [...folder.missing.map(l => `Left out: ${l}`), ...warnings(folder),
                                           ...(host && shownFolders().includes(folder) ? busyHost(folder) : [])]
                                                     .map(line => ({folder, line}))),
    l => l.line);
  $("banners").replaceChildren(
    ...[...lines].map(([line, warned]) => make("p", {class: "banner"},
                        folders.length > 1 ? `${warned.map(l => l.folder.name).join(", ")}: ${line}` : line)));
  $("banners").hidden = state.view === "conditions";  // which tells the same
}

/** Rules, cards and revisions, as the runs recorded them. */
function howMeasured(/** @type {Folder} */ folder) {
  const runs = runsOf(folder), all = (/** @type {(run: any) => any} */ what) => {
    const counts = d3.rollup(runs.filter(run => what(run)), v => v.length, run => String(what(run)));
    return counts.size < 2 ? [...counts.keys()].join("") :
                         [...counts].map(([word, k]) => `${word} (${counted(k, "run")})`).join(", ");
  };
  const rules = [...new Set(runs.flatMap(run => Object.keys(run.rules ?? {})))];
  return definitions([
    ["cards", all(run => run.machine_id)], ["revisions", all(run => String(run.git_revision ?? "").slice(0, 7))],
    ["days", all(run => String(run.started_utc ?? "").slice(0, 10))],
    ...rules.map(
      name => [name.replaceAll("_", " "), all(run => (run.rules?.[name] === undefined ? "" : String(run.rules[name])))])
  ]);
}

function showConditions() {
  const place = $("conditions-view");
  place.replaceChildren();
  if (folders.length > 1) {
    const rows =
      MACHINE.map(([label, path, show]) => [label, ...folders.map(f => machineField(f, path, show ?? null))]).filter(([,
        ...fields]) => new Set(fields).size > 1);
    place.append(make("h2", {}, "What differs between the folders"),
      rows.length ? scrolled(tableOf("Machines", ["", ...folders.map(f => f.name)], rows)) :
                    make("p", {}, "Nothing that machine.json records."));
  }
  for (const folder of folders) {
    place.append(make("h2", {}, folder.name));
    for (const line of folder.missing) place.append(make("p", {class: "banner"}, `Left out: ${line}`));
    for (const line of [...warnings(folder), ...busyHost(folder)]) place.append(make("p", {class: "banner"}, line));
    place.append(Object.keys(folder.machine).length ?
        definitions(MACHINE.map(([label, path, show]) => [label, machineField(folder, path, show ?? null)])) :
        make("p", {}, "There is no machine.json."));
    const runs = runsOf(folder), recorded = [...runs, ...recordsOf(folder, "tools")];
    if (runs.length)
      place.append(make("h3", {}, "How measured"),
        make("p", {class: "hint"}, "As the runs recorded it; ",
          header.root === null ? "docs/measuring.md" :
                                 make("a", {href: `${header.root}docs/measuring.md`}, "docs/measuring.md"),
          " explains the rules."),
        howMeasured(folder));
    if (recorded.length)
      place.append(make("details", {}, make("summary", {}, counted(recorded.length, "run")),
        scrolled(
          tableOf(`Runs of ${folder.name}`,
            ["experiment", "started", "revision", "card", "launch floor", "temperature", "command"],
            recorded.map(
              run => [String(run.experiment ?? run.tool ?? ""), String(run.started_utc ?? ""),
                String(run.git_revision ?? "").slice(0, 7), String(run.machine_id ?? ""),
                isFinite(run.timing?.device?.launch_floor_s ?? NaN) ?
                  microInterval(run.timing.device.launch_floor_s) :
                  "",
                isFinite(run.gpu_state_at_end?.temperature_c ?? NaN) ? `${run.gpu_state_at_end.temperature_c} °C` : "",
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

const VIEWS = /** @type {Record<string, {label: string, show: () => void, has: () => any}>} */ ({
  chart: {label: "Chart", show: showChart, has: () => folders.some(f => f.rows)},
  releases: {label: "Releases", show: showReleases, has: () => folders.some(f => f.releases)},
  claims: {label: "Claims", show: showClaims, has: () => folders.some(f => f.verdicts)},
  conditions: {label: "Conditions", show: showConditions, has: () => true},
});

function show() {
  const offered = Object.keys(VIEWS).filter(name => VIEWS[name].has());
  if (!offered.includes(state.view)) state.view = offered[0];
  $("views").replaceChildren(...offered.map(name => button(`view-${name}`, VIEWS[name].label, () => {
    state.view = name;
    show();
    $(`view-${name}`).focus();
  }, {"aria-current": name === state.view ? "page" : null})));
  for (const name of Object.keys(VIEWS)) $(`${name}-view`).hidden = name !== state.view;
  VIEWS[state.view].show();
  showBanners();
  writeFragment();
}

if (!DecompressionStream)
  $("banners").append(make("p", {class: "banner"}, "This browser is too old: the page needs one of 2023 or newer."));
await load();
$("loading").remove();
document.title = `${folders.map(f => f.name).join(", ")}: reductio`;
$("title").textContent = `reductio: ${
    [...new Set(folders.map(f => machineOf(f, "gpu.name") ?? machineOf(f, "cpu.model") ?? f.name))].join(", ")}`;
readFragment();
$("search").addEventListener("input", showVariants);
$("controls").addEventListener("submit", event => event.preventDefault());
$("table").addEventListener("toggle", showTable);
$("ranked").addEventListener("toggle", showRanked);
for (const [name, keysOf] of /** @type {[string, () => string[]][]} */ ([["all", keys], ["none", () => []]]))
  $("all-none").append(button(`variants-${name}`, name, () => {
    state.series = keysOf();
    showChart();
  }));
$("take").append(
  button("save-csv", "Rows as CSV", () => save(new Blob([csvText()], {type: "text/csv"}), `${fileName()}.csv`)),
  button("save-svg", "Picture as SVG",
    () => chart && save(new Blob([svgText()], {type: "image/svg+xml"}), `${fileName()}.svg`)),
  button("save-png", "as PNG", () => chart && savePng()));
const plot = $("plot");
plot.addEventListener("pointermove", event => chart && focus(nearest(event), false));
plot.addEventListener("pointerleave", () => chart && focus(null, false));
plot.addEventListener("click", event => {
  const p = chart && nearest(/** @type {any} */ (event));
  if (p) open(p);
});
plot.addEventListener("keydown", step);
window.addEventListener("hashchange", () => {
  readFragment();
  show();
});
darkness.addEventListener("change", show);
let drawnAt = 0;
new ResizeObserver(() => {
  if (state.view === "chart" && Math.abs(plot.clientWidth - drawnAt) > 4) {
    drawnAt = plot.clientWidth;
    showChart();
  }
}).observe(plot);
show();
drawnAt = plot.clientWidth;
performance.mark("ready");
document.documentElement.dataset.ready = "yes";
