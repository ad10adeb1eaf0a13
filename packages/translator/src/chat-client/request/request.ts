/**
 * Translates a chat completions request to a native Messages request.
 *
 * The native body is built from known members, never by copying and deleting, because the upstream
 * refuses members that it does not know. A member without an equivalent is left out and noted. If
 * leaving it out would change the meaning, the request is refused.
 *
 * https://platform.claude.com/docs/en/api/messages
 */

import { fromCacheControl } from '../../reading/cache-control.js';
import type { AddCachePoints } from '../../reading/cache-point.js';
import type { Note, RequestProblem } from '../../reading/note.js';
import { NO_EQUIVALENT, Place } from '../../reading/place.js';
import { RefusedRequestError } from '../../reading/refusal.js';
import { defaultMaxTokens, type ModelOptions, requireModelOptions } from './model-options.js';
import type { SchemaReader } from '../../reading/strict-schema-reading.js';
import { createTranslation, finishNotes } from '../../reading/translation.js';
import type { ReadWebSearch, WebSearchTool } from '../../reading/web-search-reading.js';
import { listed, listOf } from '../../wire/lists.js';
import { isTooDeep, objectOf } from '../../wire/raw-json.js';
import type { ReasoningForm, ResponseContext } from '../response-context.js';
import { additionsOf, bindsPrefix, bindThinking, instructLast } from './bound-thinking.js';
import { refuseExcessCachePoints } from './cache-points.js';
import { contentBlocks, SYSTEM_PARTS } from './content.js';
import { translateMessages } from './messages.js';
import {
  isServerBlock,
  type NativeRequest,
  writeNativeRequest,
  type Encoding,
  type Stringify,
  type Writing,
} from './native-request.js';
import { leaveOutSearches } from './past-searches.js';
import { readReasoningWish, translateReasoning } from './reasoning.js';
import { renamePastArguments } from './renamed-arguments.js';
import { translateFormat } from './response-format.js';
import { translateSampling } from './sampling.js';
import { isForced, type ToolUse, translateTools } from './tools.js';
import { refuseUnservable } from './unservable.js';

export interface TranslateRequestOptions extends ModelOptions {
  /**
   * Makes the opaque `metadata.user_id` from the client's `safety_identifier` or `user`. It should
   * return a keyed hash, because these identifiers often are e-mail addresses. Without this
   * function they are ignored.
   */
  readonly endUserId?: ((value: string) => string) | undefined;
  /**
   * `nativeSchemas` of this package. With it, `response_format: json_schema`
   * becomes `output_config.format`, and strict functions become strict tools, if the model accepts
   * both and the schema can be guaranteed. Without it, schemas and `strict` are ignored.
   */
  readonly jsonSchema?: (() => SchemaReader) | undefined;
  /** The form in which the answer returns thinking. If absent, thinking is left out. */
  readonly reasoning?: ReasoningForm | undefined;
  /**
   * Thinking of past answers that the caller keeps (see `onThinking` of the answer's context): its
   * blocks, as `JSON.parse` returns them, by the id of the first call of each answer. It is used
   * where a client sends the text of the thinking back without its signature.
   */
  readonly keptThinking?: ReadonlyMap<string, readonly unknown[]> | undefined;
  /**
   * `cacheConversations` of this package. It adds cache points to a request that
   * has none. If absent, only the client's own are sent.
   */
  readonly cache?: AddCachePoints | undefined;
  /**
   * `webSearch()` of this package. Without it, `web_search_options` are ignored.
   */
  readonly webSearch?: ReadWebSearch | undefined;
  /**
   * Writes values as JSON text. Default: `JSON.stringify`. A server that limits the memory of a
   * request can write long strings in parts, between which no escape or surrogate pair is split.
   */
  readonly stringify?: Stringify | undefined;
}

