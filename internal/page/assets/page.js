// The page's script: draw(model) draws all lanes of a model, again and again if
// need be (the live page has none at first); the rest is reading and zooming. Texts
// of the run come in through textContent alone. Nothing is loaded, nothing is kept.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const lanes = $("lanes"), readout = $("readout"), cursor = $("cursor"), brush = $("brush");
  const svgSpace = $("defs").namespaceURI;
  const RIGHT = 14, ROW = 18, AXIS = 18;
  let model = null; // what is drawn
  let view = null; // {from, to}: the part of the time axis that is shown
  let follows = true; // the view is the whole run, also as it grows
  let at = null; // the time that is read, null for none
  let plot = { left: 64, width: 600 }; // of every lane, in pixels of the lanes' box

  // ---- small things

  const add = (parent, name, attributes = {}, text) => {
    const e = parent instanceof SVGElement || name === "svg" ? document.createElementNS(svgSpace, name) : document.createElement(name);
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    if (text !== undefined) e.textContent = text;
    return parent.appendChild(e);
  };
  const clamp = (v, lo, hi) => Math.min(Math.max(v, lo), hi);
  const cut = (text, most) => (text.length > most ? text.slice(0, Math.max(1, most - 1)) + "…" : text);
  const x = (t) => plot.left + ((t - view.from) / (view.to - view.from)) * plot.width;
  const timeAt = (px) => view.from + ((px - plot.left) / plot.width) * (view.to - view.from);

  // clock is m:ss, with as many decimals as the step between two ticks needs.
  const clock = (t, step) => {
    const digits = step >= 1 ? 0 : step >= 0.1 ? 1 : 2;
    const whole = Math.round(t * 10 ** digits) / 10 ** digits;
    const h = Math.floor(whole / 3600), m = Math.floor((whole % 3600) / 60);
    const s = (whole % 60).toFixed(digits).padStart(digits ? 3 + digits : 2, "0");
    return h ? `${h}:${String(m).padStart(2, "0")}:${s}` : `${m}:${s}`;
  };
  const short = (v) => {
    for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) if (Math.abs(v) >= size) return +(v / size).toPrecision(3) + unit;
    return String(+v.toPrecision(3));
  };
  const units = {
    per_s: { name: "/s", tick: short, text: (v) => (v >= 100 ? Math.round(v).toLocaleString("en") : +v.toPrecision(3)) + " /s" },
    pct: { name: "%", tick: short, text: (v) => v.toFixed(v < 10 ? 1 : 0) + " %" },
    bytes_per_s: { name: "B/s", tick: short, text: (v) => (v >= 1000 ? short(v).replace(/([kMG])$/, " $1B/s") : Math.round(v) + " B/s") },
    us: {
      name: "", tick: (v) => units.us.text(v),
      text: (v) => (v < 999.5 ? Math.round(v) + " µs" : v < 999.5e3 ? +(v / 1e3).toPrecision(3) + " ms" : +(v / 1e6).toPrecision(3) + " s"),
    },
  };
  const duration = (s) => (s < 60 ? +s.toPrecision(3) + " s" : s < 3600 ? s / 60 + " min" : s / 3600 + " h");

  // ---- scales

  const timeSteps = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400, 604800];
  const timeTicks = () => {
    const least = ((view.to - view.from) / plot.width) * 62;
    const step = timeSteps.find((s) => s >= least) || timeSteps.at(-1);
    const ticks = [];
    for (let i = Math.ceil(view.from / step - 1e-9); i * step <= view.to + 1e-9; i++) ticks.push(i * step);
    return { step, ticks };
  };
  const niceMax = (v) => {
    const size = 10 ** Math.floor(Math.log10(v));
    return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((n) => n * size).find((n) => n >= v * 0.999);
  };
  const linear = (max, top, height) => {
    const most = max > 0 ? niceMax(max) : 1;
    return { y: (v) => top + height * (1 - v / most), ticks: max > 0 ? [0, most / 2, most] : [0] };
  };
  const logarithmic = (min, max, top, height) => {
    const lo = Math.floor(Math.log10(Math.max(min, 1))), hi = Math.max(lo + 1, Math.ceil(Math.log10(Math.max(max, 10))));
    const ticks = [];
    for (let d = lo; d <= hi; d++) ticks.push(10 ** d);
    return { y: (v) => top + height * (1 - (Math.log10(Math.max(v, 1)) - lo) / (hi - lo)), ticks };
  };

  // extremes of all panels that share a scale: the same over the whole run, so that
  // zooming in time does not change heights.
  const extremesOf = (m) => {
    const all = {};
    for (const panel of m.lanes.flatMap((l) => l.panels || [])) {
      const e = (all[panel.scale] ||= { min: Infinity, max: 0 });
      for (const v of panel.kind === "stack" ? sums(panel.series) : panel.series.flatMap((s) => [s.lo || s.v, s.hi || s.v]).flat()) {
        if (v === null) continue;
        e.max = Math.max(e.max, v);
        if (v > 0) e.min = Math.min(e.min, v);
      }
    }
    return all;
  };
  const sums = (series) => (series.length ? series[0].v.map((_, i) => series.reduce((sum, s) => sum + ((s.hi || s.v)[i] || 0), 0)) : []);

  // ---- paths

  // shown are the indexes of a grid that are in the view, and one on either side.
  const shown = (step, n) => [Math.max(0, Math.floor(view.from / step) - 1), Math.min(n - 1, Math.ceil(view.to / step) + 1)];
  const middle = (i, step) => x((i + 0.5) * step).toFixed(1);

  // line breaks where a value is not known; one that stands alone is a dash.
  const line = (values, step, y) => {
    let d = "", pen = false;
    const [first, last] = shown(step, values.length);
    for (let i = first; i <= last; i++) {
      if (values[i] === null) { pen = false; continue; }
      if (!pen) d += `M${x((i + 0.4) * step).toFixed(1)} ${y(values[i]).toFixed(1)}`;
      d += `L${middle(i, step)} ${y(values[i]).toFixed(1)}`;
      pen = true;
    }
    return d;
  };
  // area lies between two series of values.
  const area = (low, high, step, y) => {
    let d = "", there = "", back = "";
    const close = () => { if (there) d += `M${there.slice(1)}${back}Z`; there = back = ""; };
    const [first, last] = shown(step, high.length);
    for (let i = first; i <= last; i++) {
      if (high[i] === null || low[i] === null) { close(); continue; }
      there += `L${middle(i, step)} ${y(high[i]).toFixed(1)}`;
      back = `L${middle(i, step)} ${y(low[i]).toFixed(1)}` + back;
    }
    close();
    return d;
  };
  // bars are as wide as the step: what fails in one step is not drawn into the next.
  const bars = (low, high, step, y) => {
    let d = "";
    const [first, last] = shown(step, high.length);
    for (let i = first; i <= last; i++) {
      if (!(high[i] > low[i])) continue;
      const left = x(i * step), width = Math.max(1, x((i + 1) * step) - left);
      d += `M${left.toFixed(1)} ${y(high[i]).toFixed(1)}h${width.toFixed(1)}V${y(low[i]).toFixed(1)}h${(-width).toFixed(1)}Z`;
    }
    return d;
  };

  // ---- lanes

  const drawSeries = {
    lines(svg, panel, step, y) {
      for (const s of panel.series) {
        const g = add(svg, "g", { class: s.look });
        if (s.lo) add(g, "path", { class: "area", d: area(s.lo, s.hi, step, y) });
        add(g, "path", { class: "curve", d: line(s.v, step, y) });
      }
    },
    stack(svg, panel, step, y) {
      let low = panel.series.length ? panel.series[0].v.map(() => 0) : [];
      for (const s of panel.series) {
        const high = low.map((v, i) => v + ((s.hi || s.v)[i] || 0));
        add(add(svg, "g", { class: s.look }), "path", { class: "area solid", d: bars(low, high, step, y) });
        low = high;
      }
    },
    band(svg, panel, step, y) {
      const [p50, p99, max] = panel.series;
      const g = add(svg, "g", { class: p50.look });
      add(g, "path", { class: "area", d: area(p50.lo || p50.v, p99.hi || p99.v, step, y) });
      add(g, "path", { class: "curve", d: line(p50.v, step, y) });
      add(g, "path", { class: "curve thin", d: line(max.hi || max.v, step, y) });
    },
  };

  const drawPanel = (svg, lane, panel, top, height, extremes) => {
    const e = extremes[panel.scale];
    const [least, most] = e.min <= e.max ? [e.min, e.max] : [100, 10000]; // nothing was answered yet
    const scale = panel.kind === "band" ? logarithmic(least, most, top, height) : linear(e.max, top, height);
    for (const t of scale.ticks) {
      const y = scale.y(t);
      add(svg, "line", { class: "grid", x1: plot.left, x2: plot.left + plot.width, y1: y, y2: y });
      add(svg, "text", { x: plot.left - 6, y: y + 4, "text-anchor": "end" }, units[panel.unit].tick(t));
    }
    const group = add(svg, "g", { "clip-path": "url(#clip)" });
    drawSeries[panel.kind](group, panel, lane.step_s, scale.y);
    if (panel.title) drawTitle(svg, panel, top - 4);
  };

  // drawTitle names a panel of several, its unit, and its series in their colours.
  const drawTitle = (svg, panel, y) => {
    const text = add(svg, "text", { x: plot.left + 4, y });
    add(text, "tspan", { class: "unit" }, `${panel.title}, ${units[panel.unit].name}`);
    if (panel.series.length > 1) for (const s of panel.series) add(text, "tspan", { dx: 8, class: "name " + s.look }, "● " + s.name);
  };

  // gravestLast is the order to draw in: in a long run, what is narrower than it can
  // be drawn must not cover the service's part.
  const gravestLast = (spans, key) => spans.toSorted((a, b) => (a[key] === "service") - (b[key] === "service"));

  const drawStrip = (svg, strip, top) => {
    add(svg, "text", { x: plot.left - 6, y: top + 12, "text-anchor": "end" }, cut(strip.name, Math.floor((plot.left - 8) / 6)));
    for (const s of gravestLast(strip.spans, "look")) {
      const left = Math.max(x(s.from_s), plot.left), right = Math.min(x(s.to_s), plot.left + plot.width);
      if (right < plot.left || left > plot.left + plot.width) continue;
      const width = Math.max(3, right - left);
      const rect = add(svg, "rect", { class: "span " + s.look, x: left, y: top, width, height: ROW - 3, rx: width > 6 ? 2 : 0 });
      add(rect, "title", {}, `${strip.name}: ${s.text}, ${clock(s.from_s, 0.01)} to ${clock(s.to_s, 0.01)}`);
      const fits = Math.floor((width - 8) / 6.2);
      if (fits >= Math.min(4, s.text.length)) add(svg, "text", { class: "on " + s.look, x: left + 5, y: top + 11.5 }, cut(s.text, fits));
    }
  };

  const drawShades = (svg, shades, top, bottom) => {
    for (const s of gravestLast(shades, "part")) {
      const left = Math.max(x(s.from_s), plot.left), right = Math.min(x(s.to_s), plot.left + plot.width);
      if (right <= left) continue;
      add(svg, "rect", { class: "shade shade-" + s.part, "data-part": s.part, x: left, y: top, width: Math.max(1.5, right - left), height: bottom - top });
    }
  };

  const inView = (t) => t >= view.from && t <= view.to;
  const drawEvents = (svg, top, bottom) => {
    for (const e of model.events.filter((e) => inView(e.at_s))) {
      const l = add(svg, "line", { class: e.key ? "event key" : "event", x1: x(e.at_s), x2: x(e.at_s), y1: top, y2: bottom });
      add(l, "title", {}, `${clock(e.at_s, 0.1)} ${e.text}`);
    }
  };

  // flags are the numbers of events; those that would collide share one.
  const flags = () => {
    const out = [];
    for (const e of model.events.filter((e) => inView(e.at_s))) {
      const last = out.at(-1);
      if (last && x(e.at_s) - last.x < 34) last.events.push(e);
      else out.push({ x: x(e.at_s), events: [e] });
    }
    return out;
  };
  const drawFlags = (svg, top) => {
    for (const f of flags()) {
      const text = f.events.length > 1 ? `${f.events[0].number}–${f.events.at(-1).number}` : String(f.events[0].number);
      const width = 8 + 6.2 * text.length, left = clamp(f.x - width / 2, 0, plot.left + plot.width + RIGHT - width);
      const g = add(svg, "g");
      add(g, "title", {}, f.events.map((e) => `${e.number}. ${clock(e.at_s, 0.1)} ${e.text}`).join("\n"));
      add(g, "rect", { class: f.events.some((e) => e.key) ? "flag key" : "flag", x: left, y: top, width, height: 15, rx: 4 });
      add(g, "text", { class: "number", x: left + width / 2, y: top + 11.5 }, text);
    }
  };
  // labels are the words of the events that tell the story, in rows so that none
  // covers another; where there is no room, the flag and the table remain.
  const labels = () => {
    const rows = [], out = [];
    for (const e of model.events.filter((e) => e.key && inView(e.at_s))) {
      const text = cut(e.text, plot.width < 500 ? 28 : 60), width = text.length * 5.9 + 8;
      const right = x(e.at_s) + width < plot.left + plot.width + RIGHT;
      const from = right ? x(e.at_s) : x(e.at_s) - width;
      if (from < 0) continue;
      let row = rows.findIndex((end) => end < from - 6);
      if (row < 0 && rows.length < 4) row = rows.push(0) - 1;
      if (row < 0) continue;
      rows[row] = Math.max(rows[row], from + width);
      out.push({ text, row, x: x(e.at_s), anchor: right ? "start" : "end", dx: right ? 5 : -5 });
    }
    return { rows: rows.length, list: out };
  };
  const drawLabels = (svg, found) => {
    for (const l of found.list) add(svg, "line", { class: "event key", x1: l.x, x2: l.x, y1: l.row * 15 + 3, y2: found.rows * 15 });
    for (const l of found.list) add(svg, "text", { class: "label", x: l.x + l.dx, y: l.row * 15 + 12, "text-anchor": l.anchor }, l.text);
  };

  const drawAxis = (svg, top, bottom) => {
    const { step, ticks } = timeTicks();
    for (const t of ticks) {
      add(svg, "line", { class: "grid", x1: x(t), x2: x(t), y1: top, y2: bottom });
      const text = clock(t, step), most = plot.left + plot.width + RIGHT - 2 - text.length * 3.1;
      add(svg, "text", { x: Math.min(x(t), most), y: bottom + 13, "text-anchor": "middle" }, text);
    }
    add(svg, "line", { class: "axis", x1: plot.left, x2: plot.left + plot.width, y1: bottom, y2: bottom });
  };

  const heights = (lane) => (lane.panels || []).map((p) => (lane.panels.length > 1 ? 52 : p.kind === "stack" ? 84 : 120));

  const drawLane = (lane, extremes) => {
    const picture = figureOf(lane).querySelector(".picture");
    const found = lane.id === "course" ? labels() : { rows: 0, list: [] };
    const head = lane.id === "course" ? found.rows * 15 + 20 : 0;
    const strips = lane.strips || [], body = heights(lane);
    const gap = body.length > 1 ? 20 : 8;
    const bottom = head + strips.length * ROW + body.reduce((sum, h) => sum + h + gap, 0) + 2;
    const width = plot.left + plot.width + RIGHT, height = bottom + AXIS;
    const svg = document.createElementNS(svgSpace, "svg");
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("aria-hidden", "true");
    drawAxis(svg, head, bottom);
    drawShades(svg, lane.own ? lane.shades || [] : model.shades, head, bottom);
    drawEvents(svg, head, bottom);
    if (lane.id === "course") { drawLabels(svg, found); drawFlags(svg, found.rows * 15 + 1); }
    let top = head;
    for (const s of strips) { drawStrip(svg, s, top + 1); top += ROW; }
    (lane.panels || []).forEach((p, i) => {
      drawPanel(svg, lane, p, top + gap, body[i], extremes);
      top += body[i] + gap;
    });
    picture.replaceChildren(svg);
  };

  // figureOf is a lane's figure: the page's own, with its table, or a new one of a
  // lane that has come up since.
  const figureOf = (lane) => {
    const known = [...lanes.querySelectorAll("figure")].find((f) => f.dataset.lane === lane.id);
    if (known) return known;
    const f = document.createElement("figure");
    f.dataset.lane = lane.id;
    const caption = add(f, "figcaption");
    add(caption, "h3", {}, lane.title);
    add(caption, "span", { class: "legend" });
    add(f, "div", { class: "picture", role: "img", "aria-label": lane.about });
    lanes.insertBefore(f, cursor);
    return f;
  };

  // drawLegend is of a lane with one panel; several have their series in their titles.
  const drawLegend = (lane) => {
    const legend = figureOf(lane).querySelector(".legend");
    legend.replaceChildren();
    if ((lane.panels || []).length !== 1) return;
    const { kind, unit, series } = lane.panels[0];
    if (kind === "band") for (const [shape, name] of [["band", "p50–p99"], ["", "p50"], ["thin", "max"]]) item(legend, series[0].look, shape, name);
    else for (const s of series) item(legend, s.look, kind === "stack" ? "solid" : "", s.name);
    if (!series.length) add(legend, "span", {}, "none");
    else add(legend, "span", {}, kind === "band" ? "log scale" : "in " + units[unit].name);
  };
  const item = (legend, look, kind, name) => {
    const span = add(legend, "span");
    const swatch = add(span, "i", { class: `swatch ${look} ${kind}` });
    swatch.after(cut(name, 40));
  };

  // ---- the whole

  const measure = () => {
    const width = lanes.clientWidth;
    plot = { left: width < 600 ? 56 : 84, width: 0 };
    plot.width = Math.max(80, width - plot.left - RIGHT);
    $("plot").setAttribute("x", plot.left);
    $("plot").setAttribute("width", plot.width);
    Object.assign(lanes.dataset, { from: view.from, to: view.to, left: plot.left, width: plot.width });
  };

  const redraw = () => {
    if (!model) return;
    measure();
    const extremes = extremesOf(model);
    for (const lane of model.lanes) { drawLegend(lane); drawLane(lane, extremes); }
    $("range").textContent = `${clock(view.from, 0.1)} – ${clock(view.to, 0.1)}`;
    $("reset").disabled = follows;
    read(at);
  };

  // draw shows a model. This is all that the live page calls, with each new model.
  const draw = (next) => {
    model = next;
    if (follows || !view) view = { from: model.from_s, to: model.to_s };
    const steps = model.lanes.map((l) => l.step_s).filter((s) => s > 0), least = Math.min(...steps), most = Math.max(...steps);
    $("resolution").textContent = !steps.length ? "" : least < most ? `A point is ${duration(least)} of operations and errors, ${duration(most)} of latencies and nodes.`
      : `A point is ${duration(most)}` + (most > 1 ? ": the line is the mean, the band reaches from the least to the greatest second of it; errors are the worst second's." : ".");
    redraw();
  };

  const show = (from, to) => {
    if (!model) return;
    const least = 0.5, whole = model.to_s - model.from_s;
    const length = clamp(to - from, Math.min(least, whole), whole);
    const start = clamp((from + to - length) / 2, model.from_s, model.to_s - length);
    view = { from: start, to: start + length };
    follows = length >= whole - 1e-9;
    redraw();
  };
  const whole = () => model && show(model.from_s, model.to_s);
  const zoom = (factor) => {
    if (!model) return;
    const centre = at ?? (view.from + view.to) / 2, length = (view.to - view.from) * factor;
    const part = clamp((centre - view.from) / (view.to - view.from), 0, 1);
    show(centre - length * part, centre + length * (1 - part));
  };

  // ---- reading

  const spanAt = (strip, t) => strip.spans.find((s) => t >= s.from_s && t < s.to_s);
  const valueText = (panel, s, i) => {
    const v = s.v[i], text = units[panel.unit].text;
    if (v === null || v === undefined) return "–";
    return s.lo && s.lo[i] !== s.hi[i] ? `${text(v)} (${text(s.lo[i])} – ${text(s.hi[i])})` : text(v);
  };
  const readLane = (lane, t) => {
    const box = add(readout, "div");
    add(box, "h4", {}, lane.title);
    const list = add(box, "dl");
    const put = (look, name, value) => {
      const dt = add(list, "dt");
      if (look) add(dt, "i", { class: "swatch " + look });
      dt.append(cut(name, 40));
      add(list, "dd", {}, cut(value, 60));
    };
    for (const s of lane.strips || []) { const span = spanAt(s, t); if (span) put("", s.name, span.text); }
    for (const p of lane.panels || []) for (const s of p.series) {
      const value = valueText(p, s, Math.floor(t / lane.step_s));
      if (p.kind !== "stack" || !/^(0 \/s|–)/.test(value)) put(s.look, s.name, value);
    }
    if (!list.childElementCount) put("", "none", "");
  };
  const readEvents = (t) => {
    const near = (7 / plot.width) * (view.to - view.from);
    for (const e of model.events.filter((e) => Math.abs(e.at_s - t) <= near).slice(0, 8)) add(readout, "p", {}, `${e.number}. ${clock(e.at_s, 0.1)} ${e.text}`);
  };
  const read = (t) => {
    at = t;
    cursor.hidden = t === null || !inView(t);
    readout.replaceChildren();
    if (t === null) {
      add(readout, "p", {}, "Point at a lane to read all lanes at that time.");
      readout.classList.add("empty");
      return;
    }
    readout.classList.remove("empty");
    cursor.style.left = x(t) + "px";
    add(readout, "h3", {}, clock(t, 0.1));
    const shade = model.shades.find((s) => t >= s.from_s && t < s.to_s);
    if (shade) add(readout, "p", { class: "part" }, `outage: ${shade.part}`);
    readEvents(t);
    for (const lane of model.lanes) readLane(lane, t);
  };

  // ---- pointer and keys

  const pixel = (e) => clamp(e.clientX - lanes.getBoundingClientRect().left - lanes.clientLeft, plot.left, plot.left + plot.width);
  const onPicture = (e) => e.target.closest(".picture") !== null;
  let dragged = null; // where the drag began, pixels

  lanes.addEventListener("pointerdown", (e) => {
    if (e.button !== 0 || !onPicture(e)) return;
    dragged = pixel(e);
    read(timeAt(dragged)); // a tap reads, too
    lanes.setPointerCapture(e.pointerId);
  });
  lanes.addEventListener("pointermove", (e) => {
    if (dragged === null && !onPicture(e)) return;
    const px = pixel(e);
    read(timeAt(px));
    brush.hidden = dragged === null || Math.abs(px - dragged) < 5;
    brush.style.left = Math.min(px, dragged ?? px) + "px";
    brush.style.width = Math.abs(px - (dragged ?? px)) + "px";
  });
  const drop = (e) => {
    const from = dragged, to = pixel(e);
    dragged = null;
    brush.hidden = true;
    if (from === null || e.type === "pointercancel" || Math.abs(to - from) < 5) return;
    show(timeAt(Math.min(from, to)), timeAt(Math.max(from, to)));
  };
  lanes.addEventListener("pointerup", drop);
  lanes.addEventListener("pointercancel", drop);
  lanes.addEventListener("pointerleave", (e) => { if (e.pointerType === "mouse" && dragged === null && !lanes.matches(":focus-visible")) read(null); });
  lanes.addEventListener("dblclick", (e) => { if (onPicture(e)) whole(); });

  const step = (e, sign) => {
    const by = ((view.to - view.from) / 200) * (e.shiftKey ? 10 : 1);
    const t = clamp((at ?? (view.from + view.to) / 2) + sign * by, model.from_s, model.to_s);
    if (!inView(t)) show(view.from + sign * by, view.to + sign * by);
    readout.setAttribute("aria-live", "polite");
    read(t);
  };
  const keys = {
    ArrowLeft: (e) => step(e, -1), ArrowRight: (e) => step(e, 1), Home: () => read(view.from), End: () => read(view.to),
    "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: whole, Escape: whole,
  };
  const typing = (e) => e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, textarea, .scroll") !== null;
  document.addEventListener("keydown", (e) => {
    const arrow = /^(Arrow|Home|End)/.test(e.key);
    if (!model || !keys[e.key] || typing(e) || (arrow && e.target !== lanes)) return;
    keys[e.key](e);
    if (arrow) e.preventDefault();
  });

  const dark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const nameTheme = () => { $("theme").textContent = dark() ? "Light theme" : "Dark theme"; };
  $("theme").addEventListener("click", () => { document.documentElement.dataset.theme = dark() ? "light" : "dark"; nameTheme(); });
  $("in").addEventListener("click", () => zoom(0.5));
  $("out").addEventListener("click", () => zoom(2));
  $("reset").addEventListener("click", whole);
  for (const id of ["theme", "tools", "hint", "readout"]) $(id).hidden = false;
  nameTheme();
  const first = JSON.parse($("model").textContent);
  if (first) draw(first);
  let width = lanes.clientWidth;
  new ResizeObserver(() => { if (lanes.clientWidth !== width) { width = lanes.clientWidth; redraw(); } }).observe(lanes);
  window.rankbench = { draw, clock, text: (unit, v) => units[unit].text(v) };
})();
