/** Translates the stop reason of a message to the reason why a response is incomplete. */

import { finishReason } from '../../chat-client/answer/finish-reason.js';

export type IncompleteReason = 'max_output_tokens' | 'content_filter';

/** Undefined for a complete message. An unknown stop reason counts as incomplete. */
export function incompleteReason(stopReason: string | undefined): IncompleteReason | undefined {
  switch (finishReason(stopReason, { hasCalls: false, legacyFunctions: false })) {
    case 'length':
      return 'max_output_tokens';
    case 'content_filter':
      return 'content_filter';
    default:
      return undefined;
  }
}
