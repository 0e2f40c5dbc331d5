// The whole page.
// Owns: which page is shown, the keyboard, what is done to a job.
// Must not know: what a page shows.

import { h, render } from "./dom.js";
import "./jobs.js";
import "./job.js";
import "./sql.js";
import "./frontend.js";
import "./login.js";
import { lamp } from "./parts.js";
import { ask, live, logOut, pathOf, start, subscribe } from "./server.js";
import { label } from "./words.js";

const KEYS = [["g j", "jobs"], ["g s", "SQL"], ["g f", "frontend"], ["/", "filter"], ["j k", "next, previous job"], ["Enter", "open"], ["Ctrl Enter", "run the statement"], ["Alt ↑", "earlier statement"], ["?", "this list"]];
const DONE = { pause: "pausing", resume: "resuming", stop: "stopped" };
const SUN = "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1v1.500M8 13.500V15M1 8h1.500M13.500 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1";
const MOON = "M13.5 9.700A6 6 0 0 1 6.300 2.500a6 6 0 1 0 7.200 7.200Z";
const icon = import.meta.resolve("./icon.svg");

class App extends HTMLElement {
  toast = null;
  stopping = null;
  typed = "";
  theme = localStorage.getItem("theme") ?? "";

  connectedCallback() {
    addEventListener("hashchange", () => { scrollTo(0, 0); this.show(); });
    addEventListener("keydown", (event) => this.key(event));
    this.addEventListener("act", (event) => this.act(event.detail));
    subscribe(() => this.show());
    this.paint();
    start();
    this.show();
  }

  get route() {
    return location.hash.slice(1).split("/").filter(Boolean).map(decodeURIComponent);
  }

  page() {
    if (live.me === null) return h("login-page", { key: "login" });
    if (!live.me) return h("p", { class: "soft" }, live.connected ? "Asking the frontend …" : "No answer; trying again.");
    const [first, db, name] = this.route;
    if (first === "sql") return h("sql-page", { key: "sql" });
    if (first === "frontend") return h("frontend-page", { key: "frontend" });
    if (first === "jobs" && name) return h("job-page", { key: `job ${JSON.stringify([db, name])}`, of: JSON.stringify([db, name]) });
    return h("jobs-page", { key: "jobs" });
  }

  show() {
    this.entitle();
    render(this,
      h("a", { class: "skip", href: "#main", onclick: (event) => { event.preventDefault(); this.querySelector("main").focus(); } }, "Skip to content"),
      this.header(), h("main", { id: "main", tabindex: -1 }, this.page()), this.help(), this.stop(),
      h("div", { class: "toasts", role: "status" }, this.toast && h("div", { class: "toast" }, this.toast)));
  }

  entitle() {
    const [first, db, name] = this.route;
    const bad = [...(live.jobs?.values() ?? [])].filter((job) => job.needs_operator).length;
    const words = first === "sql" ? "SQL" : first === "frontend" ? "Frontend" : name ? `${db}.${name}` : "Jobs";
    const title = `${bad ? `(${bad}) ` : ""}${live.me ? words : "Log in"} · syncmgr`;
    if (document.title !== title) document.title = title;
  }

  header() {
    const [first] = this.route;
    const to = (path, word, current) => h("a", { href: `#/${path}`, "aria-current": current ? "page" : null }, word);
    const dark = this.isDark();
    return h("header", { class: "top" }, h("div", null,
      h("a", { class: "brand", href: "#/", "aria-label": "syncmgr, all jobs" }, h("img", { src: icon, alt: "" }), h("span", null, "syncmgr")),
      live.me && h("nav", { class: "main", "aria-label": "Pages", key: "nav" }, to("", "Jobs", !["sql", "frontend"].includes(first)), to("sql", "SQL", first === "sql"),
        live.me.may.includes("operate") && to("frontend", "Frontend", first === "frontend")),
      h("span", { class: "grow" }),
      h("span", { class: "live", role: "status", key: "live" }, lamp(live.connected), h("span", null, live.connected ? live.me?.user ?? "" : "no answer; trying again")),
      live.me && h("button", { class: "plain", key: "leave", onclick: logOut }, "Log out"),
      h("button", { class: "plain", key: "theme", "aria-label": dark ? "Use light colours" : "Use dark colours", onclick: () => this.turn() },
        h("svg", { width: 16, height: 16, viewBox: "0 0 16 16", fill: "none", stroke: "currentColor", "stroke-width": 1.5, "aria-hidden": "true" }, h("path", { d: dark ? SUN : MOON }))),
      h("button", { class: "plain keys", key: "keys", "aria-label": "Keyboard shortcuts", onclick: () => this.querySelector("#help").showModal() }, h("kbd", null, "?"))));
  }

