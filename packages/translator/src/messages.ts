/**
 * The messages of a chat, to native turns and system blocks.
 *
 * The chat format is a loose list; the native one alternates between user and assistant, starts and
 * ends with the user, wants all results of a turn's calls first in the very next user turn, and
 * knows no empty text.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use
 */

import { append } from './append.js';
import { CACHE_MEMBERS, markLastBlock, readCacheControl } from './cache-control.js';
import { contentBlocks, textBlock, textBlocks } from './content.js';
import type {
  ContentBlock,
  NativeMessage,
  TextBlock,
  ThinkingBlock,
  UserBlock,
} from './native-request.js';
import type { JsonObject } from './raw-json.js';
import { readThinking } from './thinking.js';
import {
  functionResultKey,
  pairResults,
  readCalls,
  toolResultKey,
  type Call,
  type Result,
} from './tool-calls.js';
import { createIdAllocator } from './tool-ids.js';
import {
  noteUnknownMembers,
  quote,
  readArray,
  readObject,
  readString,
  refuse,
  type Translation,
} from './translation.js';

export interface Conversation {
  readonly system: TextBlock[];
  readonly messages: NativeMessage[];
  /** The names of all tools that past turns called, in order of first use. */
  readonly calledTools: ReadonlySet<string>;
}

interface UserTurn {
  readonly role: 'user';
  readonly results: Result[];
  readonly content: ContentBlock[];
}

interface AssistantTurn {
  readonly role: 'assistant';
  readonly thinking: ThinkingBlock[];
  readonly text: TextBlock[];
  readonly calls: Call[];
}

/** Said for the user where the native format demands a user turn that the chat does not have. */
const OPENING = 'Continue the conversation.';
const CLOSING = 'Continue.';

const SYSTEM_MEMBERS = new Set<string>(['role', 'content', ...CACHE_MEMBERS]);
const USER_MEMBERS = SYSTEM_MEMBERS;
const TOOL_MEMBERS = new Set([...SYSTEM_MEMBERS, 'tool_call_id']);
const FUNCTION_MEMBERS = new Set([...SYSTEM_MEMBERS, 'name']);
const ASSISTANT_MEMBERS = new Set([
  ...SYSTEM_MEMBERS,
  'refusal',
  'tool_calls',
  'function_call',
  'thinking_blocks',
  'reasoning_details',
]);

/** Refuses a list that leaves nothing to say, or whose calls and results do not match. */
export function translateMessages(t: Translation, value: unknown): Conversation {
  const system: TextBlock[][] = [];
  const turns: (UserTurn | AssistantTurn)[] = [];
  const allocateId = createIdAllocator();

  readArray(value, 'messages').forEach((item, index) => {
    const path = `messages[${String(index)}]`;
    const message = readObject(item, path);
    const { role } = message;
    switch (role) {
      case 'system':
      case 'developer': {
        const blocks = readSystem(t, message, path, role);
        if (blocks.length > 0) system.push(blocks);
        return;
      }
      case 'user': {
        const content = readUser(t, message, path);
        if (content.length > 0) append(userTurn().content, content);
        return;
      }
      case 'tool':
      case 'function':
        userTurn().results.push(readResult(t, message, path, role));
        return;
      case 'assistant':
        addAssistant(message, index, path);
        return;
      default:
        refuseRole(role, path);
    }
  });

  function userTurn(): UserTurn {
    const last = turns.at(-1);
    if (last?.role === 'user') return last;
    const turn: UserTurn = { role: 'user', results: [], content: [] };
    turns.push(turn);
    return turn;
  }

  function addAssistant(message: JsonObject, index: number, path: string): void {
    const thinking = readThinking(t, message, path);
    const text = readAssistantText(t, message, path);
    const calls = readCalls(t, message, index, allocateId);
    const control = readCacheControl(t, message, path);
    markLastBlock(t, control, calls.at(-1)?.block ?? text.at(-1));
    // Upstream takes no turn that holds nothing, or nothing but thinking.
    if (text.length === 0 && calls.length === 0) {
      t.notes.take(path, 'dropped', 'a message without text and without calls');
      return;
    }
    const last = turns.at(-1);
    if (last?.role !== 'assistant') {
      turns.push({ role: 'assistant', thinking, text, calls });
      return;
    }
    append(last.thinking, thinking);
    append(last.text, text);
    append(last.calls, calls);
  }

  const messages = nativeTurns(t, turns);
  if (messages.length === 0) messages.push({ role: 'user', content: lastSystemText(t, system) });
  closeEnds(t, messages);
  return { system: system.flat(), messages, calledTools: namesOfCalls(turns) };
}

