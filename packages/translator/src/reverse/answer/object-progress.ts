/** Tracks whether the JSON text of an object is complete, while it arrives in pieces. */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const BLANKS = /^[ \t\n\r]*/;

/**
 * Counts brackets outside of strings. Text that begins with `{` is complete when its brackets
 * balance. The code that reads the text has to validate the JSON.
 */
export class ObjectProgress {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #stage: 'blank' | 'object' | 'complete' | 'other' = 'blank';

  /** `blank` before the first character that is not white space; `other` when that is not a `{`. */
  get stage(): 'blank' | 'object' | 'complete' | 'other' {
    return this.#stage;
  }

  append(text: string): void {
    let at = 0;
    if (this.#stage === 'blank') {
      at = BLANKS.exec(text)?.[0].length ?? 0;
      if (at === text.length) return;
      this.#stage = text[at] === '{' ? 'object' : 'other';
    }
    for (; at < text.length && this.#stage === 'object'; at += 1) this.#step(text.charCodeAt(at));
  }

  #step(code: number): void {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (code === BACKSLASH) this.#isEscaped = true;
      else if (code === QUOTE) this.#isInString = false;
      return;
    }
    if (code === QUOTE) this.#isInString = true;
    else if (code === 0x7b || code === 0x5b) this.#depth += 1;
    else if (code === 0x7d || code === 0x5d) {
      this.#depth -= 1;
      if (this.#depth === 0) this.#stage = 'complete';
    }
  }
}
