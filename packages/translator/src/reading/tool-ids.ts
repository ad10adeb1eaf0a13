/**
 * Ids and names of calls in a form upstream accepts. The rewrite depends only on the text and on
 * what came before it, so a growing conversation is rewritten alike each time and its cached prefix
 * stays equal.
 */

const MAX_LENGTH = 64;
const ALLOWED = /^[a-zA-Z0-9_-]{1,64}$/;

/** Whether a tool's name, or the id of a call, may go upstream as it is. */
export function isAllowedToken(text: string): boolean {
  return ALLOWED.test(text);
}

/**
 * The text itself when upstream accepts it; otherwise its allowed characters with `_` for each
 * other one, cut to fit, and eight hexadecimal digits of a hash of the original, so that texts
 * differing only in what was replaced stay apart.
 */
export function toAllowedToken(text: string): string {
  if (isAllowedToken(text)) return text;
  const readable = text.slice(0, MAX_LENGTH - 9).replace(/[^a-zA-Z0-9_-]/g, '_');
  return `${readable}_${fnv1a(text)}`;
}

/** FNV-1a, 32 bits, over UTF-16 code units. Not for secrets: it only has to be stable. */
function fnv1a(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  return (hash >>> 0).toString(16).padStart(8, '0');
}

/**
 * Makes ids unique within one conversation: some clients start again at `call_0` in every turn,
 * which the chat format allows and upstream refuses. A repeated id gets `_2`, `_3`, ...
 */
export function createIdAllocator(): (wanted: string) => string {
  const used = new Set<string>();
  // The next suffix to try per id, so that many equal ids do not cost a search each.
  const nextSuffix = new Map<string, number>();

  return function allocate(wanted) {
    const base = toAllowedToken(wanted);
    let id = base;
    let suffix = nextSuffix.get(base) ?? 2;
    while (used.has(id)) {
      id = `${base}_${suffix}`;
      suffix += 1;
    }
    if (id !== base) nextSuffix.set(base, suffix);
    used.add(id);
    return id;
  };
}
