// One job.
// Owns: what is shown of it, and when that is asked again.
// Must not know: how requests are made.

import { h, render } from "./dom.js";
import { chart, failure, figure, grid, meter, notice, state } from "./parts.js";
import { ask, live, pathOf, subscribe } from "./server.js";
import { read } from "./jobs.js";
import { NONE, exact, label, many, moment, plural, size, span } from "./words.js";

const AGAIN = 5000; // milliseconds between two looks at what is only asked
const KEPT = 900; // points of a chart
const LISTS = { commits: "epochs", ddl: "ddl", dead: "dead_letters", log: "log" };

class JobPage extends HTMLElement {
  facts = null;
  error = null;
  tab = "tables";
  lists = {};
  points = [];
  time = null;
  width = 520;

  connectedCallback() {
    [this.db, this.name] = JSON.parse(this.getAttribute("of"));
    this.leave = subscribe(() => this.hear());
    this.timer = setInterval(() => document.hidden || this.look(), AGAIN);
    this.sizes = new ResizeObserver(([entry]) => this.resize(entry.contentRect.width));
    this.sizes.observe(this);
    this.look();
    this.show();
  }

  disconnectedCallback() {
    this.leave();
    clearInterval(this.timer);
    this.sizes.disconnect();
  }

  resize(width) {
    const next = Math.round(width < 760 ? width - 34 : width / 2 - 41);
    if (next !== this.width && next > 100) {
      this.width = next;
      this.show();
    }
  }

  get path() {
    return pathOf(this.db, this.name);
  }

  get brief() {
    const found = [...(live.jobs?.values() ?? [])].filter((job) => job.db === this.db && job.name === this.name);
    return found.at(-1) ?? null;
  }

  hear() {
    const { brief } = this;
    if (brief && live.at !== this.points.at(-1)?.[0] && this.points.length) {
      this.points = [...this.points, [live.at, brief.lag_second, brief.rows_per_second]].slice(-KEPT);
    }
    if (brief && this.facts && brief.state !== this.facts.state) this.look();
    this.show();
  }

  async look() {
    try {
      const facts = await ask(this.path);
      if (!this.points.length) this.points = facts.history;
      Object.assign(this, { facts, error: null });
      await this.list();
    } catch (error) {
      this.error = error;
    }
    if (this.isConnected) this.show();
  }

  async list() {
    const name = LISTS[this.tab];
    if (name) this.lists[this.tab] = await ask(`${this.path}/${name}`);
  }

  async open(tab) {
    this.tab = tab;
    this.show();
    await this.list().catch((error) => (this.error = error));
    this.show();
  }

  show() {
    const { facts, brief } = this;
    const title = h("h1", null, h("span", { class: "db" }, `${this.db}.`), this.name);
    const crumb = h("a", { class: "crumb", href: "#/" }, "Jobs");
    if (!facts) {
      return render(this, crumb, h("div", { class: "title" }, title), this.error ? failure(this.error) : h("p", { class: "soft" }, "Asking the frontend …"));
    }
    const job = { ...facts, ...(brief ?? {}) };
    return render(this, crumb,
      h("div", { class: "title" }, title, state(job, true), this.acts(job)),
      job.error && notice(job, { resume: this.may && (() => this.act(job, "resume")) }),
      strip(job), job.snapshot && snapshot(job), this.charts(job), this.tabs(job),
      h("div", { role: "tabpanel", id: "panel", "aria-labelledby": `tab-${this.tab}`, tabindex: 0 }, this.panel(job)));
  }

  get may() {
    return live.me?.may.includes("change");
  }

  act(job, verb) {
    this.dispatchEvent(new CustomEvent("act", { bubbles: true, detail: { job, verb } }));
  }

  acts(job) {
    const button = (verb, word, look) => h("button", { key: verb, class: look, onclick: () => this.act(job, verb) }, word);
    const runs = job.state === "RUNNING" || job.state === "PENDING";
    return h("div", { class: "acts" },
      this.may && runs && button("pause", "Pause"),
      this.may && job.state === "PAUSED" && !job.error && button("resume", "Resume", "primary"),
      this.may && job.state !== "CANCELLED" && button("stop", "Stop …", "plain"));
  }

  charts(job) {
    if (job.snapshot || job.state === "CANCELLED") return null;
    const setTime = (time) => { this.time = time; this.show(); };
    const common = { width: this.width, time: this.time, setTime };
    return h("div", { class: "charts" },
      chart({ ...common, title: "Lag", points: this.points.map((p) => [p[0], p[1]]), floor: 2, tone: "good", format: span }),
      chart({ ...common, title: "Rows per second", points: this.points.map((p) => [p[0], p[2]]), floor: 10, tone: "busy", format: (n) => many(n == null ? n : Math.round(n)) }));
  }

  tabs(job) {
    const tabs = [["tables", "Tables", job.tables], ["commits", "Commits"], ["ddl", "DDL"], ["dead", "Dead letters", job.dead_letters], ["definition", "Definition"]];
    if (live.me?.may.includes("log")) tabs.push(["log", "Log"]);
    const move = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = (tabs.findIndex(([key]) => key === this.tab) + step + tabs.length) % tabs.length;
      this.open(tabs[next][0]);
      this.querySelector(`#tab-${tabs[next][0]}`).focus();
    };
    return h("div", { class: "sections", role: "tablist", "aria-label": "About this job", onkeydown: move },
      tabs.map(([key, word, count]) => h("button", {
        role: "tab", id: `tab-${key}`, "aria-controls": "panel", "aria-selected": String(this.tab === key),
        tabindex: this.tab === key ? 0 : -1, onclick: () => this.open(key),
      }, word, count ? h("i", null, ` ${many(count)}`) : null)));
  }

  panel(job) {
    if (this.tab === "tables") return tables(this.facts);
    if (this.tab === "definition") return definition(job);
    const told = this.lists[this.tab];
    if (!told) return h("div", { class: "card empty" }, "Asking the frontend …");
    return { commits, ddl, dead, log }[this.tab](told.rows ?? told.lines);
  }
}

