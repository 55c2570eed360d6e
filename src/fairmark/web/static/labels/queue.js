// What was said and is not yet with the server: kept in the browser, sent in order, sent again until it is answered.
//
// Each entry has a key of its own in the browser's storage, so that two tabs never overwrite each other's, and an id by
// which the server knows it again: however often it comes, it counts once.

const PREFIX = "fairmark-label";
const MOST_AT_ONCE = 100;
const RETRY_MS = [1000, 2000, 5000, 10000, 15000];
const DEADLINE_MS = 20000;
const STATUS_MS = 5000;

export const newId = () => `label_${Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("")}`;

/** Where the browser keeps nothing, the page does, as long as it is open. */
function storage() {
  try {
    localStorage.setItem(`${PREFIX} try`, "");
    localStorage.removeItem(`${PREFIX} try`);
    return localStorage;
  } catch {
    const kept = new Map();
    return {
      get length() {
        return kept.size;
      },
      key: (at) => [...kept.keys()][at],
      getItem: (key) => kept.get(key) ?? null,
      setItem: (key, value) => kept.set(key, value),
      removeItem: (key) => kept.delete(key),
    };
  }
}

export class Queue {
  /** heard: told of each change, as {waiting, problem, status}. send: fetch, for tests. */
  constructor(batch, url, headers, heard, send = (...all) => fetch(...all)) {
    this.batch = batch;
    this.url = url;
    this.headers = headers;
    this.heard = heard;
    this.send = send;
    this.kept = storage();
    this.tries = 0;
    this.problem = "";
    this.busy = false;
    this.asked = 0;
    this.refused = new Map();
    addEventListener("online", () => this.flush());
    document.addEventListener("visibilitychange", () => this.flush());
  }

  /** All that waits, the oldest first: also what another tab, or this one before it was closed, has left. */
  entries() {
    const found = [];
    for (let at = 0; at < this.kept.length; at += 1) {
      const key = this.kept.key(at);
      if (!key?.startsWith(`${PREFIX} ${this.batch} `)) continue;
      try {
        found.push(JSON.parse(this.kept.getItem(key)));
      } catch {
        // Not ours.
      }
    }
    return found.sort((one, other) => one.when - other.when || one.order - other.order);
  }

  /** What is said of a row while an earlier word about it waits here is a correction. It counts from when it reaches
   * the server: by when it was said it could be the older one of the two, because the earlier word may still be on its
   * way, also on one that this page has given up. What is corrected is sent first, and however often it comes, it counts once. */
  add(entry) {
    this.order = (this.order ?? 0) + 1;
    const corrects = this.entries().some(({ at }) => at === entry.at);
    this.keep({ ...entry, corrects, when: Date.now(), order: this.order });
    this.tell(this.problem);
    this.flush();
  }

  keep(entry) {
    this.kept.setItem(`${PREFIX} ${this.batch} ${entry.id}`, JSON.stringify(entry));
  }

  async flush() {
    if (this.busy) return;
    clearTimeout(this.timer);
    const waiting = this.entries().filter((entry) => !this.refused.has(entry.id));
    if (!waiting.length) {
      this.tell("");
      return;
    }
    this.busy = true;
    let problem = "";
    try {
      problem = await this.sendSome(waiting.slice(0, MOST_AT_ONCE));
    } catch {
      problem = "offline";
    }
    this.busy = false;
    if (!problem) {
      this.tries = 0;
      this.flush();
      return;
    }
    this.tell(problem);
    this.timer = setTimeout(() => this.flush(), RETRY_MS[Math.min(this.tries, RETRY_MS.length - 1)]);
    this.tries += 1;
  }

  async sendSome(entries) {
    const now = Date.now();
    const status = now - this.asked > STATUS_MS;
    const body = JSON.stringify({
      status,
      entries: entries.map(({ when, order, corrects, ...entry }) => ({ ...entry, ago_s: corrects ? 0 : Math.max(0, (now - when) / 1000) })),
    });
    const answer = await this.send(this.url, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...this.headers() },
      body,
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    if (!answer.ok) return [401, 403].includes(answer.status) ? "sign in" : answer.status === 404 ? "gone" : "offline";
    const told = await answer.json();
    for (const [id, words] of Object.entries(told.refused)) this.refused.set(id, words);
    for (const id of Object.keys(told.became)) this.kept.removeItem(`${PREFIX} ${this.batch} ${id}`);
    if (status) this.asked = now;
    if (told.status) this.heard({ status: told.status });
    return "";
  }

  tell(problem) {
    this.problem = problem;
    const [refused] = this.refused.values();
    this.heard({ waiting: this.entries().length, problem, refused });
  }
}
