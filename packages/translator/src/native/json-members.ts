/**
 * A byte scanner for JSON: validates a whole document once, without building values, and tells where
 * its top-level members are and what stands at the places that a caller asks about.
 *
 * It exists because a gateway must forward a client's bytes untouched, yet know a few members of them,
 * and because `JSON.parse` neither reports duplicate members nor limits depth.
 */

export interface JsonSpan {
  /** First byte of the value. */
  readonly start: number;
  /** First byte after the value. */
  readonly end: number;
}

/**
 * What a caller wants to hear of a value. Everything without a shape is validated and skipped. Shapes
 * are asked anew for every member, so one shape may refer to itself.
 */
export interface JsonShape {
  /** The shape of a member's value, if it is of interest. Names are unescaped. */
  readonly member?: (name: string) => JsonShape | undefined;
  /** The shape of every item of an array. */
  readonly item?: JsonShape;
  /** Called when the value was scanned. `path` is only valid during the call. */
  readonly onValue?: (span: JsonSpan, path: readonly (string | number)[]) => void;
}

export interface ScanOptions {
  /** Arrays and objects within each other. */
  readonly maxDepth?: number;
  /** Shape of the document itself. */
  readonly shape?: JsonShape;
  /**
   * Whether bytes are valid UTF-8: `isUtf8` of `node:buffer` tells it many times faster than the decoder
   * that is used without it, and leaves no garbage.
   */
  readonly isUtf8?: (bytes: Uint8Array) => boolean;
}

export type JsonScan =
  | {
      readonly outcome: 'scanned';
      /** Top-level members in document order, by unescaped name. */
      readonly members: ReadonlyMap<string, JsonSpan>;
    }
  | {
      readonly outcome: 'refused';
      readonly reason: RefusalReason;
      /** For people: names the member, or the byte offset. */
      readonly message: string;
      readonly offset: number;
      /** The member that stands twice. */
      readonly member?: string;
    };

type RefusalReason =
  'syntax' | 'encoding' | 'depth' | 'duplicate' | 'too_many_members' | 'not_an_object';

const MAX_DEPTH = 200;
/** Of the root object. The formats know a few dozen. */
const MAX_MEMBERS = 1000;
const NO_SHAPE: JsonShape = {};

/**
 * Scans a document whose root must be an object.
 *
 * Accepts exactly what `JSON.parse` accepts of valid UTF-8 without a byte order mark, less what is
 * nested too deeply or repeats a member of the root object (another reader might take the other one).
 */
export function scanTopLevel(bytes: Uint8Array, options: ScanOptions = {}): JsonScan {
  const scanner = new Scanner(bytes, options);
  try {
    return { outcome: 'scanned', members: scanner.scanDocument() };
  } catch (error) {
    if (error instanceof ScanFailure) return error.refusal;
    throw error;
  }
}

/** Leaves the scanner's recursion; never leaves this file. */
class ScanFailure extends Error {
  readonly refusal: JsonScan & { readonly outcome: 'refused' };
  constructor(refusal: JsonScan & { readonly outcome: 'refused' }) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const HIGH_BITS = 0x80808080 | 0;
const LOW_BITS = 0x01010101;

class Scanner {
  readonly #bytes: Uint8Array;
  readonly #root: JsonShape;
  readonly #maxDepth: number;
  readonly #isUtf8: (bytes: Uint8Array) => boolean;
  /** Four bytes at a time, where the buffer's alignment allows it. */
  readonly #words: Int32Array;
  /** Offset in `bytes` of the first word. */
  readonly #wordsFrom: number;
  readonly #path: (string | number)[] = [];
  #at = 0;
  #depth = 0;
  /** Whether any byte within a string was beyond ASCII: only then the encoding needs a check. */
  #hasHighBits = false;

