// Builds the vendored assets of the web page: node build.mjs TARGET, in a folder with node_modules.
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const target = process.argv[2];
const pinned = JSON.parse(readFileSync("package.json", "utf8")).dependencies;
rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });

const common = { bundle: true, minify: true, legalComments: "none", target: "es2022", charset: "utf8" };
const result = await build({
  ...common,
  entryPoints: ["codemirror.js"],
  format: "esm",
  outfile: join(target, "codemirror.js"),
  metafile: true,
});
await build({ ...common, entryPoints: ["node_modules/uplot/dist/uPlot.esm.js"], format: "esm", outfile: join(target, "uplot.js") });
await build({ ...common, entryPoints: ["node_modules/temml/dist/temml.mjs"], format: "esm", outfile: join(target, "temml.js") });
copyFileSync("node_modules/uplot/dist/uPlot.min.css", join(target, "uplot.css"));
copyFileSync("node_modules/htmx.org/dist/htmx.min.js", join(target, "htmx.js"));

// The licences of all that is inside, in one file beside it.
const inside = new Set(["htmx.org", "temml", "uplot"]);
for (const path of Object.keys(result.metafile.inputs)) {
  const found = path.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//);
  if (found) inside.add(found[1]);
}
const texts = new Map();
for (const name of [...inside].sort()) {
  const folder = join("node_modules", name);
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  if (!file) throw new Error(`${name} has no licence file`);
  const text = readFileSync(join(folder, file), "utf8").trim();
  texts.set(text, [...(texts.get(text) ?? []), `${name} ${pinned[name]}`]);
}
const licences = [...texts].map(([text, names]) => `${names.join("\n")}\n\n${text}\n`);
writeFileSync(join(target, "LICENSES.txt"), licences.join(`\n${"-".repeat(80)}\n\n`));

for (const name of readdirSync(target).sort()) {
  const bytes = readFileSync(join(target, name));
  console.log(`${name.padEnd(16)} ${String(bytes.length).padStart(8)} bytes ${String(gzipSync(bytes).length).padStart(8)} compressed`);
}
