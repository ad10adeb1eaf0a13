/**
 * Puts the deltas of a chat answer into native order: only one block is open at a time, and indexes
 * have no gaps.
 *
 * A chat stream may interleave calls by their index. The first unfinished block is open, and its
 * deltas are sent at once. Deltas of later blocks are held until the blocks before them are
 * finished. Text and thinking are finished when a delta of another block follows, a call when its
 * arguments are a complete object. Arguments that do not begin with `{`, and all later blocks, are
 * held until the end of the stream, because the object that wraps them can only be written then.
 */

import { inputText } from '../../wire/raw-json.js';
import {
  type BlockDelta,
  type NativeBlock,
  type NativeEvent,
  textBlock,
  thinkingBlock,
  toolUseBlock,
} from './message.js';
import { ObjectProgress } from './object-progress.js';
import type { Piece } from './pieces.js';

/** A call. Its block is open, waiting or finished. */
export interface StreamedCall {
  readonly kind: 'call';
  readonly id: string;
  /** Empty until the upstream sends it. Without a name, the block cannot be opened. */
  name: string;
  readonly progress: ObjectProgress;
  held: string;
}

type Segment =
  | StreamedCall
  | { readonly kind: 'text'; held: string }
  | {
      readonly kind: 'thinking';
      held: string;
      signature: string;
      /** The whole text so far. A signed copy of it may follow. */
      said: string;
    }
  | { readonly kind: 'redacted_thinking'; readonly data: string };

export class BlockQueue {
  readonly #write: (event: NativeEvent) => void;
  /** If `#isOpen` is true, the first one is open. The others wait. */
  readonly #segments: Segment[] = [];
  #isOpen = false;
  #index = 0;
  #heldLength = 0;
  /** Whether a call was opened. */
  #hasCalls = false;

  constructor(write: (event: NativeEvent) => void) {
    this.#write = write;
  }

  /** The number of characters that are held. */
  get heldLength(): number {
    return this.#heldLength;
  }

  addPiece(piece: Piece): void {
    const last = this.#segments.at(-1);
    switch (piece.type) {
      case 'text':
        if (last?.kind === 'text') this.#hold(last, piece.text);
        else this.#hold(this.#append({ kind: 'text', held: '' }), piece.text);
        break;
      case 'thinking': {
        const isContinued = last?.kind === 'thinking' && last.signature === '';
        const segment = isContinued
          ? last
          : this.#append({ kind: 'thinking', held: '', signature: '', said: '' });
        segment.signature = piece.signature;
        // Some servers stream the text first and then repeat it whole, with its signature.
        if (piece.signature !== '' && piece.thinking === segment.said) break;
        segment.said += piece.thinking;
        this.#hold(segment, piece.thinking);
        break;
      }
      case 'redacted_thinking':
        this.#append({ kind: 'redacted_thinking', data: piece.data });
        break;
    }
    this.#advance();
  }

  addCall(id: string): StreamedCall {
    return this.#append({ kind: 'call', id, name: '', held: '', progress: new ObjectProgress() });
  }

  addArguments(call: StreamedCall, text: string): void {
    // Text after a complete object is white space, or the whole object again, because some servers
    // repeat a call when it ends.
    if (call.progress.stage !== 'complete') {
      call.progress.append(text);
      this.#hold(call, text);
    }
    this.#advance();
  }

  /**
   * Ends all blocks, and leaves out calls that never got a name.
   *
   * @returns false when there were calls and none of them got a name
   */
  finish(): boolean {
    let isNameless = false;
    for (let head = this.#segments[0]; head !== undefined; head = this.#segments[0]) {
      this.#flush(head);
      if (this.#isOpen) this.#close(head);
      else {
        isNameless = true;
        this.#segments.shift();
      }
    }
    return this.#hasCalls || !isNameless;
  }

  #append<Kind extends Segment>(segment: Kind): Kind {
    this.#segments.push(segment);
    return segment;
  }

  #hold(segment: { held: string }, text: string): void {
    segment.held += text;
    this.#heldLength += text.length;
  }

  #advance(): void {
    for (let head = this.#segments[0]; head !== undefined; head = this.#segments[0]) {
      this.#flush(head);
      if (this.#segments.length === 1) return;
      if (head.kind === 'call' && (!this.#isOpen || head.progress.stage !== 'complete')) return;
      this.#close(head);
    }
  }

  /**
   * Opens the first block, if it can be opened, and writes those of its deltas that can be sent.
   */
  #flush(segment: Segment): void {
    if (!this.#isOpen) {
      if (segment.kind === 'call' && segment.name === '') return;
      this.#isOpen = true;
      if (segment.kind === 'call') this.#hasCalls = true;
      const content_block = openingOf(segment);
      this.#write({ type: 'content_block_start', index: this.#index, content_block });
    }
    switch (segment.kind) {
      case 'text':
        if (segment.held !== '') this.#delta({ type: 'text_delta', text: this.#take(segment) });
        return;
      case 'thinking':
        if (segment.held !== '') {
          this.#delta({ type: 'thinking_delta', thinking: this.#take(segment) });
        }
        return;
      case 'call': {
        const { stage } = segment.progress;
        if (segment.held === '' || stage === 'blank' || stage === 'other') return;
        this.#delta({ type: 'input_json_delta', partial_json: this.#take(segment) });
        return;
      }
      case 'redacted_thinking':
        return;
    }
  }

  #take(segment: { held: string }): string {
    const { held } = segment;
    segment.held = '';
    this.#heldLength -= held.length;
    return held;
  }

  #close(segment: Segment): void {
    if (segment.kind === 'thinking' && segment.signature !== '') {
      this.#delta({ type: 'signature_delta', signature: segment.signature });
    }
    if (segment.kind === 'call' && segment.held !== '') {
      const json = inputText(this.#take(segment));
      // Arguments that are blank or `null` need no delta: the block was opened with the input `{}`.
      if (json !== '{}') this.#delta({ type: 'input_json_delta', partial_json: json });
    }
    this.#write({ type: 'content_block_stop', index: this.#index });
    this.#segments.shift();
    this.#isOpen = false;
    this.#index += 1;
  }

  #delta(delta: BlockDelta): void {
    this.#write({ type: 'content_block_delta', index: this.#index, delta });
  }
}

function openingOf(segment: Segment): NativeBlock {
  switch (segment.kind) {
    case 'text':
      return textBlock('');
    case 'thinking':
      return thinkingBlock('', '');
    case 'redacted_thinking':
      return { type: 'redacted_thinking', data: segment.data };
    case 'call':
      return toolUseBlock(segment.id, segment.name, {});
  }
}
