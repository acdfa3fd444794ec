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
const SYMBOLS = ["circle", "square", "triangle", "diamond", "cross", "star", "wye", "hexagon", "triangle2"];
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
  for (const key of chosen)
    if (!slots.has(key)) {
      const library = series.find(s => s.key === key)?.kind === "library", taken = new Set();
      for (const [other, slot] of slots)
        if ((series.find(s => s.key === other)?.kind === "library") === library) taken.add(slot);
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
    return {
      color: own(colors, s.group) ?? ink().faint,
      symbol: SYMBOLS[(slot + 5) % SYMBOLS.length],
      dash: dash || (slot ? DASHES[slot % DASHES.length] : ""),
      hollow: true
    };
  }
  const k = slot % 9;
  return {
    color: LINES[theme()][k],
    symbol: SYMBOLS[k],
    dash: dash || DASHES[Math.floor(slot / 18) % DASHES.length],
    hollow: Math.floor(slot / 9) % 2 === 1
  };
}

const nameOf = (/** @type {Series} */ s) =>
  s.label + (shownFolders().length > (state.compare ? 2 : 1) ? `, ${s.folder.name}` : "");

// ---------------------------------------------------------------------------------------------------- chart

/** @type {any} */ let chart = null;  // what Plot drew
/** @type {Point?} */ let focused = null;

const isLog = () => (state.scale ? state.scale === "log" : !state.compare && VALUES[state.value].log);

/** By n what bounds the values: reading the input alone, and an empty call. */
function bounds() {
  if (state.compare || !["time", "rate", "speedup"].includes(state.value) || state.base === "first")
    return {read: [], floor: []};
  const shown = new Set(points.map(p => p.series)), read = new Map(), floor = new Map();
  // Rows of one n were sampled together, and have the same of both.
  const note = (/** @type {Map<number, number>} */ map, /** @type {number} */ n, /** @type {number} */ v) =>
    isFinite(v) && v > 0 && !map.has(n) && map.set(n, v);
  if (new Set([...shown].map(s => s.folder)).size > 1) return {read: [], floor: []};
  for (const s of shown)
    for (const row of s.rows) {
      const n = numberOf(s, "n", row), bytes = numberOf(s, "bytes", row) / 1e9,
            time = numberOf(s, "time_median_s", row);
      // Of the base, whose own row may be of another series.
      const base = (valueOf(s, row)?.y ?? NaN) * time;
      const over = state.value === "time" ?
        t => t* 1e6 :
        state.value === "rate" ?
        t => bytes / t :
        t => base / t;
      note(read, n, over(numberOf(s, "read_time_s", row)));
      note(floor, n, over(numberOf(s, "launch_floor_s", row)));
    }
  const line = (/** @type {Map<number, number>} */ map) => d3.sort([...map].map(([n, y]) => ({n, y})), b => b.n);
  return {read: line(read), floor: line(floor)};
}

/** Positions near the wanted ones, at least `gap` apart, within low ... high where there is room. */
function spread(
  /** @type {number[]} */ wanted, /** @type {number} */ gap, /** @type {number} */ low, /** @type {number} */ high) {
  const order = d3.sort(d3.range(wanted.length), i => wanted[i]), at = order.map(i => wanted[i]);
  for (let turn = 0; turn < 100; ++turn) {
    for (let i = 0; i + 1 < at.length; ++i) {
      const lacking = gap - (at[i + 1] - at[i]);
      if (lacking > 1e-6) {
        at[i] -= lacking / 2;
        at[i + 1] += lacking / 2;
      }
    }
    for (let i = 0; i < at.length; ++i)
      at[i] = Math.min(Math.max(at[i], low + i * gap), high - (at.length - 1 - i) * gap);
  }
  const out = /** @type {number[]} */ ([]);
  order.forEach((i, k) => {
    out[i] = at[k];
  });
  return out;
}

const centred = {
  labelAnchor: "center",
  labelArrow: "none"
};
const plotOf = (/** @type {any} */ given) => {
  const drawn = Plot.plot({className: header.chart, color: {type: "identity"}, symbol: {type: "identity"}, ...given});
  drawn.style.background = ink().paper;
  drawn.style.color = ink().text;
  drawn.style.fontSize = "12px";
  // Of a logarithmic axis D3 leaves labels out, now and then all of them. Whoever names ticks wants each.
  for (const axis of ["x", "y"]) {
    const {ticks, tickFormat} = given[axis] ?? {};
    if (Array.isArray(ticks))
      drawn.querySelectorAll(`[aria-label="${axis}-axis tick label"] text`)
        .forEach((/** @type {Element} */ text, /** @type {number} */ i) => text.textContent = tickFormat(ticks[i]));
  }
  return drawn;
};

/** A line's name beside it; where there is no room for names a letter, which the list below the chart explains. */
const lettered = (/** @type {number} */ width) =>
  width < 640 || widthOf(d3.max(points, p => nameOf(p.series).length) ?? 0) > width * 0.42;
const widthOf = (/** @type {number} */ letters) => 36 + 6.6 * letters;
const letterOf = (/** @type {number} */ i) => String.fromCharCode(97 + i % 26).repeat(1 + Math.floor(i / 26));
const besideOf = (/** @type {Series} */ s, /** @type {number} */ width) =>
  (lettered(width) ? letterOf([...new Set(points.map(p => p.series))].indexOf(s)) : nameOf(s));
