/**
 * Translates the calls and results in a chat history to `tool_use` and `tool_result` blocks that
 * the upstream accepts: ids are unique and contain only allowed characters, and each call is
 * answered once, in the next user turn.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use
 */

import type { CacheControl } from '../../reading/cache-point.js';
import type { Place } from '../../reading/place.js';
import { MAX_TOOL_NAME, toAllowedToken } from '../../reading/tool-ids.js';
import { append, listed } from '../../wire/lists.js';
import { isJsonObject, objectText, wrapped } from '../../wire/raw-json.js';
import { readCacheControl } from './cache-points.js';
import { contentBlocks, USER_PARTS } from './content.js';
import type { ContentBlock, ToolInput, ToolResultBlock, ToolUseBlock } from './native-request.js';

/** One call of an assistant turn. */
export interface Call {
  readonly block: ToolUseBlock;
  /**
   * The id, or for the old `function_call` the name, by which a result refers to it; empty if
   * absent.
   */
  readonly key: string;
  readonly place: Place;
  /** Filled once the next user turn is complete. */
  readonly results: Result[];
}

/** The content of a `tool` or `function` message, or of a native `tool_result` block. */
export interface Result {
  readonly key: string;
  readonly isLegacy: boolean;
  readonly isError: boolean;
  /** The member that names the call. */
  readonly reference: Place;
  readonly content: readonly ContentBlock[];
  readonly cacheControl: CacheControl | undefined;
  readonly place: Place;
}

type AllocateId = (wanted: string) => string;

/** The calls of one assistant message, from `tool_calls` or the old `function_call`, in order. */
export function readCalls(message: Place, messageIndex: number, allocateId: AllocateId): Call[] {
  const list = message.given('tool_calls');
  const legacy = message.given('function_call');
  const read = (call: Place, index: number): Call =>
    readCall(call, `call_${messageIndex}_${index}`, allocateId);
  const calls = list?.items(read) ?? [];
  if (!legacy) return calls;
  if (calls.length > 0) {
    legacy.note('ignored', 'tool_calls is used');
    return calls;
  }
  const block = toolUse(legacy, allocateId(`call_${messageIndex}_0`));
  return [{ block, key: `name ${legacy.at('name').string()}`, place: legacy, results: [] }];
}

function readCall(place: Place, generatedId: string, allocateId: AllocateId): Call {
  const type = place.object().at('type');
  const kind = type.value ?? 'function';
  if (kind !== 'function' && kind !== 'custom') {
    return type.mustBe('"function" or "custom"', 'unsupported_value');
  }
  // The index of the call in stream chunks. Clients that assemble chunks often keep it.
  place.at('index');
  const call = callIn(place, place.at(kind), generatedId, allocateId);
  place.noteUnread();
  return call;
}

/** @param part - a `tool_use` block, which some clients send among the parts of a message */
export function readNativeCall(part: Place, generatedId: string, allocateId: AllocateId): Call {
  return callIn(part, part, generatedId, allocateId);
}

/** @param called - has the name and the arguments */
function callIn(place: Place, called: Place, generatedId: string, allocateId: AllocateId): Call {
  const wanted = place.at('id').string('');
  const id = allocateId(wanted || generatedId);
  if (id !== wanted) place.at('id').note('rewritten', `sent as ${id}`);
  const control = readCacheControl(place);
  const block = toolUse(called, id);
  block.cache_control = control;
  return { block, key: wanted && `id ${wanted}`, place, results: [] };
}

function toolUse(called: Place, id: string): ToolUseBlock {
  const name = called.object().at('name');
  const written = name.nonEmptyString();
  // The name of a past call only has to be readable for the model. It is never translated back.
  const sent = toAllowedToken(written, MAX_TOOL_NAME);
  if (sent !== written) name.note('rewritten', `sent as ${sent}`);
  const given = called.given('input');
  const input = given ? readInput(given) : readArguments(called.at('arguments'));
  called.noteUnread();
  return { type: 'tool_use', id, name: sent, input };
}

/**
 * The object of a native block, or the text of a custom tool, which is the only argument of the
 * function that stands for it.
 */
function readInput(place: Place): ToolInput {
  return { object: isJsonObject(place.value) ? place.value : { input: place.string() } };
}

