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
const SYMBOLS = ["Circle", "Square", "Triangle", "Diamond", "Cross", "Star", "Wye", "Square2", "Triangle2"].map(
  name => d3[`symbol${name}`]);
const DASHES = ["", "5 2", "1.5 2", "7 2 2 2", "4 2 1 2 1 2"];
const darkness = matchMedia("(prefers-color-scheme: dark)");
const theme = () => (darkness.matches ? "dark" : "light");
const ink = () =>
  (darkness.matches ? {text: "#e8e8e6", faint: "#a9a9a5", paper: "#16181b", shade: "#2b2f35", edge: "#6f757d"} :
                      {text: "#1a1a1a", faint: "#555555", paper: "#ffffff", shade: "#EFEFEF", edge: "#A8A8A8"});

/** A variant keeps its look while it is shown: @type {Map<string, number>} */
const slots = new Map();

function assignSlots() {
  const chosen = chosenKeys();
  for (const key of slots.keys())
    if (!chosen.includes(key)) slots.delete(key);
  for (const key of chosen.filter(key => !slots.has(key)))
    slots.set(key, d3.range(chosen.length).find(slot => ![...slots.values()].includes(slot)) ?? 0);
}

/** @returns {Look} */
function lookOf(/** @type {Series} */ s) {
  const slot = slots.get(s.key) ?? 0, k = slot % 9, library = s.kind === "library";
  const several = shownFolders().length > 1 && !baseFolder();
  return {
    color: library ? own(LIBRARIES[theme()], s.group) ?? ink().faint : LINES[theme()][k],
    symbol: SYMBOLS[k],
    dash: DASHES[(several ? s.folder.index : Math.floor(slot / 18)) % DASHES.length],
    hollow: library || Math.floor(slot / 9) % 2 === 1
  };
}

const nameOf = (/** @type {Series} */ s) =>
  s.label + (shownFolders().length > (baseFolder() ? 2 : 1) ? `, ${s.folder.name}` : "");

// ---------------------------------------------------------------------------------------------------- chart

/** @type {any} */ let chart = null;  // what Plot drew
/** @type {Point?} */ let focused = null;

const isLog = () => (state.scale ? state.scale === "log" : VALUES[state.value].log && true);
/** Of one size there are no lines. */
const isOneSize = () => state.value !== "error" && new Set(points.map(p => p.n)).size === 1;

/** By n what bounds the values: reading the input alone, and an empty call. */
function bounds() {
  const told = ["time", "rate"].includes(state.value) ||
    (state.value === "speedup" && state.base !== "first" && !baseFolder());
  const line = (/** @type {string} */ column) => {
    const at = /** @type {Map<number, number>} */ (new Map());
    // Rows of one n were sampled together, and have the same of both. Only time grows with the time.
    for (const p of told && new Set(points.map(p => p.folder)).size === 1 ? points : []) {
      const times = numberOf(p.series, column, p.row) / numberOf(p.series, "time_median_s", p.row);
      if (times > 0 && !at.has(p.n)) at.set(p.n, state.value === "time" ? p.y * times : p.y / times);
    }
    return d3.sort([...at].map(([n, y]) => ({n, y})), b => b.n);
  };
  return {read: line("read_time_s"), floor: line("launch_floor_s")};
}