const strip = (job) => h("div", { class: "strip" },
  figure("Lag", job.state === "RUNNING" ? span(job.lag_second) : NONE),
  figure("Rows per second", many(job.rows_per_second == null ? null : Math.round(job.rows_per_second))),
  figure("Rows committed", many(job.rows)), figure("Commits", many(job.commits)),
  figure("Complete up to", job.synced_until ? moment(job.synced_until).slice(5, 19) : NONE),
  figure("Reads", job.server ?? "nobody"));

const snapshot = (job) => h("section", { class: "card progress" },
  h("h2", null, "Snapshot ", h("span", { class: "facts" }, `of ${plural(job.snapshot.tables, "table")}`)),
  h("p", { class: "soft num" }, read(job.snapshot)), meter(job.snapshot.rows, job.snapshot.estimated, `Snapshot of ${label(job)}`));

const STATES = { STREAMING: "streaming", SNAPSHOT: "reading its rows", BEHIND: "behind", STOPPED: "stopped" };

function tables(facts) {
  const reads = new Map(facts.snapshots.map((each) => [JSON.stringify([each.target_schema, each.target_table, each.source_schema, each.source_table]), each]));
  return grid(["Source", "Target", "Stands at", "Rows of snapshot", "Last commit"], facts.tables.map((each) => {
    const load = reads.get(JSON.stringify([each.target_schema, each.target_table, each.source_schema, each.source_table]));
    return [
      [h("span", { class: "mono" }, `${each.source_schema}.${each.source_table}`), each.where_condition && h("span", { class: "sub" }, `WHERE ${each.where_condition}`)],
      h("span", { class: "mono" }, `${each.target_schema}.${each.target_table}`),
      standing(each, load),
      load ? many(load.rows_done) : NONE,
      `#${each.last_epoch ?? 0}`,
    ];
  }), { name: "Tables", right: [3, 4] });
}

function standing(each, load) {
  const word = STATES[each.state] ?? each.state;
  if (each.state === "SNAPSHOT" && load) {
    return [meter(load.rows_done, load.rows_estimated, `Snapshot of ${each.source_table}`),
      h("span", { class: "sub num" }, `${many(load.chunks_done)} of ${plural(load.chunks, "chunk")}${load.left_second ? `, ${span(load.left_second)} left` : ""}`)];
  }
  const tone = { STOPPED: "bad", BEHIND: "warn" }[each.state];
  return [h("span", { class: tone }, word), each.reason && h("span", { class: `sub ${tone ?? ""}` }, `${each.error ? `error ${each.error}: ` : ""}${each.reason}`),
    each.advice && h("span", { class: "sub" }, each.advice)];
}

const commits = (rows) => rows.length
  ? grid(["Commit", "State", "Rows", "Staged", "Source time", "In the lake", "Took"], rows.map((each) => [
    `#${each.epoch}`, each.state.toLowerCase(), each.change_rows ? exact(each.change_rows) : h("span", { class: "faint" }, "position only"),
    each.change_rows ? size(each.staged_bytes) : NONE, moment(each.source_time), moment(each.commit_time),
    each.change_rows && each.commit_time && each.source_time ? span(Math.max(0, each.commit_time - each.source_time)) : NONE,
  ]), { name: "Commits", right: [0, 2, 3, 6] })
  : h("div", { class: "card empty" }, "Nothing was committed yet.");

const ddl = (rows) => rows.length
  ? grid(["Source time", "Table", "Outcome", "Statement"], rows.map((each) => [
    moment(each.ddl_time), h("span", { class: "mono" }, each.table_name),
    [h("span", { class: { DONE: "good", REFUSED: "bad" }[each.state] ?? "soft" }, each.state.toLowerCase()), each.outcome && h("span", { class: "sub" }, each.outcome)],
    h("pre", null, each.statement),
  ]), { name: "DDL" })
  : h("div", { class: "card empty" }, "No DDL has touched a table of this job.");

const dead = (rows) => rows.length
  ? grid(["Table", "Column", "Value", "Why", "Row at the source"], rows.map((each) => [
    [h("span", { class: "mono" }, `${each.source_schema}.${each.source_table}`), h("span", { class: "sub" }, `${each.change_type.toLowerCase()} in #${each.epoch}`)],
    h("span", { class: "mono" }, each.column_name), h("span", { class: "mono" }, each.column_value), each.reason, h("pre", null, each.source_row),
  ]), { name: "Dead letters" })
  : h("div", { class: "card empty" }, "Every change has fitted into its target.");

const log = (lines) => lines.length
  ? h("div", { class: "card scroll log", tabindex: 0, role: "region", "aria-label": "Log" }, h("pre", null, lines.join("\n")))
  : h("div", { class: "card empty" }, "The log has no line about this job.");

const definition = (job) => h("div", { class: "card" }, h("dl", { class: "facts" },
  h("dt", null, "Statement"), h("dd", null, h("pre", null, job.statement)),
  h("dt", null, "Position, GTIDs"), h("dd", { class: "mono" }, job.position?.gtids || NONE),
  h("dt", null, "Position, file"), h("dd", { class: "mono" }, job.position?.file ? `${job.position.file}:${job.position.offset}` : NONE),
  h("dt", null, "Open XA"), h("dd", null, job.prepared_xa)));

customElements.define("job-page", JobPage);