/**
 * The arguments of a past call. The client repeats the arguments as the model wrote them, so none
 * are refused.
 */
export function readArguments(place: Place): ToolInput {
  if (isJsonObject(place.value)) {
    place.note('rewritten', 'sent as JSON text');
    return { object: place.value };
  }
  const text = place.string('');
  const json = objectText(text);
  if (json !== undefined) return { json };
  place.note('rewritten', 'not a JSON object: sent as {"_raw": ...}');
  return { object: wrapped(text) };
}

export function readResult(place: Place, role: 'tool' | 'function'): Result {
  const isLegacy = role === 'function';
  return resultIn(place, place.at(isLegacy ? 'name' : 'tool_call_id'), isLegacy);
}

/** @param part - a `tool_result` block, which some clients send among the parts of a message */
export function readNativeResult(part: Place): Result {
  return resultIn(part, part.at('tool_use_id'), false);
}

function resultIn(place: Place, reference: Place, isLegacy: boolean): Result {
  const named = isLegacy ? reference.string() : reference.string('');
  const content = contentBlocks(place.given('content'), USER_PARTS);
  const cacheControl = readCacheControl(place);
  const isError = place.at('is_error').value === true;
  place.noteUnread();
  const key = isLegacy ? `name ${named}` : named && `id ${named}`;
  return { key, isLegacy, isError, reference, content, cacheControl, place };
}

/**
 * Pairs the calls of one assistant turn with the results of the next user turn. Returns one block
 * per call, in the order of the calls. Calls and results with equal keys are paired in order. If a
 * key has more results than calls, the last call gets the remaining results.
 *
 * If one call and one result are left over and one of the two has no id, they belong together.
 */
export function pairResults(calls: readonly Call[], results: readonly Result[]): ToolResultBlock[] {
  if (calls.length === 0 && results.length === 0) return [];
  /** The calls of each key, in reverse order. */
  const waiting = new Map<string, Call[]>();
  for (const call of calls.toReversed()) {
    const equals = waiting.get(call.key);
    if (equals) equals.push(call);
    else waiting.set(call.key, [call]);
  }
  const strays: Result[] = [];
  for (const result of results) {
    const queue = (result.key && waiting.get(result.key)) || [];
    const call = queue.length > 1 ? queue.pop() : queue[0];
    if (call) call.results.push(result);
    else strays.push(result);
  }
  const unanswered = calls.filter((call) => call.results.length === 0);
  const [call] = unanswered;
  const [stray] = strays;
  if (call && stray && unanswered.length === 1 && strays.length === 1 && fits(call, stray)) {
    stray.place.note('rewritten', `taken as the result of ${call.place.path}`);
    call.results.push(stray);
  } else if (stray) refuseStray(stray);
  else if (call) refuseUnanswered(unanswered, call);
  return calls.map(resultBlock);
}

function fits(call: Call, result: Result): boolean {
  return !result.isLegacy && (call.key === '' || result.key === '');
}

function refuseStray({ isLegacy, reference }: Result): never {
  const calls = isLegacy ? 'function_call' : 'tool_calls';
  return reference.refuse(`must be a response to a preceding message with '${calls}'`);
}

const MAX_LISTED_IDS = 5;

function refuseUnanswered(calls: readonly Call[], first: Call): never {
  const listed = calls
    .slice(0, MAX_LISTED_IDS)
    .map(({ key }) => key.replace(/^\w+ /, '').slice(0, 64) || '(no id)')
    .join(', ');
  const more = calls.length - MAX_LISTED_IDS;
  return first.place.refuse(
    "must be followed by tool messages responding to each 'tool_call_id', " +
      `missing: ${listed}${more > 0 ? ` and ${more} more` : ''}`,
  );
}

export function resultBlock({ block, results }: Call): ToolResultBlock {
  const content: ContentBlock[] = [];
  let control: CacheControl | undefined;
  for (const result of results) {
    append(content, result.content);
    control = result.cacheControl ?? control;
  }
  results[1]?.place.note('rewritten', 'sent with an earlier result');
  return {
    type: 'tool_result',
    tool_use_id: block.id,
    // An empty result has no content, because the upstream refuses empty text.
    content: listed(content),
    is_error: results.some(({ isError }) => isError) || undefined,
    cache_control: control,
  };
}
