/**
 * Puts the thinking of an answer back where it stood among the text and the calls. The upstream
 * refuses a request whose last answer has its thinking in part or in another order, so the thinking
 * that does not fit is left out as a whole.
 * https://platform.claude.com/docs/en/build-with-claude/extended-thinking#preserving-thinking-blocks
 */

import { hasText } from './content.js';
import { type Block, isThinking, type TextBlock } from './native-request.js';
import type { Thought } from './thinking.js';
import type { LaidBlock } from '../../wire/answer-layout.js';
import type { Extent } from '../../wire/extent.js';
import { append } from '../../wire/lists.js';

export interface Arrangement {
  readonly thoughts: readonly Thought[];
  /** What the whole answer had. */
  readonly whole: Extent;
  /** The text of the answer, white space included. */
  readonly texts: readonly TextBlock[];
  readonly calls: readonly Block[];
}

/** The blocks of the answer in their order; undefined if the thinking no longer fits. */
export function arranged({ thoughts, whole, texts, calls }: Arrangement): Block[] | undefined {
  const length = texts.reduce((sum, { text }) => sum + text.length, 0);
  if (whole.thinking !== thoughts.length) return undefined;
  const { text, calls: before } = thoughts.at(-1)?.before ?? whole;
  const isFirst = text + before === 0;
  // A client may edit what follows all thinking.
  const end = isFirst ? { ...whole, text: length, calls: calls.length } : whole;
  if (end.text !== length || end.calls !== calls.length) return undefined;
  const blocks: Block[] = [];
  const takeText = textTaker(texts);
  let said: Extent = { thinking: 0, text: 0, calls: 0 };
  /** Adds the text and then the calls up to this place. @returns false if they are before it */
  function goTo(place: Extent): boolean {
    const [text, count] = [place.text - said.text, place.calls - said.calls];
    // Members that are missing make it false, too.
    if (!(text >= 0 && count >= 0 && place.text <= length && place.calls <= calls.length)) {
      return false;
    }
    append(blocks, takeText(text));
    append(blocks, calls.slice(said.calls, place.calls));
    said = place;
    return true;
  }
  for (const [index, { block, before = said }] of thoughts.entries()) {
    if ((before.thinking ?? 0) !== index || before.searches || !goTo(before)) return undefined;
    blocks.push(block);
    said = { ...said, thinking: index + 1 };
  }
  // The upstream refuses an answer that ends with thinking.
  const count = blocks.length;
  return goTo(end) && blocks.length > count ? blocks : undefined;
}

/** The blocks of an answer that searched; undefined if its text or its calls have changed. */
export function laidOut(
  layout: readonly LaidBlock[],
  { texts, calls }: Pick<Arrangement, 'texts' | 'calls'>,
): Block[] | undefined {
  const length = texts.reduce((sum, { text }) => sum + text.length, 0);
  const blocks: Block[] = [];
  const takeText = textTaker(texts);
  let [said, called] = [0, 0];
  for (const block of layout) {
    if (block.type === 'tool_use') append(blocks, calls.slice(called, (called += 1)));
    else if (block.type === 'text') {
      const { from, to, citations } = block;
      if (!(said <= from && from <= to && to <= length)) return undefined;
      // What the translation wrote to part the texts.
      takeText(from - said);
      for (const text of takeText(to - from))
        blocks.push({ ...text, ...(citations && { citations }) });
      said = to;
    } else blocks.push(block);
  }
  const end = blocks.at(-1);
  return said === length && called === calls.length && end && !isThinking(end) ? blocks : undefined;
}

/** Takes the next code units of a text. A cache point stays at the end of its block. */
function textTaker(texts: readonly TextBlock[]): (length: number) => TextBlock[] {
  let at = 0;
  let from = 0;
  return (length) => {
    const pieces: TextBlock[] = [];
    for (let left = length; left > 0;) {
      const block = texts[at];
      if (!block) break;
      const text = block.text.slice(from, from + left);
      const isEnd = from + text.length === block.text.length;
      if (hasText(text)) pieces.push(isEnd ? { ...block, text } : { type: 'text', text });
      left -= text.length;
      from = isEnd ? 0 : from + text.length;
      if (isEnd) at += 1;
    }
    return pieces;
  };
}