export type RequestTranslation<Body = string> =
  | {
      readonly outcome: 'translated';
      /** JSON text, or what the option `encode` makes of it. */
      readonly body: Body;
      /** Values of the header `anthropic-beta` that the request needs; mostly empty. */
      readonly betas: readonly string[];
      readonly stream: boolean;
      /** The context that the translation of the answer needs. */
      readonly response: ResponseContext;
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
 * Translates the body of a chat completions request, given as `JSON.parse` returns it.
 *
 * Does not throw on any request, does not change it, and opens no URL. Members that are unknown or
 * have no equivalent are ignored, even with a wrong type, except those that `refuseUnservable`
 * refuses. Most members that are translated are refused when their type is wrong, and so is a body
 * nested more than 200 levels deep. Numbers are as exact as the given values. The arguments of past
 * calls are text, so every digit of them is kept.
 *
 * @example
 * const chat = { model: 'my-model', messages: [{ role: 'user', content: 'Hi' }] };
 * const result = translateRequest(chat, {
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
 *
 * @throws {TypeError} An option is missing. The message names it.
 */
export function translateRequest<Body>(
  chat: unknown,
  options: TranslateRequestOptions & Encoding<Body>,
): RequestTranslation<Body>;
export function translateRequest(
  chat: unknown,
  options: TranslateRequestOptions,
): RequestTranslation;
export function translateRequest(
  chat: unknown,
  options: TranslateRequestOptions & Writing,
): RequestTranslation<unknown> {
  requireModelOptions(options);
  try {
    return translate(chat, options);
  } catch (error) {
    if (error instanceof RefusedRequestError) return { outcome: 'refused', problem: error.problem };
    throw error;
  }
}

function translate(
  body: unknown,
  options: TranslateRequestOptions & Writing,
): RequestTranslation<unknown> {
  const { model, traits, endUserId } = options;
  const t = createTranslation();
  const chat = new Place(t, body).object();
  if (isTooDeep(body)) chat.refuse('is over 200 levels deep');
  const askedFor = chat.at('model').nonEmptyString();
  const limit = readMaxTokens(chat.givenEither('max_completion_tokens', 'max_tokens'), options);
  const stream = chat.at('stream').boolean(false);
  const includeUsage = readIncludeUsage(chat.given('stream_options'), stream);
  const list = messagesOf(chat);
  const { system, messages, calledTools, closing } = translateMessages(
    list,
    traits,
    options.keptThinking,
  );
  // If thinking is not returned, no later request can contain any.
  const isBound = bindsPrefix(traits) && options.reasoning !== undefined;
  // Some clients write it there, as the native format does.
  system.unshift(...contentBlocks(chat.given('system'), SYSTEM_PARTS));
  const schemas = traits.structuredOutputs === 'accepted' ? options.jsonSchema?.() : undefined;
  // The format is read first, because formats and strict tools share the limits. A strict tool that
  // exceeds the limits is still sent as a plain tool.
  const format = translateFormat(chat.given('response_format'), schemas);
  const searchField = chat.given('web_search_options');
  // Beside a search, the tools of past calls need no definitions. With them, `tool_choice` would be
  // `none`, which forbids the search.
  const past = searchField && options.webSearch ? new Set<string>() : calledTools;
  const toolUse = translateTools(chat, {
    traits,
    calledTools: past,
    schemas,
    keepsAll: isBound,
  });
  const { tools, toolChoice, isLegacy, calledAs } = toolUse;
  renamePastArguments(messages, calledAs);
  const search = searchTool(searchField, options.webSearch, toolUse);
  if (!search && messages.some(({ content }) => content.some(isServerBlock))) {
    leaveOutSearches(messages, list);
  }
  const instructions = [...toolUse.instructions, ...listOf(format.instruction)];
  // The instructions come after the client's own blocks, so that a prefix that the client caches
  // stays the same.
  if (!isBound) for (const text of instructions) system.push({ type: 'text', text });
  const stopSequences = readStop(chat.given('stop'));
  const { effort, thinking, isHidden } = translateReasoning(readReasoningWish(chat), traits, {
    isForced: isForced(toolChoice),
    isShown: options.reasoning !== undefined,
  });

  const cacheControl = chat.given('cache_control');
  const request: NativeRequest = {
    model,
    max_tokens: limit ?? defaultMaxTokens(options, stream),
    tools: listed([...tools, ...listOf(search)]),
    system: listed(system),
    messages,
    tool_choice: toolChoice,
    stop_sequences: listed(stopSequences),
    ...translateSampling(chat, traits, thinking),
    output_config: effort || format.native ? { effort, format: format.native } : undefined,
    thinking,
    metadata: readEndUser(chat, endUserId),
    service_tier: readServiceTier(chat.given('service_tier')),
    cache_control: cacheControl && fromCacheControl(cacheControl),
    stream: stream || undefined,
  };
  // Reads through a separate `Place`, so that the members still count as unread and are noted.
  refuseUnservable(new Place(t, body));
  chat.noteUnread();
  refuseExcessCachePoints(t, request);
  if (t.cachePlaces.size === 0) options.cache?.(request);
  const instruction = isBound ? instructLast(request, instructions) : undefined;
  const betas = bindThinking(request, traits, list);
  return {
    outcome: 'translated',
    body: writeNativeRequest(request, options),
    betas,
    stream,
    response: {
      model: askedFor,
      includeUsage,
      legacyFunctions: isLegacy,
      tools: calledAs.size > 0 ? calledAs : undefined,
      annotations: search && true,
      reasoning: isHidden ? undefined : options.reasoning,
      additions: isBound
        ? additionsOf({ added_user: closing, added_system: instruction })
        : undefined,
    },
    notes: finishNotes(t),
  };
}

/** Some clients send the requests of another API to the endpoint of this one. */
function messagesOf(chat: Place): Place {
  const messages = chat.at('messages');
  if (messages.value == null && chat.given('input')) {
    messages.refuse(
      'is missing: with input, send it to /v1/responses',
      'missing_required_parameter',
    );
  }
  return messages;
}

function searchTool(
  field: Place | undefined,
  read: ReadWebSearch | undefined,
  { tools, toolChoice }: ToolUse,
): WebSearchTool | undefined {
  if (!field) return undefined;
  const names = tools.map(({ name }) => name);
  const reading = toolChoice?.type === 'none' ? undefined : read?.(objectOf(field.value), names);
  if (!reading) {
    field.note('ignored', 'no web search here');
    return undefined;
  }
  for (const name of reading.ignored) field.at(name).note('ignored', NO_EQUIVALENT);
  return reading.tool;
}

/** `auto` is the default of both formats. */
export function readServiceTier(field: Place | undefined): NativeRequest['service_tier'] {
  if (field?.value === 'default') return 'standard_only';
  if (field && field.value !== 'auto') field.note('ignored', 'no such tier');
  return undefined;
}

/** The limit of the answer: what the client asks for, within what the model has. */
export function readMaxTokens(
  field: Place | undefined,
  { maxOutputTokens }: ModelOptions,
): number | undefined {
  if (!field) return undefined;
  const { value } = field;
  if (typeof value !== 'number' || !Number.isInteger(value) || value <= 0) {
    const code = typeof value === 'number' ? 'invalid_value' : 'invalid_type';
    return field.mustBe('an integer above 0', code);
  }
  if (value <= maxOutputTokens) return value;
  field.note('capped', `sent as ${maxOutputTokens}`);
  return maxOutputTokens;
}

function readIncludeUsage(options: Place | undefined, stream: boolean): boolean {
  if (!options) return false;
  if (!stream) {
    options.note('ignored', 'the answer is not streamed');
    return false;
  }
  const wanted = options.object().at('include_usage').boolean(false);
  options.noteUnread();
  return wanted;
}

function readStop(stop: Place | undefined): string[] {
  if (typeof stop?.value === 'string') return listOf(readSequence(stop));
  return stop?.items(readSequence, 'a string or an array') ?? [];
}

function readSequence(place: Place): string | undefined {
  const sequence = place.string();
  if (/\S/.test(sequence)) return sequence;
  place.note('dropped', 'white space only');
  return undefined;
}

export function readEndUser(
  chat: Place,
  endUserId: TranslateRequestOptions['endUserId'],
): NativeRequest['metadata'] {
  const field = chat.givenEither('safety_identifier', 'user');
  if (!field || field.value === '') return undefined;
  if (endUserId) return { user_id: endUserId(field.string()) };
  field.note('ignored', 'end users are not sent upstream');
  return undefined;
}
