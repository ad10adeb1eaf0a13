/** Writes a message as the chunks of a chat completion. */

import { argumentsOf, calledAs, type CalledTool, customInput } from '../../message/called-tool.js';
import type { MessageEvent } from '../../message/message-events.js';
import type { MessageEncoder, MessageFacts } from '../../message/message-reader.js';
import { isSigned, type ThinkingBlock, withAdditions } from '../../message/thinking-block.js';
import type { CalledAs } from '../../wire/called-as.js';
import { hasWholeSearches, type LaidBlock } from '../../wire/answer-layout.js';
import type { Extent } from '../../wire/extent.js';
import { append, listOf } from '../../wire/lists.js';
import { requireContext } from '../../wire/require-option.js';
import { type JsonObject, objectOf, stringOf } from '../../wire/raw-json.js';
import { readCitation } from '../../wire/server-block.js';
import { chatUsage } from '../../wire/usage.js';
import type { ResponseContext } from '../response-context.js';
import { annotationsOf, type ChatAnnotation } from './annotations.js';
import type { WrittenChunk, WrittenDelta } from './completion.js';
import { type FinishReason, finishReason, unnamedReason } from './finish-reason.js';
import { chatServiceTier } from './service-tier.js';

export interface TranslateResponseContext extends ResponseContext {
  /** The `created` time of the completion, in seconds since the epoch. */
  readonly created: number;
  /**
   * Called once, at the end of a complete answer that has thinking and calls, if thinking is
   * returned: with the id of the first call, and the blocks as in `thinking_blocks`. A caller that
   * keeps them can give them to `translateRequest` as `keptThinking`.
   */
  readonly onThinking?: ((callId: string, blocks: readonly object[]) => void) | undefined;
}

const PARAGRAPH = '\n\n';

interface OpenCall {
  readonly index: number;
  /** Set for a call whose arguments are sent whole when its block ends. */
  readonly whole: (CalledTool & CalledAs) | undefined;
  /** The arguments so far; only of a whole call. */
  json: string;
}

interface OpenText {
  readonly citations: JsonObject[];
  /** Where the block begins in the text. */
  start: number;
  readonly laid: LaidBlock & { type: 'text' };
}

export class ChunkEncoder implements MessageEncoder {
  readonly hasThinking: boolean;
  readonly #context: TranslateResponseContext;
  readonly #write: (chunk: WrittenChunk) => void;
  #id = '';
  readonly #calls = new Map<number, OpenCall>();
  #firstCallId: string | undefined;
  #callCount = 0;
  readonly #thoughts: ThinkingBlock[] = [];
  readonly #annotations: ChatAnnotation[] = [];
  readonly #texts = new Map<number, OpenText>();
  /** The blocks so far, for the next turn; undefined if it can have no searches of this one. */
  readonly #layout: LaidBlock[] | undefined;
  /** The length of the text so far. */
  #length = 0;
  #signedCount = 0;
  /** The searches since the first thinking block. */
  #searchCount = 0;
  /** Whether a search stands between the text so far and the next one. */
  #isParted = false;

  /** @param write - Takes each chunk, in order. */
  constructor(context: TranslateResponseContext, write: (chunk: WrittenChunk) => void) {
    requireContext(context);
    this.hasThinking = context.reasoning !== undefined;
    this.#layout = this.hasThinking && context.annotations ? [] : undefined;
    this.#context = context;
    this.#write = write;
  }

