// The chart, its controls, a point's samples, and what can be saved of them.

// The colours of the paper's figures: Tol's muted scheme, on dark ground his light one; libraries black and grey.
const LINES = {
  light: ["#332288", "#CC6677", "#117733", "#AA4499", "#88CCEE", "#882255", "#999933", "#44AA99", "#DDCC77"],
  dark: ["#77AADD", "#EE8866", "#44BB99", "#FFAABB", "#EEDD88", "#99DDFF", "#BBCC33", "#DDDDDD", "#AAAA00"]
};
const LIBRARIES = {
  light: {cub: "#000000", thrust: "#7F7F7F", cublas: "#9A9A9A"},
  dark: {cub: "#FFFFFF", thrust: "#A8A8A8", cublas: "#8A8A8A"}
};
const DASHES = ["", "5 2", "1.5 2", "7 2 2 2", "4 2 1 2 1 2"];
const darkness = matchMedia("(prefers-color-scheme: dark)");
const theme = () => (darkness.matches ? "dark" : "light");
const ink = () =>
  (darkness.matches ? {text: "#e8e8e6", faint: "#a9a9a5", paper: "#16181b", shade: "#2b2f35", edge: "#6f757d"} :
                      {text: "#1a1a1a", faint: "#555555", paper: "#ffffff", shade: "#EFEFEF", edge: "#A8A8A8"});

/** By its place among the chosen, so that one more leaves the others their looks. @returns {Look} */
function lookOf(/** @type {Series} */ s) {
  const place = shownKeys.indexOf(s.key), library = s.kind === "library";
  const several = shownFolders().length > 1 && !baseFolder();
  return {
    color: library ? own(LIBRARIES[theme()], s.group) ?? ink().faint : LINES[theme()][place % 9],
    symbol: d3.symbolsFill[place % 7],
    dash: DASHES[(several ? s.folder.index : Math.floor(place / 14)) % DASHES.length],
    hollow: library || Math.floor(place / 7) % 2 === 1
  };
}

const nameOf = (/** @type {Series} */ s) =>
  s.label + (shownFolders().length > (baseFolder() ? 2 : 1) ? `, ${s.folder.name}` : "");

// ---------------------------------------------------------------------------------------------------- chart

const isLog = () => (state.scale ? state.scale === "log" : Boolean(VALUES[state.value].log));
/** Of one size there are no lines. */
const isOneSize = () => state.value !== "error" && new Set(points.map(p => p.n)).size === 1;
/** The points of each line. */
const lines = () => /** @type {Point[][]} */ ([...d3.group(points, p => p.series).values()]);

/** By n what bounds the values: reading the input alone, and an empty call. */
function bounds() {
  const told = !isOneSize() && new Set(points.map(p => p.series.folder)).size === 1 &&
    (["time", "rate"].includes(state.value) || (state.value === "speedup" && state.base !== "first" && !baseFolder()));
  const line = (/** @type {string} */ column) => {
    // Rows of one n were sampled together, and have the same of both. Only time grows with the time.
    const bound = (/** @type {Point} */ p) => {
      const times = p.row.number(column) / p.row.number("time_median_s");
      return state.value === "time" ? p.y * times : p.y / times;
    };
    const known = told ? points.filter(p => p.row.number(column) > 0) : [];
    return d3.sort(d3.rollups(known, ([p]) => bound(p), p => p.n).map(([n, y]) => ({n, y})), b => b.n);
  };
  return {read: line("read_time_s"), floor: line("launch_floor_s")};
}

