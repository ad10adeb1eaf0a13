/**
 * Writes the JSON text of the chunks of one chat completion. All chunks begin with the same text,
 * so that text is made once.
 *
 * https://platform.openai.com/docs/api-reference/chat-streaming/streaming
 */

import { chatUsage, type Usage } from '../../wire/usage.js';
import type { CalledTool } from './called-tool.js';
import type { FinishReason } from './finish-reason.js';
import { completionId, type TranslateResponseContext } from './response.js';
import { chatServiceTier } from './service-tier.js';

export class ChunkText {
  readonly #context: TranslateResponseContext;
  readonly #write: (chunk: string) => void;
  /** The `usage` member of chunks without counts: null with `include_usage`, otherwise none. */
  readonly #noUsage: string;
  /** The text of a chunk up to its choices; empty before the first chunk. */
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
  delta(delta: string, reason = 'null', rest = this.#noUsage): void {
    this.#write(
      `${this.#prefix}{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${reason}}]${rest}}`,
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

  /** @param call - For the first delta of a call, which has its id and name. */
  call(index: number, text: string, call?: CalledTool): void {
    const name = call ? `"name":${JSON.stringify(call.name)},` : '';
    const functionDelta = `{${name}"arguments":${JSON.stringify(text)}}`;
    if (this.#context.legacyFunctions) {
      // `function_call` can contain only one call.
      if (index === 0) this.delta(`{"function_call":${functionDelta}}`);
      return;
    }
    const id = call ? `"id":${JSON.stringify(call.id)},"type":"function",` : '';
    this.delta(`{"tool_calls":[{"index":${index},${id}"function":${functionDelta}}]}`);
  }

  /** A whole call of a custom tool. */
  customCall(index: number, { id, name }: CalledTool, input: string): void {
    const call = { index, id, type: 'custom', custom: { name, input } };
    this.delta(JSON.stringify({ tool_calls: [call] }));
  }

  /** Writes the finish reason and the usage, in a chunk of its own if the client asked for that. */
  end(reason: FinishReason, counts: Usage | undefined, nativeTier: unknown): void {
    const usage = counts ? `,"usage":${JSON.stringify(chatUsage(counts))}` : '';
    const { includeUsage } = this.#context;
    const tier = chatServiceTier(nativeTier);
    const served = tier ? `,"service_tier":"${tier}"` : '';
    this.delta('{}', `"${reason}"`, served + (includeUsage ? this.#noUsage : usage));
    if (includeUsage && usage !== '') this.#write(`${this.#prefix}]${served}${usage}}`);
  }
}