/** Heights near the wanted ones and at least `gap` apart, within low ... high where there is room. */
function spread(
  /** @type {number[]} */ wanted, /** @type {number} */ gap, /** @type {number} */ low, /** @type {number} */ high) {
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

const centred = {
  labelAnchor: "center",
  labelArrow: "none"
};
const plotOf = (/** @type {any} */ given) => {
  const style = {background: ink().paper, color: ink().text, fontSize: "12px"};
  const drawn =
    Plot.plot({className: header.chart, color: {type: "identity"}, symbol: {type: "identity"}, style, ...given});
  // Of a logarithmic axis D3 leaves labels out, now and then all of them. Whoever names ticks wants each.
  for (const axis of ["x", "y"]) {
    const {ticks, tickFormat} = given[axis] ?? {};
    if (Array.isArray(ticks))
      drawn.querySelectorAll(`[aria-label="${axis}-axis tick label"] text`)
        .forEach((/** @type {Element} */ text, /** @type {number} */ i) => text.textContent = tickFormat(ticks[i]));
  }
  return drawn;
};

const widthOf = (/** @type {string[]} */ names) => 6.6 * (d3.max(names, name => name.length) ?? 0);
/** How wide the names right of a chart are, with the lines that lead there. */
const marginOf = () => 44 + widthOf(points.map(p => nameOf(p.series)));
/** Whether lines have their names beside them; else the names stand below the chart. */
const isLabelled = (/** @type {number} */ width) =>
  width >= 640 && marginOf() <= width * 0.45 && new Set(points.map(p => p.series)).size <= 24;

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
  const colors = ink(), log = isLog(), {label, unit, less} = VALUES[state.value], speedups = state.value === "speedup";
  const lines = [...new Set(points.map(p => p.series))], looks = new Map(lines.map(s => [s, lookOf(s)]));
  const lookOfPoint = (/** @type {Point} */ p) => /** @type {Look} */ (looks.get(p.series));
  const axis = speedups ? `speedup over ${baseName()}, t(base) / t` : unit ? `${label} (${unit})` : label;
  const spans = points.filter(p => p.low > 0 && isFinite(p.high));
  const dots = (/** @type {any} */ x, /** @type {any} */ y) => Plot.dot(points, {
    x,
    y,
    r: 3.2,
    strokeWidth: 1.2,
    stroke: p => lookOfPoint(p).color,
    fill: p => (lookOfPoint(p).hollow ? colors.paper : lookOfPoint(p).color),
    symbol: p => lookOfPoint(p).symbol
  });
  if (isOneSize()) {
    const name = (/** @type {Point} */ p) => nameOf(p.series);
    const names = d3.sort(points, p => (less ? p.y : -p.y)).map(name);
    const drawn = plotOf({
      width,
      height: 70 + 22 * names.length,
      marginLeft: Math.min(width / 2, 20 + widthOf(names)),
      marginBottom: 44,
      marginTop: 10,
      x: {label: axis, ...centred, type: log ? "log" : "linear", grid: true, tickFormat: plain, inset: 8},
      y: {domain: names, label: null},
      marks: [
        ...(speedups ? [Plot.ruleX([1], {stroke: colors.text})] : []),
        Plot.ruleY(spans, {y: name, x1: "low", x2: "high", stroke: p => lookOfPoint(p).color, strokeWidth: 2}),
        dots("y", name)
      ]
    });
    const x = drawn.scale("x"), y = drawn.scale("y");
    return Object.assign(drawn, {at: p => [x.apply(p.y), y.apply(name(p)) + y.bandwidth / 2]});
  }

  const errors = state.value === "error", shadeUp = state.value !== "time", {read, floor} = bounds();
  const across = (/** @type {Point} */ p) => (errors ? numberOf(p.series, "time_median_s", p.row) * 1e6 : p.n);
  // What is exact stands on the lower edge.
  const exact = Math.min((d3.min(points, p => p.y || Infinity) ?? 1) / 4, 1e-9);
  const up = (/** @type {Point} */ p) => (errors ? Math.max(p.y, exact) : p.y);
  const heights = [...points.map(up), ...read.map(b => b.y)];
  const domain = log ? [d3.min(heights) / 1.3, d3.max(heights) * 1.3] : [0, d3.max(heights) * 1.08];
  const clip = (/** @type {number} */ y) => Math.min(Math.max(y, domain[0]), domain[1]);
  const right = labelled ? marginOf() : 20, span = d3.extent(points, across);
  const sides = errors ? [span[0] / 1.2, span[1] * 1.2] : [span[0] / 1.1, span[1] * 1.1];
  const powers = d3.ticks(Math.log2(span[0]), Math.log2(span[1]), Math.max(2, (width - right) / 60));
  const ticks = powers.filter(Number.isInteger).map(k => 2 ** k);
  const x = errors ? {label: "time (us)", ticks: decades(sides), tickFormat: plain, grid: true} :
                     {label: "n (elements)", base: 2, ticks: ticks.length > 1 ? ticks : undefined, tickFormat: size};
  const drawn = plotOf({
    width,
    height,
    marginRight: right,
    marginLeft: 60,
    marginBottom: 40,
    marginTop: 26,
    x: {type: "log", domain: sides, ...centred, ...x},
    y: {
      type: log ? "log" : "linear",
      label: axis,
      grid: true,
      domain,
      ticks: log ? decades(domain) : 8,
      tickFormat: errors ? v => Number(v.toPrecision(3)).toExponential() : plain,
      labelArrow: "none"
    },
    marks: [
      Plot.areaY(read, {x: "n", y1: b => clip(b.y), y2: shadeUp ? domain[1] : domain[0], fill: colors.shade}),
      Plot.line(read, {x: "n", y: b => clip(b.y), stroke: colors.edge, strokeWidth: 1}),
      Plot.line(speedups ? [] : floor.filter(b => b.y >= domain[0] && b.y <= domain[1]),
        {x: "n", y: "y", stroke: colors.edge, strokeDasharray: "1 3", strokeWidth: 1.5}),
      ...(errors ? [] : fullL2(span, domain[1])),
      ...(speedups ? [Plot.ruleY([1], {stroke: colors.text})] : []),
      Plot.ruleX(spans, {
        x: across,
        y1: p => clip(p.low),
        y2: p => clip(p.high),
        stroke: p => lookOfPoint(p).color,
        strokeWidth: 2.5,
        strokeOpacity: 0.5
      }),
      ...lines.map(s => Plot.line(points.filter(p => p.series === s), {
        x: across,
        y: up,
        stroke: lookOf(s).color,
        strokeWidth: s.kind === "library" ? 2 : 1.4,
        strokeDasharray: lookOf(s).dash || undefined
      })),
      dots(across, up)
    ]
  });
  const at = (/** @type {Point} */ p) => [drawn.scale("x").apply(across(p)), drawn.scale("y").apply(up(p))];
  if (labelled) {
    const edge = width - right, ends = [...d3.group(points, p => p.series).values()].map(line => line[line.length - 1]);
    const beside = spread(ends.map(p => at(p)[1]), 14, 20, height - 30);
    ends.forEach((p, i) => {
      const [x, y] = at(p), to = beside[i], look = lookOfPoint(p);
      const path = `M${errors ? edge : x + 5},${y}L${edge + 4},${y}L${edge + 14},${to}`;
      drawn.append(make("path", {d: path, stroke: look.color, fill: "none", "stroke-width": 0.7}),
        markOf(look, edge + 20, to), textAt(edge + 28, to + 4, nameOf(p.series)));
    });
  }
  return Object.assign(drawn, {at});
}

