/** Translates the stop reason of a message to a finish reason of the chat format. */

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'function_call';

/**
 * The finish reason of a message that is complete. A stop reason without a case here, such as
 * `pause_turn` or one that a later version adds, is `length`: a client that took an unfinished
 * answer for a finished one would not notice what it lacks.
 */
export function finishReason(
  stopReason: string | undefined,
  message: { readonly hasCalls: boolean; readonly legacyFunctions: boolean },
): FinishReason {
  switch (stopReason) {
    case undefined:
    case 'end_turn':
    case 'stop_sequence':
    case 'tool_use':
      if (!message.hasCalls) return 'stop';
      return message.legacyFunctions ? 'function_call' : 'tool_calls';
    case 'refusal':
      return 'content_filter';
    default:
      return 'length';
  }
}

/** Reasons for which `length` is the right word. */
const AT_A_LIMIT = ['max_tokens', 'model_context_window_exceeded'];
/** The form of the upstream's reasons. Other texts are not passed on. */
const REASON = /^[a-z][a-z0-9_]{0,63}$/;

/** The stop reason of an unfinished message, if the client's format has no word for it. */
export function unnamedReason(stopReason: string | undefined): string | undefined {
  if (stopReason === undefined || AT_A_LIMIT.includes(stopReason)) return undefined;
  const isUnnamed =
    finishReason(stopReason, { hasCalls: false, legacyFunctions: false }) === 'length';
  return isUnnamed && REASON.test(stopReason) ? stopReason : undefined;
}
