/**
 * Native turns, to the messages of a chat.
 *
 * Neighbours of one role are one turn, as they are to the native API. The results in a user turn
 * become messages of their own, right after the calls they answer.
 */

import { append } from '../append.js';
import type { JsonObject } from '../raw-json.js';
import { noteUnknownMembers, quote, readArray, readObject, refuse } from '../translation.js';
import { assistantTurn } from './assistant.js';
import { contentOf, type ChatMessage, type ChatPart } from './chat-request.js';
import { blocksOf, textParts, userParts, type Placed } from './content.js';
import type { NativeTranslation } from './native-source.js';
import { resultMessage } from './results.js';

interface Turn {
  readonly role: 'user' | 'assistant' | 'system';
  /** Where its first message stands. */
  readonly path: string;
  readonly blocks: Placed[];
}

const MESSAGE_MEMBERS = new Set(['role', 'content']);

/** Refuses what holds nothing to answer, and calls and results that do not match. */
export function translateTurns(t: NativeTranslation, native: JsonObject): ChatMessage[] {
  const messages = systemMessages(t, blocksOf(native['system'] ?? [], 'system'));
  const preamble = messages.length;
  let open = new Map<string, string>();

  const turns = readTurns(t, native['messages']);
  for (const turn of turns) {
    if (turn.role === 'user') {
      append(messages, userMessages(t, turn, open));
      continue;
    }
    refuseUnanswered(open);
    if (turn.role === 'system') {
      append(messages, systemMessages(t, turn.blocks));
      continue;
    }
    const { message, calls } = assistantTurn(t, turn.blocks);
    if (message === undefined) noteEmpty(t, turn);
    else messages.push(message);
    open = new Map(calls);
  }
  refuseUnanswered(open);
  if (messages.length === preamble) {
    refuse('messages', 'invalid_value', 'must contain at least one message with content');
  }
  const last = turns.at(-1);
  if (last?.role === 'assistant') {
    const detail = 'a chat model answers anew instead of continuing the last message';
    t.notes.take(last.path, 'ignored', detail);
  }
  return messages;
}

function readTurns(t: NativeTranslation, value: unknown): Turn[] {
  const turns: Turn[] = [];
  readArray(value, 'messages').forEach((item, index) => {
    const path = `messages[${String(index)}]`;
    const message = readObject(item, path);
    const { role } = message;
    if (role !== 'user' && role !== 'assistant' && role !== 'system') {
      const complaint = `must be user, assistant or system, got ${quote(role)}`;
      refuse(`${path}.role`, 'invalid_value', complaint);
    }
    noteUnknownMembers(t, message, MESSAGE_MEMBERS, path);
    const blocks = blocksOf(message['content'], `${path}.content`);
    const last = turns.at(-1);
    if (last?.role === role && role !== 'system') append(last.blocks, blocks);
    else turns.push({ role, path, blocks });
  });
  return turns;
}

function systemMessages(t: NativeTranslation, blocks: readonly Placed[]): ChatMessage[] {
  const parts = blocks.flatMap((placed) => {
    if (placed.block['type'] === 'text') return textParts(t, placed);
    const complaint = `must be "text" in a system prompt, got ${quote(placed.block['type'])}`;
    return refuse(`${placed.path}.type`, 'unsupported_value', complaint);
  });
  return parts.length === 0 ? [] : [{ role: 'system', content: contentOf(parts) }];
}

function userMessages(t: NativeTranslation, turn: Turn, open: Map<string, string>): ChatMessage[] {
  const results: ChatMessage[] = [];
  const media: ChatPart[] = [];
  const said: ChatPart[] = [];
  for (const placed of turn.blocks) {
    if (placed.block['type'] !== 'tool_result') {
      append(said, userParts(t, placed));
      continue;
    }
    if (said.length > 0) t.notes.take(placed.path, 'rewritten', 'moved before what the user said');
    const result = resultMessage(t, placed, open);
    results.push(result.message);
    append(media, result.media);
  }
  const parts = [...media, ...said];
  if (parts.length > 0) return [...results, { role: 'user', content: contentOf(parts) }];
  if (results.length === 0) noteEmpty(t, turn);
  return results;
}

function noteEmpty(t: NativeTranslation, { path }: Turn): void {
  t.notes.take(path, 'dropped', 'a turn of which nothing is left');
}

function refuseUnanswered(open: ReadonlyMap<string, string>): void {
  const [first] = open;
  if (first === undefined) return;
  const [id, path] = first;
  const complaint = `the call ${quote(id)} has no tool_result in the next message`;
  refuse(path, 'invalid_value', complaint);
}