/** How wide the names right of a chart are. */
const marginOf = (/** @type {Point[]} */ ends, /** @type {number} */ width) =>
  widthOf(d3.max(ends, p => besideOf(p.series, width).length) ?? 0);
/** A colour that text of can be read: darker on light ground, lighter on dark, until its contrast is 4.5. */
function legible(/** @type {string} */ color) {
  const light = (/** @type {any} */ c) => {
    const {r, g, b} = d3.rgb(c), [x, y, z] = [r, g,
      b].map(v => v / 255).map(v => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z + 0.05;
  };
  const ground = light(ink().paper);
  let shade = d3.hsl(color);
  for (let turn = 0; turn < 50 && Math.max(ground, light(shade)) / Math.min(ground, light(shade)) < 4.6; ++turn)
    shade = d3.hsl(shade.h, shade.s, shade.l + (darkness.matches ? 0.02 : -0.02));
  return shade.formatHex();
}

/** A variant's mark in a picture. */
const addMark = (/** @type {any} */ svg, /** @type {Look} */ look, /** @type {number} */ x, /** @type {number} */ y) =>
  svg.append("path")
    .attr("d", d3.symbol(symbolOf(look), 40)())
    .attr("transform", `translate(${x},${y})`)
    .attr("stroke", look.color)
    .attr("fill", look.hollow ? ink().paper : look.color);

/** A variant's name beside the chart, with its mark where no line leads there. */
function label(/** @type {any} */ drawn, /** @type {number} */ x, /** @type {number} */ y, /** @type {Point} */ p,
  /** @type {Look} */ look, mark = true) {
  const svg = d3.select(drawn);
  if (mark) addMark(svg, look, x - 8, y);
  svg.append("text")
    .attr("x", x)
    .attr("y", y)
    .attr("dy", "0.35em")
    .attr("text-anchor", "start")
    .attr("fill", legible(look.color))
    .text(besideOf(p.series, Number(svg.attr("width"))));
}

const symbolOf = (/** @type {Look} */ look) => /** @type {any} */ ({
  circle: d3.symbolCircle,
  square: d3.symbolSquare,
  triangle: d3.symbolTriangle,
  diamond: d3.symbolDiamond,
  cross: d3.symbolCross,
  star: d3.symbolStar,
  wye: d3.symbolWye
})[look.symbol] ??
  d3.symbolCircle;

/** Lines against n, or of one size a line of dots, the fastest first. */
function draw(/** @type {number} */ width, /** @type {number} */ height, /** @type {boolean} */ labelled) {
  const colors = ink(), {read, floor} = bounds(), log = isLog();
  const lines = [...new Set(points.map(p => p.series))], look = new Map(lines.map(s => [s, lookOf(s)]));
  const lookOfPoint = (/** @type {Point} */ p) => /** @type {Look} */ (look.get(p.series));
  const others = shownFolders().filter(f => f.name !== state.compare);
  const unit = state.compare ? `speedup ${others.length === 1 ? `of ${others[0].name} ` : ""}over ${state.compare}` :
    state.value === "speedup" ? `speedup over ${baseName()}, t(base) / t` :
                                VALUES[state.value].unit;
  const sizes = [...new Set(points.map(p => p.n))], shadeUp = state.value !== "time";
  const dots = (/** @type {any} */ x, /** @type {any} */ y, more = {r: 3.2, strokeWidth: 1.2}) => Plot.dot(points, {
    x,
    y,
    stroke: p => lookOfPoint(p).color,
    fill: p => (lookOfPoint(p).hollow ? colors.paper : lookOfPoint(p).color),
    symbol: p => lookOfPoint(p).symbol,
    ...more
  });
  const spans = points.filter(p => isFinite(p.low) && isFinite(p.high) && p.low > 0);
  if (state.value === "error" && !state.compare) {
    const low = (d3.min(points, p => p.y || Infinity) ?? 1) / 4,
          time = (/** @type {Point} */ p) => numberOf(p.series, "time_median_s", p.row) * 1e6;
    const y = (/** @type {Point} */ p) => Math.max(p.y, Math.min(low, 1e-9)), across = d3.extent(points, time),
          up = d3.extent(points, y);
    const x = [across[0] / 1.2, across[1] * 1.2], ends = d3.sort(points, p => -y(p)),
          right = labelled ? marginOf(ends, width) : 20;
    const drawn = plotOf({
      width,
      height,
      marginLeft: 60,
      marginRight: right,
      marginBottom: 40,
      marginTop: 26,
      x: {type: "log", label: "time (us)", ...centred, domain: x, ticks: decades(x), tickFormat: plain, grid: true},
      y: {
        type: log ? "log" : "linear",
        label: unit,
        labelArrow: "none",
        grid: true,
        domain: log ? [up[0] / 1.5, up[1] * 1.5] : [0, up[1] * 1.08],
        ticks: log ? decades([up[0] / 1.5, up[1] * 1.5]) : 6,
        tickFormat: v => Number(v.toPrecision(3)).toExponential()
      },
      marks: [dots(time, y)]
    });
    // Several are exact, at one height: so names stand beside the chart, from the least exact on.
    if (labelled) ends.forEach((p, i) => label(drawn, width - right + 17, 36 + 16 * i, p, lookOfPoint(p)));
    return Object.assign(drawn, {at: p => [drawn.scale("x").apply(time(p)), drawn.scale("y").apply(y(p))]});
  }
  if (sizes.length === 1) {
    const name = (/** @type {Point} */ p) => nameOf(p.series);
    const names =
      d3.sort(points, p => (state.value === "time" || state.value === "cycles" || state.value === "part" ? p.y : -p.y))
        .map(name);
    const left = Math.min(width / 2, 20 + 6.4 * (d3.max(names, s => s.length) ?? 0));
    const drawn = plotOf({
      width,
      height: 70 + 22 * names.length,
      marginLeft: left,
      marginBottom: 44,
      marginTop: 10,
      x: {label: unit, ...centred, type: log ? "log" : "linear", grid: true, tickFormat: plain},
      y: {domain: names, label: null},
      marks: [
        ...(state.value === "speedup" || state.compare ? [Plot.ruleX([1], {stroke: colors.text})] : []),
        Plot.ruleY(spans, {y: name, x1: "low", x2: "high", stroke: p => lookOfPoint(p).color, strokeWidth: 2}),
        dots("y", name, {r: 3.6, strokeWidth: 1.5})
      ]
    });
    return Object.assign(drawn,
      {at: p => [drawn.scale("x").apply(p.y), drawn.scale("y").apply(name(p)) + drawn.scale("y").bandwidth / 2]});
  }
  const tops = [...points.map(p => p.y), ...(shadeUp ? read.map(b => b.y) : [])];
  const lows = [...points.map(p => p.y), ...(state.value === "time" ? read.map(b => b.y) : [])];
  const domain = log ? [d3.min(lows) / 1.3, d3.max(tops) * 1.3] : [0, d3.max(tops) * 1.08];
  const clip = (/** @type {number} */ y) => Math.min(Math.max(y, domain[0]), domain[1]);
  const ends = [...d3.group(points, p => p.series).values()].map(line => /** @type {Point} */ (line.at(-1)));
  const right = labelled ? marginOf(ends, width) : 20;
  const element = numberOf(points[0].series, "bytes", points[0].row) / points[0].n, span = d3.extent(sizes);
  const l2 = [...d3.group([...new Set(points.map(p => p.folder))], f => machineOf(f, "gpu.l2_bytes"))];
  const full = l2.filter(([bytes]) => bytes / element >= span[0] && bytes / element <= span[1]);
  const marks = [
    ...(read.length ?
          [
            Plot.areaY(read, {x: "n", y1: b => clip(b.y), y2: shadeUp ? domain[1] : domain[0], fill: colors.shade}),
            Plot.line(read, {x: "n", y: b => clip(b.y), stroke: colors.edge, strokeWidth: 1})
          ] :
          []),
    ...(floor.length && state.value !== "speedup" ?
          [Plot.line(floor.filter(b => b.y >= domain[0] && b.y <= domain[1]),
            {x: "n", y: "y", stroke: colors.edge, strokeDasharray: "1 3", strokeWidth: 1.5})] :
          []),
    ...full.flatMap(([bytes, gpus], i) => [Plot.ruleX([bytes / element], {stroke: colors.edge, strokeDasharray: "4 3"}),
                      Plot.text([bytes / element], {
                        x: n => n,
                        y: domain[1],
                        text: [`L2 is full: ${grouped(bytes / 2 ** 20)} MiB${
                          full.length > 1 ? `, ${gpus.map(f => f.name).join(", ")}` : ""}`],
                        dx: bytes / element > Math.sqrt(span[0] * span[1]) ? -4 : 4,
                        dy: 7 + 14 * i,
                        textAnchor: bytes / element > Math.sqrt(span[0] * span[1]) ? "end" : "start",
                        fill: colors.faint
                      })]),
    ...(state.value === "speedup" || state.compare ? [Plot.ruleY([1], {stroke: colors.text})] : []),
    Plot.ruleX(spans, {
      x: "n",
      y1: p => clip(p.low),
      y2: p => clip(p.high),
      stroke: p => lookOfPoint(p).color,
      strokeWidth: 2.5,
      strokeOpacity: 0.5
    }),
    ...lines.map(s => Plot.line(points.filter(p => p.series === s), {
      x: "n",
      y: "y",
      stroke: lookOf(s).color,
      strokeWidth: s.kind === "library" ? 2 : 1.4,
      strokeDasharray: lookOf(s).dash || undefined
    })),
    dots("n", "y"),
  ];
  const powers = d3.range(Math.ceil(Math.log2(span[0])), Math.floor(Math.log2(span[1])) + 1);
  const ticks =
    powers.filter(k => k % Math.ceil(powers.length / Math.max(2, (width - right) / 60)) === 0).map(k => 2 ** k);
  const drawn = plotOf({
    width,
    height,
    marginRight: right,
    marginLeft: 56,
    marginBottom: 40,
    marginTop: 26,
    x: {
      type: "log",
      base: 2,
      label: "n (elements)",
      ...centred,
      ticks: ticks.length > 1 ? ticks : undefined,
      tickFormat: size,
      domain: [span[0] / 1.1, span[1] * 1.1]
    },
    y: {
      type: log ? "log" : "linear",
      label: unit,
      grid: true,
      domain,
      ticks: log ? decades(domain) : 8,
      tickFormat: plain,
      labelArrow: "none"
    },
    marks
  });
  const x = drawn.scale("x"), y = drawn.scale("y");
  if (labelled) {
    const svg = d3.select(drawn), at = spread(ends.map(p => y.apply(p.y)), 14, 20, height - 30), edge = width - right;
    ends.forEach((p, i) => {
      svg.append("path")
        .attr("d", `M${x.apply(p.n) + 5},${y.apply(p.y)}L${edge + 4},${y.apply(p.y)}L${edge + 14},${at[i]}`)
        .attr("stroke", lookOfPoint(p).color)
        .attr("fill", "none")
        .attr("stroke-width", 0.7);
      label(drawn, edge + 17, at[i], p, lookOfPoint(p), false);
    });
  }
  return Object.assign(drawn, {at: p => [x.apply(p.n), y.apply(p.y)]});
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

/** Of the recorded speedups what they are over. */
function recordedBase() {
  const bases =
    new Set(series.flatMap(s => s.rows.map(row => wordOf(s, "speedup_reference", row))).filter(word => word));
  return bases.size ? [...bases].join(", ") : "CUB";
}
const baseName = () =>
  (state.base === RECORDED ? recordedBase() :
                             own(COMPUTED, state.base) ?? series.find(s => s.key === state.base)?.label ?? state.base);

/** "sum of f32, device time, L2 cold and dirty, on one NVIDIA H200" */
function captionOf() {
  const c = state.choice,
        words = [`${labelOf(c.operation)} of ${c.element_type}`, labelOf(c.timing_mode), labelOf(c.cache_state)];
  for (const name of ["dataset", "offset_elements", "seed", "caller"])
    if ((options.get(name)?.length ?? 0) > 1) words.push(`${nameOfColumn(name)}: ${labelOf(c[name])}`);
  return `${c.experiment}: ${words.join(", ")}; ${
    shownFolders()
      .map(f => machineOf(f, "gpu.name") && c.device === "cuda" ? `${machineOf(f, "gpu.name")} (${f.name})` : f.name)
      .join(", ")}`;
}

/** What the chart shows of a point, in words. */
const tell = (/** @type {Point} */ p) =>
  (state.compare ? interval(p.y, p.low, p.high) : VALUES[state.value].tell(p));

/** What is known of a point, for the card and below the chart. @returns {any[][]} */
function facts(/** @type {Point} */ p) {
  const s = p.series, v = (/** @type {string} */ name) => numberOf(s, name, p.row), rate = v("bandwidth_bytes_per_s");
  const shown = state.compare ? `speedup over ${state.compare}` :
    state.value === "speedup" ? `speedup over ${baseName()}` :
                                VALUES[state.value].label;
  const beside = (/** @type {string} */ value) => state.value !== value || state.compare;
  const rejected = v("n_rejected") > 0 ? `, ${grouped(v("n_rejected"))} discarded because the GPU throttled` : "";
  return [
    ["n", size(p.n)], [shown, tell(p)],
    [
      "time", beside("time") && isFinite(v("time_median_s")) &&
        microInterval(v("time_median_s"), v("time_ci_low_s"), v("time_ci_high_s"))
    ],
    ["throughput", beside("rate") && isFinite(rate) && `${grouped(rate / 1e9, 1)} GB/s`],
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
    ["fastest sample", microInterval(v("time_min_s"))], ["95th percentile", microInterval(v("time_p95_s"))],
    ["title", c.title], ["source", c.cites],
    ["strategy", ["thread", "block", "grid"].filter(level => c[level]).map(level => `${level}: ${c[level]}`).join("; ")],
    ["code", sourceOf(s.variant)], ["run", wordOf(s, "run_id", p.row)]
  ]);
}

function focus(/** @type {Point?} */ p, /** @type {boolean} */ pinned) {
  focused = p;
  const tip = $("tip");
  tip.hidden = !p;
  d3.select(chart).selectAll(".ring").remove();
  if (!p) return;
  const [x, y] = chart.at(p), width = $("plot").clientWidth, scale = width / chart.viewBox.baseVal.width;
  d3.select(chart)
    .append("circle")
    .attr("class", "ring")
    .attr("cx", x)
    .attr("cy", y)
    .attr("r", 7)
    .attr("fill", "none")
    .attr("stroke", ink().text)
    .attr("stroke-width", 1.5);
  // Little, so that the chart stays in sight; below it stands all that is known.
  tip.replaceChildren(make("strong", {}, nameOf(p.series)),
    definitions(facts(p).filter(([name]) => name !== "settings" && name !== "throughput")));
  if (getComputedStyle(tip).position === "static") return pinned ? $("point").replaceChildren(describe(p)) : undefined;
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
  const closest = d3.least(points, away);
  return closest && away(closest) < 40 ? closest : null;
}

function step(/** @type {KeyboardEvent} */ event) {
  if (!points.length || !["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Enter", "Escape"].includes(event.key))
    return;
  event.preventDefault();
  if (event.key === "Escape") return focus(null, false);
  const here = focused && points.includes(focused) ? focused : points[0];
  if (event.key === "Enter") return open(here);
  if (!focused) return focus(here, true);
  const along = event.key === "ArrowLeft" || event.key === "ArrowRight",
        forward = event.key === "ArrowRight" || event.key === "ArrowUp";
  const line =
    along ? points.filter(p => p.series === here.series) : d3.sort(points.filter(p => p.n === here.n), p => p.y);
  focus(line[Math.min(Math.max(line.indexOf(here) + (forward ? 1 : -1), 0), line.length - 1)], true);
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
  if (focused !== p) $("point").replaceChildren(describe(p));
  const samples = samplesOf(p.folder, p.row), means = !p.folder.samples;
  place.append(make("h3", {}, `Samples of ${nameOf(p.series)} at n = ${size(p.n)}`));
  if (!samples.length) {
    place.append(make("p", {},
      header.samples === "none" ?
        "The page was made with --samples none." :
        `${p.folder.name} has no samples of this point: its experiment's .samples.csv.gz is not there.`));
    return;
  }
  const contexts = [...new Set(samples.map(s => s.context))], colors = ink(),
        hue = (/** @type {number} */ c) => LINES[theme()][contexts.indexOf(c) % 9];
  place.append(make("p", {class: "hint"},
    means ?
      `The page holds the mean of each of ${counted(contexts.length, "context")}; --samples all holds every sample.` :
      `${counted(samples.length, "sample")} of ${counted(contexts.length, "context")}.`));
  const us = samples.map(s => ({...s, us: s.time * 1e6})),
        width = Math.min(460, Math.max(260, $("shown").clientWidth));
  /** @type {any[]} */ const steps = [];
  for (const [context, sorted] of means ? [[0, us]] : d3.group(us, s => s.context))
    d3.sort(sorted, s => s.us).forEach((s, i) => steps.push({context, us: s.us, share: (i + 1) / sorted.length}));
  const panel = (/** @type {string} */ title, /** @type {any} */ given) =>
    make("figure", {"aria-label": title}, make("figcaption", {class: "hint"}, title),
      plotOf({width, height: 240, marginLeft: 56, marginBottom: 40, ...given}));
  const charts = make("div", {class: "charts"},
    panel(
      means ? "Cumulative share of the contexts' means" : "Cumulative share of the samples, a line for each context", {
        marginLeft: 46,
        x: {label: "time (us)", nice: true, ...centred},
        y: {label: "share", domain: [0, 1], grid: true},
        marks: [Plot.line(steps, {
          x: "us",
          y: "share",
          z: "context",
          curve: "step-after",
          stroke: s => (means ? colors.text : hue(s.context))
        })]
      }),
    panel(means ? "The contexts in the order in which they were opened" :
                  "In the order in which they were taken, a colour for each context", {
        x: {label: means ? "context" : "round", ...centred},
        y: {label: "time (us)", grid: true, nice: true},
        marks: [Plot.dot(us, {x: means ? "context" : "round", y: "us", r: 2.5, stroke: s => hue(s.context)})]
      }));
  const base = baseOf(p), paired = base === null ? [] : pairs(p.folder, base, p.row);
  if (paired.length > 1 && base !== p.row) {
    const v = (/** @type {string} */ name) => (state.base === RECORDED ? numberOf(p.series, name, p.row) : NaN),
          [y, low, high] = [v("speedup"), v("speedup_ci_low"), v("speedup_ci_high")];
    charts.append(panel(`Paired ratio to ${p.folder.rows?.word("variant", /** @type {number} */ (base))} by context${
                          isFinite(y) ? `: ${interval(y, low, high)}` : ""}`, {
      x: {label: "context", ...centred},
      y: {label: "t(base) / t", grid: true, nice: true},
      marks: [
        Plot.ruleY([y].filter(isFinite), {stroke: colors.text}),
        Plot.ruleY([low, high].filter(isFinite), {stroke: colors.edge, strokeDasharray: "4 3"}),
        Plot.dot(paired, {x: "context", y: "ratio", r: 3, stroke: q => hue(q.context)})
      ]
    }));
  }
  place.append(charts);
}

/** The row that a point's ratio is to: the chosen base, or the recorded one. */
function baseOf(/** @type {Point} */ p) {
  if (own(COMPUTED, state.base)) return null;
  if (state.base !== RECORDED) return baseRow(p.series, p.n);
  const name = wordOf(p.series, "speedup_reference", p.row);
  for (const s of series)
    if (s.folder === p.folder && (name ? s.variant === name : wordOf(s, "is_base", s.rows[0]) === "True")) {
      const row = s.rows.find(r => numberOf(s, "n", r) === p.n && numberOf(s, "speedup", r) === 1);
      if (row !== undefined) return row;
    }
  return null;
}

// ---------------------------------------------------------------------------------------------------- take along

function save(/** @type {Blob} */ blob, /** @type {string} */ name) {
  const link = make("a", {href: URL.createObjectURL(blob), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** The rows behind what is shown, with the columns that the page holds. */
function csvText() {
  const names = [...new Set(points.flatMap(p => Object.keys(p.folder.rows?.columns ?? {})))].filter(
    n => !["kind", "group", "words", "is_base"].includes(n));
  const lines = points.map(p => [p.folder.name, ...names.map(name => wordOf(p.series, name, p.row))]);
  return d3.csvFormatRows([["folder", ...names], ...lines]) + "\n";
}

/** comparison-sum-f32-device-cold_dirty-speedup-nvidia-h200 */
const fileName =
  () => [...["experiment", "operation", "element_type", "timing_mode", "cache_state"].map(name => state.choice[name]),
    state.compare ? "ratio" : state.value, ...shownFolders().map(f => f.name)]
          .join("-")
          .replace(/[^\w.-]+/g, "_")
          .slice(0, 150);

/** Under what conditions the shown rows were measured, a line for each folder. */
const conditionsOf = () => [...d3.group(points, p => p.folder)].map(([folder, group]) => {
  const ids = new Set(group.map(p => wordOf(p.series, "run_id", p.row)));
  const runs = runsOf(folder).filter(run => ids.has(run.run_id)),
        all = (/** @type {(run: any) => any} */ what) => [...new Set(runs.map(what).filter(Boolean).map(String))].join(
          ", ");
  return [
    folder.name, machineOf(folder, state.choice.device === "cpu" ? "cpu.model" : "gpu.name"),
    machineOf(folder, "gpu.driver") && state.choice.device === "cuda" ? `driver ${machineOf(folder, "gpu.driver")}` :
                                                                        "",
    all(run => String(run.started_utc ?? "").slice(0, 10)),
    runs.length ? `revision ${all(run => String(run.git_revision ?? "").slice(0, 7))}` : ""
  ].filter(Boolean)
    .join(", ");
});

/** The picture with its title above and its conditions below. */
function svgText() {
  const width = 900, height = 480, drawn = draw(width, height, true), svg = d3.select(drawn);
  const wrapped = (/** @type {string} */ text) => {
    const lines = [""];
    for (const word of text.split(/(?<=[ _/-])/))
      if ((lines[lines.length - 1] + word).length <= 125)
        lines[lines.length - 1] += word;
      else
        lines.push(word);
    return lines;
  };
  const lines = lettered(width) ? [...new Set(points.map(p => p.series))] : [];
  const named = lines.map(s => `${besideOf(s, width)}: ${nameOf(s)}`).join(", ");
  const above = wrapped(captionOf()), below = [named, noteOf(), ...conditionsOf()].filter(Boolean).flatMap(wrapped);
  const tall = Number(svg.attr("height")), top = 16 * above.length + 8, bottom = 15 * below.length + 8;
  svg.attr("height", tall + top + bottom).attr("viewBox", `0 ${- top} ${width} ${tall + top + bottom}`);
  svg.insert("rect", ":first-child")
    .attr("y", -top)
    .attr("width", width)
    .attr("height", tall + top + bottom)
    .attr("fill", ink().paper);
  const write = (/** @type {string} */ text, /** @type {number} */ y, /** @type {string} */ weight) =>
    svg.append("text")
      .attr("x", 8)
      .attr("y", y)
      .attr("text-anchor", "start")
      .attr("font-weight", weight)
      .attr("fill", ink().text)
      .text(text);
  above.forEach((line, i) => write(line, 16 * (i + 1) - top, "bold"));
  below.forEach((line, i) => write(line, tall + 15 * (i + 1), "normal"));
  drawn.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  drawn.style.fontFamily = "sans-serif";
  return new XMLSerializer().serializeToString(drawn).replace(
    /[\x00-\x08\x0b\x0c\x0e-\x1f]/g, "");  // no XML holds these
}

function savePng() {
  const image = new Image(), address = URL.createObjectURL(new Blob([svgText()], {type: "image/svg+xml"}));
  image.onload = () => {
    const canvas = make("canvas", {width: image.width * 2, height: image.height * 2});
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob(blob => save(blob, `${fileName()}.png`), "image/png");
    URL.revokeObjectURL(address);
  };
  image.src = address;
}

// ---------------------------------------------------------------------------------------------------- the chart's view

function showChoices() {
  const again = (/** @type {() => void} */ change) => {
    change();
    showChart();
  };
  const place = $("choices"), several = folders.filter(f => f.rows).length > 1, here = valuesHere();
  const had = /** @type {HTMLElement?} */ (document.activeElement)?.id;
  place.replaceChildren();
  if (several) {
    place.append(make(
      "fieldset", {class: "wide"}, make("legend", {class: "hint"}, "folders"), ...folders.filter(f => f.rows).map(f => {
        const box = make("input", {
          type: "checkbox",
          id: `folder-${f.index}`,
          onchange: () => again(() => {
            const on = new Set(shownFolders().map(g => g.name));
            on.has(f.name) ? on.delete(f.name) : on.add(f.name);
            state.only = on.size === 0 || on.size === folders.length ? null : [...on];
          })
        });
        box.checked = shownFolders().includes(f);
        return make("label", {class: "check"}, box, make("span", {}, f.name));
      })));
  }
  if (shownFolders().length > 1) {
    const ways = shownFolders().map(f => /** @type {[string, string]} */ ([f.name, `as a ratio to ${f.name}`]));
    place.append(choose("compare", "compare", [["", "side by side"], ...ways], state.compare, word => again(() => {
      state.compare = word;
      state.scale = "";
    }),
      true));
  }
  for (const [name, words] of options)
    if (words.length > 1 || ["experiment", "operation", "element_type", "timing_mode", "cache_state"].includes(name))
      place.append(choose(name, nameOfColumn(name), words.map(w => [w, name === "experiment" ? w : labelOf(w)]),
        state.choice[name], word => again(() => {
          state.asked[name] = word;
          if (name === "experiment") state.series = null;
        }),
        name === "experiment"));
  if (!state.compare)
    place.append(choose("value", "show", here.map(v => [v, VALUES[v].label]), state.value, word => again(() => {
      state.value = word;
      state.scale = "";
    })));
  place.append(choose(
    "scale", "axis", [["log", "logarithmic"], ["linear", "linear"]], isLog() ? "log" : "linear", word => again(() => {
      state.scale = word;
    })));
  if (state.value === "error" && !state.compare)
    place.append(choose("size", "n", sizesToChoose(sizesHere()), state.size, word => again(() => {
      state.size = word;
    })));
  if (state.value === "speedup" && !state.compare) {
    const labels = new Map(series.map(s => [s.key, s.label])), recorded = hasRecorded();
    place.append(choose("base", "speedup over",
      [
        ...(recorded ? [/** @type {[string, string]} */ ([RECORDED, `${recordedBase()}, as recorded`])] : []),
        ...computedHere().map(name => /** @type {[string, string]} */ ([name, COMPUTED[name]])), ...labels
      ],
      state.base, word => again(() => {
        state.base = word;
      }),
      true));
  }
  if (had) document.getElementById(had)?.focus();
}

const sizesHere = () => d3.sort(new Set(series.flatMap(s => s.rows.map(row => numberOf(s, "n", row)))));
const computedHere = () =>
  Object.keys(COMPUTED).filter(name => series.some(s => s.rows.some(row => s.folder.speedups[name]?.[0][row] > 0)));
const hasRecorded = () => series.some(s => s.rows.some(row => numberOf(s, "speedup", row) > 0));

/** A small picture of a line's look. */
function swatch(/** @type {Look} */ look) {
  const svg = d3.create("svg").attr("width", 26).attr("height", 12).attr("aria-hidden", "true");
  svg.append("path")
    .attr("d", "M0,6H26")
    .attr("stroke", look.color)
    .attr("stroke-width", 1.6)
    .attr("stroke-dasharray", look.dash || null);
  addMark(svg, look, 13, 6);
  return svg.node();
}

function showVariants() {
  const place = $("variants"),
        words = /** @type {HTMLInputElement} */ ($("search")).value.toLowerCase().split(/\s+/).filter(Boolean);
  const chosen = chosenKeys(), had = /** @type {any} */ (document.activeElement)?.dataset?.key;
  place.replaceChildren();
  let group = "";
  for (const s of d3.rollup(series, alike => alike[0], s => s.key).values()) {
    const c = catalogue(s.folder, s.variant),
          text = [s.key, s.label, c.title, c.thread, c.block, c.grid].join(" ").toLowerCase();
    if (!words.every(word => text.includes(word))) continue;
    if (s.group !== group)
      place.append(make(
        "h3", {}, `${group = s.group}${s.kind === "document" || !s.folder.catalog ? "" : ` (${s.kind})`}`));
    const on = chosen.includes(s.key);
    const shown = button(null, on ? swatch(lookOf(s)) : make("span"), e => {
      state.series = e.shiftKey ? [s.key] : on ? chosen.filter(k => k !== s.key) : [...chosen, s.key];
      showChart();
    }, {"aria-pressed": String(on), "data-key": s.key, title: c.title ?? ""});
    shown.append(s.label);
    place.append(shown);
  }
  if (!place.children.length)
    place.append(make("p", {class: "hint"}, series.length ? "No variant matches." : "No variant has times here."));
  if (had !== undefined) [...place.querySelectorAll("button")].find(b => b.dataset.key === had)?.focus();
}

function noteOf() {
  const notes = [];
  if (points.some(p => wordOf(p.series, "device", p.row) === "sim"))
    notes.push("These rows are of the simulated device, which has no times.");
  if (points.some(p => p.low > 0)) notes.push("Bars: 95 % intervals.");
  if (["time", "rate", "speedup"].includes(state.value) && bounds().read.length)
    notes.push(
      "Shaded: faster than only reading the input. " + (state.value === "speedup" ? "" : " Dotted: an empty call."));
  if (state.value === "error") notes.push("On the lower edge: exact.");
  if (state.compare || (state.value === "speedup" && state.base !== RECORDED && !own(COMPUTED, state.base)))
    notes.push("A quotient of two times: the program computed no interval over this base.");
  if (refused) notes.push(`${counted(refused, "point")} without a time: see Conditions.`);
  return notes.join(" ");
}

/** The variants at one n, the best first, or by the column whose head is clicked. */
function showRanked() {
  const place = /** @type {HTMLElement} */ ($("ranked").querySelector(".scroll")),
        sizes = d3.sort(new Set(points.map(p => p.n)));
  if (!(/** @type {HTMLDetailsElement} */ ($("ranked")).open) || !points.length) return place.replaceChildren();
  if (!sizes.includes(ranked.n)) ranked.n = /** @type {number} */ (sizes.at(-1));
  const v = (/** @type {string} */ name) => (/** @type {Point} */ p) => numberOf(p.series, name, p.row);
  const shown = state.compare ? `speedup over ${state.compare}` : VALUES[state.value].label;
  const columns = /** @type {[string, (p: Point) => any, (p: Point) => string][]} */ ([
    ["variant", p => nameOf(p.series), p => nameOf(p.series)],
    [shown, p => p.y, tell],
    [
      "time, in us", v("time_median_s"),
      p => (isFinite(v("time_median_s")(p)) ? micro(v("time_median_s")(p) * 1e6) : "")
    ],
    [
      "throughput, in GB/s", v("bandwidth_bytes_per_s"),
      p => (isFinite(v("bandwidth_bytes_per_s")(p)) ? grouped(v("bandwidth_bytes_per_s")(p) / 1e9, 1) : "")
    ],
  ]).filter(([name], i) => i < 2 || !name.startsWith(shown + ","));
  const small = ["time", "part", "error", "cycles"].includes(state.value) && !state.compare;
  const by = columns.find(([name]) => name === ranked.by) ?? columns[1];
  const best =
    by === columns[0] || by[0].startsWith("time") || (by === columns[1] && small) ? d3.ascending : d3.descending;
  const rows = points.filter(p => p.n === ranked.n).sort((a, b) => (ranked.turned ? -1 : 1) * best(by[1](a), by[1](b)));
  const head = columns.map(([name]) => button(null, name, () => {
    ranked.turned = name === by[0] && !ranked.turned;
    ranked.by = name;
    showRanked();
    /** @type {any} */ ([...place.querySelectorAll("th button")].find(b => b.firstChild?.textContent === name))?.focus();
  }, {"aria-pressed": String(name === by[0])}));
  const table = tableOf(`At n = ${size(ranked.n)}`, ["rank", ...head],
    rows.map((p, i) => [String(i + 1), ...columns.map(([, , tell]) => tell(p))]));
  table.querySelectorAll("th")[1 + columns.indexOf(by)].setAttribute(
    "aria-sort", (best === d3.ascending) !== ranked.turned ? "ascending" : "descending");
  place.replaceChildren(choose("ranked-n", "at this n", sizesToChoose(sizes), String(ranked.n), word => {
    ranked.n = Number(word);
    showRanked();
    $("choice-ranked-n").focus();
  }),
    table);
}
const MOST_NAMES = 24;  // beside lines
const ranked = {
  n: NaN,
  by: "",
  turned: false
};

/** The names of the lines, where letters stand beside them or there are too many for either. */
function showNames(/** @type {number} */ width) {
  const all = [...new Set(points.map(p => p.series))],
        beside = state.value === "error" || new Set(points.map(p => p.n)).size > 1;
  const many = all.length > MOST_NAMES, lines = beside && (many || lettered(width)) ? all : [];
  $("names").replaceChildren(...lines.map(s => make(
    "li", {}, swatch(lookOf(s)), many ? "" : make("b", {}, besideOf(s, width)), ` ${nameOf(s)}`)));
}

function showTable() {
  const place = /** @type {HTMLElement} */ ($("table").querySelector(".scroll"));
  if (!(/** @type {HTMLDetailsElement} */ ($("table")).open)) return place.replaceChildren();
  const lines = [...d3.group(points, p => p.series)], sizes = d3.sort(new Set(points.map(p => p.n)));
  place.replaceChildren(
    tableOf(captionOf(), ["n", ...lines.map(([s]) => nameOf(s))], sizes.map(n => [size(n), ...lines.map(([, drawn]) => {
      const p = drawn.find(q => q.n === n);
      return p ? tell(p) : "";
    })])));
}

function showChart() {
  selectSeries();
  const here = valuesHere();
  if (!here.includes(state.value))
    state.value = here.includes("speedup") && hasRecorded() ? "speedup" :
      here[0] === "speedup"                                 ? here[1] ?? "speedup" :
                                                              here[0] ?? "time";
  if (!sizesHere().map(String).includes(state.size)) state.size = String(sizesHere().at(-1) ?? "");
  if (!keys().includes(state.base) && !computedHere().includes(state.base)) state.base = hasRecorded() ? RECORDED : keys()[0] ?? "";
  if (shownFolders().length < 2 || !shownFolders().some(f => f.name === state.compare)) state.compare = "";
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
    place.replaceChildren(make("p", {},
      series.length ? (chosenKeys().length ? "None of the chosen variants has this value here." : "Choose a variant.") :
                      "No row of this selection has a time. Conditions tells why."));
  } else {
    const width = Math.max(280, place.clientWidth);
    chart =
      draw(width, Math.max(320, Math.min(520, width * 0.6)), new Set(points.map(p => p.series)).size <= MOST_NAMES);
    place.replaceChildren(chart);
    place.setAttribute("aria-label", `Chart: ${captionOf()}`);
  }
  showNames(points.length ? Math.max(280, place.clientWidth) : 0);
  $("point").replaceChildren();
  showSamples();
  showTable();
  showRanked();
  showBanners();
  writeFragment();
}
