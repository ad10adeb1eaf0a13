/**
 * Translates a request of the Responses API to a native Messages request. Nothing is stored: each
 * request holds its whole conversation.
 *
 * https://platform.openai.com/docs/api-reference/responses/create
 * https://platform.claude.com/docs/en/api/messages
 */

import {
  additionsOf,
  bindsPrefix,
  bindThinking,
  instructLast,
} from '../../chat-client/request/bound-thinking.js';
import { refuseExcessCachePoints } from '../../chat-client/request/cache-points.js';
import {
  countRequest,
  type Encoding,
  type NativeRequest,
  type Writing,
  writeNativeRequest,
} from '../../chat-client/request/native-request.js';
import { type Reasoning, translateReasoning } from '../../chat-client/request/reasoning.js';
import {
  readEndUser,
  readMaxTokens,
  readServiceTier,
  type TranslateRequestOptions,
} from '../../chat-client/request/request.js';
import { renamePastArguments } from '../../chat-client/request/renamed-arguments.js';
import { translateSampling } from '../../chat-client/request/sampling.js';
import { isForced, type ToolUse } from '../../chat-client/request/tools.js';
import type { ModelTraits } from '../../chat-client/request/traits.js';
import { refuseUnservable } from '../../chat-client/request/unservable.js';
import { nativeSchemas, promptedSchemas } from '../../features/native-schemas.js';
import { fromCacheControl } from '../../reading/cache-control.js';
import type { Note, RequestProblem } from '../../reading/note.js';
import { NO_EQUIVALENT, Place } from '../../reading/place.js';
import { RefusedRequestError } from '../../reading/refusal.js';
import { defaultMaxTokens, requireModelOptions } from '../../chat-client/request/model-options.js';
import { createTranslation, finishNotes } from '../../reading/translation.js';
import { listed, listOf } from '../../wire/lists.js';
import { isTooDeep } from '../../wire/raw-json.js';
import type { ResponsesContext } from '../response-context.js';
import { translateInput } from './items.js';
import { leaveOutSearches } from '../../chat-client/request/past-searches.js';
import { readStoredState, type StoredResponses } from './stored-state.js';
import { translateTextFormat } from './text-format.js';
import { finishEfforts, setLastEffort } from './turn-effort.js';
import { repeatedChoice, translateResponsesTools } from './tools.js';

/**
 * The options of chat requests, except for two that the Responses API does not need: schemas are
 * always guaranteed if the model can guarantee them, and thinking is always returned.
 */
export interface TranslateResponsesOptions extends Omit<
  TranslateRequestOptions,
  'jsonSchema' | 'reasoning'
> {
  /**
   * Given if the caller keeps responses. Otherwise requests that refer to one are refused, and
   * `store: true` is noted.
   */
  readonly stored?: StoredResponses | undefined;
}

export type ResponsesRequestTranslation<Body = string> =
  | {
      readonly outcome: 'translated';
      /** As in {@link RequestTranslation}. */
      readonly body: Body;
      /** Values of the header `anthropic-beta` that the request needs; mostly empty. */
      readonly betas: readonly string[];
      readonly stream: boolean;
      /**
       * The context that the translation of the answer needs. Its `settings.store` says whether the
       * client wants the response to be kept.
       */
      readonly response: ResponsesContext;
      /**
       * The items of the whole conversation, as the client sent them. Together with the output of
       * the response they are what a later request continues. Undefined without the option
       * `stored`.
       */
      readonly conversation: readonly unknown[] | undefined;
      /**
       * One note for each part that was ignored, dropped, capped or rewritten: at most 100, and one
       * that counts the rest.
       */
      readonly notes: readonly Note[];
    }
  | {
      /** An error of the client, status 400. There is nothing to send upstream. */
      readonly outcome: 'refused';
      readonly problem: RequestProblem;
    };

/**
 * Translates the body of a `POST /v1/responses` request, given as `JSON.parse` returns it.
 *
 * Does not throw on any request, does not change it, and opens no URL. Nothing is stored: with the
 * option `stored`, a caller that keeps responses passes those that the request refers to. Other
 * references to something stored (`conversation`, a file id), `background` and tools that only
 * OpenAI runs are refused by name. Other members without an equivalent are ignored and noted.
 *
 * @example
 * import { translateResponsesRequest } from '@gateway/translator';
 *
 * const request = { model: 'my-model', input: 'Hi' };
 * const result = translateResponsesRequest(request, {
 *   model: 'claude-opus-4-6',
 *   maxOutputTokens: 128_000,
 *   traits: {
 *     sampling: 'accepted',
 *     forcedToolChoice: 'accepted',
 *     effort: [],
 *     thinkingOff: 'omit',
 *   },
 * });
 * if (result.outcome === 'translated') console.log(result.body);
 * @throws {TypeError} An option is missing. The message names it.
 */
