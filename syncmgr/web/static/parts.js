// Small parts of several pages.
// Owns: how a state, an error, a figure and a line over time look.
// Must not know: the server.

import { h } from "./dom.js";
import { NONE, WORDS, clock, label, link, moment, stand } from "./words.js";

const SIGNS = {
  RUNNING: () => [h("circle", { cx: 6, cy: 6, r: 4, fill: "currentColor" })],
  SNAPSHOT: () => [
    h("circle", { cx: 6, cy: 6, r: 4, fill: "none", stroke: "currentColor", "stroke-width": 1.6, opacity: 0.35 }),
    h("path", { d: "M6 2a4 4 0 0 1 4 4", fill: "none", stroke: "currentColor", "stroke-width": 1.8 }),
  ],
  PAUSED: () => [h("path", { d: "M3.2 2v8M8.8 2v8", stroke: "currentColor", "stroke-width": 2.2 })],
  FAILED: () => [h("path", { d: "M6 1.2 11.3 10.6H.7Z", fill: "currentColor" })],
  PENDING: () => [
    h("circle", { cx: 6, cy: 6, r: 4, fill: "none", stroke: "currentColor", "stroke-width": 1.6, "stroke-dasharray": "2 2" }),
  ],
  CANCELLED: () => [h("path", { d: "m3 3 6 6M9 3 3 9", stroke: "currentColor", "stroke-width": 1.8 })],
};

const sign = (name) => h("svg", { viewBox: "0 0 12 12", "aria-hidden": "true" }, SIGNS[name]());

export function state(job, pill = false) {
  const name = stand(job);
  return h("span", { class: `state ${name}${pill ? " pill" : ""}` }, sign(name), WORDS[name]);
}

export const lamp = (good) => {
  const name = good ? "RUNNING" : "FAILED";
  return h("span", { class: `state ${name}` }, sign(name));
};

const WARNING = () =>
  h("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" },
    h("path", { d: "M8 1.8 15 14H1Z", fill: "none", stroke: "currentColor", "stroke-width": 1.5, "stroke-linejoin": "round" }),
    h("path", { d: "M8 6.4v3.2M8 11.6v.4", stroke: "currentColor", "stroke-width": 1.6, "stroke-linecap": "round" }));

/** An error of a job, and what to do about it. */
export function notice(job, { linked, resume }) {
  const { error } = job, soft = !job.needs_operator;
  const words = soft ? "In trouble, and trying again" : error.table ? `${error.table} is stopped` : "Stopped by an error";
  const facts = `error ${error.number}${error.at ? `, ${moment(error.at)}` : ""}`;
  return h("div", { key: `notice-${job.id}`, class: `notice${soft ? " warnish" : ""}`, role: soft ? "status" : "alert" },
    WARNING(),
    h("div", null,
      h("h2", null, linked ? h("a", { href: link(job) }, label(job)) : words, " ", h("span", { class: "facts" }, facts)),
      h("p", { class: "soft" }, error.message),
      error.advice && h("p", { class: "advice" }, h("b", null, "What to do."), " ", error.advice)),
    resume && job.state === "PAUSED" &&
      h("div", { class: "acts" }, h("button", { class: "primary", onclick: resume }, "Resume")));
}

export const failure = (error) =>
  h("div", { class: "notice", role: "alert" }, WARNING(),
    h("div", null, h("h2", null, error.number ? `Error ${error.number}` : "No answer"), h("p", { class: "mono" }, error.message)));

export const figure = (name, ...value) => h("div", { class: "figure" }, h("span", null, name), h("b", { class: "num" }, value));

export function meter(done, all, name) {
  const part = all ? Math.min(1, done / all) : 0;
  return h("progress", { max: 100, value: Math.round(part * 100), "aria-label": name });
}

