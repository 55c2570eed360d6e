import assert from "node:assert/strict";
import test from "node:test";
import { load, show } from "../page.js";

for (const [kept, shown] of [["dark", "dark"], ["light", "light"], ["puce", undefined], [null, undefined]]) {
  test(`the colours where ${kept} is kept`, async () => {
    show("");
    if (kept) localStorage.setItem("fairmark-theme", kept);
    await load("frame/theme.js");
    assert.equal(document.documentElement.dataset.theme, shown);
  });
}

test("a browser that keeps nothing shows the system's colours", async () => {
  show("");
  localStorage.getItem = () => {
    throw new Error("forbidden");
  };
  await load("frame/theme.js");
  assert.equal(document.documentElement.dataset.theme, undefined);
});