export function translateResponsesRequest<Body>(
  request: unknown,
  options: TranslateResponsesOptions & Encoding<Body>,
): ResponsesRequestTranslation<Body>;
export function translateResponsesRequest(
  request: unknown,
  options: TranslateResponsesOptions,
): ResponsesRequestTranslation;
export function translateResponsesRequest(
  request: unknown,
  options: TranslateResponsesOptions & Writing,
): ResponsesRequestTranslation<unknown> {
  requireModelOptions(options);
  return orRefused(() => {
    const { native, ...translation } = translate(request, options);
    const body = writeNativeRequest(native, options);
    return { outcome: 'translated', body, ...translation };
  });
}

export type TokenCountRequestTranslation<Body = string> =
  | {
      readonly outcome: 'translated';
      /** That of the upstream's `POST /v1/messages/count_tokens`. */
      readonly body: Body;
      /** Values of the header `anthropic-beta` that the request needs; mostly empty. */
      readonly betas: readonly string[];
      /** As in {@link ResponsesRequestTranslation}. */
      readonly notes: readonly Note[];
    }
  | { readonly outcome: 'refused'; readonly problem: RequestProblem };

/**
 * Translates the body of a `POST /v1/responses/input_tokens` request, which counts the tokens of a
 * Responses request. Everything that the model would read is as {@link translateResponsesRequest}
 * would send it, so the same requests are refused.
 *
 * https://platform.openai.com/docs/api-reference/responses/input-tokens
 * https://platform.claude.com/docs/en/api/messages-count-tokens
 *
 * @throws {TypeError} An option is missing. The message names it.
 */
export function translateTokenCountRequest<Body>(
  request: unknown,
  options: TranslateResponsesOptions & Encoding<Body>,
): TokenCountRequestTranslation<Body>;
export function translateTokenCountRequest(
  request: unknown,
  options: TranslateResponsesOptions,
): TokenCountRequestTranslation;
export function translateTokenCountRequest(
  request: unknown,
  options: TranslateResponsesOptions & Writing,
): TokenCountRequestTranslation<unknown> {
  requireModelOptions(options);
  return orRefused(() => {
    // A count does not depend on cache points.
    const { native, betas, notes } = translate(request, { ...options, cache: undefined });
    const body = writeNativeRequest(countRequest(native), options);
    return { outcome: 'translated', body, betas, notes };
  });
}

function orRefused<Translated>(translated: () => Translated) {
  try {
    return translated();
  } catch (error) {
    if (!(error instanceof RefusedRequestError)) throw error;
    return { outcome: 'refused', problem: error.problem } as const;
  }
}