/** Heights near the wanted ones and at least `gap` apart, within low ... high where there is room. */
function spread(/** @type {number[]} */ wanted, gap = 14, low = 20, high = Infinity) {
  const order = d3.sort(d3.range(wanted.length), i => wanted[i]), sorted = order.map(i => wanted[i]);
  const out = /** @type {number[]} */ ([]);
  order.forEach((i, k) => {
    // Half way between where those above push it down to, and those below push it up to.
    const down = d3.max(sorted.slice(0, k + 1), (y, j) => y + (k - j) * gap) ?? 0;
    const up = d3.min(sorted.slice(k), (y, j) => y - j * gap) ?? 0;
    out[i] = Math.min(Math.max((down + up) / 2, low + k * gap), high - (order.length - 1 - k) * gap);
  });
  return out;
}

const plotOf = (/** @type {any} */ given) => Plot.plot({
  className: header.chart,
  color: {type: "identity"},
  symbol: {type: "identity"},
  style: {background: ink().paper, color: ink().text, fontSize: "12px"},
  ...given
});
/** An axis with all of these numbers; as a scale's own ticks D3 leaves labels of logarithms out. */
const axisX = (/** @type {number[]} */ ticks, /** @type {(v: number) => string} */ text, label = "") =>
  Plot.axisX(ticks, {text, label, labelAnchor: "center", labelArrow: "none"});
/** What the pointer is near, in lines; narrow enough for one side of a phone's chart. */
const tipOf = (/** @type {any[]} */ data, /** @type {any} */ x, /** @type {any} */ y, /** @type {any} */ linesOf) =>
  Plot.tip(data, Plot.pointer({
    x, y, fill: ink().paper, stroke: ink().edge, lineWidth: Math.min(30, innerWidth / 32), lineHeight: 1.3,
    title: of => linesOf(of).filter(Boolean).join("\n")
  }));

const widthOf = (/** @type {string[]} */ names) => 6.6 * (d3.max(names, name => name.length) ?? 0);
/** How wide the names right of a chart are, with the lines that lead there. */
const marginOf = () => 44 + widthOf(points.map(p => p.name));
/** Whether lines have their names beside them; else the names stand below the chart. */
const isLabelled = (/** @type {number} */ width) =>
  width >= 640 && marginOf() <= width * 0.45 && lines().length <= 24;

/** A variant's mark in a picture. */
const markOf = (/** @type {Look} */ look, /** @type {number} */ x, /** @type {number} */ y) => make("path", {
  d: d3.symbol(look.symbol, 40)(),
  transform: `translate(${x},${y})`,
  stroke: look.color,
  fill: look.hollow ? ink().paper : look.color
});

const textAt = (/** @type {number} */ x, /** @type {number} */ y, /** @type {string} */ text, weight = "normal") =>
  make("text", {x, y, "text-anchor": "start", "font-weight": weight, fill: ink().text}, text);

