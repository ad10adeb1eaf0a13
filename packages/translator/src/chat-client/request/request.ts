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
import type { Note, RequestProblem } from '../../reading/note.js';
import { NO_EQUIVALENT, Place } from '../../reading/place.js';
import { RefusedRequestError } from '../../reading/refusal.js';
import { createTranslation, finishNotes } from '../../reading/translation.js';
import { listed, listOf } from '../../wire/lists.js';
import type { ResponseContext } from '../response-context.js';
import { refuseExcessCachePoints } from './cache-points.js';
import { translateMessages } from './messages.js';
import { type NativeRequest, writeNativeRequest } from './native-request.js';
import { translateReasoning } from './reasoning.js';
import { translateSampling } from './sampling.js';
import { translateTools } from './tools.js';
import type { ModelTraits } from './traits.js';
import { refuseUnservable } from './unservable.js';

export interface TranslateRequestOptions {
  /** The upstream's id of the model. It replaces the client's own. */
  readonly model: string;
  readonly traits: ModelTraits;
  /** The most tokens that the model can generate: the default limit, and the highest. */
  readonly maxOutputTokens: number;
  /**
   * Makes the opaque `metadata.user_id` from the client's `safety_identifier` or `user`. Return a
   * keyed hash, because these often are e-mail addresses. Without this function they are ignored.
   */
  readonly endUserId?: (value: string) => string;
}

export type RequestTranslation =
  | {
      readonly outcome: 'translated';
      /** JSON text of the native request. */
      readonly body: string;
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
 * Does not throw on any input, does not change its input, and opens no URL. Members that are
 * unknown or have no equivalent are ignored, even with a wrong type. Members that are translated
 * are refused when their type is wrong. Numbers are as exact as the given values. The arguments of
 * past calls are text, so every digit of them is kept.
 *
 * @example const chat = { model: 'my-model', messages: [{ role: 'user', content: 'Hi' }] }; const
 * result = translateRequest(chat, { model: 'claude-opus-4-6', maxOutputTokens: 128_000, traits: {
 * sampling: 'accepted', forcedToolChoice: 'accepted', effort: [], thinkingOff: 'omit' }, }); if
 * (result.outcome === 'translated') console.log(result.body);
 */
export function translateRequest(
  chat: unknown,
  options: TranslateRequestOptions,
): RequestTranslation {
  try {
    return translate(chat, options);
  } catch (error) {
    if (error instanceof RefusedRequestError) return { outcome: 'refused', problem: error.problem };
    throw error;
  }
}

const JSON_OBJECT_INSTRUCTION =
  'Whenever you reply with text, the whole text must be one valid JSON object: ' +
  'no Markdown code fence, nothing before or after it.';

function translate(
  body: unknown,
  { model, traits, maxOutputTokens, endUserId }: TranslateRequestOptions,
): RequestTranslation {
  const t = createTranslation();
  const chat = new Place(t, body).object();
  const askedFor = chat.at('model').nonEmptyString();
  const maxTokens = readMaxTokens(chat, maxOutputTokens);
  const stream = chat.at('stream').boolean(false);
  const includeUsage = readIncludeUsage(chat.given('stream_options'), stream);
  const conversation = translateMessages(chat.at('messages'));
  const toolUse = translateTools(chat, traits, conversation.calledTools);
  // After the client's own blocks, so that a prefix that the client caches stays the same.
  const { system } = conversation;
  for (const text of [toolUse.instruction, readFormat(chat.given('response_format'))]) {
    if (text) system.push({ type: 'text', text });
  }
  const stopSequences = readStop(chat.given('stop'));

  const cacheControl = chat.given('cache_control');
  const request: NativeRequest = {
    model,
    max_tokens: maxTokens,
    tools: listed(toolUse.tools),
    system: listed(system),
    messages: conversation.messages,
    tool_choice: toolUse.toolChoice,
    stop_sequences: listed(stopSequences),
    ...translateSampling(chat, traits),
    ...translateReasoning(chat.given('reasoning_effort'), traits),
    metadata: readEndUser(chat, endUserId),
    cache_control: cacheControl && fromCacheControl(cacheControl),
    stream: stream || undefined,
  };
  // Uses a place of its own, so that the members it looks at still count as unread and are noted.
  refuseUnservable(new Place(t, body));
  chat.noteUnread();
  refuseExcessCachePoints(t, request);
  return {
    outcome: 'translated',
    body: writeNativeRequest(request),
    stream,
    response: { model: askedFor, includeUsage, legacyFunctions: toolUse.isLegacy },
    notes: finishNotes(t),
  };
}

function readMaxTokens(chat: Place, maxOutputTokens: number): number {
  const field = chat.givenEither('max_completion_tokens', 'max_tokens');
  if (!field) return maxOutputTokens;
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

/** The instruction that takes the place of `response_format`; undefined when none is needed. */
function readFormat(format: Place | undefined): string | undefined {
  const type = format?.at('type').value;
  if (type === 'json_object') return JSON_OBJECT_INSTRUCTION;
  if (type !== 'text') format?.note('ignored', NO_EQUIVALENT);
  return undefined;
}

function readStop(stop: Place | undefined): string[] {
  if (typeof stop?.value === 'string') return listOf(readSequence(stop));
  return stop?.items(readSequence) ?? [];
}

function readSequence(place: Place): string | undefined {
  const sequence = place.string();
  if (/\S/.test(sequence)) return sequence;
  place.note('dropped', 'white space only');
  return undefined;
}

function readEndUser(
  chat: Place,
  endUserId: TranslateRequestOptions['endUserId'],
): NativeRequest['metadata'] {
  const field = chat.givenEither('safety_identifier', 'user');
  if (!field || field.value === '') return undefined;
  if (endUserId) return { user_id: endUserId(field.string()) };
  field.note('ignored', 'end users are not sent upstream');
  return undefined;
}
