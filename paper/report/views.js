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
  const place = $("releases-view"), folder = folders.find(f => f.releases), of = state.releases;
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
  const filters = Object.entries(fields).map(([name, field], k) => {
    const words = [...new Set(rows.map(field))];
    if (!words.includes(of[name])) of[name] = words.find(w => w.startsWith(preferred[k])) ?? words[0];
    rows = rows.filter(i => field(i) === of[name]);
    return choose(`release-${name}`, labels[k], words.map(w => [w, own(PAIRS, w) ?? labelOf(w)]), of[name], word => {
      of[name] = word;
      writeFragment();
      showReleases();
    });
  });
  const every = d3.sort(new Set(rows.map(i => table.number("n", i))));
  if (!every.map(String).includes(of.n)) of.n = "";
  filters.push(choose("release-n", "n",
    [["", "all"], ...every.map(n => /** @type {[string, string]} */ ([String(n), size(n)]))], of.n, word => {
      of.n = word;
      writeFragment();
      showReleases();
    }));
  rows = rows.filter(i => !of.n || String(table.number("n", i)) === of.n);
  const decided = (/** @type {number} */ i) => ["FASTER", "SLOWER"].includes(table.word("verdict", i));
  const over = of.pair === "newest",
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
    y: {label: `speedup, ${own(PAIRS, of.pair) ?? of.pair}`, grid: true, labelArrow: "none", tickFormat: ".3~f"},
    marks: [
      Plot.ruleY([1], {stroke: colors.text}),
      Plot.line(d3.sort(rows, (a, b) => byRelease(release(a), release(b))),
        {x: release, y: v("speedup"), z: v("n"), stroke: hue, strokeWidth: 1}),
      Plot.ruleX(rows.filter(i => of.n || decided(i)),
        {x: release, y1: v("ci_low"), y2: v("ci_high"), stroke: hue, strokeOpacity: 0.5, strokeWidth: 2}),
      Plot.dot(rows, {x: release, y: v("speedup"), r: 3, stroke: hue, fill: i => (decided(i) ? hue(i) : colors.paper)}),
      Plot.tip(rows, Plot.pointer({x: release, y: v("speedup"), title: tell, fill: colors.paper, stroke: colors.edge}))
    ]
  });
  const told = d3.rollup(rows, k => k.length, i => table.word("verdict", i));
  place.replaceChildren(make("h2", {},
                          `Releases of ${of.call.split("/")[0] === "thrust" ? "Thrust" : "CUB"}, ${
                            machineOf(folder, "gpu.name") ?? folder.name}`),
    make("div", {class: "filters"}, ...filters),
    make("p", {class: "hint"},
      `${
        of.n ?
          "" :
          `A line for each n, from ${size(sizes[0])} to ${
            size(sizes.at(-1) ??
              0)}, the lighter the larger. `}Full, with its interval: FASTER or SLOWER. All intervals hold at once. ${
          [...told].map(([verdict, k]) => `${k} ${verdict}`).join(", ")}.`),
    drawn,
    make("details", {}, make("summary", {}, "The numbers"),
      make("div", {class: "scroll"},
        tableOf(["base", "release", "n", "speedup", "verdict", "same machine code"],
          rows.map(i => [table.word("base", i), table.word("variant", i), size(table.number("n", i)),
                     interval(table.number("speedup", i), table.number("ci_low", i), table.number("ci_high", i)),
                     table.word("verdict", i), table.word("same_code", i)])))));
  if (had) document.getElementById(had)?.focus();
}

// ---------------------------------------------------------------------------------------------------- claims