/** Lines against n, or errors against time; of one size a row for each variant, the best first. */
function draw(/** @type {number} */ width, /** @type {number} */ height, /** @type {boolean} */ labelled) {
  const colors = ink(), log = isLog(), {unit, less} = VALUES[state.value], {read, floor} = bounds();
  const speedups = state.value === "speedup", errors = state.value === "error", shadeUp = state.value !== "time";
  const shown = shownName(), axis = speedups ? `${shown}, t(base) / t` : unit ? `${shown} (${unit})` : shown;
  const across = (/** @type {Point} */ p) => (errors ? p.row.number("time_median_s") * 1e6 : p.n);
  // What is exact stands on the lower edge.
  const exact = Math.min((d3.min(points, p => p.y || Infinity) ?? 1) / 4, 1e-9);
  const up = (/** @type {Point} */ p) => (errors ? Math.max(p.y, exact) : p.y);
  const spans = points.filter(p => p.low > 0 && isFinite(p.high)), stroke = (/** @type {Point} */ p) => p.look.color;
  // Of one size nothing but the intervals tells how sure a row is, so that all of them are shown whole.
  const [least, most] = d3.extent([...points.map(up), ...read.map(b => b.y),
    ...(isOneSize() ? spans.flatMap(p => [p.low, p.high]) : [])]);
  const domain = log ? [least / 1.3, most * 1.3] : [0, most * 1.08];
  const ticks = log ? decades(domain) : d3.ticks(0, domain[1], 8);
  const values = {type: log ? "log" : "linear", domain, ticks, grid: true};
  const marksAt = (/** @type {any} */ x, /** @type {any} */ y) => [
    Plot.dot(points, {
      x, y, stroke, r: 3.2, strokeWidth: 1.2, symbol: p => p.look.symbol,
      fill: p => (p.look.hollow ? colors.paper : p.look.color)
    }),
    Plot.dot(points.filter(p => idOf(p) === state.point), {x, y, r: 7, stroke: colors.text}),
    tipOf(points, x, y, p => [p.name, ...brief(p, shown).map(([name, word]) => word && `${name}: ${word}`)])
  ];
  if (isOneSize()) {
    const names = d3.sort(points, p => (less ? p.y : -p.y)).map(p => p.name);
    return plotOf({
      width, height: 70 + 22 * names.length,
      marginTop: 10, marginBottom: 44, marginLeft: Math.min(width / 2, 20 + widthOf(names)),
      x: values, y: {domain: names, label: null},
      marks: [
        axisX(ticks, plain, axis),
        Plot.ruleX(speedups ? [1] : [], {stroke: colors.text}),
        Plot.ruleY(spans, {y: "name", x1: "low", x2: "high", stroke, strokeWidth: 2, clip: true}),
        ...marksAt("y", "name")
      ]
    });
  }

  const right = labelled ? marginOf() : 20, [first, last] = d3.extent(points, across), beyond = errors ? 1.2 : 1.1;
  const sides = [first / beyond, last * beyond];
  const powers = d3.ticks(Math.log2(first), Math.log2(last), Math.max(2, (width - right) / 60));
  const sizes = powers.filter(Number.isInteger).map(k => 2 ** k);
  const tell = (/** @type {number} */ v) => (errors ? Number(v.toPrecision(3)).toExponential() : plain(v));
  const drawn = plotOf({
    width, height, marginTop: 26, marginRight: right, marginBottom: 40, marginLeft: 60,
    x: {type: "log", domain: sides, ticks: decades(sides), grid: errors}, y: values,
    marks: [
      errors ? axisX(decades(sides), plain, "time (us)") :
               axisX(sizes.length > 1 ? sizes : [first, last], size, "n (elements)"),
      Plot.axisY(ticks, {text: tell, label: axis, labelAnchor: "top", labelArrow: "none"}),
      Plot.areaY(read, {x: "n", y1: "y", y2: domain[shadeUp ? 1 : 0], fill: colors.shade, clip: true}),
      Plot.line(read, {x: "n", y: "y", stroke: colors.edge, strokeWidth: 1, clip: true}),
      Plot.line(speedups ? [] : floor,
        {x: "n", y: "y", stroke: colors.edge, strokeDasharray: "1 3", strokeWidth: 1.5, clip: true}),
      ...(errors ? [] : fullL2(first, last, domain[1])),
      Plot.ruleY(speedups ? [1] : [], {stroke: colors.text}),
      Plot.ruleX(spans, {x: across, y1: "low", y2: "high", stroke, strokeWidth: 2.5, strokeOpacity: 0.5, clip: true}),
      ...lines().map(line => Plot.line(line, {
        x: across, y: up, stroke: line[0].look.color, strokeDasharray: line[0].look.dash || undefined,
        strokeWidth: line[0].series.kind === "library" ? 2 : 1.4
      })),
      ...marksAt(across, up)
    ]
  });
  if (labelled) {
    const edge = width - right, ends = lines().map(line => line[line.length - 1]);
    const heights = ends.map(p => drawn.scale("y").apply(up(p))), beside = spread(heights, 14, 20, height - 30);
    ends.forEach(({look, name}, i) => {
      const from = errors ? edge : drawn.scale("x").apply(across(ends[i])) + 5, to = beside[i];
      const path = `M${from},${heights[i]}L${edge + 4},${heights[i]}L${edge + 14},${to}`;
      drawn.prepend(make("path", {d: path, stroke: look.color, fill: "none", "stroke-width": 0.7}),
        markOf(look, edge + 20, to), textAt(edge + 28, to + 4, name));
    });
  }
  return drawn;
}

