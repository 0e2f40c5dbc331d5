// The frontend, as the page asks it.
// Owns: requests, the login, the live overview and whether it is still told.
// Must not know: what is shown.

const API = "/api/v1";
const POINTS = 90; // of a spark line
const AGAIN = 2000; // milliseconds between two tries
const listeners = new Set();
let csrf = "";
let source = null;
let timer = null;

/** `jobs`: by id, null as long as nothing was told. `me`: null without a login, undefined if that is not known. */
export const live = { me: undefined, jobs: null, frontend: null, at: null, connected: true };

export function subscribe(heard) {
  listeners.add(heard);
  return () => listeners.delete(heard);
}

function tell() {
  for (const heard of [...listeners]) heard();
}

export class Failed extends Error {
  constructor(status, told) {
    super(told.message);
    Object.assign(this, { status, number: told.number, advice: told.advice });
  }
}

export async function ask(path, { method = "GET", body, signal } = {}) {
  const options = { method, signal, headers: {} };
  if (method !== "GET") {
    options.headers = { "content-type": "application/json", "x-syncmgr-csrf": csrf };
    options.body = JSON.stringify(body ?? {});
  }
  const answer = await fetch(API + path, options);
  const told = await answer.json().catch(() => ({ error: { number: 0, message: answer.statusText } }));
  if (answer.ok) return told;
  if (answer.status === 401 && path !== "/session") leave();
  throw new Failed(answer.status, told.error ?? { number: 0, message: answer.statusText });
}

export const pathOf = (db, name) => `/jobs/${encodeURIComponent(db)}/${encodeURIComponent(name)}`;

export async function enter(user, password) {
  await ask("/session", { method: "POST", body: { user, password } });
  await start();
}

export async function logOut() {
  await ask("/session", { method: "DELETE" }).catch(() => null);
  leave();
}

function leave() {
  stop();
  Object.assign(live, { me: null, jobs: null });
  tell();
}

/** Who one is, all jobs, and from then on what changes. */
export async function start() {
  stop();
  try {
    live.me = await ask("/me");
    csrf = live.me.csrf ?? "";
    const told = await ask("/jobs");
    live.jobs = new Map(told.jobs.map((job) => [job.id, job]));
    Object.assign(live, { frontend: told.frontend, at: told.at, connected: true });
    follow();
  } catch (error) {
    if (!(error instanceof Failed && error.status === 401)) lost();
  }
  tell();
}

function follow() {
  if (document.hidden) return; // a browser has few connections to one server
  source = new EventSource(`${API}/events`);
  source.addEventListener("jobs", (event) => merge(JSON.parse(event.data)));
  source.addEventListener("error", lost);
}

function lost() {
  if (live.me === null) return;
  stop();
  live.connected = false;
  timer = setTimeout(start, AGAIN);
  tell();
}

function stop() {
  source?.close();
  clearTimeout(timer);
  source = timer = null;
}

function merge(told) {
  for (const job of told.jobs) live.jobs.set(job.id, { spark: live.jobs.get(job.id)?.spark ?? none(), ...job });
  for (const id of told.gone) live.jobs.delete(id);
  for (const job of live.jobs.values()) {
    job.spark = { lag: last(job.spark.lag, job.lag_second), rate: last(job.spark.rate, job.rows_per_second) };
  }
  Object.assign(live, { frontend: told.frontend, at: told.at, connected: true });
  tell();
}

const none = () => ({ lag: [], rate: [] });
const last = (points, point) => [...points, point].slice(-POINTS);

document.addEventListener("visibilitychange", () => {
  if (!live.me) return;
  if (document.hidden) stop();
  else start();
});