  constructor(
    bytes: Uint8Array,
    { maxDepth = MAX_DEPTH, shape = NO_SHAPE, isUtf8 = isDecodable }: ScanOptions,
  ) {
    this.#bytes = bytes;
    this.#isUtf8 = isUtf8;
    this.#root = shape;
    this.#maxDepth = maxDepth;
    this.#wordsFrom = (4 - (bytes.byteOffset & 3)) & 3;
    const words = Math.max(0, bytes.length - this.#wordsFrom) >> 2;
    this.#words =
      words === 0
        ? new Int32Array(0)
        : new Int32Array(bytes.buffer, bytes.byteOffset + this.#wordsFrom, words);
  }

  scanDocument(): Map<string, JsonSpan> {
    const members = new Map<string, JsonSpan>();
    this.#skipBlanks();
    if (this.#bytes[this.#at] !== OPEN_BRACE) {
      // Tell apart what is no JSON at all from what is JSON of another kind.
      const start = this.#at;
      this.#scanValue(undefined);
      this.#expectEnd();
      this.#fail('not_an_object', 'the body must be a JSON object', start);
    }
    this.#scanMembers(this.#root, members);
    this.#expectEnd();
    if (this.#hasHighBits && !this.#isUtf8(this.#bytes)) {
      this.#fail('encoding', 'the body is not valid UTF-8', 0);
    }
    return members;
  }

  #expectEnd(): void {
    this.#skipBlanks();
    if (this.#at < this.#bytes.length) this.#failSyntax();
  }

  #scanValue(shape: JsonShape | undefined): void {
    const start = this.#at;
    const byte = this.#bytes[start];
    switch (byte) {
      case QUOTE:
        this.#scanString();
        break;
      case OPEN_BRACE:
        this.#scanMembers(shape, undefined);
        break;
      case OPEN_BRACKET:
        this.#scanItems(shape);
        break;
      case 0x74:
        this.#scanWord('true');
        break;
      case 0x66:
        this.#scanWord('false');
        break;
      case 0x6e:
        this.#scanWord('null');
        break;
      default:
        this.#scanNumber();
    }
    shape?.onValue?.({ start, end: this.#at }, this.#path);
  }

  #scanMembers(shape: JsonShape | undefined, found: Map<string, JsonSpan> | undefined): void {
    this.#enter();
    this.#skipBlanks();
    if (this.#bytes[this.#at] === CLOSE_BRACE) {
      this.#leave();
      return;
    }
    const wantsNames = found !== undefined || shape?.member !== undefined;
    for (;;) {
      const nameAt = this.#at;
      if (this.#bytes[nameAt] !== QUOTE) this.#failSyntax();
      const isEscaped = this.#scanString();
      const name = wantsNames ? this.#textOf(nameAt, isEscaped) : '';
      this.#skipBlanks();
      if (this.#bytes[this.#at] !== COLON) this.#failSyntax();
      this.#at += 1;
      this.#skipBlanks();
      const start = this.#at;
      const inner = wantsNames ? shape?.member?.(name) : undefined;
      if (inner === undefined) {
        this.#scanValue(undefined);
      } else {
        this.#path.push(name);
        this.#scanValue(inner);
        this.#path.pop();
      }
      if (found !== undefined) {
        if (found.has(name)) this.#failDuplicate(name, nameAt);
        if (found.size === MAX_MEMBERS) {
          const message = `the body has more than ${String(MAX_MEMBERS)} members`;
          this.#fail('too_many_members', message, nameAt);
        }
        found.set(name, { start, end: this.#at });
      }
      this.#skipBlanks();
      const next = this.#bytes[this.#at];
      if (next === CLOSE_BRACE) break;
      if (next !== COMMA) this.#failSyntax();
      this.#at += 1;
      this.#skipBlanks();
    }
    this.#leave();
  }

  #scanItems(shape: JsonShape | undefined): void {
    this.#enter();
    this.#skipBlanks();
    if (this.#bytes[this.#at] === CLOSE_BRACKET) {
      this.#leave();
      return;
    }
    const item = shape?.item;
    for (let index = 0; ; index += 1) {
      if (item === undefined) {
        this.#scanValue(undefined);
      } else {
        this.#path.push(index);
        this.#scanValue(item);
        this.#path.pop();
      }
      this.#skipBlanks();
      const next = this.#bytes[this.#at];
      if (next === CLOSE_BRACKET) break;
      if (next !== COMMA) this.#failSyntax();
      this.#at += 1;
      this.#skipBlanks();
    }
    this.#leave();
  }

  #enter(): void {
    this.#depth += 1;
    if (this.#depth > this.#maxDepth) {
      const message = `the body is nested more than ${String(this.#maxDepth)} levels deep`;
      this.#fail('depth', message, this.#at);
    }
    this.#at += 1;
  }

  #leave(): void {
    this.#depth -= 1;
    this.#at += 1;
  }

  /** Moves behind the closing quote and tells whether the string has escapes. */
  #scanString(): boolean {
    const bytes = this.#bytes;
    let at = this.#at + 1;
    let isEscaped = false;
    let high = 0;
    for (;;) {
      at = this.#skipPlainWords(at);
      const byte = bytes[at];
      if (byte === QUOTE) break;
      if (byte === BACKSLASH) {
        isEscaped = true;
        at = this.#skipEscape(at);
      } else if (byte === undefined || byte < 0x20) {
        this.#at = at;
        this.#failSyntax();
      } else {
        high |= byte;
        at += 1;
      }
    }
    if (high > 0x7f) this.#hasHighBits = true;
    this.#at = at + 1;
    return isEscaped;
  }

  /**
   * Skips words of four bytes none of which ends a string, escapes, or is a control character. The
   * arithmetic is the classic test for a zero byte in a word; it never misses one.
   */
  #skipPlainWords(from: number): number {
    const offset = from - this.#wordsFrom;
    if (offset < 0 || (offset & 3) !== 0) return from;
    const words = this.#words;
    const start = offset >> 2;
    let index = start;
    let high = 0;
    for (; index < words.length; index += 1) {
      const word = words[index] as number;
      const quote = word ^ 0x22222222;
      const backslash = word ^ 0x5c5c5c5c;
      const special =
        ((word - 0x20202020) & ~word) |
        ((quote - LOW_BITS) & ~quote) |
        ((backslash - LOW_BITS) & ~backslash);
      if ((special & HIGH_BITS) !== 0) break;
      high |= word;
    }
    if ((high & HIGH_BITS) !== 0) this.#hasHighBits = true;
    return from + (index - start) * 4;
  }

  #skipEscape(at: number): number {
    const kind = this.#bytes[at + 1];
    // " \ / b f n r t
    if (
      kind === QUOTE ||
      kind === BACKSLASH ||
      kind === 0x2f ||
      kind === 0x62 ||
      kind === 0x66 ||
      kind === 0x6e ||
      kind === 0x72 ||
      kind === 0x74
    ) {
      return at + 2;
    }
    const bytes = this.#bytes;
    if (
      kind === 0x75 &&
      isHex(bytes[at + 2]) &&
      isHex(bytes[at + 3]) &&
      isHex(bytes[at + 4]) &&
      isHex(bytes[at + 5])
    ) {
      return at + 6;
    }
    this.#at = at;
    return this.#failSyntax();
  }

