/**
 * A chat completions request, to a native Messages request.
 *
 * The native body is built from what is known, never by copying and deleting: upstream refuses
 * members it does not know. What cannot be carried is told in notes; what would change the meaning
 * if left out is refused.
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
  /** The upstream id of the model, sent instead of the client's own. */
  readonly model: string;
  readonly traits: ModelTraits;
  /** The most tokens the model can generate: sent when no limit is given, and never exceeded. */
  readonly maxOutputTokens: number;
  /**
   * Makes the opaque `metadata.user_id` of the client's `safety_identifier` or `user`, which often
   * are e-mail addresses: return a keyed hash. Without it they are ignored.
   */
  readonly endUserId?: (value: string) => string;
}

export type RequestTranslation =
  | {
      readonly outcome: 'translated';
      /** JSON text of the native request. */
      readonly body: string;
      readonly stream: boolean;
      /** What the translation of the answer has to know. */
      readonly response: ResponseContext;
      /**
       * What was ignored, dropped, capped or rewritten: 100 at most, and one that counts the rest.
       */
      readonly notes: readonly Note[];
    }
  | {
      /** The client's error, status 400: nothing may be sent upstream. */
      readonly outcome: 'refused';
      readonly problem: RequestProblem;
    };

/**
 * Translates the body of a chat completions request, given as `JSON.parse` returns it.
 *
 * Never throws on what a client may send, never changes its input, and opens no URL. Members that
 * are unknown, or known to have no equivalent, are ignored whatever their type; members that are
 * translated are refused when their type is wrong. Numbers are as exact as the given values; in the
 * arguments of past calls, which are text, every digit is kept.
 *
 * @example
 * const chat = { model: 'my-model', messages: [{ role: 'user', content: 'Hi' }] };
 * const result = translateRequest(chat, {
 *   model: 'claude-opus-4-6',
 *   maxOutputTokens: 128_000,
 *   traits: { sampling: 'accepted', forcedToolChoice: 'accepted', effort: [], thinkingOff: 'omit' },
 * });
 * if (result.outcome === 'translated') console.log(result.body);
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
  // After the client's own blocks, so that a prefix the client caches stays what it was.
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
  // Looked at in passing: these members count as unread, and are noted like any other.
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

/** The instruction that stands for `response_format`, where there is one. */
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
  field.note('ignored', 'end users are not told');
  return undefined;
}
