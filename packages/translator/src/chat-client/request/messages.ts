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
import { bindsPrefix } from './bound-thinking.js';
import { finishReading } from './cache-points.js';
import { readAnswer } from './answers.js';
import { readNativeResult, readResult, type Result } from './calls-and-results.js';
import {
  contentBlocks,
  type PartType,
  type ReadOther,
  SYSTEM_PARTS,
  USER_PARTS,
} from './content.js';
import { blocksOf, type NativeMessage, type TextBlock } from './native-request.js';
import type { KeptThinking } from './thinking.js';
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
        const { thoughts, additions, text, calls, ordered } = answer;
        // The upstream refuses a turn that is empty or holds only thinking.
        if (text.length === 0 && calls.length === 0) {
          message.note('dropped', WITHOUT_CONTENT);
          return;
        }
        const turn = turns.forAssistant(bindsPrefix(traits) ? additions : undefined);
        append(turn.calls, calls);
        if (ordered) append(turn.content, ordered);
        else {
          append(turn.thinking, blocksOf(thoughts));
          append(turn.content, text);
          append(turn.callsAtEnd, blocksOf(calls));
        }
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

function readBlocks<Type extends PartType>(
  message: Place,
  types: readonly Type[],
  readOther?: ReadOther,
) {
  const blocks = contentBlocks(message.given('content'), types, { readOther });
  finishReading(message, blocks.at(-1));
  return blocks;
}