function showClaims() {
  const place = $("claims-view"), of = state.claims, folder = folders.find(f => f.verdicts);
  if (!folder?.verdicts) {
    place.replaceChildren(make("p", {}, "No folder has verdicts.csv: paper/verdicts.py writes it."));
    return;
  }
  const table = folder.verdicts, had = /** @type {any} */ (document.activeElement)?.id;
  const w = (/** @type {string} */ name, /** @type {number} */ i) => table.word(name, i),
        n = (/** @type {string} */ name, /** @type {number} */ i) => table.number(name, i);
  const words =
    (/** @type {string} */ name) => [...new Set(d3.range(table.length).map(i => w(name, i)))].filter(Boolean);
  const change = (/** @type {string} */ name) => (/** @type {string} */ word) => {
    of[name] = word;
    writeFragment();
    showClaims();
  };
  const own = d3.range(table.length).filter(i => w("role", i) === "claim");
  const shown = own.filter(i => (!of.document || w("document", i) === of.document) &&
      (!of.verdict || w("verdict", i) === of.verdict) &&
      of.search.toLowerCase().split(/\s+/).every(
        word =>
          `${w("claim", i)} ${w("statement", i)} ${w("variant", i)} ${w("base", i)}`.toLowerCase().includes(word)));
  const call = (/** @type {string} */ text) => {
    const variant = text.split(":")[0];
    return make("div", {}, text, sourceOf(variant) ? make("span", {}, " (", sourceOf(variant), ")") : "");
  };
  const ratioAt = (/** @type {number} */ i) =>
    (isFinite(n("ratio", i)) ? interval(n("ratio", i), n("ci_low", i), n("ci_high", i)) : "");
  const rows = shown.map(i => {
    const more = [];
    for (let k = i + 1; k < table.length && w("role", k) !== "claim"; ++k) more.push(k);
    const verdict = w("verdict", i), first = w("verdicts_before", i).split("; ")[0];
    return [
      w("claim", i),
      make("div", {}, w("statement", i),
        more.length ? make("details", {}, make("summary", {}, counted(more.length, "more test")),
                        tableOf(["role", "n", "ratio", "demanded", "verdict", "why"],
                          more.map(k => [w("role", k), isFinite(n("n", k)) ? size(n("n", k)) : "", ratioAt(k),
                                     w("threshold", k), w("verdict", k), w("reason", k)]))) :
                      ""),
      w("text_figure", i), isFinite(n("n", i)) ? size(n("n", i)) : "", ratioAt(i), w("threshold", i),
      make("div", {},
        make("strong", {class: verdict.startsWith("holds") ? "holds" :
            verdict === "reversed"                         ? "reversed" :
                                                             "other"},
          verdict),
        first && first !== verdict ? ` (as first set: ${first})` : ""),
      make("div", {}, w("reason", i), w("variant", i) ? call(w("variant", i)) : "",
        w("base", i) ? make("div", {}, "over ", call(w("base", i))) : "")
    ];
  });
  const search = make(
    "input", {type: "search", id: "claims-search", value: of.search, oninput: e => change("search")(e.target.value)});
  const counts = d3.rollup(own, v => v.length, i => w("verdict", i));
  place.replaceChildren(make("h2", {}, `The documents' claims, judged by ${folder.name}`),
    make("p", {},
      `${grouped(own.length)} claims: ${[...counts].map(([verdict, k]) => `${verdict} ${k}`).join(", ")}. Shown: ${
        shown.length}.`),
    make("div", {class: "filters"},
      choose("document", "document",
        [["", "all"], ...words("document").map(d => /** @type {[string, string]} */ ([d, d]))], of.document,
        change("document")),
      choose("verdict", "verdict",
        [["", "all"], ...words("verdict").map(d => /** @type {[string, string]} */ ([d, d]))], of.verdict,
        change("verdict")),
      make("label", {}, "search", search)),
    make("div", {class: "scroll"},
      tableOf(
        ["", "claim", "the document's figure", "n", "ratio", "demanded", "verdict", "why, and which calls"], rows)));
  const again = had && document.getElementById(had);
  if (again) {
    again.focus();
    if (again === search) search.setSelectionRange(search.value.length, search.value.length);
  }
}

// ---------------------------------------------------------------------------------------------------- conditions