/** Where the input fills each GPU's L2, if that is within the sizes. */
function fullL2(/** @type {number[]} */ span, /** @type {number} */ top) {
  const colors = ink(), element = numberOf(points[0].series, "bytes", points[0].row) / points[0].n;
  const gpus = [...d3.group(new Set(points.map(p => p.folder)), f => machineOf(f, "gpu.l2_bytes"))].filter(
    ([bytes]) => bytes / element >= span[0] && bytes / element <= span[1]);
  return gpus.flatMap(([bytes, of], i) => {
    const n = bytes / element, left = n > Math.sqrt(span[0] * span[1]);
    return [
      Plot.ruleX([n], {stroke: colors.edge, strokeDasharray: "4 3"}),
      Plot.text([n], {
        x: n => n,
        y: top,
        text: [`L2 is full: ${grouped(bytes / 2 ** 20)} MiB${
          gpus.length > 1 ? `, ${of.map(f => f.name).join(", ")}` : ""}`],
        dx: left ? -4 : 4,
        dy: 7 + 14 * i,
        textAnchor: left ? "end" : "start",
        fill: colors.faint,
        stroke: gpus.length > 1 ? colors.paper : undefined,  // of one GPU the ground may be shaded
        strokeWidth: 4
      })
    ];
  });
}

