/**
 * Splits bytes that arrive in chunks into whole server-sent events.
 *
 * An event ends with a blank line. Lines end with LF, CRLF or CR, even mixed within one stream.
 * JSON strings cannot contain a raw line break, so no text of a model can imitate the end of an
 * event.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 */

import { ByteQueue, NO_BYTES, part } from './bytes.js';

export const LF = 10;
const CR = 13;

/**
 * Takes one event, including its blank line: `bytes` from `from` up to, but not including, `to`.
 */
export type OnEventBytes = (bytes: Uint8Array, from: number, to: number) => void;
/**
 * Handles whole events that begin at `from`, as many as it can, and returns where the last one
 * ends.
 */
export type PassKnownEvents = (from: number) => number;

/**
 * Takes the rest of an event that is too large to keep, as it arrives. Like other events it ends
 * with its blank line.
 */
export interface LargeEventSink {
  push(bytes: Uint8Array, from: number, to: number): void;
  end(): void;
}

export interface LargeEvents {
  /**
   * Called once for an event of which more than {@link ASK_AT_BYTES} have arrived, before its end.
   *
   * @param beginning - All bytes of the event that have arrived.
   * @returns whether the event is large already, although it is below the limit
   */
  readonly isPassed?: (beginning: Uint8Array) => boolean;
  /** @param beginning - All bytes of the event that have arrived, at least its name line. */
  readonly open: (beginning: Uint8Array) => LargeEventSink;
}

const ASK_AT_BYTES = 1024 * 1024;
/** An upstream that never ends an event must not be read forever. */
const MAX_LARGE_EVENT_BYTES = 1024 * 1024 * 1024;

export class EventSplitter {
  /** The bytes so far end with a line break, or there are none yet. */
  #atLineStart = true;
  /**
   * The last byte was a CR. An LF that follows belongs to the same line break; otherwise it would
   * count as a blank line and end the event early.
   */
  #afterCr = false;
  readonly #pending = new ByteQueue();
  readonly #maxEventBytes: number;
  readonly #largeEvents: LargeEvents | undefined;
  #large: LargeEventSink | undefined;
  #largeBytes = 0;
  #isAsked = false;

  /** @param largeEvents - Without it, an event that exceeds `maxEventBytes` ends the stream. */
  constructor(maxEventBytes: number, largeEvents?: LargeEvents) {
    this.#maxEventBytes = maxEventBytes;
    this.#largeEvents = largeEvents;
  }

  /** Whether an LF that comes next would still belong to the event that just ended. */
  get awaitsLineFeed(): boolean {
    return this.#afterCr;
  }

  /** The bytes of the incomplete event that are kept until its end. */
  get pendingBytes(): number {
    return this.#pending.length;
  }

  /**
   * Calls `onEvent` for each event that the chunk completes: with its position in the chunk, or
   * with bytes of its own if it began in an earlier chunk. No byte of the stream is left out. If
   * the CR that ended an event was the last byte of its chunk, an LF that follows is passed as an
   * event of its own.
   *
   * @param passKnown - Called at the beginning of each event, if the chunk contains no CR. Events
   * that it handles do not reach `onEvent`.
   * @returns false when an event exceeds the bound, and there is no sink for it, or when it has a
   * gibibyte. The rest of the chunk is then ignored.
   */
  push(chunk: Uint8Array, onEvent: OnEventBytes, passKnown?: PassKnownEvents): boolean {
    let from = this.#isBetweenEvents ? this.#skipLineFeed(chunk, 0) : 0;
    if (from > 0) onEvent(chunk, 0, from);
    const hasCr = this.#afterCr || chunk.includes(CR);
    while (from < chunk.length) {
      if (passKnown && !hasCr && this.#isBetweenEvents) {
        const known = passKnown(from);
        if (known > from) {
          from = known;
          continue;
        }
      }
      const end = hasCr ? this.#findEnd(chunk, from) : this.#findLfEnd(chunk, from);
      const to = end === -1 ? chunk.length : end;
      if (this.#large === undefined && this.#pending.length + to - from > this.#maxEventBytes) {
        if (!this.#openLarge(chunk, from)) return false;
      }
      if (this.#large !== undefined) {
        if (!this.#pushLarge(chunk, from, to)) return false;
        if (end !== -1) this.#endLarge();
      } else if (end === -1) {
        this.#pending.append(part(chunk, from, chunk.length));
        this.#askForLarge();
      } else if (this.#pending.length === 0) {
        onEvent(chunk, from, end);
      } else {
        this.#pending.append(part(chunk, from, end));
        const event = this.#pending.take();
        this.#isAsked = false;
        onEvent(event, 0, event.length);
      }
      from = to;
    }
    return true;
  }

  get #isBetweenEvents(): boolean {
    return this.#pending.length === 0 && this.#large === undefined;
  }

  /** Gives the bytes before `from` to a sink. */
  #openLarge(chunk: Uint8Array, from: number): boolean {
    if (this.#largeEvents === undefined) return false;
    const beginning = this.#pending.take();
    this.#largeBytes = beginning.length;
    this.#large = this.#largeEvents.open(
      beginning.length > 0 ? beginning : part(chunk, from, chunk.length),
    );
    if (beginning.length > 0) this.#large.push(beginning, 0, beginning.length);
    return true;
  }

