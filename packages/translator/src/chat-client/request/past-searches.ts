/** Leaves searches of past answers out of a request that offers no search. */

import type { Place } from '../../reading/place.js';
import { type Block, isServerBlock, isThinking, type NativeMessage } from './native-request.js';

/**
 * The upstream takes the blocks of its own tools only beside the tool. Without them, citations name
 * nothing, and the upstream accepts the thinking of an answer only with the search between it.
 *
 * @param conversation - The messages or items, for the note.
 */
export function leaveOutSearches(messages: readonly NativeMessage[], conversation: Place): void {
  for (const message of messages) {
    if (message.role !== 'assistant') continue;
    withoutCitations(message.content);
    if (!message.content.some(isServerBlock)) continue;
    const torn = isTorn(message.content);
    const kept = message.content.filter(
      (block) => !isServerBlock(block) && !(torn && isThinking(block)),
    );
    // An answer cannot be empty.
    message.content = kept.length > 0 ? kept : [{ type: 'text', text: '(a search)' }];
  }
  conversation.note('dropped', 'past searches are not sent without the tool');
}

/** Whether thinking follows a search. */
function isTorn(blocks: readonly Block[]): boolean {
  return blocks.slice(blocks.findIndex(isServerBlock)).some(isThinking);
}

function withoutCitations(blocks: readonly Block[]): void {
  for (const block of blocks) if (block.type === 'text') delete block.citations;
}
