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
import { stringOf } from '../../wire/raw-json.js';
import { bindsPrefix } from './bound-thinking.js';
import { finishReading } from './cache-points.js';
import {
  type Call,
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
import type { NativeMessage, TextBlock } from './native-request.js';
import {
  isThinkingPart,
  type KeptThinking,
  readThinking,
  readThinkingPart,
  restoreThinking,
} from './thinking.js';
import type { ModelTraits } from './traits.js';
import { Turns } from './turns.js';

export interface Conversation {
  readonly system: TextBlock[];
  readonly messages: NativeMessage[];
  /** The names of all tools that past turns called, in order of first use. */
  readonly calledTools: ReadonlySet<string>;
  /** The text of the user turn at the end, if the translation added one. */
  readonly closing?: string | undefined;
}

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
  const turns = new Turns(list);
  const allocateId = createIdAllocator();

  list.items((message, index) => {
    const role = message.object().at('role');
    switch (role.value) {
      case 'system':
      case 'developer': {
        const blocks = readBlocks(message, SYSTEM_PARTS);
        if (blocks.length > 0)
          turns.addSystem(message, blocks, traits.systemMessages === 'anywhere');
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
        const turn = turns.forUser(message);
        append(turn.results, results);
        append(turn.content, blocks);
        return;
      }
      case 'tool':
      case 'function':
        turns.forUser(message).results.push(readResult(message, role.value));
        return;
      case 'assistant': {
        const answer = readAnswer(message, { index, allocateId, keptThinking });
        const { thinking, text, calls } = answer;
        // The upstream refuses a turn that is empty or holds only thinking.
        if (text.length === 0 && calls.length === 0) {
          message.note('dropped', WITHOUT_CONTENT);
          return;
        }
        const turn = turns.forAssistant(bindsPrefix(traits) ? thinking?.additions : undefined);
        if (thinking) append(turn.thinking, thinking.blocks);
        append(turn.content, text);
        append(turn.calls, calls);
        return;
      }
      default:
        role.mustBe('system, developer, user, assistant, tool or function', 'invalid_value');
    }
  });

  const closing = turns.close();
  return {
    system: turns.system(),
    messages: turns.messages(),
    calledTools: turns.calledTools(),
    closing,
  };
}

function readAnswer(
  message: Place,
  {
    index,
    allocateId,
    keptThinking,
  }: {
    readonly index: number;
    readonly allocateId: ReturnType<typeof createIdAllocator>;
    readonly keptThinking: KeptThinking | undefined;
  },
) {
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
  return { thinking, text, calls };
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