const plain = (/** @type {number} */ v) => v.toLocaleString("en-US", {maximumSignificantDigits: 6});
/** Of a logarithmic axis 1 of each decade, or 1, 2 and 5 where there are few, or round numbers of a short range. */
function decades(/** @type {number[]} */[low, high]) {
  const at = (/** @type {number[]} */ steps) => d3.range(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)) + 1)
                                                  .flatMap(k => steps.map(m => Number(`${m}e${k}`)))
                                                  .filter(v => v >= low && v <= high);
  return [at([1]), at([1, 2, 5])].find((ticks, i) => ticks.length > (i ? 1 : 2)) ?? d3.ticks(low, high, 4);
}
const machineOf = (/** @type {Folder} */ folder, /** @type {string} */ path) =>
  path.split(".").reduce((/** @type {any} */ node, name) => node?.[name], folder.machine);

const baseName = () => basesHere().get(state.base) ?? state.base;

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

/** What is known of a point, for the card and below the chart. @returns {any[][]} */
function facts(/** @type {Point} */ p) {
  const s = p.series, v = (/** @type {string} */ name) => numberOf(s, name, p.row), rate = v("bandwidth_bytes_per_s");
  const {label, tell} = VALUES[state.value], time = v("time_median_s");
  const rejected = v("n_rejected") > 0 ? `, ${grouped(v("n_rejected"))} discarded because the GPU throttled` : "";
  return [
    ["n", size(p.n)], [state.value === "speedup" ? `speedup over ${baseName()}` : label, tell(p)],
    ["time", state.value !== "time" && time >= 0 && microInterval(time, v("time_ci_low_s"), v("time_ci_high_s"))],
    ["throughput", state.value !== "rate" && isFinite(rate) && `${grouped(rate / 1e9, 1)} GB/s`],
    ["samples", grouped(v("n_samples")) + rejected],
    ["settings", wordOf(s, "settings", p.row).replaceAll(";", "; ")]
  ];
}

function describe(/** @type {Point} */ p) {
  const c = /** @type {Record<string, string>} */ (catalogue(p.folder, p.series.variant)), s = p.series;
  const v = (/** @type {string} */ name) => numberOf(s, name, p.row);
  return definitions([
    ["variant", nameOf(s)], ...facts(p),
    [
      "launch", isFinite(v("grid_blocks")) &&
        `${grouped(v("grid_blocks"))} blocks of ${grouped(v("block_threads"))} threads`
    ],
    ["fastest sample", isFinite(v("time_min_s")) && microInterval(v("time_min_s"))],
    ["95th percentile", isFinite(v("time_p95_s")) && microInterval(v("time_p95_s"))],
    ["title", c.title], ["source", c.cites],
    ["strategy", ["thread", "block", "grid"].filter(level => c[level]).map(level => `${level}: ${c[level]}`).join("; ")],
    ["code", sourceOf(s.variant)], ["run", wordOf(s, "run_id", p.row)]
  ]);
}

/** Rings a point, with a little about it beside, so that the chart stays in sight; if `pinned` all of it below. */
function focus(/** @type {Point?} */ p, /** @type {boolean} */ pinned) {
  focused = p;
  const tip = $("tip");
  tip.hidden = !p;
  chart?.querySelector(".ring")?.remove();
  if (!p) return;
  const [x, y] = chart.at(p), width = $("plot").clientWidth, scale = width / chart.viewBox.baseVal.width;
  chart.append(make("circle",
    {class: "ring", cx: x, cy: y, r: 7, fill: "none", stroke: ink().text, "stroke-width": 1.5}));
  tip.replaceChildren(make("strong", {}, nameOf(p.series)),
    definitions(facts(p).filter(([name]) => name !== "settings" && name !== "throughput")));
  // Where there is little room, the style puts it below the chart.
  const box = tip.getBoundingClientRect(), left = x * scale + 14;
  tip.style.left = `${Math.max(0, left + box.width > width ? x * scale - box.width - 14 : left)}px`;
  tip.style.top =
    `${$("plot").offsetTop + Math.max(0, Math.min(y * scale - box.height / 2, $("plot").clientHeight - box.height))}px`;
  if (pinned) $("point").replaceChildren(describe(p));
}

const idOf = (/** @type {Point} */ p) => `${p.folder.name} ${p.n} ${p.series.key}`;

