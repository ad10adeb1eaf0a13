/** Reads an assistant message: its thinking, its text and its calls. */

import type { Place } from '../../reading/place.js';
import type { createIdAllocator } from '../../reading/tool-ids.js';
import { append, listOf } from '../../wire/lists.js';
import { stringOf } from '../../wire/raw-json.js';
import type { Additions } from '../../wire/additions.js';
import { finishReading } from './cache-points.js';
import { type Call, readCalls, readNativeCall } from './calls-and-results.js';
import { ASSISTANT_PARTS, contentBlocks, textBlock } from './content.js';
import { type Block, blocksOf, isThinking, type TextBlock } from './native-request.js';
import { arranged, laidOut } from './thinking-places.js';
import {
  isThinkingPart,
  type KeptThinking,
  readThinking,
  readThinkingPart,
  restoreThinking,
  type Thinking,
  type Thought,
} from './thinking.js';

export interface Answer {
  readonly thoughts: readonly Thought[];
  /** What an earlier translation added before the answer. */
  readonly additions: Additions | undefined;
  readonly text: readonly TextBlock[];
  readonly calls: readonly Call[];
  /** All blocks in their order, if thinking stands between them. Otherwise it comes first. */
  readonly ordered: readonly Block[] | undefined;
}

export interface AnswerOptions {
  /** The number of the message. */
  readonly index: number;
  readonly allocateId: ReturnType<typeof createIdAllocator>;
  readonly keptThinking: KeptThinking | undefined;
}

export function readAnswer(
  message: Place,
  { index, allocateId, keptThinking }: AnswerOptions,
): Answer {
  const own = readThinking(message);
  // The annotations show the citations that the layout has.
  if (own?.layout) message.at('annotations');
  let thinking = own;
  let inParts = false;
  let unsigned = message.given('reasoning_content') ?? message.given('reasoning');
  const native: Call[] = [];
  /** What the parts of the content become, in their order. */
  const parts: Block[] = [];
  const content = message.given('content');
  const said = contentBlocks(content, ASSISTANT_PARTS, {
    readOther(part, type) {
      if (isThinkingPart(type)) {
        const found = own ? undefined : readThinkingPart(part);
        if (found) append(parts, blocksOf(found.thoughts));
        if (found && thinking) append(thinking.thoughts, found.thoughts);
        else if (found) [thinking, inParts] = [found, true];
        unsigned ??= part;
        return true;
      }
      if (type !== 'tool_use') return false;
      const call = readNativeCall(part, `call_${index}_native_${native.length}`, allocateId);
      native.push(call);
      parts.push(call.block);
      return true;
    },
    readMembers(part, block) {
      if (block) parts.push(block);
      // Some clients, such as openai-agents for JavaScript, write it there.
      thinking ??= readThinking(part);
    },
  });
  const refusal = message.given('refusal');
  const refused = listOf(refusal && textBlock(refusal));
  const text = [...said, ...refused];
  const others = readCalls(message, index, allocateId);
  const calls = [...native, ...others];
  if (unsigned?.value && !thinking?.thoughts[0] && !thinking?.whole && !thinking?.layout) {
    const callId = stringOf(calls[0]?.place.at('id').value);
    thinking = restoreThinking(unsigned, callId, keptThinking);
  }
  finishReading(message, calls.at(-1)?.block ?? text.at(-1));
  const read = { additions: thinking?.additions, thoughts: thinking?.thoughts ?? [], text, calls };
  if (!thinking) return { ...read, ordered: undefined };
  if (thinking.layout) {
    const blocks =
      native.length === 0
        ? searched(thinking, { texts: withSpace(said, content), calls: blocksOf(calls), refused })
        : undefined;
    if (blocks) return { ...read, ordered: blocks };
    thinking.place.note('dropped', 'the search of this answer is not as it was sent');
  }
  const ordered = inParts
    ? inOrderOfParts(parts, [...refused, ...blocksOf(others)])
    : inPlaces(thinking, { texts: withSpace(said, content), calls: blocksOf(calls), refused });
  if (ordered === 'thinking first') return { ...read, ordered: undefined };
  if (ordered) return { ...read, ordered };
  thinking.place.note('dropped', 'not the whole thinking of its answer, or not in its place');
  return { ...read, thoughts: [], ordered: undefined };
}

type Order = Block[] | 'thinking first' | undefined;

function inOrderOfParts(parts: readonly Block[], rest: readonly Block[]): Order {
  const first = parts.findIndex((block) => !isThinking(block));
  const later = parts.slice(first + 1).filter(isThinking).length;
  if (first === -1 || later === 0) return 'thinking first';
  const blocks = [...parts, ...rest];
  const end = blocks.at(-1);
  if (!end || !isThinking(end)) return blocks;
  // No answer ends with thinking. A client that writes it last has it from the beginning.
  return first + later === 1 ? 'thinking first' : undefined;
}

interface AnswerBlocks {
  readonly texts: readonly TextBlock[];
  readonly calls: readonly Block[];
  readonly refused: readonly Block[];
}

/** An answer that searched. */
function searched(
  { layout }: Thinking,
  { texts, calls, refused }: AnswerBlocks,
): readonly Block[] | undefined {
  const blocks = layout && layout !== 'torn' ? laidOut(layout, { texts, calls }) : undefined;
  return blocks && [...blocks, ...refused];
}

/** Several blocks without places come from elsewhere. Answers of most models begin with them. */
function inPlaces(
  { thoughts, whole, startsLate }: Thinking,
  { texts, calls, refused }: AnswerBlocks,
): Order {
  if (!whole && !startsLate && thoughts.every(({ before }) => !before)) return 'thinking first';
  const blocks = whole && arranged({ thoughts, whole, texts, calls });
  return blocks && [...blocks, ...refused];
}

/** The text, white space included, although no block of only white space is sent. */
function withSpace(text: readonly TextBlock[], content: Place | undefined): readonly TextBlock[] {
  const value = content?.value;
  return text.length === 0 && typeof value === 'string' ? [{ type: 'text', text: value }] : text;
}