/** Where the input fills each GPU's L2, if that is within the sizes. */
function fullL2(/** @type {number} */ first, /** @type {number} */ last, /** @type {number} */ top) {
  const colors = ink(), element = points[0].row.number("bytes") / points[0].n;
  const isRight = (/** @type {number} */ n) => n > Math.sqrt(first * last);
  const byBytes = d3.groups(new Set(points.map(p => p.series.folder)), f => machineOf(f, "gpu.l2_bytes"));
  const full = byBytes.map(([bytes, of]) => ({n: bytes / element, bytes, names: of.map(f => f.name).join(", ")}))
                 .filter(({n}) => n >= first && n <= last);
  return full.flatMap(({n, bytes, names}, i) => [
    Plot.ruleX([n], {stroke: colors.edge, strokeDasharray: "4 3"}),
    Plot.text([`L2 is full: ${grouped(bytes / 2 ** 20)} MiB${full.length > 1 ? `, ${names}` : ""}`], {
      x: [n], y: top, dx: isRight(n) ? -4 : 4, dy: 7 + 14 * i, textAnchor: isRight(n) ? "end" : "start",
      fill: colors.faint, stroke: full.length > 1 ? colors.paper : undefined,  // of one GPU the ground may be shaded
      strokeWidth: 4
    })
  ]);
}

/** "1,000", "10M" */
const plain = (/** @type {number} */ v) =>
  v.toLocaleString("en-US", {maximumSignificantDigits: 6, notation: v < 1e6 ? "standard" : "compact"});
/** Of a logarithmic axis 1 of each decade, or 1, 2 and 5 where there are few, or round numbers of a short range. */
function decades(/** @type {number[]} */[low, high]) {
  const at = (/** @type {number[]} */ steps) => d3.range(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)) + 1)
                                                  .flatMap(k => steps.map(m => Number(`${m}e${k}`)))
                                                  .filter(v => v >= low && v <= high);
  return [at([1]), at([1, 2, 5])].find((ticks, i) => ticks.length > (i ? 1 : 2)) ?? d3.ticks(low, high, 4);
}
const machineOf = (/** @type {Folder} */ folder, /** @type {string} */ path) =>
  path.split(".").reduce((/** @type {any} */ node, name) => node?.[name], folder.machine);

/** "sum of f32, device time, L2 cold and dirty, on one NVIDIA H200" */
function captionOf() {
  const c = state.choice, told = ["device", "operation", "element_type", "timing_mode", "cache_state"];
  const more = header.keys.filter(name => !told.includes(name) && (options.get(name)?.length ?? 0) > 1);
  const words = [
    `${labelOf(c.operation)} of ${c.element_type}`, labelOf(c.timing_mode), labelOf(c.cache_state),
    ...more.map(name => `${nameOfColumn(name)}: ${labelOf(c[name])}`)
  ];
  const gpu = (/** @type {Folder} */ f) => c.device === "cuda" && machineOf(f, "gpu.name");
  return `${c.experiment}: ${words.join(", ")}; ${
    shownFolders().map(f => (gpu(f) ? `${gpu(f)} (${f.name})` : f.name)).join(", ")}`;
}

/** What the chart shows: "time", "speedup over cub/sum". */
const shownName = () =>
  (state.value === "speedup" ? `speedup over ${basesHere().get(state.base) ?? state.base}` : VALUES[state.value].label);