function nearest(/** @type {PointerEvent} */ event) {
  const box = chart.getBoundingClientRect(), scale = chart.viewBox.baseVal.width / box.width;
  const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
  const away = (/** @type {Point} */ p) => {
    const [px, py] = chart.at(p);
    return Math.hypot(px - x, py - y);
  };
  return d3.least(points.filter(p => away(p) < 40), away) ?? null;
}

/** By key whether it goes along a line or across the lines, and by how many points. */
const STEPS = /** @type {Record<string, [boolean, number]>} */ ({
  ArrowLeft: [true, -1],
  ArrowRight: [true, 1],
  ArrowUp: [false, 1],
  ArrowDown: [false, -1],
});
function step(/** @type {KeyboardEvent} */ event) {
  if (!points.length || !(event.key in STEPS || ["Enter", "Escape"].includes(event.key))) return;
  event.preventDefault();
  if (event.key === "Escape") return focus(null, false);
  const here = focused ?? points[0];
  if (event.key === "Enter") return open(here);
  if (!focused) return focus(here, true);
  const [along, by] = STEPS[event.key];
  const line = points.filter(p => (along ? p.series === here.series : p.n === here.n));
  if (!along) line.sort((a, b) => a.y - b.y);
  focus(line[line.indexOf(here) + by] ?? here, true);
}

function open(/** @type {Point} */ p) {
  state.point = idOf(p);
  writeFragment();
  focus(p, true);
  showSamples();
}

// ---------------------------------------------------------------------------------------------------- a point's
// samples

function showSamples() {
  const p = points.find(q => idOf(q) === state.point), place = $("samples");
  place.replaceChildren();
  if (!p) return;
  $("point").replaceChildren(describe(p));
  const samples = samplesOf(p.folder, p.row), means = !p.folder.samples;
  place.append(make("h3", {}, `Samples of ${nameOf(p.series)} at n = ${size(p.n)}`));
  if (!samples.length) {
    place.append(make("p", {},
      header.samples === "none" ?
        "The page was made with --samples none." :
        `${p.folder.name} has no samples of this point: its experiment's .samples.csv.gz is not there.`));
    return;
  }
  const contexts = [...new Set(samples.map(s => s.context))], colors = ink();
  place.append(make("p", {class: "hint"},
    means ?
      `The page holds the mean of each of ${counted(contexts.length, "context")}; --samples all holds every sample.` :
      `${counted(samples.length, "sample")} of ${counted(contexts.length, "context")}.`));
  const panel = (/** @type {string} */ title, /** @type {string} */ across, /** @type {string} */ up,
    /** @type {any[]} */ marks) => make("figure", {"aria-label": title}, make("figcaption", {class: "hint"}, title),
    plotOf({
      width: Math.min(460, Math.max(260, $("shown").clientWidth)),
      height: 240,
      marginLeft: 56,
      marginBottom: 40,
      x: {label: across, ...centred, tickFormat: v => (Number.isInteger(v) ? String(v) : "")},
      y: {label: up, grid: true, nice: true},
      marks
    }));
  const dots = (/** @type {any[]} */ data, /** @type {string} */ x, /** @type {string} */ y) =>
    Plot.dot(data, {x, y, r: 2.5, stroke: d => LINES[theme()][contexts.indexOf(d.context) % 9]});
  const across = means ? "context" : "round", title = means ?
    "The contexts in the order in which they were opened" :
    "In the order in which they were taken, a colour for each context";
  const charts = make("div", {class: "charts"}, panel(title, across, "time (us)", [dots(samples, across, "us")]));
  const base = baseOf(p), paired = base === undefined ? [] : pairs(p.folder, base, p.row);
  if (paired.length > 1 && base !== p.row) {
    const [y, low, high] = state.base ? [] : VALUES.speedup.of(name => numberOf(p.series, name, p.row));
    const name = `Paired ratio to ${p.folder.rows?.word("variant", Number(base))} by context`;
    charts.append(panel(isFinite(y) ? `${name}: ${interval(y, low, high)}` : name, "context", "t(base) / t", [
      Plot.ruleY([y].filter(isFinite), {stroke: colors.text}),
      Plot.ruleY([low, high].filter(isFinite), {stroke: colors.edge, strokeDasharray: "4 3"}),
      dots(paired, "context", "ratio")
    ]));
  }
  place.append(charts);
}

