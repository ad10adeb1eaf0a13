/**
 * Translates the messages of a chat to native turns and system blocks.
 *
 * The chat format is a loose list. The native format alternates between user and assistant, starts
 * and ends with the user, requires the results of a turn's calls at the start of the next user
 * turn, and allows no empty text.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use
 */

import type { Place } from '../../reading/place.js';
import { createIdAllocator } from '../../reading/tool-ids.js';
import { append } from '../../wire/lists.js';
import type { Additions } from '../../wire/additions.js';
import { stringOf } from '../../wire/raw-json.js';
import { bindsPrefix } from './bound-thinking.js';
import { finishReading } from './cache-points.js';
import {
  type Call,
  pairResults,
  readCalls,
  readNativeCall,
  readNativeResult,
  readResult,
  type Result,
} from './calls-and-results.js';
import {
  ASSISTANT_PARTS,
  contentBlocks,
  type PartReaders,
  type PartType,
  type ReadOther,
  SYSTEM_PARTS,
  textBlock,
  USER_PARTS,
} from './content.js';
import type { ContentBlock, NativeMessage, TextBlock, ThinkingBlock } from './native-request.js';
import {
  isThinkingPart,
  type KeptThinking,
  readThinking,
  readThinkingPart,
  restoreThinking,
} from './thinking.js';
import type { ModelTraits } from './traits.js';

export interface Conversation {
  readonly system: TextBlock[];
  readonly messages: NativeMessage[];
  /** The names of all tools that past turns called, in order of first use. */
  readonly calledTools: ReadonlySet<string>;
  /** The text of the user turn at the end, if the translation added one. */
  readonly closing?: string | undefined;
}

/**
 * Consecutive messages of one role. Only a user turn has results; only an assistant turn has
 * thinking and calls.
 */
interface Turn {
  readonly role: 'user' | 'assistant';
  readonly results: Result[];
  readonly thinking: ThinkingBlock[];
  readonly content: ContentBlock[];
  readonly calls: Call[];
  /** System messages between the user's messages and the next answer. */
  readonly system: TextBlock[];
}

/** The text of the user turns that the native format requires and that the chat does not have. */
export const OPENING = 'Continue the conversation.';
export const CLOSING = 'Continue.';
const WITHOUT_CONTENT = 'a message without content';

/**
 * Refuses a list without any content, and a list whose calls and results do not match.
 *
 * System messages before the first answer go into `system`, where they stay as the conversation
 * grows. A later system message must not go there: it would change the beginning of every request
 * that follows, and invalidate the cached prompt. It is sent as a message after the user's turn, or
 * as text within that turn if the model accepts no such messages.
 * https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages
 */
