/**
 * Where thinking stands in its answer. The upstream accepts the thinking of an answer only complete
 * and in its order, but a chat message has its thinking in a list of its own, beside the text and
 * the calls. So the blocks carry their places: clients send them back unchanged, as they do with
 * {@link Additions}.
 * https://platform.claude.com/docs/en/build-with-claude/extended-thinking#preserving-thinking-blocks
 */

import type { LaidBlock } from './answer-layout.js';

/** How much of an answer there is: before one of its thinking blocks, or as a whole. */
export interface Extent {
  /** Signed thinking blocks. */
  readonly thinking: number;
  /** Code units of text. */
  readonly text: number;
  readonly calls: number;
  /** Searches of the upstream since the first thinking block. No chat message has them. */
  readonly searches?: number | undefined;
}

/** Members of a thinking block. A block that an answer begins with, and no other, has neither. */
export interface Placement {
  /** What the answer has before the block. Absent if the block is the first of the answer. */
  readonly preceded_by?: Extent | undefined;
  /** In the first block, if another one has a place: what the whole answer has. */
  readonly answer_has?: Extent | undefined;
  /** In a block without content: the blocks of an answer that searched. */
  readonly answer_blocks?: readonly LaidBlock[] | undefined;
}