/** The row that a point's ratio is to: the chosen base, or the recorded one. */
function baseOf(/** @type {Point} */ p) {
  if (baseFolder() || own(COMPUTED, state.base)) return undefined;
  if (state.base) return baseRow(p.series, p.n)?.row;
  const name = wordOf(p.series, "speedup_reference", p.row);
  const bases = series.filter(s => s.folder === p.folder &&
                                (name ? s.variant === name : wordOf(s, "is_base", s.rows[0]) === "True"));
  return bases.flatMap(s => s.rows.filter(r => numberOf(s, "n", r) === p.n && numberOf(s, "speedup", r) === 1))[0];
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
  const names = [...new Set(points.flatMap(p => Object.keys(p.folder.rows?.columns ?? {})))].filter(
    n => !["kind", "group", "words", "is_base"].includes(n));
  const lines = points.map(p => [p.folder.name, ...names.map(name => wordOf(p.series, name, p.row))]);
  save(new Blob([d3.csvFormatRows([["folder", ...names], ...lines]) + "\n"], {type: "text/csv"}), "csv");
}

/** Under what conditions the shown rows were measured, a line for each folder. */
const conditionsOf = () => [...d3.group(points, p => p.folder)].map(([folder, group]) => {
  const ids = new Set(group.map(p => wordOf(p.series, "run_id", p.row)));
  const runs = runsOf(folder).filter(run => ids.has(run.run_id)), cuda = state.choice.device === "cuda";
  const driver = cuda && machineOf(folder, "gpu.driver"), machine = machineOf(folder, cuda ? "gpu.name" : "cpu.model");
  const words = [folder.name, machine, driver && `driver ${driver}`, allOf(runs, dayOf),
    runs.length && `revision ${allOf(runs, revisionOf)}`];
  return words.filter(Boolean).join(", ");
});

