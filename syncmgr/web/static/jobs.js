// All jobs.
// Owns: the headline, the order of jobs, the filter.
// Must not know: how figures are told.

import { h, render } from "./dom.js";
import { figure, meter, notice, spark, state } from "./parts.js";
import { live, subscribe } from "./server.js";
import { NONE, ORDER, WORDS, label, link, many, plural, span, stand } from "./words.js";

const EXAMPLE = `CREATE SYNC sales.shop (FROM shop.* INTO sales.*)
FROM BINLOG ("type" = "mysql", "mysql.host" = "db1",
  "mysql.user" = "repl", "mysql.password" = "...");`;
const LATE = 60; // seconds

export function headline(jobs) {
  const bad = jobs.filter((job) => stand(job) === "FAILED").length;
  if (bad) return `${plural(bad, "job")} ${bad === 1 ? "needs" : "need"} you`;
  const late = jobs.filter((job) => stand(job) === "RUNNING" && job.lag_second > LATE).length;
  if (late) return `${plural(late, "job")} more than a minute behind`;
  return jobs.length ? "All is in step" : "No jobs yet";
}

class JobsPage extends HTMLElement {
  filter = "";

  connectedCallback() {
    this.leave = subscribe(() => this.show());
    this.show();
  }

  disconnectedCallback() {
    this.leave();
  }

  show() {
    if (!live.jobs) return render(this, h("h1", null, "Jobs"), h("p", { class: "soft" }, "Asking the frontend …"));
    const jobs = [...live.jobs.values()];
    const wanted = this.filter.toLowerCase();
    const shown = jobs
      .filter((job) => `${label(job)} ${WORDS[stand(job)]} ${job.server ?? ""}`.toLowerCase().includes(wanted))
      .sort((a, b) => ORDER.indexOf(stand(a)) - ORDER.indexOf(stand(b)) || label(a).localeCompare(label(b)));
    return render(this, lede(jobs), jobs.filter((job) => job.needs_operator && job.error).map((job) => this.notice(job)),
      h("div", { class: "bar" }, h("h2", null, "Jobs"),
        h("input", { id: "filter", type: "search", placeholder: "Filter", "aria-label": "Filter jobs", oninput: (event) => this.look(event.target.value) })),
      h("div", { class: "card" }, table(shown), !shown.length && empty(jobs)));
  }

  notice(job) {
    const act = () => this.dispatchEvent(new CustomEvent("act", { bubbles: true, detail: { job, verb: "resume" } }));
    return notice(job, { linked: true, resume: live.me.may.includes("change") ? act : null });
  }

  look(filter) {
    this.filter = filter;
    this.show();
  }
}

function lede(jobs) {
  const streams = jobs.filter((job) => stand(job) === "RUNNING");
  const furthest = Math.max(-1, ...streams.map((job) => job.lag_second ?? -1));
  const sum = (name) => jobs.reduce((total, job) => total + (job[name] ?? 0), 0);
  const running = jobs.filter((job) => job.state === "RUNNING").length;
  return h("div", { class: "lede" },
    h("div", null, h("h1", null, headline(jobs)),
      h("p", null, `${plural(jobs.length, "job")}, ${running} running, ${plural(sum("tables"), "table")}`)),
    h("div", { class: "figures" },
      figure("Change rows per second", many(Math.round(sum("rows_per_second")))),
      figure("Furthest behind", furthest < 0 ? NONE : span(furthest)),
      figure("Rows committed", many(sum("rows")))));
}

function table(jobs) {
  return h("table", { class: "jobs" },
    h("colgroup", null, ["c1", "c2", "c3", "c4", "c5"].map((name) => h("col", { class: name }))),
    h("thead", null, h("tr", null,
      h("th", { scope: "col" }, "Job"), h("th", { scope: "col" }, "State"), h("th", { scope: "col", class: "r tables" }, "Tables"),
      h("th", { scope: "col", class: "r" }, "Lag"), h("th", { scope: "col", class: "r" }, "Rows per second"))),
    h("tbody", null, jobs.map(row)));
}

function row(job) {
  const snapshot = stand(job) === "SNAPSHOT" && job.snapshot;
  return h("tr", { key: job.id },
    h("td", { class: "name" }, h("a", { href: link(job) }, h("span", { class: "db" }, `${job.db}.`), job.name), below(job)),
    h("td", { class: "state-cell" }, state(job)),
    h("td", { class: "r tables num" }, job.tables),
    snapshot ? progress(job, snapshot) : lines(job));
}

/** What matters most of it. */
function below(job) {
  const sub = (text, tone = "") => h("span", { class: `sub ${tone}` }, text);
  if (job.error && job.needs_operator) return sub(`error ${job.error.number}`, "bad");
  if (job.error) return sub(`retrying: error ${job.error.number}`, "warn");
  if (job.behind) return sub(`${plural(job.behind, "table")} behind`, "warn");
  if (job.dead_letters) return sub(plural(job.dead_letters, "dead letter"), "warn");
  return sub(job.server ?? job.type);
}

export const read = (snapshot) =>
  `${many(snapshot.rows)}${snapshot.estimated == null ? "" : ` of about ${many(snapshot.estimated)}`}` +
  `${snapshot.left_second ? `, ${span(snapshot.left_second)} left` : ""}`;

const progress = (job, snapshot) =>
  h("td", { colspan: 2, class: "snap", "data-label": "Snapshot", key: "snap" }, h("div", { class: "pair" },
    h("span", { class: "num soft" }, read(snapshot)),
    h("div", { class: "track" }, meter(snapshot.rows, snapshot.estimated, `Snapshot of ${label(job)}`))));

function lines(job) {
  const runs = job.state === "RUNNING";
  const cell = (name, values, look, text) => h("td", { class: "r", "data-label": name, key: name }, h("div", { class: "pair" },
    spark(runs ? values : [], look), h("span", { class: "num value" }, runs ? text : NONE)));
  const late = job.lag_second > LATE ? "warn" : "good";
  return [
    cell("Lag", job.spark.lag, { tone: late, name: "Lag in the last 90 seconds", floor: 5 }, span(job.lag_second)),
    cell("Rows per second", job.spark.rate, { tone: "busy", name: "Rows per second in the last 90 seconds", floor: 10 },
      many(job.rows_per_second == null ? null : Math.round(job.rows_per_second))),
  ];
}

const empty = (jobs) => h("div", { class: "empty" },
  jobs.length ? "No job has that in its name or state." : ["A job is one statement:", h("pre", null, EXAMPLE)]);

customElements.define("jobs-page", JobsPage);