  /** An event that its sink passes on anyway is not kept until it reaches the limit. */
  #askForLarge(): void {
    if (this.#pending.length > ASK_AT_BYTES) this.passEarly();
  }

  /** Keeps the incomplete event no longer, if {@link LargeEvents.isPassed}. */
  passEarly(): void {
    const isPassed = this.#largeEvents?.isPassed;
    if (!isPassed || this.#isAsked || this.#pending.length === 0) return;
    this.#isAsked = true;
    const beginning = this.#pending.take();
    this.#pending.append(beginning);
    if (isPassed(beginning)) this.#openLarge(NO_BYTES, 0);
  }

  /** Treats the incomplete event as one that exceeds the limit. */
  cutEvent(): void {
    if (this.#pending.length > 0) this.#openLarge(NO_BYTES, 0);
  }

  #pushLarge(chunk: Uint8Array, from: number, to: number): boolean {
    this.#largeBytes += to - from;
    if (this.#largeBytes > MAX_LARGE_EVENT_BYTES) return false;
    this.#large?.push(chunk, from, to);
    return true;
  }

  #endLarge(): void {
    const sink = this.#large;
    this.#large = undefined;
    this.#isAsked = false;
    sink?.end();
  }

  /** Returns the bytes after the last complete event. */
  takeRest(): Uint8Array {
    return this.#pending.take();
  }

  /**
   * Steps over the LF of a CRLF that was split between chunks.
   *
   * @returns where an event may begin
   */
  #skipLineFeed(chunk: Uint8Array, from: number): number {
    if (!this.#afterCr || from >= chunk.length) return from;
    this.#afterCr = false;
    return chunk[from] === LF ? from + 1 : from;
  }

  /**
   * Searches for the end of the event that begins at `from`, or that an earlier chunk began.
   *
   * @returns the position after its blank line; -1 when the chunk ends before that.
   */
  #findEnd(chunk: Uint8Array, from: number): number {
    for (let at = this.#skipLineFeed(chunk, from); at < chunk.length; at += 1) {
      const wasAtLineStart = this.#atLineStart;
      this.#atLineStart = isLineBreak(chunk[at]);
      if (!this.#atLineStart) continue;
      if (wasAtLineStart) return this.#endAfter(chunk, at);
      if (chunk[at] === CR && chunk[at + 1] === LF) at += 1;
    }
    this.#afterCr = chunk.at(-1) === CR;
    return -1;
  }

  /**
   * {@link #findEnd} for chunks without CR: `indexOf` of one byte is native and compares many at
   * once.
   */
  #findLfEnd(chunk: Uint8Array, from: number): number {
    if (this.#atLineStart && chunk[from] === LF) return from + 1;
    for (let at = chunk.indexOf(LF, from); at !== -1; at = chunk.indexOf(LF, at + 2)) {
      if (chunk[at + 1] !== LF) continue;
      this.#atLineStart = true;
      return at + 2;
    }
    this.#atLineStart = chunk.at(-1) === LF;
    return -1;
  }

  /** Ends an event whose blank line is the line break at `position`. */
  #endAfter(chunk: Uint8Array, position: number): number {
    this.#atLineStart = true;
    const isCr = chunk[position] === CR;
    if (isCr && chunk[position + 1] === LF) {
      this.#afterCr = false;
      return position + 2;
    }
    this.#afterCr = isCr && position + 1 === chunk.length;
    return position + 1;
  }
}

function isLineBreak(byte: number | undefined): boolean {
  return byte === LF || byte === CR;
}
