// A place to paste into: the server says what it is, and the page fills its form in.
import { csrfHeaders, errorWords } from "./fairmark.js";

/** fill(found): puts what the server made of it into the form, and returns words about it. */
export function mountPasting(host, fill) {
  if (!host) return;
  host.hidden = false;
  const text = host.querySelector("[data-paste-text]");
  const words = host.querySelector("[data-paste-words]");
  const button = host.querySelector("[data-paste-button]");
  let turn = 0;

  const tell = (message, tone) => {
    words.textContent = message;
    words.className = `small tone-${tone}`;
    text.toggleAttribute("aria-invalid", tone === "fail");
  };

  async function read() {
    const mine = ++turn;
    tell("", "skip");
    let answer;
    let body;
    try {
      answer = await fetch(host.dataset.paste, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json", ...csrfHeaders() },
        body: JSON.stringify({ text: text.value }),
      });
      body = await answer.text();
    } catch {
      tell(errorWords("", 0), "fail");
      return;
    }
    if (mine !== turn) return; // something else was pasted meanwhile
    if (!answer.ok) tell(errorWords(body, answer.status), "fail");
    else tell(await fill(JSON.parse(body)), "pass");
  }

  button.addEventListener("click", read);
  text.addEventListener("paste", () => setTimeout(read)); // once it stands there
}