  onEvent(event: MessageEvent): void {
    switch (event.type) {
      case 'message_start':
        this.#id = `chatcmpl-${event.messageId ?? 'unknown'}`;
        this.#delta({ role: 'assistant', content: '', refusal: null });
        return;
      case 'text':
        if (this.#isParted) this.#partText(event.at, event.text);
        this.#length += event.text.length;
        this.#delta({ content: event.text });
        return;
      case 'input':
        this.#addInput(event.at, event.json);
        return;
      case 'text_start':
        this.#startText(event.at);
        return;
      case 'citation':
        this.#texts.get(event.at)?.citations.push(event.citation);
        return;
      case 'text_end':
        this.#endText(event.at);
        return;
      case 'call_start':
        this.#startCall(event.at, event.call);
        return;
      case 'call_end':
        this.#endCall(event.at);
        return;
      case 'thinking':
        if (this.#context.reasoning === 'reasoning_content') {
          this.#delta({ reasoning_content: event.text });
        }
        return;
      case 'thinking_end':
        this.#endThinking(event.at, event.block);
        return;
      // The chat format shows no searches.
      case 'search':
        if (this.#signedCount > 0) this.#searchCount += 1;
        return;
      case 'search_result':
        this.#isParted = this.#length > 0;
        return;
      case 'server_block':
        this.#layout?.push(event.block);
        return;
      case 'thinking_start':
      case 'message_stop':
        return;
    }
  }

  /** Whether this is an open block of text. */
  isText(at: number): boolean {
    return this.#texts.has(at);
  }

  /** Counts text whose deltas the caller wrote by itself. */
  countText(units: number): void {
    this.#length += units;
  }

  /**
   * The chunk of a delta of this block, for a caller that writes deltas by itself; undefined if
   * they may not be written one by one.
   */
  sampleChunk(at: number, text: string): WrittenChunk | undefined {
    const call = this.#calls.get(at);
    if (call && !call.whole) return this.#deltaChunk(this.#arguments(call.index, text));
    return this.isText(at) && !this.#isParted ? this.#deltaChunk({ content: text }) : undefined;
  }

  /**
   * Begins a paragraph, because the text before a search and the text after it would stick
   * together: the chat format has one text, and shows no search between them.
   */
  #partText(at: number, next: string): void {
    this.#isParted = false;
    if (/^\s/.test(next)) return;
    this.#delta({ content: PARAGRAPH });
    this.#length += PARAGRAPH.length;
    const text = this.#texts.get(at);
    if (text) text.start = this.#length;
  }

  #startText(at: number): void {
    const start = this.#length;
    const laid = { type: 'text', from: start, to: start } as const;
    this.#texts.set(at, { start, citations: [], laid });
    this.#layout?.push(laid);
  }

  #endText(at: number): void {
    const text = this.#texts.get(at);
    this.#texts.delete(at);
    if (!text || !this.#context.annotations) return;
    const { laid, start } = text;
    [laid.from, laid.to] = [start, this.#length];
    const cited = text.citations.flatMap((citation) => listOf(readCitation(citation)));
    if (cited[0]) laid.citations = cited;
    append(this.#annotations, annotationsOf(text.citations, text.start, this.#length));
  }

  #startCall(at: number, called: CalledTool): void {
    const index = this.#callCount;
    this.#callCount += 1;
    this.#firstCallId ??= called.id;
    this.#layout?.push({ type: 'tool_use' });
    const as = calledAs(called, this.#context.tools);
    const isCustom = as.type === 'custom';
    const whole = isCustom || as.members ? { ...as, id: called.id } : undefined;
    const { legacyFunctions } = this.#context;
    // `function_call` can contain only one call.
    if (legacyFunctions && !isCustom && index > 0) return;
    this.#calls.set(at, { index, whole, json: '' });
    if (isCustom) return;
    const call = { name: as.name, arguments: '' };
    this.#delta(
      legacyFunctions
        ? { function_call: call }
        : { tool_calls: [{ index, id: called.id, type: 'function', function: call }] },
    );
  }

  #addInput(at: number, json: string): void {
    const call = this.#calls.get(at);
    if (!call) return;
    if (call.whole) call.json += json;
    else this.#delta(this.#arguments(call.index, json));
  }

