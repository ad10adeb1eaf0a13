/**
 * Makes a text that matches a regular expression. Takes the first alternative and as few
 * repetitions as allowed. From a class it takes `a`, `A` or `0` if the class contains one of them,
 * otherwise the matching character with the lowest code from U+0020 on. Treats look-around as empty
 * and does not know back-references, so a pattern that needs them may have no sample.
 */

const MAX_REPEATS = 1000;
/** Nested repetitions multiply the length, so a longer text is dropped. */
const MAX_LENGTH = 10_000;
const GROUP = /\((?:\?(?::|<?[=!]|<\w+>))?/y;
/** A class, an escape or any other character. */
const ATOM = /\[(?:\\.|[^\]\\])*\]|\\(?:u\{\w+\}|u\w{4}|x\w{2}|[pP]\{[\w=]+\}|.)|./suy;
const QUANTIFIER = /(?:[*+?]|\{(\d+)(?:,\d*)?\})\??/y;

/** @returns `undefined` if no sample was found. */
export function samplePattern(pattern: string): string | undefined {
  const expression = compilePattern(pattern);
  if (expression === undefined) return undefined;
  let at = 0;

  function alternatives(): string {
    const first = sequence();
    while (pattern[at] === '|') {
      at += 1;
      sequence();
    }
    return first;
  }

  /** Reads up to a `|` or the end of the group. */
  function sequence(): string {
    let text = '';
    while (at < pattern.length && pattern[at] !== '|' && pattern[at] !== ')') {
      const once = pattern[at] === '(' ? group() : sampleCharacter(take(ATOM)[0]);
      text += once.repeat(repeats(take(QUANTIFIER)));
      if (text.length > MAX_LENGTH) text = '';
    }
    return text;
  }

  function group(): string {
    const [opening] = take(GROUP);
    const text = alternatives();
    at += 1;
    return /[=!]$/.test(opening) ? '' : text;
  }

  function take(what: RegExp): readonly [found: string, count?: string] {
    what.lastIndex = at;
    const [found = '', count] = what.exec(pattern) ?? [];
    at += found.length;
    return count === undefined ? [found] : [found, count];
  }

  const text = alternatives();
  return expression.test(text) ? text : undefined;
}

/** @returns `undefined` for a text that is not a regular expression. */
export function compilePattern(pattern: string): RegExp | undefined {
  for (const flags of ['u', '']) {
    try {
      return new RegExp(pattern, flags);
    } catch {
      // JSON Schema demands Unicode mode, but that mode refuses some common escapes. The next
      // attempt does without it.
    }
  }
  return undefined;
}

function repeats([quantifier, count]: readonly [string, string?]): number {
  if (count !== undefined) return Math.min(Number(count), MAX_REPEATS);
  return /^[*?]/.test(quantifier) ? 0 : 1;
}

function sampleCharacter(source: string): string {
  if (/^(?:[$^]|\\[bB])$/.test(source)) return '';
  if (!/^[.[\\]/.test(source)) return source;
  const expression = compilePattern(`^${source}$`);
  for (const character of candidates()) if (expression?.test(character)) return character;
  return '';
}

function* candidates(): Generator<string> {
  yield* 'aA0';
  for (let code = 0x20; code < 0xd800; code += 1) yield String.fromCharCode(code);
}
