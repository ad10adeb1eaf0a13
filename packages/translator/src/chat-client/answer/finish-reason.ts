/** Translates the stop reason of a message to a finish reason of the chat format. */

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'function_call';

/**
 * A stop reason without a case here counts as `stop`, or as calls if the message has calls. That is
 * right for each one of the Anthropic SDK in `package.json` (`StopReason`, `BetaStopReason`), and
 * is assumed of those that later versions add.
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
