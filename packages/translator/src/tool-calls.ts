/**
 * Calls and their results in a chat history, to `tool_use` and `tool_result` blocks that satisfy
 * upstream: unique ids of allowed characters, and each call answered once, in the very next user
 * turn.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use
 */

import { CACHE_MEMBERS, readCacheControl } from './cache-control.js';
import type {
  CacheControl,
  ContentBlock,
  ToolResultBlock,
  ToolUseBlock,
} from './native-request.js';
import { inputText, isJsonObject, type JsonObject, type JsonText } from './raw-json.js';
import { isAllowedToken, toAllowedToken } from './tool-ids.js';
import {
  noteUnknownMembers,
  quote,
  readArray,
  readObject,
  readString,
  refuse,
  refuseType,
  type Translation,
} from './translation.js';

/** One call of an assistant turn. */
export interface Call {
  readonly block: ToolUseBlock;
  /**
   * What a result names it by: its id, or for the old `function_call` its name; undefined without.
   */
  readonly key: string | undefined;
  readonly path: string;
}

/** What a `tool` or `function` message says. */
export interface Result {
  readonly key: string | undefined;
  readonly isLegacy: boolean;
  readonly content: readonly ContentBlock[];
  readonly cacheControl: CacheControl | undefined;
  readonly path: string;
}

type AllocateId = (wanted: string) => string;

/** `index` is what stream chunks number calls by; clients that assemble them often leave it in. */
const CALL_MEMBERS = new Set(['id', 'type', 'function', 'index', ...CACHE_MEMBERS]);
const FUNCTION_MEMBERS = new Set(['name', 'arguments']);

/** The calls of one assistant message, from `tool_calls` or the old `function_call`, in order. */
export function readCalls(
  t: Translation,
  message: JsonObject,
  messageIndex: number,
  allocateId: AllocateId,
): Call[] {
  const path = `messages[${String(messageIndex)}]`;
  const legacy = message['function_call'];
  const calls: Call[] = [];
  readArray(message['tool_calls'] ?? [], `${path}.tool_calls`).forEach((call, index) => {
    const generatedId = `call_${String(messageIndex)}_${String(index)}`;
    calls.push(readCall(t, call, generatedId, `${path}.tool_calls[${String(index)}]`, allocateId));
  });
  if (legacy == null) return calls;
  if (calls.length > 0) {
    t.notes.take(`${path}.function_call`, 'ignored', 'tool_calls are used');
    return calls;
  }
  const generatedId = `call_${String(messageIndex)}_0`;
  return [readLegacyCall(t, legacy, generatedId, `${path}.function_call`, allocateId)];
}

function readCall(
  t: Translation,
  value: unknown,
  generatedId: string,
  path: string,
  allocateId: AllocateId,
): Call {
  const call = readObject(value, path);
  const type = call['type'] ?? 'function';
  if (type !== 'function') {
    const complaint = `calls of type ${quote(type)} are not supported, only "function"`;
    refuse(`${path}.type`, 'unsupported_value', complaint);
  }
  const wanted = readString(call['id'] ?? '', `${path}.id`);
  const id = allocateId(wanted === '' ? generatedId : wanted);
  if (id !== wanted) t.notes.take(`${path}.id`, 'rewritten', `sent as ${id}`);
  noteUnknownMembers(t, call, CALL_MEMBERS, path);
  const { name, input } = readFunction(t, call['function'], `${path}.function`);
  const block: ToolUseBlock = { type: 'tool_use', id, name: toAllowedToken(name), input };
  const control = readCacheControl(t, call, path);
  if (control !== undefined) block.cache_control = control;
  return { block, key: wanted === '' ? undefined : `id ${wanted}`, path };
}

function readLegacyCall(
  t: Translation,
  call: unknown,
  generatedId: string,
  path: string,
  allocateId: AllocateId,
): Call {
  const { name, input } = readFunction(t, call, path);
  const id = allocateId(generatedId);
  const block: ToolUseBlock = { type: 'tool_use', id, name: toAllowedToken(name), input };
  return { block, key: `name ${name}`, path };
}

/** The name as the client wrote it, and the arguments. */
function readFunction(
  t: Translation,
  value: unknown,
  path: string,
): { name: string; input: JsonText } {
  const called = readObject(value, path);
  const { name } = called;
  if (typeof name !== 'string' || name === '') {
    refuseType(`${path}.name`, 'a non-empty string', name);
  }
  // The name of a past call only has to be readable to the model, and nothing maps it back.
  if (!isAllowedToken(name)) {
    t.notes.take(`${path}.name`, 'rewritten', `sent as ${toAllowedToken(name)}`);
  }
  noteUnknownMembers(t, called, FUNCTION_MEMBERS, path);
  return { name, input: readArguments(t, called['arguments'], `${path}.arguments`) };
}

