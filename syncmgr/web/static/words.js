// Numbers, times and states in words.
// Owns: how a value is written.
// Must not know: the server, the document.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const NONE = "–";
export const exact = (n) => (n == null ? NONE : whole.format(n));
export const many = (n) => (n == null ? NONE : n < 10000 ? whole.format(n) : compact.format(n));
export const plural = (n, one, more = `${one}s`) => `${many(n)} ${n === 1 ? one : more}`;

export function span(seconds) {
  if (seconds == null) return NONE;
  if (seconds < 0.05) return "0 s";
  if (seconds < 10) return `${seconds.toFixed(1).replace(/\.0$/, "")} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${(seconds / 3600).toFixed(1)} h` : `${Math.round(seconds / 86400)} days`;
}

export const took = (seconds) =>
  seconds < 1 ? `${Math.max(1, Math.round(seconds * 1000))} ms` : `${seconds.toFixed(2)} s`;

export function size(bytes) {
  if (bytes == null) return NONE;
  let left = bytes;
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (left < 1024) return `${left < 10 && unit !== "B" ? left.toFixed(1) : Math.round(left)} ${unit}`;
    left /= 1024;
  }
  return `${left.toFixed(1)} TiB`;
}

export const clock = (at) => new Date(at * 1000).toLocaleTimeString("en-GB", { hour12: false });
export const moment = (at) =>
  at == null ? NONE : `${new Date(at * 1000).toISOString().slice(0, 19).replace("T", " ")} UTC`;

export const WORDS = {
  RUNNING: "Running", SNAPSHOT: "Snapshot", PAUSED: "Paused", FAILED: "Needs you", PENDING: "Pending",
  CANCELLED: "Stopped",
};
export const ORDER = ["FAILED", "SNAPSHOT", "PENDING", "RUNNING", "PAUSED", "CANCELLED"];

/** How a job stands, as a person sees it. */
export function stand(job) {
  if (job.needs_operator) return "FAILED";
  return job.state === "RUNNING" && job.phase === "snapshot" ? "SNAPSHOT" : job.state;
}

export const label = (job) => `${job.db}.${job.name}`;
export const link = (job) => `#/jobs/${encodeURIComponent(job.db)}/${encodeURIComponent(job.name)}`;
