// All tests of this folder in one process, a file after the other: each is told of by a last test of its own.
import { readdirSync } from "node:fs";
import test from "node:test";
import "./page.js"; // what it gives to all stays

const HERE = new URL(".", import.meta.url);
const files = readdirSync(HERE, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .flatMap((room) => readdirSync(new URL(room.name, HERE)).map((name) => `${room.name}/${name}`))
  .filter((name) => name.endsWith(".test.js"));
const globals = Object.getOwnPropertyDescriptors(globalThis);

for (const file of files) {
  let problem;
  await import(new URL(file, HERE)).catch((error) => (problem = error));
  // The tests of a file go one after the other, and this one is behind them.
  await test(`all of ${file}`, () => {
    if (problem) throw problem;
  });
  for (const name of Object.getOwnPropertyNames(globalThis)) if (!(name in globals)) delete globalThis[name];
  for (const [name, was] of Object.entries(globals)) if (was.configurable) Object.defineProperty(globalThis, name, was);
}
