/**
 * Reads a native message or event that is too large to keep. Of the JSON text, which arrives in
 * pieces, only the members about the message as a whole are kept; its content is skipped. The
 * memory that this takes is bounded, whatever the content is.
 *
 * What a client or a model wrote is inside the values of other members, deeper than these, so it
 * cannot replace them.
 */

import { decodeUtf8 } from './bytes.js';
import { type JsonObject, parseObject } from './raw-json.js';

/** Members of the root, and of the `message` in it. */
const KEPT = new Set([
  'type',
  'id',
  'model',
  'usage',
  'stop_reason',
  'stop_details',
  'delta',
  'error',
]);
const NESTED = 'message';
/** A larger member is skipped like the content. */
const MAX_MEMBER_BYTES = 256 * 1024;
const MAX_NAME_BYTES = 64;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

export class JsonSkimmer {
  /** The JSON texts of the values. */
  readonly #members = new Map<string, string>();
  readonly #nested = new Map<string, string>();
  #depth = 0;
  /** The depth of the object whose members are read: 1 for the root, 2 in the nested object. */
  #readDepth = 1;
  #isObject = false;
  #isInString = false;
  #isEscaped = false;
  /** The bytes of the name or of the value that is being kept. */
  #kept: number[] | undefined;
  #part: 'name' | 'value' | 'none' = 'none';
  #expectsName = false;
  #name = '';

  /** Takes the next bytes of the text: `bytes` from `from` up to, but not including, `to`. */
  push(bytes: Uint8Array, from: number, to: number): void {
    let at = from;
    while (at < to) {
      if (this.#isInString) {
        at = this.#readString(bytes, at, to);
      } else {
        this.#readByte(bytes[at] as number);
        at += 1;
      }
    }
  }

  /** Call once. @returns the members; undefined if the text was not a whole object */
  end(): JsonObject | undefined {
    if (!this.#isObject || this.#depth !== 0) return undefined;
    return parseObject(textOf(this.#members));
  }

  /** @returns where the bytes of the string end */
  #readString(bytes: Uint8Array, from: number, to: number): number {
    for (let at = from; at < to; at += 1) {
      if (this.#kept === undefined && !this.#isEscaped) {
        while (at < to && bytes[at] !== QUOTE && bytes[at] !== BACKSLASH) at += 1;
        if (at === to) return to;
      }
      const byte = bytes[at] as number;
      this.#keep(byte);
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === BACKSLASH) this.#isEscaped = true;
      else if (byte === QUOTE) {
        this.#isInString = false;
        if (this.#part === 'name') this.#endName();
        return at + 1;
      }
    }
    return to;
  }

  #readByte(byte: number): void {
    switch (byte) {
      case QUOTE:
        this.#isInString = true;
        if (this.#expectsName && this.#depth === this.#readDepth) {
          this.#expectsName = false;
          this.#part = 'name';
          this.#kept = [];
        }
        this.#keep(byte);
        return;
      case 0x7b: // {
      case 0x5b: // [
        this.#keep(byte);
        this.#depth += 1;
        if (this.#depth === 1) {
          this.#isObject = byte === 0x7b && this.#members.size === 0;
          this.#expectsName = this.#isObject;
        } else if (byte === 0x7b && this.#depth === 2 && this.#name === NESTED && this.#isObject) {
          this.#readDepth = 2;
          this.#expectsName = true;
          this.#nested.clear();
        }
        return;
      case 0x7d: // }
      case 0x5d: // ]
        if (this.#depth === this.#readDepth) this.#endValue();
        else this.#keep(byte);
        this.#depth -= 1;
        if (this.#readDepth === 2 && this.#depth === 1) {
          this.#readDepth = 1;
          this.#members.set(NESTED, textOf(this.#nested));
        }
        return;
      case 0x2c: // ,
        if (this.#depth !== this.#readDepth) {
          this.#keep(byte);
          return;
        }
        this.#endValue();
        this.#expectsName = true;
        return;
      case 0x3a: // :
        if (this.#depth !== this.#readDepth || this.#part !== 'none') this.#keep(byte);
        else if (KEPT.has(this.#name)) {
          this.#part = 'value';
          this.#kept = [];
        }
        return;
      default:
        this.#keep(byte);
    }
  }

  #keep(byte: number): void {
    const kept = this.#kept;
    if (kept === undefined) return;
    kept.push(byte);
    const most = this.#part === 'name' ? MAX_NAME_BYTES : MAX_MEMBER_BYTES;
    if (kept.length > most) this.#kept = undefined;
  }

  #takeKept(): string | undefined {
    const kept = this.#kept;
    this.#kept = undefined;
    this.#part = 'none';
    return kept && decodeUtf8(Uint8Array.from(kept));
  }

  #endName(): void {
    const text = this.#takeKept();
    this.#name = '';
    if (text === undefined) return;
    const { name } = parseObject(`{"name":${text}}`) ?? {};
    if (typeof name === 'string') this.#name = name;
  }

  #endValue(): void {
    if (this.#part !== 'value') return;
    const text = this.#takeKept();
    const members = this.#readDepth === 1 ? this.#members : this.#nested;
    // As in `JSON.parse`, the last member with a name counts.
    if (text === undefined) members.delete(this.#name);
    else members.set(this.#name, text);
  }
}

function textOf(members: ReadonlyMap<string, string>): string {
  return `{${[...members].map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}
