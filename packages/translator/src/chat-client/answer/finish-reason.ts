/** Why a message ended, in the words of the chat format. */

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'function_call';

/**
 * Every stop reason of the Anthropic SDK 1.11.0 (`StopReason`, `BetaStopReason`); values that a later
 * version adds count as `stop`, or as calls when the message holds calls.
 */
export function finishReason(
  stopReason: string | undefined,
  message: { readonly hasCalls: boolean; readonly legacyFunctions: boolean },
): FinishReason {
  switch (stopReason) {
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return 'length';
    case 'refusal':
      return 'content_filter';
    default:
      if (!message.hasCalls) return 'stop';
      return message.legacyFunctions ? 'function_call' : 'tool_calls';
  }
}
