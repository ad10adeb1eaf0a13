/** Reads an event that is too large to keep: its name, and the members that matter of its data. */

import { decodeUtf8 } from './bytes.js';
import type { LargeEventSink } from './event-splitter.js';
import { JsonSkimmer } from './json-skimmer.js';
import type { JsonObject } from './raw-json.js';

const LF = 10;
const CR = 13;
const COLON = 0x3a;
const SPACE = 0x20;
/** Field names and the values of `event` are shorter. */
const MAX_TEXT_BYTES = 64;

export interface LargeEvent {
  /** The event's type: that of its data, or else its name. */
  readonly type: string;
  readonly data: JsonObject;
}

export class LargeEventReader implements LargeEventSink {
  readonly #onEnd: (event: LargeEvent | undefined) => void;
  readonly #skimmer = new JsonSkimmer();
  /** `field`: before the colon of a line. `space`: a space after it is not part of the value. */
  #place: 'field' | 'space' | 'value' = 'field';
  #field = '';
  #text: number[] = [];
  #name = '';

  /** @param onEnd - Gets `undefined` if the data of the event is not a JSON object. */
  constructor(onEnd: (event: LargeEvent | undefined) => void) {
    this.#onEnd = onEnd;
  }

  push(bytes: Uint8Array, from: number, to: number): void {
    let at = from;
    while (at < to) {
      const byte = bytes[at] as number;
      if (byte === LF || byte === CR) {
        this.#endLine();
        at += 1;
      } else if (this.#place === 'field') {
        if (byte === COLON) {
          this.#field = this.#takeText();
          this.#place = 'space';
        } else if (this.#text.length < MAX_TEXT_BYTES) this.#text.push(byte);
        // No field has such a long name, so the line is ignored.
        else this.#place = 'value';
        at += 1;
      } else if (this.#place === 'space' && byte === SPACE) {
        this.#place = 'value';
        at += 1;
      } else {
        this.#place = 'value';
        at = this.#readValue(bytes, at, to);
      }
    }
  }

  /** Call once, at the end of the event. */
  end(): void {
    const data = this.#skimmer.end();
    const type = data?.['type'];
    this.#onEnd(data && { type: typeof type === 'string' ? type : this.#name, data });
  }

  /** @returns where the part of the value in `bytes` ends */
  #readValue(bytes: Uint8Array, from: number, to: number): number {
    let end = from;
    while (end < to && bytes[end] !== LF && bytes[end] !== CR) end += 1;
    if (this.#field === 'data') this.#skimmer.push(bytes, from, end);
    else if (this.#field === 'event') {
      for (const byte of bytes.subarray(from, end))
        if (this.#text.length < MAX_TEXT_BYTES) this.#text.push(byte);
    }
    return end;
  }

  #endLine(): void {
    if (this.#field === 'event' && this.#place !== 'field') this.#name = this.#takeText();
    this.#text = [];
    this.#field = '';
    this.#place = 'field';
  }

  #takeText(): string {
    const text = decodeUtf8(Uint8Array.from(this.#text));
    this.#text = [];
    return text;
  }
}
