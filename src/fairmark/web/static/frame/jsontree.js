// JSON with a memory: numbers as they were written, and where in the text each value stands.

/** The value of a JSON text. Numbers that JavaScript would change (1.0, 9007199254740993) are kept as they were written. */
export function parse(text) {
  if (!JSON.rawJSON) return JSON.parse(text);
  return JSON.parse(text, (_key, value, context) =>
    typeof value === "number" && String(value) !== context.source ? JSON.rawJSON(context.source) : value,
  );
}

/** A number of `parse` as the text it was. */
export const written = (number) => (JSON.isRawJSON?.(number) ? number.rawJSON : String(number));

/** A number typed by hand, for `write`; undefined where the text is none. */
export function number(text) {
  const digits = text.trim();
  if (!/^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(digits)) return undefined;
  return JSON.rawJSON && String(Number(digits)) !== digits ? JSON.rawJSON(digits) : Number(digits);
}

export const write = (value) => JSON.stringify(value, null, 2);

export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value) && !JSON.isRawJSON?.(value);

/** The steps of a path as the server writes it: $.graders["a b"].input[0] -> ["graders", "a b", "input", "0"]. */
export function steps(path) {
  const found = [];
  for (const step of path.replace(/^\$/, "").matchAll(/\.([^.[\]]+)|\[(?:(\d+)|"((?:[^"\\]|\\.)*)")\]/g)) {
    found.push(step[1] ?? step[2] ?? JSON.parse(`"${step[3]}"`));
  }
  return found;
}

/** Where in a JSON text a path leads: {from, to} of its value, or of the nearest value around it that is there. */
export function locate(text, path) {
  let at = 0;
  const skip = () => {
    while (at < text.length && /\s/.test(text[at])) at += 1;
  };
  const string = () => {
    const from = at;
    at += 1;
    while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
    at += 1;
    return text.slice(from, at);
  };
  // Walks over the value that begins here. `wanted` is how many steps of the path have led to it, -1 where it is beside it.
  let found = null;
  const value = (wanted) => {
    skip();
    const from = Math.min(at, text.length);
    const open = text[at];
    if (open === "{" || open === "[") {
      at += 1;
      for (let index = 0; at < text.length; index += 1) {
        skip();
        if (text[at] === "}" || text[at] === "]") break;
        let name = String(index);
        if (open === "{") {
          try {
            name = JSON.parse(string());
          } catch {
            return;
          }
          skip();
          at += 1;
        }
        value(wanted >= 0 && wanted < path.length && path[wanted] === name ? wanted + 1 : -1);
        skip();
        if (text[at] === ",") at += 1;
        else if (text[at] !== "}" && text[at] !== "]") return;
      }
      at += 1;
    } else if (open === '"') string();
    else while (at < text.length && !/[\s,\]}]/.test(text[at])) at += 1;
    if (wanted >= 0 && (!found || wanted > found.depth)) found = { depth: wanted, from, to: Math.min(at, text.length), isBlock: open === "{" || open === "[" };
  };
  value(0);
  if (!found) return { from: 0, to: Math.min(1, text.length) };
  // Of a whole block only its first sign is marked: what is missing in it has no place of its own.
  return found.isBlock ? { from: found.from, to: found.from + 1 } : { from: found.from, to: found.to };
}
