// The login.
// Owns: its form.
// Must not know: what a login is.

import { h, render } from "./dom.js";
import { enter } from "./server.js";

class LoginPage extends HTMLElement {
  error = null;
  busy = false;

  connectedCallback() {
    this.show();
    this.querySelector("input").focus();
  }

  show() {
    const input = (name, type, word, complete) => h("label", null, word, h("input", { name, type, autocomplete: complete, required: type === "text", autocapitalize: "off", spellcheck: "false" }));
    render(this, h("form", { class: "card login", onsubmit: (event) => this.submit(event) },
      h("h1", null, "syncmgr"),
      input("user", "text", "User", "username"), input("password", "password", "Password", "current-password"),
      this.error && h("p", { class: "bad", role: "alert" }, this.error),
      h("button", { class: "primary", disabled: this.busy }, this.busy ? "Logging in …" : "Log in")));
  }

  async submit(event) {
    event.preventDefault();
    const { user, password } = event.target.elements;
    this.busy = true;
    this.show();
    try {
      await enter(user.value, password.value);
    } catch (error) {
      this.error = error.message;
      password.value = "";
    }
    this.busy = false;
    if (this.isConnected) {
      this.show();
      password.focus();
    }
  }
}

customElements.define("login-page", LoginPage);