/** The picture with its title above and its conditions below. */
function svgBlob() {
  const lines = new Set(points.map(p => p.series)).size;
  const width = Math.max(900, 640 + marginOf()), drawn = draw(width, Math.max(480, 70 + 14 * lines), true);
  const wrapped = (/** @type {string} */ text) => {
    const out = [""];
    for (const word of text.split(/(?<=[ _/-])/))
      if ((out[out.length - 1] + word).length <= width / 7.2)
        out[out.length - 1] += word;
      else
        out.push(word);
    return out;
  };
  const above = wrapped(captionOf()), below = [noteOf(), ...conditionsOf()].filter(Boolean).flatMap(wrapped);
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
  const among = folders.filter(f => f.rows), choices = [];
  if (among.length > 1)
    choices.push(make("fieldset", {class: "wide"}, make("legend", {class: "hint"}, "folders"), ...among.map(f => {
      const toggle = () => {
        const on = among.filter(g => shownFolders().includes(g) !== (g === f)).map(g => g.name);
        state.only = on.length && on.length < among.length ? on : null;
      };
      const box = make("input", {type: "checkbox", id: `folder-${f.index}`, onchange: () => after(toggle)});
      box.checked = shownFolders().includes(f);
      return make("label", {class: "check"}, box, make("span", {}, f.name));
    })));
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
  if (state.value === "error") choices.push(choose("size", "n", sizesToChoose(sizesHere())));
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
  const chosen = chosenKeys(), items = [];
  let group = "";
  for (const s of d3.rollup(series, alike => alike[0], s => s.key).values()) {
    const c = catalogue(s.folder, s.variant), on = chosen.includes(s.key);
    const text = [s.key, s.label, c.title, c.thread, c.block, c.grid].join(" ").toLowerCase();
    if (!words.every(word => text.includes(word))) continue;
    if (s.group !== group)
      items.push(make("h3", {}, s.kind === "document" || !s.folder.catalog ? s.group : `${s.group} (${s.kind})`));
    group = s.group;
    const pick = (/** @type {boolean} */ alone) => after(() => {
      state.series = alone ? [s.key] : on ? chosen.filter(k => k !== s.key) : [...chosen, s.key];
    });
    const shown = button(`variant ${s.key}`, on ? swatch(lookOf(s)) : make("span"), e => pick(e.shiftKey),
      {"aria-pressed": String(on), "data-key": s.key, title: c.title ?? ""});
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
  if (read.length && !isOneSize()) notes.push("Shaded: faster than only reading the input.");
  if (floor.length && !isOneSize() && state.value !== "speedup") notes.push("Dotted: an empty call.");
  if (state.value === "error") notes.push("On the lower edge: exact.");
  if (state.value === "speedup" && quotient)
    notes.push("A quotient of two times: the program computed no interval over this base.");
  if (refused) notes.push(`${counted(refused, "point")} without a time: see Conditions.`);
  return notes.join(" ");
}

/** By what the table's rows are sorted: "" for as listed, "variant", or an n, the best first unless `turned`. */
const ranked = {by: "", turned: false};

/** The variants at each n. */
function showTable() {
  const place = /** @type {HTMLElement} */ ($("table").querySelector(".scroll"));
  if (!(/** @type {HTMLDetailsElement} */ ($("table")).open)) return place.replaceChildren();
  const {tell, less} = VALUES[state.value], sizes = d3.sort(new Set(points.map(p => p.n))), n = Number(ranked.by);
  let lines = [...d3.group(points, p => p.series)].map(([s, drawn]) => ({
    name: nameOf(s),
    at: new Map(drawn.map(p => [p.n, p]))
  }));
  if (ranked.by === "variant") lines = d3.sort(lines, line => line.name);
  if (ranked.by === "variant" && ranked.turned) lines.reverse();
  const sign = Boolean(less) === ranked.turned ? -1 : 1;
  if (sizes.includes(n)) lines = d3.sort(lines, line => sign * (line.at.get(n)?.y ?? NaN));  // those without it last
  const columns = ["variant", ...sizes.map(String)];
  const heads = columns.map(name => button(`rank-${name}`, name === "variant" ? name : size(Number(name)), () => {
    after(() => {
      ranked.turned = name === ranked.by && !ranked.turned;
      ranked.by = name;
    });
  }));
  const table = tableOf(captionOf(), heads, lines.map(({name, at}) => [name, ...sizes.map(k => {
    const p = at.get(k);
    return p ? tell(p) : "";
  })]));
  const upwards = (ranked.by === "variant" || Boolean(less)) !== ranked.turned;
  table.querySelectorAll("th")[columns.indexOf(ranked.by)]?.setAttribute("aria-sort",
    upwards ? "ascending" : "descending");
  place.replaceChildren(table);
}

function showChart() {
  selectSeries();
  const here = valuesHere(), recorded = series.some(s => s.rows.some(row => numberOf(s, "speedup", row) > 0));
  if (!here.includes(state.value))
    state.value = (recorded ? here[0] : here.find(value => value !== "speedup")) ?? "time";
  if (!sizesHere().map(String).includes(state.size)) state.size = String(sizesHere().at(-1) ?? "");
  if (!basesHere().has(state.base)) state.base = recorded ? "" : keys()[0] ?? "";
  assignSlots();
  selectPoints();
  showChoices();
  showVariants();
  $("caption").textContent = captionOf();
  $("note").textContent = noteOf();
  const place = $("plot"), width = Math.max(280, place.clientWidth), lines = [...new Set(points.map(p => p.series))];
  focus(null, false);
  chart = points.length ? draw(width, Math.max(320, Math.min(520, width * 0.6)), isLabelled(width)) : null;
  const why = !series.length ? "No row of this selection has a time. Conditions tells why." :
    chosenKeys().length      ? "None of the chosen variants has this value here." :
                               "Choose a variant.";
  place.replaceChildren(chart ?? make("p", {}, why));
  place.setAttribute("aria-label", `Chart: ${captionOf()}`);
  const below = isOneSize() || isLabelled(width) ? [] : lines;
  $("names").replaceChildren(...below.map(s => make("li", {}, swatch(lookOf(s)), nameOf(s))));
  $("point").replaceChildren();
  showSamples();
  showTable();
}