/** What the pointer shows of a point. @returns {[string, string | false][]} */
function brief(/** @type {Point} */ p, /** @type {string} */ shown) {
  const v = (/** @type {string} */ name) => p.row.number(name), time = v("time_median_s");
  const rejected = v("n_rejected") > 0 ? `, ${grouped(v("n_rejected"))} discarded because the GPU throttled` : "";
  return [
    ["n", size(p.n)], [shown, VALUES[state.value].tell(p)],
    ["time", state.value !== "time" && time >= 0 && micro(time, v("time_ci_low_s"), v("time_ci_high_s"))],
    ["samples", grouped(v("n_samples")) + rejected]
  ];
}

/** What is known of a point. @returns {[string, any][]} */
function facts(/** @type {Point} */ p) {
  const {row, series: s} = p, c = catalogue(s), v = (/** @type {string} */ name) => row.number(name);
  const rate = v("bandwidth_bytes_per_s"), blocks = v("grid_blocks");
  const levels = ["thread", "block", "grid"].filter(level => c?.word(level));
  return [
    ["variant", p.name], ...brief(p, shownName()),
    ["throughput", state.value !== "rate" && isFinite(rate) && `${grouped(rate / 1e9, 1)} GB/s`],
    ["settings", row.word("settings").replaceAll(";", "; ")],
    ["launch", blocks >= 0 && `${counted(blocks, "block")} of ${counted(v("block_threads"), "thread")}`],
    ["fastest sample", isFinite(v("time_min_s")) && micro(v("time_min_s"))],
    ["95th percentile", isFinite(v("time_p95_s")) && micro(v("time_p95_s"))],
    ["title", c?.word("title")], ["source", c?.word("cites")],
    ["strategy", levels.map(level => `${level}: ${c?.word(level)}`).join("; ")],
    ["code", sourceOf(s.variant)], ["run", row.word("run_id")]
  ];
}

const idOf = (/** @type {Point} */ p) => `${p.series.folder.name} ${p.n} ${p.series.key}`;

function open(/** @type {Point} */ p) {
  after(() => state.point = idOf(p));
  $("point").scrollIntoView({block: "nearest"});
}

// ---------------------------------------------------------------------------------------------------- one point

/** What is known of the open point, and its samples. */
function showPoint() {
  const p = points.find(q => idOf(q) === state.point), place = $("samples");
  place.replaceChildren();
  $("point").replaceChildren();
  if (!p) return;
  const known = facts(p).filter(([, words]) => words);
  $("point").append(make("dl", {}, ...known.flatMap(([name, words]) => [make("dt", {}, name), make("dd", {}, words)])));
  const {folder} = p.series, samples = samplesOf(p.row), means = !folder.samples;
  place.append(make("h3", {}, `Samples of ${p.name} at n = ${size(p.n)}`));
  const why = "it was made with --samples none, or its experiment has no file of them";
  if (!samples.length) return place.append(make("p", {}, `The page holds no samples of this point: ${why}.`));
  const contexts = [...new Set(samples.map(s => s.context))], colors = ink();
  place.append(make("p", {class: "hint"},
    means ?
      `The page holds the mean of each of ${counted(contexts.length, "context")}; --samples all holds every sample.` :
      `${counted(samples.length, "sample")} of ${counted(contexts.length, "context")}.`));
  const panel = (/** @type {string} */ title, /** @type {string} */ across, /** @type {string} */ up,
    /** @type {any[]} */ marks) => make("figure", {"aria-label": title}, make("figcaption", {class: "hint"}, title),
    plotOf({
      width: Math.min(460, Math.max(260, $("shown").clientWidth)), height: 240, marginLeft: 56, marginBottom: 40,
      x: {label: across, labelAnchor: "center", labelArrow: "none", interval: 1},
      y: {label: up, grid: true, nice: true}, marks
    }));
  const dots = (/** @type {any[]} */ data, /** @type {string} */ x, /** @type {string} */ y) =>
    Plot.dot(data, {x, y, r: 2.5, stroke: d => LINES[theme()][contexts.indexOf(d.context) % 9]});
  const across = means ? "context" : "round", title = means ?
    "The contexts in the order in which they were opened" :
    "In the order in which they were taken, a colour for each context";
  const charts = make("div", {class: "charts"}, panel(title, across, "time (us)", [dots(samples, across, "us")]));
  const base = ratioTo(p), paired = base ? pairs(base, p.row) : [];
  if (base && paired.length > 1) {
    const [y, low, high] = state.base ? [] : speedupOf(p.row);
    const name = `Paired ratio to ${base.word("variant")} by context`;
    charts.append(panel(isFinite(y) ? `${name}: ${interval(y, low, high)}` : name, "context", "t(base) / t", [
      Plot.ruleY([y].filter(isFinite), {stroke: colors.text}),
      Plot.ruleY([low, high].filter(isFinite), {stroke: colors.edge, strokeDasharray: "4 3"}),
      dots(paired, "context", "ratio")
    ]));
  }
  place.append(charts);
}