  help() {
    return h("dialog", { id: "help", "aria-label": "Keyboard shortcuts", key: "help" }, h("h2", null, "Keyboard"),
      h("dl", null, KEYS.flatMap(([keys, word]) => [h("dt", null, keys.split(" ").map((key) => [h("kbd", null, key), " "])), h("dd", null, word)])),
      h("form", { method: "dialog", class: "acts" }, h("button", { onclick: (event) => this.close(event) }, "Close")));
  }

  close(event) {
    event.preventDefault();
    event.target.closest("dialog").close();
  }

  /** STOP ends a job for good, so its name is typed. */
  stop() {
    const name = this.stopping && label(this.stopping);
    const end = (event) => {
      event.preventDefault();
      const { stopping } = this;
      const typed = event.target.elements.confirm.value;
      event.target.elements.confirm.value = "";
      event.target.closest("dialog").close();
      this.send(stopping, "stop", { confirm: typed });
    };
    return h("dialog", { id: "stop", "aria-label": "Stop a job", key: "stop" }, h("h2", null, `Stop ${name ?? ""} for good?`),
      h("p", { class: "soft" }, "Its targets stay as they are, and it cannot be resumed. Type its name to stop it."),
      h("form", { onsubmit: end }, h("input", { name: "confirm", "aria-label": "Name of the job", autocomplete: "off", spellcheck: "false" }),
        h("div", { class: "acts" }, h("button", { type: "button", onclick: (event) => this.close(event) }, "Keep it"), h("button", { class: "danger" }, "Stop it"))));
  }

  act({ job, verb }) {
    if (verb !== "stop") return this.send(job, verb, {});
    this.stopping = job;
    this.show();
    return this.querySelector("#stop").showModal();
  }

  async send(job, verb, body) {
    try {
      await ask(`${pathOf(job.db, job.name)}/${verb}`, { method: "POST", body });
      this.say(`${label(job)}: ${DONE[verb]}`);
    } catch (error) {
      this.say(error.message);
    }
  }

  say(text) {
    this.toast = text;
    this.show();
    setTimeout(() => { this.toast = null; this.show(); }, 4000);
  }

  isDark() {
    return this.theme ? this.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  turn() {
    this.theme = this.isDark() ? "light" : "dark";
    localStorage.setItem("theme", this.theme);
    this.paint();
    this.show();
  }

  paint() {
    if (this.theme) document.documentElement.dataset.theme = this.theme;
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target.matches("input, textarea, select")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const pages = { j: "#/", s: "#/sql", f: "#/frontend" };
    if (this.typed === "g" && pages[event.key]) location.hash = pages[event.key];
    else if (event.key === "j" || event.key === "k") this.step(event.key === "j" ? 1 : -1);
    else if (event.key === "?") this.querySelector("#help").showModal();
    else if (event.key === "/") {
      event.preventDefault();
      document.getElementById("filter")?.focus();
    }
    this.typed = event.key;
  }

  step(by) {
    const rows = [...this.querySelectorAll(".jobs td.name a")];
    const next = rows.indexOf(document.activeElement) + by;
    rows[Math.min(rows.length - 1, Math.max(0, next))]?.focus();
  }
}

customElements.define("sync-app", App);
