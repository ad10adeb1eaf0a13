/**
 * Translates native turns to the messages of a chat.
 *
 * Consecutive messages of the user or of the assistant form one turn, as in the native API; each
 * system message stays apart. The results in a user turn become messages of their own, right after
 * the calls that they answer.
 */

import { type Place, quote } from '../../reading/place.js';
import { append } from '../../wire/lists.js';
import { assistantTurn } from './assistant.js';
import { type ChatMessage, type ChatPart, contentOf } from './chat-request.js';
import { blocksOf, textParts, userParts } from './content.js';
import type { NativeTranslation } from './native-source.js';
import { resultMessage } from './results.js';

interface Turn {
  readonly role: 'user' | 'assistant' | 'system';
  /** The place of its first message. */
  readonly place: Place;
  readonly blocks: Place[];
}

/** Refuses a request without any content, and calls and results that do not match. */
export function translateTurns(t: NativeTranslation, native: Place): ChatMessage[] {
  const system = native.given('system') ? blocksOf(native, 'system') : [];
  const messages = systemMessages(t, system);
  const preamble = messages.length;
  let open = new Map<string, Place>();

  const list = native.at('messages');
  const turns = readTurns(list);
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
    if (message === undefined) noteEmpty(turn);
    else messages.push(message);
    open = new Map(calls);
  }
  refuseUnanswered(open);
  if (messages.length === preamble) {
    list.mustBe('messages with content', 'invalid_value');
  }
  const last = turns.at(-1);
  if (last?.role === 'assistant') {
    last.place.note(
      'ignored',
      'a chat model writes a new message instead of continuing the last one',
    );
  }
  return messages;
}

function readTurns(list: Place): Turn[] {
  const turns: Turn[] = [];
  list.items((place) => {
    const { value: role } = place.object().at('role');
    if (role !== 'user' && role !== 'assistant' && role !== 'system') {
      return place.at('role').mustBe('user, assistant or system', 'invalid_value');
    }
    const blocks = blocksOf(place, 'content');
    place.noteUnread();
    const last = turns.at(-1);
    if (last?.role === role && role !== 'system') append(last.blocks, blocks);
    else turns.push({ role, place, blocks });
  });
  return turns;
}

function systemMessages(t: NativeTranslation, blocks: readonly Place[]): ChatMessage[] {
  const parts = blocks.flatMap((block) => {
    const type = block.at('type');
    return type.value === 'text'
      ? textParts(t, block)
      : type.mustBe('"text" in a system prompt', 'unsupported_value');
  });
  return parts.length === 0 ? [] : [{ role: 'system', content: contentOf(parts) }];
}

function userMessages(t: NativeTranslation, turn: Turn, open: Map<string, Place>): ChatMessage[] {
  const results: ChatMessage[] = [];
  const media: ChatPart[] = [];
  const said: ChatPart[] = [];
  for (const block of turn.blocks) {
    if (block.at('type').value !== 'tool_result') {
      append(said, userParts(t, block));
      continue;
    }
    if (said.length > 0) block.note('rewritten', 'moved before the text of the user');
    const result = resultMessage(t, block, open);
    results.push(result.message);
    append(media, result.media);
  }
  const parts = [...media, ...said];
  if (parts.length > 0) return [...results, { role: 'user', content: contentOf(parts) }];
  if (results.length === 0) noteEmpty(turn);
  return results;
}

function noteEmpty({ place }: Turn): void {
  place.note('dropped', 'nothing of the turn is left');
}

function refuseUnanswered(open: ReadonlyMap<string, Place>): void {
  for (const [id, call] of open) {
    call.refuse(`the call ${quote(id)} has no tool_result in the next message`);
  }
}
