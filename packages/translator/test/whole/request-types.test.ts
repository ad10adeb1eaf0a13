/** Types that the compiler has to accept: most of these checks fail in `tsc`, not at run time. */

import type Anthropic from '@anthropic-ai/sdk';
import type Anthropic0 from 'anthropic-sdk-0';
import type OpenAI from 'openai';
import type OpenAI6 from 'openai-6';
import { describe, expect, it } from '@jest/globals';
import { REQUEST_FIELDS, STOP_REASONS } from '../../src/index.js';
import type { NativeRequest } from '../../src/chat-client/request/native-request.js';

type Accepts<Wide, Narrow extends Wide> = Narrow extends Wide ? true : never;

/** JSON text leaves out members that are undefined. */
type Written<Value> = Value extends object
  ? { [Key in keyof Value]: Written<Exclude<Value[Key], undefined>> }
  : Value;

/**
 * `stream` selects an overload in the SDK, so its type is not compared. Its name is checked below,
 * with the names of all members.
 */
type Body = Omit<Written<NativeRequest>, 'stream'>;
type Params = Anthropic.MessageCreateParamsNonStreaming;
type Params0 = Anthropic0.MessageCreateParamsNonStreaming;

const acceptedByCurrentSdk: Accepts<Params, Body> = true;
const acceptedByOlderSdk: Accepts<Params0, Body> = true;

/**
 * A `NativeRequest` may have only members that the SDK knows, because the upstream refuses unknown
 * members. The older SDK knows all of them. The current SDK lacks `temperature` and `top_p`,
 * because version 2026-10-21 of the API dropped them.
 */
const knownToCurrentSdk: Accepts<keyof Params | 'temperature' | 'top_p', keyof NativeRequest> =
  true;
const knownToOlderSdk: Accepts<keyof Params0, keyof NativeRequest> = true;

type ChatField = keyof OpenAI.ChatCompletionCreateParams;
const olderHasNoMoreFields: Accepts<ChatField, keyof OpenAI6.ChatCompletionCreateParams> = true;

/** Fails to compile when an SDK's request has a member that is not listed here. */
const CHAT_FIELDS: Record<ChatField, true> = {
  messages: true,
  model: true,
  audio: true,
  frequency_penalty: true,
  function_call: true,
  functions: true,
  logit_bias: true,
  logprobs: true,
  max_completion_tokens: true,
  max_tokens: true,
  metadata: true,
  modalities: true,
  moderation: true,
  n: true,
  parallel_tool_calls: true,
  prediction: true,
  presence_penalty: true,
  prompt_cache_key: true,
  prompt_cache_options: true,
  prompt_cache_retention: true,
  reasoning_effort: true,
  response_format: true,
  safety_identifier: true,
  seed: true,
  service_tier: true,
  stop: true,
  store: true,
  stream: true,
  stream_options: true,
  temperature: true,
  tool_choice: true,
  tools: true,
  top_logprobs: true,
  top_p: true,
  user: true,
  verbosity: true,
  web_search_options: true,
};

describe('the types of the SDKs of Anthropic and OpenAI', () => {
  it('accept each request that is produced, and know all its members, except `temperature` and `top_p` in the current Anthropic SDK', () => {
    expect([acceptedByCurrentSdk, acceptedByOlderSdk]).toEqual([true, true]);
    expect([knownToCurrentSdk, knownToOlderSdk, olderHasNoMoreFields]).toEqual([true, true, true]);
  });

  it('have no stop reason that is missing from STOP_REASONS', () => {
    const documented: readonly string[] = STOP_REASONS;
    const listed: Record<Anthropic.Beta.Messages.BetaStopReason, true> = {
      end_turn: true,
      max_tokens: true,
      stop_sequence: true,
      tool_use: true,
      pause_turn: true,
      compaction: true,
      refusal: true,
      model_context_window_exceeded: true,
    };
    expect(Object.keys(listed).toSorted()).toEqual(documented.toSorted());
  });

  it('have no member of a chat request that is missing from REQUEST_FIELDS', () => {
    for (const field of Object.keys(CHAT_FIELDS))
      expect([...REQUEST_FIELDS.keys()]).toContain(field);
  });
});
