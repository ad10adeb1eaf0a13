/** The types of the reverse direction. One that does not fit the SDKs is an error in `tsc`. */

import type Anthropic from '@anthropic-ai/sdk';
import type Anthropic0 from 'anthropic-sdk-0';
import type OpenAI from 'openai';
import type OpenAI6 from 'openai-6';
import { describe, expect, it } from '@jest/globals';
import {
  ERROR_STATUS,
  MESSAGE_FIELDS,
  type BlockDelta,
  type DeltaUsage,
  type NativeBlock,
  type NativeErrorType,
  type NativeEvent,
  type NativeMessage,
  type NativeUsage,
  type StopReason,
} from '../../src/reverse/index.js';
import type { ChatMessage, ChatRequest } from '../../src/reverse/request/chat-request.js';

type Accepts<Wide, Narrow extends Wide> = Narrow extends Wide ? true : never;

/** The SDKs know every member except `cache_control`, which is sent only if `ChatTraits` say so. */
const knownToOpenAI: Accepts<
  keyof OpenAI.ChatCompletionCreateParams | 'cache_control',
  keyof ChatRequest
> = true;
const knownToOlderOpenAI: Accepts<
  keyof OpenAI6.ChatCompletionCreateParams | 'cache_control',
  keyof ChatRequest
> = true;
/**
 * Tool results may hold images if a trait allows it, but the SDK's type of a tool message allows
 * none, so these messages are not compared.
 */
const messages: Accepts<
  OpenAI.ChatCompletionMessageParam,
  Exclude<ChatMessage, { readonly role: 'tool' }>
> = true;
const olderMessages: Accepts<
  OpenAI6.ChatCompletionMessageParam,
  Exclude<ChatMessage, { readonly role: 'tool' }>
> = true;

const message: Accepts<Anthropic.Message, NativeMessage> = true;
const olderBlocks: Accepts<Anthropic0.ContentBlock, NativeBlock> = true;
const events: Accepts<
  Anthropic.RawMessageStreamEvent,
  Exclude<NativeEvent, { type: 'ping' | 'error' }>
> = true;
const deltas: Accepts<Anthropic.RawContentBlockDelta, BlockDelta> = true;
const stopReasons: Accepts<Anthropic.StopReason, StopReason> = true;
const messageMembers: Accepts<keyof NativeMessage, keyof Anthropic.Message> = true;
const usageMembers: Accepts<keyof NativeUsage, keyof Anthropic.Usage> = true;
const deltaMembers: Accepts<keyof DeltaUsage, keyof Anthropic.MessageDeltaUsage> = true;
const errorTypes: Accepts<NativeErrorType, Exclude<Anthropic.ErrorType, `memory_${string}`>> = true;

type NativeField =
  | keyof Anthropic.MessageCreateParams
  | keyof Anthropic0.MessageCreateParams
  | keyof Anthropic.Beta.Messages.MessageCreateParams;

/** Members of the SDKs' parameters that are sent as headers. */
type HeaderField = 'betas' | 'workspace_id' | 'user_profile_id';

/** Fails to compile when an SDK's request has a member that is not listed here. */
const FIELDS: Record<Exclude<NativeField, HeaderField>, true> = {
  model: true,
  max_tokens: true,
  messages: true,
  system: true,
  tools: true,
  tool_choice: true,
  stop_sequences: true,
  temperature: true,
  top_p: true,
  top_k: true,
  thinking: true,
  output_config: true,
  metadata: true,
  cache_control: true,
  stream: true,
  service_tier: true,
  speed: true,
  inference_geo: true,
  container: true,
  diagnostics: true,
  context_management: true,
  compaction: true,
  mcp_servers: true,
  fallbacks: true,
  fallback_credit_token: true,
  billing_policy: true,
  output_format: true,
  thread: true,
};

describe('the types of the translation to the chat format', () => {
  it('fit those of the SDKs of Anthropic and OpenAI', () => {
    const all = [knownToOpenAI, knownToOlderOpenAI, messages, olderMessages, message, events];
    const rest = [olderBlocks, deltas, stopReasons, messageMembers, usageMembers, deltaMembers];
    expect([...all, ...rest, errorTypes]).not.toContain(false);
  });
});

it('MESSAGE_FIELDS has each member of the requests of the SDKs that is not sent as a header', () => {
  expect([...MESSAGE_FIELDS.keys()].sort()).toEqual(Object.keys(FIELDS).sort());
});

it('ERROR_STATUS has a different status for each error type', () => {
  expect(new Set(Object.values(ERROR_STATUS)).size).toBe(Object.keys(ERROR_STATUS).length);
});