/** Points without a time, those of one experiment and reason in one line. */
function refusals(/** @type {Folder[]} */ of) {
  const found = new Map();
  for (const folder of of ) {
    const table = folder.rows;
    if (table)
      for (let i = 0; i < table.length; ++i) {
        if (table.word("status", i) === "ok") continue;
        const w = (/** @type {string} */ name) => table.word(name, i), reason = w("reason");
        const id = [w("experiment"), w("status"), reason.replace(/[\d.,]+/g, "#")].join("|");
        if (!found.has(id))
          found.set(id, {
            experiment: w("experiment"),
            status: w("status"),
            reason,
            points: 0,
            variants: new Set(),
            types: new Set(),
            modes: new Set(),
            sizes: new Set()
          });
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
  ["revision", "build.git_revision"],
  ["uncommitted changes", "build.git_dirty", v => (v ? "yes" : "no")],
]);
function machineField(
  /** @type {Folder} */ folder, /** @type {string} */ path, /** @type {((v: any) => string)?} */ show) {
  const value = machineOf(folder, path);
  return value === undefined || value === null || value === "" ? "" : show ? show(value) : String(value);
}
const runsOf = (/** @type {Folder} */ folder) =>
  /** @type {any[]} */ (Array.isArray(folder.machine.runs) ? folder.machine.runs : []);

/** Why times may mislead, a line each. */
function warnings(/** @type {Folder} */ folder) {
  const found = [], build = folder.machine.build ?? {}, runs = runsOf(folder);
  const of =
    (/** @type {(run: any) => any} */ so) => [...new Set(runs.filter(so).map(run => String(run.experiment)))].join(
      ", ");
  const tell = (/** @type {(run: any) => any} */ so, /** @type {string} */ text) => {
    const which = of(so);
    if (which) found.push(`${text}: ${which}.`);
  };
  if (build.build_type && build.build_type !== "Release")
    found.push(`The program was built as ${build.build_type}, not Release: its times are too long.`);
  if (build.git_dirty) found.push("The program had uncommitted changes.");
  tell(run => run.memory_idle_at_start === false, "The GPU's memory was busy when these runs began");
  tell(run => run.times_memory_stayed_busy > 0, "The GPU's memory stayed busy during these runs");
  tell(run => [run.gpu_state_at_start, run.gpu_state_at_end].some(
         s => s?.throttle_reasons && s.throttle_reasons !== "none"),
    "The GPU throttled at the start or end of these runs");
  tell(run => run.interrupted, "These runs were interrupted");
  tell(run => run.host_cpu?.on_busy_cpu > 0.1 * run.host_cpu?.samples,
    "No core was quiet during more than 10 % of the calls timed by the host");
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
    const rows =
      MACHINE.map(([label, path, show]) => [label, ...folders.map(f => machineField(f, path, show ?? null))]).filter(([,
        ...of]) => new Set(of).size > 1);
    place.append(make("h2", {}, "What differs between the folders"),
      rows.length ? make("div", {class: "scroll"}, tableOf(["", ...folders.map(f => f.name)], rows)) :
                    make("p", {}, "Nothing that machine.json records."));
  }
  for (const folder of folders) {
    place.append(make("h2", {}, folder.name));
    for (const line of folder.missing) place.append(make("p", {class: "banner"}, `Left out: ${line}`));
    for (const line of warnings(folder)) place.append(make("p", {class: "banner"}, line));
    place.append(Object.keys(folder.machine).length ?
        definitions(MACHINE.map(([label, path, show]) => [label, machineField(folder, path, show ?? null)])) :
        make("p", {}, "There is no machine.json."));
    const runs = runsOf(folder);
    if (runs.length)
      place.append(make("details", {}, make("summary", {}, counted(runs.length, "run")),
        make("div", {class: "scroll"},
          tableOf(["experiment", "started", "revision", "card", "launch floor", "temperature", "command"],
            runs.map(
              run => [String(run.experiment ?? ""), String(run.started_utc ?? ""),
                String(run.git_revision ?? "").slice(0, 7), String(run.machine_id ?? ""),
                isFinite(run.timing?.device?.launch_floor_s ?? NaN) ?
                  microInterval(run.timing.device.launch_floor_s, NaN, NaN) :
                  "",
                isFinite(run.gpu_state_at_end?.temperature_c ?? NaN) ? `${run.gpu_state_at_end.temperature_c} °C` : "",
                (Array.isArray(run.arguments) ? run.arguments : []).join(" ")])))));
    const refused = refusals([folder]), all = (/** @type {Set<string>} */ of) => [...of].join(", ");
    const many = (/** @type {Set<string>} */ of) =>
      (of.size < 4 ? all(of) : make("details", {}, make("summary", {}, counted(of.size, "variant")), all(of)));
    place.append(make("h3", {}, "Points without a time"),
      refused.length ?
        make("div", {class: "scroll"},
          tableOf(["experiment", "status", "reason", "points", "variants", "types", "timed", "n"],
            refused.map(
              r => [r.experiment, r.status, r.reason, grouped(r.points), many(r.variants), all(r.types), all(r.modes),
                r.sizes.size > 2 ? `${size(d3.min(r.sizes))} to ${size(d3.max(r.sizes))}` :
                                   [...r.sizes].map(size).join(", ")]))) :
        make("p", {}, "None."));
  }
}

