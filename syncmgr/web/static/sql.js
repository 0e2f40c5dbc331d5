// SQL.
// Owns: the editor, its history, results.
// Must not know: how requests are made.

import { h, render } from "./dom.js";
import { failure } from "./parts.js";
import { ask, live } from "./server.js";
import { plural, took } from "./words.js";

const SAMPLES = [
  "SHOW SYNC JOB STATUS;", "SELECT JOB_NAME, STATE, MSG FROM information_schema.sync_jobs;",
  "SELECT TARGET_TABLE, PHASE, ROWS_DONE, LEFT_SECOND FROM information_schema.sync_snapshots;", "SHOW PROCESSLIST;",
];
const SHORT = 46;
const history = []; // in memory alone: a statement may have a password
let draft = SAMPLES[0];
let db = "";

class SqlPage extends HTMLElement {
  databases = [];
  result = null;
  running = null;
  at = -1;

  connectedCallback() {
    ask("/databases").then((told) => { this.databases = told.databases; this.show(); }, () => null);
    this.show();
    const area = this.querySelector("textarea");
    area.value = draft;
    area.focus();
  }

  disconnectedCallback() {
    this.running?.abort();
  }

  show() {
    const busy = Boolean(this.running);
    render(this,
      h("div", { class: "lede" }, h("div", null, h("h1", null, "SQL"), h("p", null, `Every statement of the console, as ${live.me?.user ?? ""}`))),
      h("div", { class: "card editor" },
        h("label", { class: "sr", for: "sql" }, "Statement"),
        h("textarea", { id: "sql", spellcheck: "false", oninput: (event) => (draft = event.target.value), onkeydown: (event) => this.key(event) }),
        h("div", { class: "foot" },
          h("select", { "aria-label": "Database in use", onchange: (event) => (db = event.target.value) },
            h("option", { value: "" }, "no database"),
            this.databases.map((name) => h("option", { value: name, selected: name === db }, name))),
          h("span", { class: "grow" }),
          busy && h("button", { key: "stop", onclick: () => this.running.abort() }, "Stop"),
          h("button", { key: "run", class: "primary", disabled: busy, onclick: () => this.run(draft) }, busy ? "Running …" : "Run ", !busy && h("kbd", null, "Ctrl ⏎")))),
      h("div", { class: "chips" }, SAMPLES.map((sample) =>
        h("button", { onclick: () => this.run(this.fill(sample)) }, sample.length > SHORT ? `${sample.slice(0, SHORT - 2)} …` : sample))),
      h("div", { class: "result", "aria-live": "polite" }, this.result && shown(this.result)));
  }

  fill(text) {
    draft = this.querySelector("textarea").value = text;
    return text;
  }

  key(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.run(draft);
    } else if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
      event.preventDefault();
      this.at = Math.min(history.length - 1, Math.max(0, this.at + (event.key === "ArrowUp" ? 1 : -1)));
      if (history[this.at] !== undefined) this.fill(history[this.at]);
    }
  }

  async run(text) {
    if (!text.trim() || this.running) return;
    if (history[0] !== text) history.unshift(text);
    this.at = -1;
    this.running = new AbortController();
    this.show();
    try {
      const sql = text.trim().replace(/;$/, "");
      this.result = await ask("/sql", { method: "POST", body: { sql, db: db || null }, signal: this.running.signal });
    } catch (error) {
      this.result = { error: error.name === "AbortError" ? { number: 1317, message: "Query execution was interrupted" } : error };
    }
    this.running = null;
    if (this.isConnected) this.show();
  }
}

function shown(result) {
  if (result.error) return failure(result.error);
  if (!result.columns.length) return h("p", { class: "soft" }, `Done in ${took(result.second)}.`);
  return [
    h("p", { class: "soft count" }, `${plural(result.rows.length, "row")}${result.more ? " of more" : ""} in ${took(result.second)}`),
    h("div", { class: "card scroll", tabindex: 0, role: "region", "aria-label": "Rows" }, h("table", null,
      h("thead", null, h("tr", null, result.columns.map((column) => h("th", { scope: "col" }, column.name)))),
      h("tbody", null, result.rows.map((row) => h("tr", null, row.map((value) =>
        h("td", { class: value == null ? "null" : null, title: value == null ? null : String(value) }, value == null ? "NULL" : String(value)))))))),
  ];
}

customElements.define("sql-page", SqlPage);
