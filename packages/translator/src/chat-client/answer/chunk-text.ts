/**
 * Writes the JSON text of the chunks of one chat completion. All chunks begin alike, so the text of
 * their beginning is made once.
 *
 * https://platform.openai.com/docs/api-reference/chat-streaming/streaming
 */

import type { JsonObject } from '../../wire/raw-json.js';
import { chatUsage, type Usage } from '../../wire/usage.js';
import type { FinishReason } from './finish-reason.js';
import { completionId, type TranslateResponseContext } from './response.js';

export class ChunkText {
  readonly #context: TranslateResponseContext;
  readonly #write: (chunk: string) => void;
  /** The `usage` member of chunks without counts: null with `include_usage`, otherwise none. */
  readonly #noUsage: string;
  /** The text of a chunk up to its delta; empty before the first chunk. */
  #prefix = '';

  /** @param write - Takes the JSON text of each chunk, in order. */
  constructor(context: TranslateResponseContext, write: (chunk: string) => void) {
    this.#context = context;
    this.#write = write;
    this.#noUsage = context.includeUsage ? ',"usage":null' : '';
  }

  get hasBegun(): boolean {
    return this.#prefix !== '';
  }

  begin(messageId: string | undefined): void {
    const { created, model } = this.#context;
    const id = completionId(messageId);
    const head = { id, object: 'chat.completion.chunk', created, model };
    this.#prefix = `${JSON.stringify(head).slice(0, -1)},"choices":[`;
    this.delta('{"role":"assistant","content":"","refusal":null}');
  }

  /** @param delta - The JSON text of the delta. */
  delta(delta: string, reason = 'null', usage = this.#noUsage): void {
    this.#write(
      `${this.#prefix}{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${reason}}]${usage}}`,
    );
  }

  text(text: string): void {
    if (text !== '') this.delta(`{"content":${JSON.stringify(text)}}`);
  }

  /** The event of a chunk with a text delta: the text before and after the JSON of its string. */
  textFrame(): readonly [before: string, after: string] {
    return [
      `data: ${this.#prefix}{"index":0,"delta":{"content":`,
      `},"logprobs":null,"finish_reason":null}]${this.#noUsage}}\n\n`,
    ];
  }

  /**
   * @param call - The native block, for the first delta of a call. That delta has the id and name.
   */
  call(index: number, text: string, call?: JsonObject): void {
    const name = call ? `"name":${JSON.stringify(String(call['name']))},` : '';
    const functionDelta = `{${name}"arguments":${JSON.stringify(text)}}`;
    if (this.#context.legacyFunctions) {
      // `function_call` holds a single call.
      if (index === 0) this.delta(`{"function_call":${functionDelta}}`);
      return;
    }
    const id = call ? `"id":${JSON.stringify(String(call['id']))},"type":"function",` : '';
    this.delta(`{"tool_calls":[{"index":${index},${id}"function":${functionDelta}}]}`);
  }

  /** Writes the finish reason and the usage, in a chunk of its own if the client asked for that. */
  end(reason: FinishReason, counts: Usage | undefined): void {
    const usage = counts ? `,"usage":${JSON.stringify(chatUsage(counts))}` : '';
    const { includeUsage } = this.#context;
    this.delta('{}', `"${reason}"`, includeUsage ? this.#noUsage : usage);
    if (includeUsage && usage !== '') this.#write(`${this.#prefix}]${usage}}`);
  }
}