function translate(body: unknown, options: TranslateResponsesOptions) {
  const { model, traits, endUserId, cache, webSearch, stored } = options;
  const t = createTranslation();
  const request = new Place(t, body).object();
  if (isTooDeep(body)) request.refuse('is over 200 levels deep');
  const askedFor = request.at('model').nonEmptyString();
  const previousId = readStoredState(request, stored);
  // If nothing is kept, the member stays unread and is noted.
  const keeps = stored && request.at('store').boolean(true);
  const previous = previousId && new Place(t, stored?.previous, request, 'previous_response_id');
  const limit = readMaxTokens(request.given('max_output_tokens'), options);
  const stream = request.at('stream').boolean(false);
  request.given('stream_options')?.object().noteUnread();
  readInclude(request.given('include'));
  const input = request.at('input');
  const conversation = translateInput(input, request.given('instructions'), traits, {
    previous,
    stored,
  });
  const isBound = bindsPrefix(traits);
  const schemas = traits.structuredOutputs === 'accepted' ? nativeSchemas() : promptedSchemas();
  // The format is read first, because formats and strict tools share the limits. A strict tool that
  // exceeds the limits is still sent as a plain tool.
  const text = translateTextFormat(request.given('text'), schemas);
  const toolUse = translateResponsesTools(
    request,
    { traits, schemas, webSearch, keepsAll: isBound },
    conversation,
  );
  renamePastArguments(conversation.messages, toolUse.calledAs);
  if (conversation.hasSearches && !toolUse.hasSearch) {
    leaveOutSearches(conversation.messages, input);
  }
  const { system } = conversation;
  const instructions = [...toolUse.instructions, ...listOf(text.instruction)];
  // The instructions come after the client's own blocks, so that a prefix that the client caches
  // stays the same.
  if (!isBound) for (const added of instructions) system.push({ type: 'text', text: added });
  const { effort, thinking, summary } = readReasoning(request.given('reasoning'), traits, {
    toolUse,
    configured: conversation.configured,
  });
  const first = (effort && conversation.firstEffort) ?? effort;
  const changed = first === effort || conversation.isConfigured ? undefined : effort;
  if (changed) setLastEffort(conversation.messages, changed);
  const sampling = translateSampling(request, traits, thinking);
  const metadata = readMetadata(request.given('metadata'));
  const cacheControl = request.given('cache_control');
  const native: NativeRequest = {
    model,
    max_tokens: limit ?? defaultMaxTokens(options, stream),
    tools: listed(toolUse.tools),
    system: listed(system),
    messages: conversation.messages,
    tool_choice: toolUse.toolChoice,
    ...sampling,
    output_config: first || text.native ? { effort: first, format: text.native } : undefined,
    thinking,
    metadata: readEndUser(request, endUserId),
    service_tier: readServiceTier(request.given('service_tier')),
    cache_control: cacheControl && fromCacheControl(cacheControl),
    stream: stream || undefined,
  };
  // Reads through a separate `Place`, so that the members still count as unread and are noted.
  refuseUnservable(new Place(t, body));
  request.noteUnread();
  refuseExcessCachePoints(t, native);
  if (t.cachePlaces.size === 0) cache?.(native);
  const instruction = isBound ? instructLast(native, instructions) : undefined;
  const betas = [...bindThinking(native, traits, input), ...finishEfforts(native)];
  const response: ResponsesContext = {
    model: askedFor,
    tools: toolUse.calledAs,
    showsSummaries: summary !== null,
    showsSearches: toolUse.hasSearch || undefined,
    additions: isBound
      ? additionsOf({
          added_user: conversation.closing,
          added_system: instruction,
          first_effort: first,
          added_effort: changed,
        })
      : undefined,
    settings: {
      max_output_tokens: limit ?? null,
      metadata,
      parallel_tool_calls: request.at('parallel_tool_calls').boolean(true),
      reasoning: { effort: thinking?.type === 'disabled' ? 'none' : (effort ?? null), summary },
      temperature: sampling.temperature ?? null,
      text: { format: text.repeated },
      tool_choice: repeatedChoice(request.at('tool_choice').value),
      top_p: sampling.top_p ?? null,
      store: keeps,
      previous_response_id: previousId?.string(),
    },
  };
  const { items } = conversation;
  return {
    native,
    betas,
    stream,
    response,
    conversation: stored && items,
    notes: finishNotes(t),
  };
}

/** Signed thinking is in every response, because nothing is stored. */
function readInclude(include: Place | undefined): void {
  include?.items((item) => {
    if (item.string() !== 'reasoning.encrypted_content') item.note('ignored', NO_EQUIVALENT);
  });
}

interface ReasoningDemand extends Reasoning {
  /** The value, in the form in which the response repeats it. */
  readonly summary: string | null;
}

interface ReasoningFacts {
  readonly toolUse: ToolUse;
  /** An effort that the conversation sets, which replaces that of the request. */
  readonly configured: Place | undefined;
}

const SUMMARIES = ['auto', 'concise', 'detailed'];

function readReasoning(
  place: Place | undefined,
  traits: ModelTraits,
  { toolUse: { toolChoice }, configured }: ReasoningFacts,
): ReasoningDemand {
  const given = place?.object().given('effort');
  if (configured) given?.note('ignored', 'an item sets another effort');
  const field = configured ?? given;
  const summary = place?.givenEither('summary', 'generate_summary');
  const wanted = summary?.string() ?? null;
  if (wanted && !SUMMARIES.includes(wanted)) {
    summary?.mustBe('auto, concise or detailed', 'invalid_value');
  }
  const wish = { field, level: field?.string() };
  const limits = { isForced: isForced(toolChoice), isShown: wanted !== null };
  const reasoning = translateReasoning(wish, traits, limits);
  place?.noteUnread();
  return { ...reasoning, summary: wanted };
}

const MAX_METADATA = { pairs: 16, key: 64, value: 512 };

/** Metadata is not stored. The response repeats it, so its size is limited as OpenAI limits it. */
function readMetadata(field: Place | undefined): Record<string, string> {
  if (!field) return {};
  const members = Object.keys(field.object().value as object);
  if (members.length > MAX_METADATA.pairs) {
    field.refuse(`must have at most ${MAX_METADATA.pairs} members`);
  }
  return Object.fromEntries(
    members.map((name) => {
      const place = field.at(name);
      const value = place.string();
      if (name.length > MAX_METADATA.key || value.length > MAX_METADATA.value) {
        const { key, value: characters } = MAX_METADATA;
        place.refuse(
          `must have a name of at most ${key} characters and a value of at most ${characters}`,
        );
      }
      return [name, value];
    }),
  );
}
