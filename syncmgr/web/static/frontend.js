// The frontend itself.
// Owns: its facts, settings and connections, for operators.
// Must not know: how requests are made.

import { h, render } from "./dom.js";
import { failure, figure, grid, lamp } from "./parts.js";
import { ask, live } from "./server.js";
import { moment, size } from "./words.js";

class FrontendPage extends HTMLElement {
  told = null;
  error = null;
  filter = "";

  connectedCallback() {
    this.look();
    this.show();
  }

  async look() {
    try {
      const [facts, settings, connections] = await Promise.all([
        ask("/frontends"), ask("/config"), ask("/sql", { method: "POST", body: { sql: "SHOW PROCESSLIST" } }),
      ]);
      Object.assign(this, { told: { facts, settings: settings.settings, connections: connections.rows }, error: null });
    } catch (error) {
      this.error = error;
    }
    if (this.isConnected) this.show();
  }

  async change(path, method, body) {
    try {
      await ask(path, { method, body });
      this.error = null;
    } catch (error) {
      this.error = error;
    }
    await this.look();
  }

  show() {
    const head = h("div", { class: "lede" }, h("div", null, h("h1", null, "Frontend"), h("p", null, `Version ${live.frontend?.version ?? ""}, since ${moment(live.frontend?.started_at)}`)));
    const error = this.error && failure(this.error);
    if (!this.told) return render(this, head, error ?? h("p", { class: "soft" }, "Asking the frontend …"));
    const { facts, settings, connections } = this.told;
    const now = live.frontend ?? facts.now;
    const shown = settings.filter((each) => `${each.Key} ${each.Value}`.toLowerCase().includes(this.filter.toLowerCase()));
    return render(this, head, error,
      h("div", { class: "strip" },
        figure("Spark", lamp(now?.spark === "ready"), " ", now?.spark ?? ""), figure("Metadata", lamp(now?.meta === "ok"), " ", now?.meta ?? ""),
        Object.entries(facts.disk_free).map(([name, free]) => figure(`Free for ${name}`, size(free)))),
      h("div", { class: "bar" }, h("h2", null, "Connections")),
      grid(["Id", "User", "From", "Database", "For", "Statement", "End"], connections.map((row) => [
        row[0], row[1], row[2], row[3] ?? "", `${row[5]} s`, h("span", { class: "mono" }, row[7] ?? row[4]),
        h("button", { onclick: () => this.change("/sql", "POST", { sql: `KILL ${Number(row[0])}` }), "aria-label": `Kill connection ${row[0]}` }, "Kill"),
      ]), { name: "Connections", right: [0, 4] }),
      h("div", { class: "bar" }, h("h2", null, "Settings"),
        h("input", { id: "filter", type: "search", placeholder: "Filter", "aria-label": "Filter settings", oninput: (event) => { this.filter = event.target.value; this.show(); } })),
      grid(["Setting", "Value", "Meaning"], shown.map((each) => [h("span", { class: "mono" }, each.Key), this.value(each), each.Comment]), { name: "Settings" }));
  }

  value(each) {
    if (each.IsMutable !== "true") return h("span", { class: "mono" }, each.Value);
    const set = (event) => {
      event.preventDefault();
      this.change("/config", "PUT", { [each.Key]: event.target.elements[0].value });
    };
    return h("form", { key: each.Key, class: "set", onsubmit: set },
      h("input", { placeholder: each.Value, "aria-label": each.Key }), h("button", null, "Set"));
  }
}

customElements.define("frontend-page", FrontendPage);
