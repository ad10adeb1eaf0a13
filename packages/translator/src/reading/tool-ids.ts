/**
 * Rewrites ids and names of calls to a form that the upstream accepts. The result depends only on
 * the text and on the calls before it, so a longer conversation begins with the same rewritten ids,
 * and its cached prefix stays the same.
 */

/** https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools */
export const MAX_TOOL_NAME = 128;
/** The most characters of a call's id. */
const MAX_CALL_ID = 64;
/**
 * The most characters of an argument's name. The upstream checks only the names at the root of a
 * schema.
 */
const MAX_ARGUMENT_NAME = 64;
/** The characters of a hash and of the `_` before it. A repeated id's number takes fewer. */
const SUFFIX = 9;
const REFUSED = /[^a-zA-Z0-9_-]/g;
const REFUSED_IN_ARGUMENTS = /[^a-zA-Z0-9_.-]/g;

/** Whether a text can be the name of a tool or the id of a call. */
export function isAllowedToken(text: string, maxLength: number, refused = REFUSED): boolean {
  return text !== '' && text.length <= maxLength && text.search(refused) < 0;
}

/**
 * Returns the text itself if the upstream accepts it. Otherwise shortens it, replaces each
 * character that the upstream refuses by `_`, and appends eight hexadecimal digits of a hash of the
 * original, so that texts that differ only in such characters do not become equal.
 */
export function toAllowedToken(text: string, maxLength: number, refused = REFUSED): string {
  if (isAllowedToken(text, maxLength, refused)) return text;
  const readable = text.slice(0, maxLength - SUFFIX).replace(refused, '_');
  return `${readable}_${fnv1a(text)}`;
}

/** {@link toAllowedToken} for the name of an argument of a tool. */
export function toArgumentName(text: string): string {
  return toAllowedToken(text, MAX_ARGUMENT_NAME, REFUSED_IN_ARGUMENTS);
}

/**
 * FNV-1a, 32 bits, over UTF-16 code units. It only has to be stable; it does not protect a secret.
 */
function fnv1a(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  return (hash >>> 0).toString(16).padStart(8, '0');
}

/**
 * Makes ids unique within one conversation. Some clients start again at `call_0` in every turn,
 * which the chat format allows and the upstream refuses. A repeated id is shortened if it is long,
 * and gets `_2`, `_3`, ...
 */
export function createIdAllocator(): (wanted: string) => string {
  const used = new Set<string>();
  // The next suffix to try for each shortened id, so that many equal ids, or long ids with the same
  // beginning, do not each need a search.
  const nextSuffix = new Map<string, number>();

  return function allocate(wanted) {
    const base = toAllowedToken(wanted, MAX_CALL_ID);
    let id = base;
    const short = base.slice(0, MAX_CALL_ID - SUFFIX);
    let suffix = nextSuffix.get(short) ?? 2;
    while (used.has(id)) {
      id = `${short}_${suffix}`;
      suffix += 1;
    }
    if (id !== base) nextSuffix.set(short, suffix);
    used.add(id);
    return id;
  };
}
