// The live page: takes what the run sends ("stream", server-sent events), joins it to
// the model, and has page.js draw it. It sends nothing. EventSource asks again by
// itself where the connection is lost; each new one begins with the whole model.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const { draw, clock, text } = window.rankbench;
  const KEPT = 200; // events in the table; the lanes have all of them
  let model = null, waiting = false, over = false;

  const put = (parent, name, words, look) => {
    const e = document.createElement(name);
    if (look) e.className = look;
    if (words !== undefined) e.textContent = words;
    return parent.appendChild(e);
  };

  // ---- the model

  const join = (s, tail) => {
    for (const key of ["v", "lo", "hi"]) if (tail[key]) s[key] = s[key].slice(0, tail.from).concat(tail[key]);
  };
  const joined = (tail) => {
    Object.assign(model, { to_s: tail.to_s, shades: tail.shades, events: model.events.slice(0, tail.events_from).concat(tail.events || []) });
    tail.lanes.forEach((t, i) => {
      const lane = model.lanes[i];
      Object.assign(lane, { strips: t.strips, shades: t.shades });
      (lane.panels || []).flatMap((p) => p.series).forEach((s, k) => join(s, t.series[k]));
    });
    return model;
  };
  // show draws when somebody looks: a page in the background waits.
  const show = (next) => {
    model = next;
    waiting = document.hidden;
    if (waiting) return;
    draw(model);
    const rows = document.createDocumentFragment();
    for (const e of model.events.slice(-KEPT).reverse()) {
      const row = put(rows, "tr", undefined, e.key ? "key-event" : "");
      for (const v of [e.number, clock(e.at_s, 0.1), e.source]) put(row, "td", v);
      put(row, "td", e.text, "words");
    }
    $("rows").replaceChildren(rows);
  };
  document.addEventListener("visibilitychange", () => { if (waiting && !document.hidden) show(model); });

  // ---- how far it is

  const say = (words) => { if ($("state").textContent !== words) $("state").textContent = words; };
  const cards = (list) => {
    const all = document.createDocumentFragment();
    for (const c of list) {
      const box = put(all, "div", undefined, `card ${c.look}`);
      put(box, "dt", c.name);
      const dd = put(box, "dd");
      put(dd, "strong", c.value);
      put(dd, "span", c.note);
    }
    $("now").replaceChildren(all);
  };
  const nextStep = (s) => {
    if (!s.next) return "";
    if (s.next_in_s === undefined) return `next step: ${s.next}, when the one before has recovered`;
    return `next step: ${s.next}, in ${clock(s.next_in_s, 1)}`;
  };
  const status = (s) => {
    const left = Math.max(0, s.planned_s - s.elapsed_s);
    $("progress").value = s.state === "load" ? Math.min(1, s.elapsed_s / s.planned_s) : 1;
    if (s.state === "load") say(`${s.phase}${s.warmup ? ", warm-up" : ""}`);
    else say("The load is over; what the steps began is waited for, and acknowledged writes are read back");
    $("next").textContent = s.state === "load" ? [`${clock(s.elapsed_s, 1)} of ${clock(s.planned_s, 1)}, ${clock(left, 1)} left`, nextStep(s)].filter(Boolean).join(" · ") : clock(s.elapsed_s, 1);
    const now = s.ops.map((o) => ({ name: o.op, value: text("per_s", o.rps), note: "in the last second", look: "neutral" }));
    now.push({ name: "failed or not sent", value: s.failed.toLocaleString("en"), note: `${s.failing.toLocaleString("en")} in the last second`, look: s.failing ? "bad" : "neutral" });
    cards(now);
  };
  const list = (id, texts) => {
    $(id).replaceChildren();
    $(id).hidden = !texts.length;
    for (const t of texts) put($(id), "li", t);
  };

  // ---- the stream

  const source = new EventSource("stream");
  const on = (name, take) => source.addEventListener(name, (e) => take(JSON.parse(e.data)));
  on("model", (m) => show(m));
  on("tail", (t) => { if (model) show(joined(t)); });
  on("status", status);
  on("end", (e) => {
    over = true;
    say(e.state + (e.more ? "; the next run of the series follows" : ""));
    $("next").textContent = "";
    $("progress").value = 1;
    cards(e.cards);
    list("faults", e.faults);
    list("warnings", e.warnings);
    if (!e.more) source.close();
  });
  source.addEventListener("open", () => {
    over = false;
    list("faults", []);
    list("warnings", []);
  });
  source.addEventListener("error", () => {
    if (over) return;
    const since = new Date().toLocaleTimeString("en", { hour12: false });
    if (source.readyState === EventSource.CLOSED) say("rankbench refused the connection: too many look on. Load the page again later.");
    else if (!$("state").textContent.startsWith("Connection lost")) say(`Connection lost at ${since}; trying again. The figures are those up to then.`);
  });
})();