/** The arguments of a past call, which the client can only replay as the model wrote them. */
function readArguments(t: Translation, value: unknown, path: string): JsonText {
  if (isJsonObject(value)) {
    t.notes.take(path, 'rewritten', 'an object, where JSON text is usual');
    return { json: JSON.stringify(value) };
  }
  const { input, isWrapped } = inputText(readString(value ?? '', path));
  if (isWrapped) {
    t.notes.take(path, 'rewritten', 'not a JSON object: sent as the text of a member "_raw"');
  }
  return input;
}

/** The key by which a `tool` message names its call. */
export function toolResultKey(message: JsonObject, path: string): string | undefined {
  const id = readString(message['tool_call_id'] ?? '', `${path}.tool_call_id`);
  return id === '' ? undefined : `id ${id}`;
}

/** The key by which an old `function` message names its call. */
export function functionResultKey(message: JsonObject, path: string): string {
  return `name ${readString(message['name'], `${path}.name`)}`;
}

/**
 * Answers the calls of one assistant turn with the results of the next user turn: one block per
 * call, in the order of the calls. Equal keys pair by order; results beyond the calls of their key
 * are put together with the last one.
 *
 * A call and a result that are the only ones left over belong together when either of them has no
 * id.
 */
export function pairResults(
  t: Translation,
  calls: readonly Call[],
  results: readonly Result[],
): ToolResultBlock[] {
  if (calls.length === 0 && results.length === 0) return [];
  const byKey = groupByKey(calls);
  const answers = new Map<Call, Result[]>();
  const strays: Result[] = [];
  for (const result of results) {
    const queue = result.key === undefined ? undefined : byKey.get(result.key);
    const call = queue && (queue.calls[queue.answered++] ?? queue.calls.at(-1));
    const answer = call && answers.get(call);
    if (call === undefined) strays.push(result);
    else if (answer === undefined) answers.set(call, [result]);
    else answer.push(result);
  }
  const unanswered = calls.filter((call) => !answers.has(call));
  const [call] = unanswered;
  const [stray] = strays;
  if (call && stray && unanswered.length === 1 && strays.length === 1 && fits(call, stray)) {
    t.notes.take(stray.path, 'rewritten', `taken as the result of ${call.path}`);
    answers.set(call, [stray]);
  } else if (stray) refuseStray(stray);
  else if (call) refuseUnanswered(unanswered, call);

  return calls.map((one) => resultBlock(t, one, answers.get(one) ?? []));
}

function groupByKey(calls: readonly Call[]): Map<string, { calls: Call[]; answered: number }> {
  const groups = new Map<string, { calls: Call[]; answered: number }>();
  for (const call of calls) {
    if (call.key === undefined) continue;
    const group = groups.get(call.key);
    if (group === undefined) groups.set(call.key, { calls: [call], answered: 0 });
    else group.calls.push(call);
  }
  return groups;
}

function fits(call: Call, result: Result): boolean {
  return !result.isLegacy && (call.key === undefined || result.key === undefined);
}

function refuseStray(result: Result): never {
  const member = result.isLegacy ? 'name' : 'tool_call_id';
  refuse(
    `${result.path}.${member}`,
    'invalid_value',
    result.isLegacy
      ? "messages with role 'function' must answer a preceding 'function_call' of the same name"
      : "messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
  );
}

const MAX_LISTED_IDS = 5;

function refuseUnanswered(calls: readonly Call[], first: Call): never {
  const listed = calls
    .slice(0, MAX_LISTED_IDS)
    .map((call) =>
      call.key === undefined ? '(no id)' : call.key.replace(/^\w+ /, '').slice(0, 64),
    )
    .join(', ');
  const more = calls.length - MAX_LISTED_IDS;
  refuse(
    first.path,
    'invalid_value',
    "an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'; " +
      `these have no response: ${listed}${more > 0 ? ` and ${String(more)} more` : ''}`,
  );
}

function resultBlock(t: Translation, call: Call, results: readonly Result[]): ToolResultBlock {
  const block: ToolResultBlock = { type: 'tool_result', tool_use_id: call.block.id };
  const content = results.flatMap((result) => result.content);
  // An empty result is told by no content at all: upstream refuses empty text.
  if (content.length > 0) block.content = content;
  for (const { cacheControl } of results) if (cacheControl) block.cache_control = cacheControl;
  const [, second] = results;
  if (second) t.notes.take(second.path, 'rewritten', 'put together with an earlier result');
  return block;
}
