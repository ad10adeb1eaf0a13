/** Translates the ending of a chat completion to a native stop reason. */

import { type JsonObject, stringOf } from '../../wire/raw-json.js';
import type { StreamError } from '../../wire/stream-pipe.js';
import type { MessageContext } from '../context/message-context.js';
import type { NativeErrorType } from './errors.js';
import type { StopMembers, StopReason } from './message.js';

export interface ChatEnding {
  /** Undefined if the upstream gave none. */
  readonly finishReason: string | undefined;
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
 * Reads the `finish_reason` of a choice. Chunks before the last have null there, or with some
 * servers an empty text (https://github.com/ollama/ollama/issues/4357) or the text `null`.
 */
export function finishReasonOf(choice: JsonObject): string | undefined {
  const reason = stringOf(choice['finish_reason']);
  return reason === '' || reason === 'null' ? undefined : reason;
}

/**
 * Finish reasons with which servers say that they failed: Mistral `error`, DeepSeek
 * `insufficient_system_resource`, vLLM and SGLang `abort`
 * (https://github.com/vllm-project/vllm/issues/57082).
 */
const FAILURES: Readonly<Record<string, NativeErrorType>> = {
  error: 'api_error',
  abort: 'api_error',
  insufficient_system_resource: 'overloaded_error',
};

/** The error that a finish reason stands for; undefined for all reasons but {@link FAILURES}. */
export function finishError(finishReason: string | undefined): StreamError | undefined {
  if (finishReason === undefined || !Object.hasOwn(FAILURES, finishReason)) return undefined;
  return {
    type: FAILURES[finishReason] ?? 'api_error',
    message: `The upstream ended the message with the finish reason ${finishReason}.`,
  };
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
  // Mistral says `model_length` when the context window is full.
  if (finishReason === 'length' || finishReason === 'model_length') return reasonOnly('max_tokens');
  if (ending.hasCalls) return reasonOnly('tool_use');
  const sequence = stopSequences.find((candidate) => candidate === matchedStop);
  if (sequence === undefined) return reasonOnly('end_turn');
  return { stop_reason: 'stop_sequence', stop_sequence: sequence, stop_details: null };
}

function reasonOnly(reason: StopReason): StopMembers {
  return { stop_reason: reason, stop_sequence: null, stop_details: null };
}
