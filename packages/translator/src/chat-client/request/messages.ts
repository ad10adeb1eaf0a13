/**
 * The messages of a chat, to native turns and system blocks.
 *
 * The chat format is a loose list; the native one alternates between user and assistant, starts and
 * ends with the user, wants all results of a turn's calls first in the very next user turn, and
 * knows no empty text.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use
 */

import type { Place } from '../../reading/place.js';
import { createIdAllocator } from '../../reading/tool-ids.js';
import { append } from '../../wire/lists.js';
import { finishReading } from './cache-points.js';
import { type Call, pairResults, readCalls, readResult, type Result } from './calls-and-results.js';
import {
  ASSISTANT_PARTS,
  contentBlocks,
  type PartType,
  SYSTEM_PARTS,
  textBlock,
  USER_PARTS,
} from './content.js';
import type { ContentBlock, NativeMessage, TextBlock, ThinkingBlock } from './native-request.js';
import { readThinking } from './thinking.js';

export interface Conversation {
  readonly system: TextBlock[];
  readonly messages: NativeMessage[];
  /** The names of all tools that past turns called, in order of first use. */
  readonly calledTools: ReadonlySet<string>;
}

/** What consecutive messages of one side say: results are the user's, thinking and calls the assistant's. */
interface Turn {
  readonly role: 'user' | 'assistant';
  readonly results: Result[];
  readonly thinking: ThinkingBlock[];
  readonly content: ContentBlock[];
  readonly calls: Call[];
}

/** Said for the user where the native format demands a user turn that the chat does not have. */
const OPENING = 'Continue the conversation.';
const CLOSING = 'Continue.';
const WITHOUT_CONTENT = 'a message without content';

/** Refuses a list that leaves nothing to say, or whose calls and results do not match. */
export function translateMessages(list: Place): Conversation {
  const system: TextBlock[][] = [];
  const turns: Turn[] = [];
  const allocateId = createIdAllocator();

  list.items((message, index) => {
    const role = message.object().at('role');
    switch (role.value) {
      case 'system':
      case 'developer': {
        const blocks = readBlocks(message, SYSTEM_PARTS);
        if (blocks.length > 0) system.push(blocks);
        return;
      }
      case 'user': {
        const blocks = readBlocks(message, USER_PARTS);
        if (blocks.length > 0) append(turnOf('user').content, blocks);
        else message.note('dropped', WITHOUT_CONTENT);
        return;
      }
      case 'tool':
      case 'function':
        turnOf('user').results.push(readResult(message, role.value));
        return;
      case 'assistant':
        addAssistant(message, index);
        return;
      default:
        role.mustBe('system, developer, user, assistant, tool or function', 'invalid_value');
    }
  });

  if (turns.length === 0) append(turnOf('user').content, lastOf(system, list));
  // A final assistant turn would be continued by older models and is refused by newer ones; in the
  // chat format it is history, and the model writes a new message.
  if (turns.at(-1)?.role === 'assistant') sayForUser(CLOSING, 'last');

  function turnOf(role: Turn['role']): Turn {
    const last = turns.at(-1);
    if (last?.role === role) return last;
    const turn: Turn = { role, results: [], thinking: [], content: [], calls: [] };
    turns.push(turn);
    return turn;
  }

  function addAssistant(message: Place, index: number): void {
    const thinking = readThinking(message);
    const text = readAssistantText(message);
    const calls = readCalls(message, index, allocateId);
    finishReading(message, calls.at(-1)?.block ?? text.at(-1));
    // Upstream takes no turn that holds nothing, or nothing but thinking.
    if (text.length === 0 && calls.length === 0) {
      message.note('dropped', WITHOUT_CONTENT);
      return;
    }
    if (turns.length === 0) sayForUser(OPENING, 'first');
    const turn = turnOf('assistant');
    append(turn.thinking, thinking);
    append(turn.content, text);
    append(turn.calls, calls);
  }

  function sayForUser(text: string, where: 'first' | 'last'): void {
    turnOf('user').content.push({ type: 'text', text });
    list.note('rewritten', `a user turn was put ${where}`);
  }

  const calledTools = new Set<string>();
  for (const { calls } of turns) for (const { block } of calls) calledTools.add(block.name);
  return { system: system.flat(), messages: nativeTurns(turns), calledTools };
}

function readBlocks<Type extends PartType>(message: Place, types: readonly Type[]) {
  const blocks = contentBlocks(message.given('content'), types);
  finishReading(message, blocks.at(-1));
  return blocks;
}

function readAssistantText(message: Place): TextBlock[] {
  const blocks = contentBlocks(message.given('content'), ASSISTANT_PARTS);
  const refusal = message.given('refusal');
  const refused = refusal && textBlock(refusal);
  if (refused) blocks.push(refused);
  return blocks;
}

/** A chat of system messages only asks for an answer to the last of them. */
function lastOf(system: TextBlock[][], list: Place): TextBlock[] {
  const blocks = system.pop() ?? list.refuse('at least one message must have content');
  list.note('rewritten', 'the last system message is sent as user');
  return blocks;
}

function nativeTurns(turns: readonly Turn[]): NativeMessage[] {
  let pending: readonly Call[] = [];
  return turns.map(({ role, results, thinking, content, calls }) => {
    const answers = pairResults(pending, results);
    pending = calls;
    return {
      role,
      content: [...answers, ...thinking, ...content, ...calls.map(({ block }) => block)],
    };
  });
}