  #endCall(at: number): void {
    const call = this.#calls.get(at);
    this.#calls.delete(at);
    if (!call?.whole) return;
    const { index, whole, json } = call;
    const { id, name, type, members } = whole;
    if (type === 'custom') {
      const custom = { name, input: customInput(json) };
      this.#delta({ tool_calls: [{ index, id, type, custom }] });
    } else this.#delta(this.#arguments(index, argumentsOf(json, members)));
  }

  #arguments(index: number, json: string): WrittenDelta {
    const call = { arguments: json };
    return this.#context.legacyFunctions
      ? { function_call: call }
      : { tool_calls: [{ index, function: call }] };
  }

  #endThinking(at: number, block: ThinkingBlock): void {
    if (isSigned(block)) this.#layout?.push(block);
    const before = this.#extent();
    let thought = withAdditions(block, at, this.#context.additions);
    if (isSigned(block)) {
      const { thinking, text, calls } = before;
      if (thinking + text + calls > 0) thought = { ...thought, preceded_by: before };
      this.#signedCount += 1;
    }
    // At once, so that thinking comes before the text and the calls that follow from it. OpenAI's
    // Python SDK joins the items of such lists by their index; its JavaScript SDK keeps the last
    // list. Interleaved blocks also have a list at the end: see `#endPlaces`.
    this.#delta({ thinking_blocks: [{ index: this.#thoughts.length, ...thought }] });
    this.#thoughts.push(thought);
  }

  #extent(): Extent {
    return {
      thinking: this.#signedCount,
      text: this.#length,
      calls: this.#callCount,
      searches: this.#searchCount || undefined,
    };
  }

  /**
   * If a thinking block has a place, the first one gets what the whole answer has. With it the next
   * request shows whether the client sent all blocks, and the text and the calls as they were.
   */
  #endPlaces(): void {
    const [first] = this.#thoughts;
    if (!first || !this.#thoughts.some((thought) => thought.preceded_by)) return;
    const answer_has = this.#extent();
    this.#thoughts[0] = { ...first, answer_has };
    // Clients that join blocks by their index add the member to the first one. For the others this
    // is a block of its own. They know its type, and the next request drops it.
    const empty =
      first.type === 'redacted_thinking'
        ? { type: first.type, data: '' }
        : { type: first.type, thinking: '', signature: '' };
    this.#delta({ thinking_blocks: [{ index: 0, ...empty, answer_has }] });
  }

  /**
   * If the answer searched, one more block has all blocks of the answer. The list repeats the
   * thinking, because OpenAI's JavaScript SDK keeps only the last list of a stream.
   */
  #endSearches(): void {
    const layout = this.#layout;
    if (!layout || !hasWholeSearches(layout)) return;
    const { added_user, added_system } = this.#thoughts[0] ?? {};
    const empty = { type: 'thinking', thinking: '', signature: '' } as const;
    const carrier = { ...empty, added_user, added_system, answer_blocks: layout };
    this.#delta({ thinking_blocks: [{ index: this.#thoughts.length, ...carrier }] });
    this.#thoughts.push(carrier);
  }

  /** Writes the last chunks: the usage is in a chunk of its own if the client asked for that. */
  complete({ stopReason, stopDetails, serviceTier, usage }: MessageFacts): void {
    const { legacyFunctions, includeUsage, onThinking } = this.#context;
    this.#endPlaces();
    this.#endSearches();
    if (this.#thoughts[0] && this.#firstCallId) onThinking?.(this.#firstCallId, this.#thoughts);
    if (stopReason === 'refusal') this.#delta({ refusal: refusalOf(stopDetails) });
    // All annotations are in one delta. They have no index, and SDKs that assemble streams may
    // replace an earlier list by a later one.
    if (this.#annotations[0]) this.#delta({ annotations: this.#annotations });
    const reason = finishReason(stopReason, { hasCalls: this.#callCount > 0, legacyFunctions });
    const tier = chatServiceTier(serviceTier);
    const counts = usage && chatUsage(usage);
    const choice = choiceOf({}, reason);
    const native = unnamedReason(stopReason);
    if (native !== undefined) choice.native_finish_reason = native;
    const choices = [choice];
    this.#write(this.#chunk(choices, { tier, usage: includeUsage ? null : counts }));
    if (includeUsage && counts) this.#write(this.#chunk([], { tier, usage: counts }));
  }

  #delta(delta: WrittenDelta): void {
    this.#write(this.#deltaChunk(delta));
  }

  #deltaChunk(delta: WrittenDelta): WrittenChunk {
    const usage = this.#context.includeUsage ? null : undefined;
    return this.#chunk([choiceOf(delta, null)], { usage });
  }

  #chunk(
    choices: WrittenChunk['choices'],
    {
      tier,
      usage,
    }: { tier?: WrittenChunk['service_tier']; usage: WrittenChunk['usage'] | undefined },
  ): WrittenChunk {
    const { created, model } = this.#context;
    const id = this.#id;
    const chunk: WrittenChunk = { id, object: 'chat.completion.chunk', created, model, choices };
    if (tier) chunk.service_tier = tier;
    if (usage !== undefined) chunk.usage = usage;
    return chunk;
  }
}

function choiceOf(
  delta: WrittenDelta,
  reason: FinishReason | null,
): WrittenChunk['choices'][number] {
  return { index: 0, delta, logprobs: null, finish_reason: reason };
}

/** The `refusal` of a refused message. The upstream may give no explanation. */
export function refusalOf(stopDetails: unknown): string {
  return stringOf(objectOf(stopDetails)['explanation']) || 'The model declined to answer.';
}