/** The row that a point's ratio is to, if it is another: the chosen base, or the recorded one. */
function ratioTo(/** @type {Point} */ {row, series: s}) {
  if (baseFolder() || own(COMPUTED, state.base)) return undefined;
  const name = row.word("speedup_reference"), of = series.filter(b => b.folder === s.folder);
  const recorded = of.filter(b => (name ? b.variant === name : b.rows[0].word("is_base") === "True"))
                     .flatMap(b => b.rows)
                     .find(b => b.number("n") === row.number("n") && b.number("speedup") === 1);
  const base = state.base ? baseRow(s, row) : recorded;
  return base === row ? undefined : base;
}

// ---------------------------------------------------------------------------------------------------- take along

function save(/** @type {Blob} */ blob, /** @type {string} */ ending) {
  const c = state.choice, shown = [c.experiment, c.operation, c.element_type, c.timing_mode, c.cache_state];
  const name = [...shown, state.value, ...shownFolders().map(f => f.name)].join("-").replace(/[^\w.-]+/g, "_");
  const link = make("a", {href: URL.createObjectURL(blob), download: `${name.slice(0, 150)}.${ending}`});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** The rows behind what is shown, with the columns that the page holds. */
function saveCsv() {
  const names = [...new Set(points.flatMap(p => Object.keys(p.row.columns)))].filter(
    n => !["kind", "group", "words", "is_base"].includes(n));
  const rows = points.map(p => [p.series.folder.name, ...names.map(name => p.row.word(name))]);
  save(new Blob([d3.csvFormatRows([["folder", ...names], ...rows]) + "\n"], {type: "text/csv"}), "csv");
}

/** Under what conditions the shown rows were measured, a line for each folder. */
const conditionsOf = () => d3.groups(points, p => p.series.folder).map(([folder, group]) => {
  const ids = new Set(group.map(p => p.row.word("run_id")));
  const runs = runsOf(folder).filter(run => ids.has(run.run_id)), cuda = state.choice.device === "cuda";
  const driver = cuda && machineOf(folder, "gpu.driver"), machine = machineOf(folder, cuda ? "gpu.name" : "cpu.model");
  const words = [folder.name, machine, driver && `driver ${driver}`, allOf(runs, dayOf),
    runs.length && `revision ${allOf(runs, revisionOf)}`];
  return words.filter(Boolean).join(", ");
});

/** The picture with its title above and its conditions below. */
function svgBlob() {
  const width = Math.max(900, 640 + marginOf()), drawn = draw(width, Math.max(480, 70 + 14 * lines().length), true);
  const room = Math.floor(width / 7.2), fitting = new RegExp(`.{1,${room}}(?=[ _/-]|$)|.{1,${room}}`, "g");
  const wrapped = (/** @type {string} */ text) => text.match(fitting) ?? [];
  const above = wrapped(captionOf()), below = [noteOf(), ...conditionsOf()].flatMap(wrapped);
  const tall = Number(drawn.getAttribute("height")), top = 16 * above.length + 8;
  const whole = tall + top + 15 * below.length + 8;
  drawn.setAttribute("height", whole);
  drawn.setAttribute("viewBox", `0 ${- top} ${width} ${whole}`);
  drawn.prepend(make("rect", {y: -top, width, height: whole, fill: ink().paper}));
  drawn.append(...above.map((line, i) => textAt(8, 16 * (i + 1) - top, line, "bold")),
    ...below.map((line, i) => textAt(8, tall + 15 * (i + 1), line)));
  drawn.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  drawn.style.fontFamily = "sans-serif";
  const text = new XMLSerializer().serializeToString(drawn).replace(/[\x00-\x08\x0b\x0c\x0e-\x1f]/g, "");
  return new Blob([text], {type: "image/svg+xml"});  // without what no XML holds
}

function savePng() {
  const image = new Image(), address = URL.createObjectURL(svgBlob());
  image.onload = () => {
    const canvas = make("canvas", {width: image.width * 2, height: image.height * 2});
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob(blob => save(blob, "png"), "image/png");
    URL.revokeObjectURL(address);
  };
  image.src = address;
}

// ---------------------------------------------------------------------------------------------------- the chart's view

function showChoices() {
  const choices = [], among = withRows().map(f => [f.name, f.name]);
  if (among.length > 1) choices.push(choose("folder", "folders", [["", "all"], ...among], true));
  for (const [name, words] of options) {
    const whole = name === "experiment";
    if (words.length > 1 || ["experiment", "operation", "element_type", "timing_mode", "cache_state"].includes(name))
      choices.push(choose(name, nameOfColumn(name), words.map(w => [w, whole ? w : labelOf(w)]), whole,
        state.choice[name], word => {
          state.asked[name] = word;
          if (whole) state.series = null;
        }));
  }
  choices.push(
    choose("value", "show", valuesHere().map(v => [v, VALUES[v].label]), false, state.value, word => {
      state.value = word;
      state.scale = "";
    }),
    choose("scale", "axis", [["log", "logarithmic"], ["linear", "linear"]], false, isLog() ? "log" : "linear"));
  if (state.value === "error") choices.push(choose("size", "n", sizesHere().map(n => [String(n), size(n)])));
  if (state.value === "speedup") {
    const bases = [...basesHere()].map(([word, label]) => [word, word ? label : `${label}, as recorded`]);
    choices.push(choose("base", "speedup over", bases, true));
  }
  $("choices").replaceChildren(...choices);
}

/** A small picture of a line's look. */
function swatch(/** @type {Look} */ look) {
  const line = {d: "M0,6H26", stroke: look.color, "stroke-width": 1.6, "stroke-dasharray": look.dash || null};
  return make("svg", {width: 26, height: 12, "aria-hidden": "true"}, make("path", line), markOf(look, 13, 6));
}

function showVariants() {
  const words = /** @type {HTMLInputElement} */ ($("search")).value.toLowerCase().split(/\s+/).filter(Boolean);
  const items = [];
  let group = "";
  for (const s of d3.rollup(series, alike => alike[0], s => s.key).values()) {
    const c = catalogue(s), on = shownKeys.includes(s.key);
    const told = ["title", "thread", "block", "grid"].map(name => c?.word(name));
    const text = [s.key, s.label, ...told].join(" ").toLowerCase();
    if (!words.every(word => text.includes(word))) continue;
    if (s.group !== group)
      items.push(make("h3", {}, s.kind === "document" || !s.folder.catalog ? s.group : `${s.group} (${s.kind})`));
    group = s.group;
    const pick = (/** @type {boolean} */ alone) => after(() => {
      state.series = alone ? [s.key] : on ? shownKeys.filter(k => k !== s.key) : [...shownKeys, s.key];
    });
    const shown = button(`variant ${s.key}`, on ? swatch(lookOf(s)) : make("span"), e => pick(e.shiftKey),
      {"aria-pressed": String(on), "data-key": s.key, title: c?.word("title") ?? ""});
    shown.append(s.label);
    items.push(shown);
  }
  if (!items.length)
    items.push(make("p", {class: "hint"}, series.length ? "No variant matches." : "No variant has times here."));
  $("variants").replaceChildren(...items);
}

function noteOf() {
  const notes = [], {read, floor} = bounds(), quotient = state.base && !own(COMPUTED, state.base);
  if (points.some(p => p.low > 0)) notes.push("Bars: 95 % intervals.");
  if (read.length) notes.push("Shaded: faster than only reading the input.");
  if (floor.length && state.value !== "speedup") notes.push("Dotted: an empty call.");
  if (state.value === "error") notes.push("On the lower edge: exact.");
  if (state.value === "speedup" && quotient)
    notes.push("A quotient of two times: the program computed no interval over this base.");
  if (refused) notes.push(`${counted(refused, "point")} without a time: see Conditions.`);
  return notes.join(" ");
}

/** The n by which the table's rows are ranked, the best first; else they are as listed. */
let rankedBy = 0;

/** The variants at each n. */
function showTable() {
  const place = $("numbers"), sign = VALUES[state.value].less ? 1 : -1;
  if (!(/** @type {HTMLDetailsElement} */ ($("table")).open)) return place.replaceChildren();
  const sizes = /** @type {number[]} */ (d3.sort(new Set(points.map(p => p.n))));
  const at = (/** @type {Point[]} */ line, /** @type {number} */ n) => line.find(p => p.n === n);
  const ranked = sizes.includes(rankedBy) ? d3.sort(lines(), line => sign * (at(line, rankedBy)?.y ?? NaN)) : lines();
  const heads = sizes.map(n => button(`rank-${n}`, size(n), () => after(() => rankedBy = rankedBy === n ? 0 : n),
    {"aria-pressed": String(rankedBy === n)}));
  const cell = (/** @type {Point | undefined} */ p) =>
    (p ? button(`open-${idOf(p)}`, VALUES[state.value].tell(p), () => open(p)) : "");
  const rows = ranked.map(line => [line[0].name, ...sizes.map(n => cell(at(line, n)))]);
  place.replaceChildren(tableOf(captionOf(), ["variant", ...heads], rows));
}

function showChart() {
  selectSeries();
  const here = valuesHere(), recorded = some(row => speedupOf(row)[0] > 0);
  if (!here.includes(state.value))
    state.value = (recorded ? here[0] : here.find(value => value !== "speedup")) ?? "time";
  if (!sizesHere().map(String).includes(state.size)) state.size = String(sizesHere().at(-1) ?? "");
  if (!basesHere().has(state.base)) state.base = recorded ? "" : keys()[0] ?? "";
  shownKeys = chosenKeys();
  selectPoints();
  showChoices();
  showVariants();
  $("caption").textContent = captionOf();
  $("note").textContent = noteOf();
  const place = $("plot"), width = Math.max(280, place.clientWidth), why =
    !series.length   ? "No row of this selection has a time. Conditions tells why." :
    shownKeys.length ? "None of the chosen variants has this value here." :
                       "Choose a variant.";
  const chart = points.length ? draw(width, Math.max(320, Math.min(520, width * 0.6)), isLabelled(width)) : null;
  chart?.addEventListener("click", () => chart.value && open(chart.value));
  place.replaceChildren(chart ?? make("p", {}, why));
  place.setAttribute("aria-label", `Chart: ${captionOf()}`);
  const below = isOneSize() || isLabelled(width) ? [] : lines();
  $("names").replaceChildren(...below.map(([p]) => make("li", {}, swatch(p.look), p.name)));
  showPoint();
  showTable();
}
