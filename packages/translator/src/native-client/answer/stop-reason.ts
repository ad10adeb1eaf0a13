/** Translates the ending of a chat completion to a native stop reason. */

import type { MessageContext } from '../message-context.js';
import type { StopMembers, StopReason } from './message.js';

export interface ChatEnding {
  readonly finishReason: unknown;
  /**
   * The stop string that matched, as vLLM reports it:
   * https://github.com/vllm-project/vllm/pull/2976
   */
  readonly matchedStop: unknown;
  /** The text of `message.refusal`; empty when there was none. */
  readonly refusal: string;
  readonly hasCalls: boolean;
}

/**
 * The chat format uses `stop` both for an end of turn and for a stop sequence, so `stop` becomes
 * `end_turn` unless the upstream names the sequence. Unknown reasons count as `stop`. A message
 * with calls ends with `tool_use` after any of these, so that the client answers the calls.
 */
export function stopMembers(ending: ChatEnding, { stopSequences }: MessageContext): StopMembers {
  const { finishReason, matchedStop, refusal } = ending;
  if (refusal !== '' || finishReason === 'content_filter') {
    const explanation = refusal === '' ? null : refusal;
    const details = { type: 'refusal', category: null, explanation } as const;
    return { stop_reason: 'refusal', stop_sequence: null, stop_details: details };
  }
  if (finishReason === 'length') return reasonOnly('max_tokens');
  if (ending.hasCalls) return reasonOnly('tool_use');
  const sequence = stopSequences.find((candidate) => candidate === matchedStop);
  if (sequence === undefined) return reasonOnly('end_turn');
  return { stop_reason: 'stop_sequence', stop_sequence: sequence, stop_details: null };
}

function reasonOnly(reason: StopReason): StopMembers {
  return { stop_reason: reason, stop_sequence: null, stop_details: null };
}