function readSystem(
  t: Translation,
  message: JsonObject,
  path: string,
  role: 'system' | 'developer',
): TextBlock[] {
  noteUnknownMembers(t, message, SYSTEM_MEMBERS, path);
  const blocks = textBlocks(t, message['content'], `${path}.content`, role);
  markLastBlock(t, readCacheControl(t, message, path), blocks.at(-1));
  return blocks;
}

function readUser(t: Translation, message: JsonObject, path: string): ContentBlock[] {
  noteUnknownMembers(t, message, USER_MEMBERS, path);
  const blocks = contentBlocks(t, message['content'], `${path}.content`);
  markLastBlock(t, readCacheControl(t, message, path), blocks.at(-1));
  if (blocks.length === 0) t.notes.take(path, 'dropped', 'a message without content');
  return blocks;
}

function readResult(
  t: Translation,
  message: JsonObject,
  path: string,
  role: 'tool' | 'function',
): Result {
  const isLegacy = role === 'function';
  noteUnknownMembers(t, message, isLegacy ? FUNCTION_MEMBERS : TOOL_MEMBERS, path);
  return {
    key: isLegacy ? functionResultKey(message, path) : toolResultKey(message, path),
    isLegacy,
    content: contentBlocks(t, message['content'], `${path}.content`),
    cacheControl: readCacheControl(t, message, path),
    path,
  };
}

function readAssistantText(t: Translation, message: JsonObject, path: string): TextBlock[] {
  noteUnknownMembers(t, message, ASSISTANT_MEMBERS, path);
  const blocks = textBlocks(t, message['content'], `${path}.content`, 'assistant');
  const { refusal } = message;
  const refused = refusal == null ? undefined : textBlock(t, refusal, `${path}.refusal`);
  return refused === undefined ? blocks : [...blocks, refused];
}

function refuseRole(value: unknown, path: string): never {
  const role = readString(value, `${path}.role`);
  const complaint = `must be system, developer, user, assistant, tool or function, got ${quote(role)}`;
  refuse(`${path}.role`, 'invalid_value', complaint);
}

function nativeTurns(
  t: Translation,
  turns: readonly (UserTurn | AssistantTurn)[],
): NativeMessage[] {
  let pending: readonly Call[] = [];
  const messages = turns.map((turn): NativeMessage => {
    if (turn.role === 'assistant') {
      pending = turn.calls;
      const calls = turn.calls.map((call) => call.block);
      return { role: 'assistant', content: [...turn.thinking, ...turn.text, ...calls] };
    }
    const results: UserBlock[] = pairResults(t, pending, turn.results);
    pending = [];
    return { role: 'user', content: results.concat(turn.content) };
  });
  // Calls that the conversation ends with have had no user turn to answer them.
  pairResults(t, pending, []);
  return messages;
}

/** A chat of system messages only asks for an answer to the last of them. */
function lastSystemText(t: Translation, system: TextBlock[][]): TextBlock[] {
  const blocks = system.pop();
  if (blocks === undefined) {
    refuse('messages', 'invalid_value', 'must contain at least one message with content');
  }
  t.notes.take('messages', 'rewritten', 'only system messages: the last one is sent as the user');
  return blocks;
}

function closeEnds(t: Translation, messages: NativeMessage[]): void {
  if (messages[0]?.role === 'assistant') {
    messages.unshift({ role: 'user', content: [{ type: 'text', text: OPENING }] });
    t.notes.take('messages', 'rewritten', 'a user turn was put before the first assistant message');
  }
  // A final assistant turn would be continued by older models and is refused by newer ones; in the
  // chat format it is history, and the model writes a new message.
  if (messages.at(-1)?.role === 'assistant') {
    messages.push({ role: 'user', content: [{ type: 'text', text: CLOSING }] });
    t.notes.take('messages', 'rewritten', 'a user turn was put after the last assistant message');
  }
}

function namesOfCalls(turns: readonly (UserTurn | AssistantTurn)[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const turn of turns) {
    if (turn.role === 'assistant') for (const call of turn.calls) names.add(call.block.name);
  }
  return names;
}