  #scanWord(word: string): void {
    for (let i = 0; i < word.length; i += 1) {
      if (this.#bytes[this.#at + i] !== word.charCodeAt(i)) this.#failSyntax();
    }
    this.#at += word.length;
  }

  #scanNumber(): void {
    if (this.#bytes[this.#at] === 0x2d) this.#at += 1;
    if (this.#bytes[this.#at] === 0x30) this.#at += 1;
    else this.#scanDigits();
    if (this.#bytes[this.#at] === 0x2e) {
      this.#at += 1;
      this.#scanDigits();
    }
    const byte = this.#bytes[this.#at];
    if (byte === 0x65 || byte === 0x45) {
      this.#at += 1;
      const sign = this.#bytes[this.#at];
      if (sign === 0x2b || sign === 0x2d) this.#at += 1;
      this.#scanDigits();
    }
  }

  #scanDigits(): void {
    const start = this.#at;
    while (isDigit(this.#bytes[this.#at])) this.#at += 1;
    if (this.#at === start) this.#failSyntax();
  }

  #skipBlanks(): void {
    const bytes = this.#bytes;
    let at = this.#at;
    for (;;) {
      const byte = bytes[at];
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
      at += 1;
    }
    this.#at = at;
  }

  /** The text of the string that was just scanned from `start`. */
  #textOf(start: number, isEscaped: boolean): string {
    if (!isEscaped) return nameOf(this.#bytes, start + 1, this.#at - 1);
    return String(JSON.parse(decoder.decode(this.#bytes.subarray(start, this.#at))));
  }

  #failDuplicate(name: string, offset: number): never {
    const member = name.length > 100 ? `${name.slice(0, 100)}…` : name;
    const message = `${member}: the member is given twice`;
    throw new ScanFailure({ outcome: 'refused', reason: 'duplicate', message, offset, member });
  }

  #failSyntax(): never {
    const where = this.#at >= this.#bytes.length ? 'its end' : `byte ${String(this.#at)}`;
    return this.#fail('syntax', `the body is not valid JSON at ${where}`, this.#at);
  }

  #fail(reason: Exclude<RefusalReason, 'duplicate'>, message: string, offset: number): never {
    throw new ScanFailure({ outcome: 'refused', reason, message, offset });
  }
}

function isDecodable(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
/** The few names that documents are made of, found again without decoding them anew. */
const knownNames: string[] = new Array<string>(256).fill('');
const LONGEST_KNOWN_NAME = 32;

function nameOf(bytes: Uint8Array, start: number, end: number): string {
  const length = end - start;
  if (length > LONGEST_KNOWN_NAME) return decoder.decode(bytes.subarray(start, end));
  let hash = length;
  for (let at = start; at < end; at += 1) hash = (hash * 31 + (bytes[at] as number)) | 0;
  const slot = hash & 255;
  const known = knownNames[slot] as string;
  if (known.length === length && isAsciiText(known, bytes, start)) return known;
  const name = decoder.decode(bytes.subarray(start, end));
  knownNames[slot] = name;
  return name;
}

function isAsciiText(text: string, bytes: Uint8Array, start: number): boolean {
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code > 0x7f || code !== bytes[start + i]) return false;
  }
  return true;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

function isHex(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  const lower = byte | 0x20;
  return isDigit(byte) || (lower >= 0x61 && lower <= 0x66);
}