/** The last 90 seconds; what is small looks small. */
export function spark(values, { tone, name, floor }) {
  const shown = values.map((value) => value ?? 0);
  if (shown.length < 2 || values.every((value) => value == null)) return h("svg", { class: "spark", "aria-hidden": "true" });
  const top = Math.max(floor, ...shown);
  const points = shown.map((value, i) => `${((i / (shown.length - 1)) * 96).toFixed(1)},${(23 - (value / top) * 21).toFixed(1)}`);
  const flat = shown.some(Boolean) ? tone : "line";
  return h("svg", { class: `spark of-${flat}`, viewBox: "0 0 96 24", preserveAspectRatio: "none", role: "img", "aria-label": name },
    h("path", { d: `M${points.join("L")}` }));
}

function nice(top) {
  const ten = 10 ** Math.floor(Math.log10(top));
  return [1, 2, 5, 10].map((each) => each * ten).find((each) => each >= top);
}

/** A line over time, in words for who cannot see it. `points`: time and value; `time`: what the pointer is at. */
export function chart({ title, points, floor, tone, format, width, time, setTime }) {
  const known = points.filter((point) => point[1] != null);
  const height = 150, left = 48, bottom = 22;
  const from = points[0]?.[0] ?? 0, to = Math.max(from + 1, points.at(-1)?.[0] ?? 1);
  const top = nice(Math.max(floor, ...known.map((point) => point[1])));
  const x = (at) => left + ((at - from) / (to - from)) * (width - left - 4);
  const y = (value) => 6 + (1 - value / top) * (height - bottom - 6);
  const closest = (best, point) => (Math.abs(point[0] - time) < Math.abs(best[0] - time) ? point : best);
  const at = time == null || !known.length ? null : known.reduce(closest);
  const shown = at ?? known.at(-1);
  const said = known.length
    ? `${title}: now ${format(known.at(-1)[1])}, at most ${format(Math.max(...known.map((point) => point[1])))}, since ${clock(from)}`
    : `${title}: nothing yet`;
  const look = (event) => setTime(from + ((event.offsetX - left) / (width - left - 4)) * (to - from));
  return h("section", { class: `card chart of-${tone}`, key: title },
    h("h2", null, title, h("span", null, shown ? `${format(shown[1])}${at ? ` at ${clock(at[0])}` : ""}` : NONE)),
    h("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": said, onpointermove: look, onpointerleave: () => setTime(null) },
      [0, 0.5, 1].flatMap((part) => [
        h("line", { class: "grid", x1: left, x2: width - 4, y1: y(part * top), y2: y(part * top) }),
        h("text", { x: left - 8, y: y(part * top) + 4, "text-anchor": "end" }, format(part * top)),
      ]),
      known.length > 1 && [0, 0.5, 1].map((part, i) =>
        h("text", { x: x(from + part * (to - from)), y: height - 4, "text-anchor": ["start", "middle", "end"][i] }, clock(from + part * (to - from)))),
      h("path", { d: line(points, x, y) }),
      at && h("line", { class: "cross", x1: x(at[0]), x2: x(at[0]), y1: 6, y2: height - bottom }),
      at && h("circle", { cx: x(at[0]), cy: y(at[1]), r: 3.5 })));
}

function line(points, x, y) {
  let open = false;
  const parts = [];
  for (const [at, value] of points) {
    if (value != null) parts.push(`${open ? "L" : "M"}${x(at).toFixed(1)},${y(value).toFixed(1)}`);
    open = value != null;
  }
  return parts.join("");
}

/** A table with a head; `right`: columns of numbers. */
export function grid(heads, rows, { name, right = [] }) {
  const side = (i) => (right.includes(i) ? "r num" : null);
  return h("div", { class: "card scroll", tabindex: 0, role: "region", "aria-label": name },
    h("table", null,
      h("thead", null, h("tr", null, heads.map((head, i) => h("th", { class: side(i), scope: "col" }, head)))),
      h("tbody", null, rows.map((row) => h("tr", null, row.map((cell, i) => h("td", { class: side(i) }, cell)))))));
}