// ---------------------------------------------------------------------------------------------------- views

const VIEWS = /** @type {Record<string, {label: string, show: () => void, there: () => any}>} */ ({
  chart: {label: "Chart", show: showChart, there: () => folders.some(f => f.rows)},
  releases: {label: "Releases", show: showReleases, there: () => folders.some(f => f.releases)},
  claims: {label: "Claims", show: showClaims, there: () => folders.some(f => f.verdicts)},
  conditions: {label: "Conditions", show: showConditions, there: () => true},
});

function show() {
  const there = Object.keys(VIEWS).filter(name => VIEWS[name].there());
  if (!there.includes(state.view)) state.view = there[0];
  $("views").replaceChildren(...there.map(name => make("button", {
    type: "button",
    id: `view-${name}`,
    "aria-current": name === state.view ? "page" : null,
    onclick: () => {
      state.view = name;
      show();
      $(`view-${name}`).focus();
    }
  },
                                            VIEWS[name].label)));
  for (const name of Object.keys(VIEWS)) $(`${name}-view`).hidden = name !== state.view;
  $("banners").hidden = state.view === "conditions";  // which tells the same
  VIEWS[state.view].show();
  writeFragment();
}

if (!DecompressionStream)
  $("banners").append(make("p", {class: "banner"}, "This browser is too old: the page needs one of 2023 or newer."));
await load();
$("loading").remove();
document.title = `${folders.map(f => f.name).join(", ")}: reductio`;
$("title").textContent = `reductio: ${
    [...new Set(folders.map(f => machineOf(f, "gpu.name") ?? machineOf(f, "cpu.model") ?? f.name))].join(", ")}`;
for (const folder of folders)
  for (const line of [...folder.missing.map(l => `Left out: ${l}`), ...warnings(folder)])
    $("banners").append(make("p", {class: "banner"}, folders.length > 1 ? `${folder.name}: ${line}` : line));
readFragment();
$("search").addEventListener("input", showVariants);
$("controls").addEventListener("submit", event => event.preventDefault());
$("table").addEventListener("toggle", showTable);
$("take").append(
  make("button",
    {type: "button", id: "save-csv", onclick: () => save(new Blob([csvText()], {type: "text/csv"}), "reductio.csv")},
    "Rows as CSV"),
  make("button", {
    type: "button",
    id: "save-svg",
    onclick: () => chart && save(new Blob([svgText()], {type: "image/svg+xml"}), "reductio.svg")
  },
    "Picture as SVG"),
  make("button", {type: "button", id: "save-png", onclick: () => chart && savePng()}, "as PNG"));
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