export function translateMessages(
  list: Place,
  traits: ModelTraits,
  keptThinking: KeptThinking | undefined,
): Conversation {
  const { systemMessages } = traits;
  const system: TextBlock[][] = [];
  const turns: Turn[] = [];
  const allocateId = createIdAllocator();

  list.items((message, index) => {
    const role = message.object().at('role');
    switch (role.value) {
      case 'system':
      case 'developer': {
        const blocks = readBlocks(message, SYSTEM_PARTS);
        if (blocks.length > 0) addSystem(message, blocks);
        return;
      }
      case 'user': {
        const results: Result[] = [];
        const blocks = readBlocks(message, USER_PARTS, (part, type) => {
          return type === 'tool_result' && results.push(readNativeResult(part)) > 0;
        });
        if (blocks.length + results.length === 0) {
          message.note('dropped', WITHOUT_CONTENT);
          return;
        }
        const turn = userTurnFor(message);
        append(turn.results, results);
        append(turn.content, blocks);
        return;
      }
      case 'tool':
      case 'function':
        userTurnFor(message).results.push(readResult(message, role.value));
        return;
      case 'assistant':
        addAssistant(message, index);
        return;
      default:
        role.mustBe('system, developer, user, assistant, tool or function', 'invalid_value');
    }
  });

  if (turns.length === 0) append(turnOf('user').content, lastOf(system, list));
  for (const { results, content, system: said } of turns) {
    if (said.length === 0 || results.length + content.length > 0) continue;
    // A system message must follow a user message.
    content.push({ type: 'text', text: CLOSING });
    list.note('rewritten', 'a user turn was added');
  }
  // Older models continue a final assistant turn, and newer ones refuse it. In the chat format that
  // turn is history, and the model writes a new message.
  const closing = turns.at(-1)?.role === 'assistant' ? CLOSING : undefined;
  if (closing) sayForUser(closing, 'last');

  function turnOf(role: Turn['role']): Turn {
    const last = turns.at(-1);
    if (last?.role === role) return last;
    const turn: Turn = { role, results: [], thinking: [], content: [], calls: [], system: [] };
    turns.push(turn);
    return turn;
  }

  function userTurnFor(message: Place): Turn {
    const turn = turnOf('user');
    if (turn.system.length > 0) message.note('rewritten', 'sent before system');
    return turn;
  }

  function addSystem(message: Place, blocks: TextBlock[]): void {
    if (!turns.some(({ role }) => role === 'assistant')) {
      if (turns.length > 0) message.note('rewritten', 'sent first');
      system.push(blocks);
      return;
    }
    const turn = turnOf('user');
    if (systemMessages === 'anywhere') {
      append(turn.system, blocks);
      return;
    }
    message.note('rewritten', 'sent as user');
    for (const block of blocks) turn.content.push({ ...block, text: inUserTurn(block.text) });
  }

  function addAssistant(message: Place, index: number): void {
    const own = readThinking(message);
    let thinking = own;
    let unsigned = message.given('reasoning_content') ?? message.given('reasoning');
    const native: Call[] = [];
    const text = readAssistantText(message, {
      readOther(part, type) {
        if (isThinkingPart(type)) {
          const found = own ? undefined : readThinkingPart(part);
          if (found && thinking) append(thinking.blocks, found.blocks);
          else thinking ??= found;
          unsigned ??= part;
          return true;
        }
        const id = `call_${index}_native_${native.length}`;
        return type === 'tool_use' && native.push(readNativeCall(part, id, allocateId)) > 0;
      },
      // Some clients, such as openai-agents for JavaScript, write it there.
      readMembers(part) {
        thinking ??= readThinking(part);
      },
    });
    const calls = [...native, ...readCalls(message, index, allocateId)];
    if (unsigned?.value && !thinking?.blocks[0]) {
      const callId = stringOf(calls[0]?.place.at('id').value);
      thinking = restoreThinking(unsigned, callId, keptThinking);
    }
    finishReading(message, calls.at(-1)?.block ?? text.at(-1));
    // The upstream refuses a turn that is empty or holds only thinking.
    if (text.length === 0 && calls.length === 0) {
      message.note('dropped', WITHOUT_CONTENT);
      return;
    }
    if (turns.length === 0) sayForUser(OPENING, 'first');
    if (thinking && bindsPrefix(traits)) repeat(thinking.additions);
    const turn = turnOf('assistant');
    if (thinking) append(turn.thinking, thinking.blocks);
    append(turn.content, text);
    append(turn.calls, calls);
  }

  /** Adds what an earlier translation added before the answer that follows. */
  function repeat({ added_user: user, added_system: instruction }: Additions): void {
    const last = turns.at(-1);
    if (user && last?.role === 'assistant')
      turnOf('user').content.push({ type: 'text', text: user });
    if (instruction && turns.at(-1)?.role === 'user')
      turnOf('user').system.push({ type: 'text', text: instruction });
  }

  function sayForUser(text: string, where: 'first' | 'last'): void {
    turnOf('user').content.push({ type: 'text', text });
    list.note('rewritten', `a user turn was added ${where}`);
  }

  const calledTools = new Set<string>();
  for (const { calls } of turns) for (const { block } of calls) calledTools.add(block.name);
  return { system: system.flat(), messages: nativeTurns(turns), calledTools, closing };
}

function readBlocks<Type extends PartType>(
  message: Place,
  types: readonly Type[],
  readOther?: ReadOther,
) {
  const blocks = contentBlocks(message.given('content'), types, { readOther });
  finishReading(message, blocks.at(-1));
  return blocks;
}

function readAssistantText(message: Place, readers: PartReaders): TextBlock[] {
  const blocks = contentBlocks(message.given('content'), ASSISTANT_PARTS, readers);
  const refusal = message.given('refusal');
  const refused = refusal && textBlock(refusal);
  if (refused) blocks.push(refused);
  return blocks;
}

/** A chat that consists of system messages asks for an answer to the last one. */
function lastOf(system: TextBlock[][], list: Place): TextBlock[] {
  const blocks = system.pop() ?? list.refuse('at least one message must have content');
  list.note('rewritten', 'the last system message is sent as user');
  return blocks;
}

/** Marks the text of a system message within a user turn. */
export function inUserTurn(text: string): string {
  return `<system_message>\n${text}\n</system_message>`;
}

function nativeTurns(turns: readonly Turn[]): NativeMessage[] {
  let pending: readonly Call[] = [];
  return turns.flatMap(({ role, results, thinking, content, calls, system }): NativeMessage[] => {
    const answers = pairResults(pending, results);
    pending = calls;
    const said = [...answers, ...thinking, ...content, ...calls.map(({ block }) => block)];
    const turn: NativeMessage = { role, content: said };
    return system.length > 0 ? [turn, { role: 'system', content: system }] : [turn];
  });
}
