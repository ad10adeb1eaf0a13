/** Makes the object of a response, in any state. */

import { chatServiceTier } from '../../chat-client/answer/service-tier.js';
import { unnamedReason } from '../../chat-client/answer/finish-reason.js';
import { codeOfError } from '../../wire/error-code.js';
import type { StreamError } from '../../wire/stream-pipe.js';
import { chatUsage, type Usage } from '../../wire/usage.js';
import type { ResponsesContext } from '../response-context.js';
import type { IncompleteReason } from './incomplete-reason.js';
import { responseId } from './output-items.js';
import type {
  IncompleteDetails,
  ResponseFailure,
  ResponseItem,
  ResponseUsage,
  WrittenResponse,
} from './response-object.js';

export interface TranslateMessageContext extends ResponsesContext {
  /** The `created_at` time of the response, in seconds since the epoch. */
  readonly created: number;
}

export interface ResponseFacts {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  readonly messageId: string | undefined;
  readonly output: ResponseItem[];
  readonly incompleteReason?: IncompleteReason | undefined;
  /** As the upstream reports it. */
  readonly stopReason?: string | undefined;
  readonly usage?: Usage | undefined;
  /** The tier that served the message, as the upstream reports it. */
  readonly serviceTier?: unknown;
  readonly error?: ResponseFailure | undefined;
}

/** The members have the order of OpenAI's own responses. */
export function writtenResponse(
  { model, created, settings }: TranslateMessageContext,
  {
    status,
    messageId,
    output,
    incompleteReason,
    stopReason,
    usage,
    serviceTier,
    error,
  }: ResponseFacts,
): WrittenResponse {
  return {
    id: responseId(messageId),
    object: 'response',
    created_at: created,
    status,
    background: false,
    error: error ?? null,
    incomplete_details: incompleteReason ? incompleteDetails(incompleteReason, stopReason) : null,
    model,
    output,
    ...settings,
    instructions: null,
    tools: [],
    previous_response_id: settings.previous_response_id ?? null,
    service_tier: chatServiceTier(serviceTier) ?? 'auto',
    store: settings.store ?? false,
    truncation: 'disabled',
    usage: usage ? responseUsage(usage) : null,
    access_programs: null,
  };
}

function incompleteDetails(
  reason: IncompleteReason,
  stopReason: string | undefined,
): IncompleteDetails {
  const native = unnamedReason(stopReason);
  return native === undefined ? { reason } : { reason, native_finish_reason: native };
}

/** The `usage` of a response. `input_tokens` counts the whole prompt, so that totals add up. */
export function responseUsage(input: Usage): ResponseUsage {
  const chat = chatUsage(input);
  return {
    input_tokens: chat.prompt_tokens,
    input_tokens_details: chat.prompt_tokens_details,
    output_tokens: chat.completion_tokens,
    output_tokens_details: chat.completion_tokens_details,
    total_tokens: chat.total_tokens,
  };
}

/**
 * The error of a failed response, with the code that an error response has. Codex acts on
 * `context_length_exceeded` only here. OpenAI sends such codes, too, but its SDK has types for few.
 */
export function responseError({ type, message }: StreamError): ResponseFailure {
  const code = codeOfError({ type, message });
  if (code) return { code: code as ResponseFailure['code'], message };
  switch (type) {
    case 'invalid_request_error':
    case 'request_too_large':
      return { code: 'invalid_prompt', message };
    default:
      return { code: 'server_error', message };
  }
}
