/** Runs the vectors in `vectors/responses/request`. */

import { describe, expect, it } from '@jest/globals';
import type Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import {
  cacheEveryRequest,
  webSearch,
  RESPONSES_FIELDS,
  translateResponsesRequest,
  translateTokenCount,
  translateTokenCountRequest,
  type ModelTraits,
} from '../../src/index.js';
import { IN_PIECES } from '../in-pieces.js';
import { titled } from '../titled.js';
import { vectorsIn } from '../vector-files.js';

interface Vector {
  readonly why: string;
  readonly source: string;
  /** One of {@link TRAITS}; `classic` when absent. */
  readonly traits?: string;
  /** Whether the translation sends the client's end user upstream, as an opaque id. */
  readonly endUserId?: boolean;
  /** Whether cache points are added. */
  readonly cache?: boolean;
  /** Whether the model may search the web, at most three times. */
  readonly search?: boolean;
  readonly request: unknown;
  /** The expected body, its keys in order. */
  readonly native?: unknown;
  /** Parts of the body's text, if its exact bytes matter. */
  readonly contains?: readonly string[];
  /** Path and reason of every expected note. */
  readonly notes?: readonly { readonly path: string; readonly reason: string }[];
  readonly stream?: boolean;
  /** Tools whose calls are returned to the client under another name or as another type. */
  readonly renamed?: Readonly<Record<string, object>>;
  /** Some of the settings that the response repeats. */
  readonly settings?: object;
  readonly refused?: {
    readonly param: string | null;
    readonly code: string;
    readonly message?: string;
  };
}

const TRAITS: Readonly<Record<string, ModelTraits>> = {
  classic: {
    sampling: 'accepted',
    forcedToolChoice: 'accepted',
    effort: ['low', 'medium', 'high'],
    thinkingOff: 'omit',
    structuredOutputs: 'accepted',
  },
  prompted: {
    sampling: 'accepted',
    forcedToolChoice: 'accepted',
    effort: [],
    thinkingOff: 'omit',
  },
  adaptive: {
    sampling: 'accepted',
    forcedToolChoice: 'accepted',
    effort: ['low', 'medium', 'high', 'max'],
    thinkingOff: 'omit',
    thinkingOn: 'adaptive',
    systemMessages: 'anywhere',
  },
  current: {
    sampling: 'refused',
    forcedToolChoice: 'refused',
    effort: ['low', 'medium', 'high', 'xhigh', 'max'],
    thinkingOff: 'never',
    thinkingOn: 'default',
  },
  switchable: {
    sampling: 'refused',
    forcedToolChoice: 'accepted',
    effort: ['low', 'medium', 'high', 'xhigh', 'max'],
    thinkingOff: 'disabled',
    thinkingOn: 'default',
  },
};

describe('translateResponsesRequest, with vectors', () => {
  it.each(titled(vectorsIn<Vector>('vectors/responses/request')))('%s', (_title, vector) => {
    check(vector);
  });
});

function check(vector: Vector): void {
  const traits = TRAITS[vector.traits ?? 'classic'];
  if (traits === undefined) throw new Error(`unknown traits ${String(vector.traits)}`);
  expect(vector.source).toEqual(expect.any(String));
  const before = JSON.stringify(vector.request);
  const options = {
    model: 'claude-test',
    traits,
    maxOutputTokens: 8192,
    cache: vector.cache === true ? cacheEveryRequest : undefined,
    webSearch: vector.search === true ? webSearch({ maxUses: 3 }) : undefined,
    ...(vector.endUserId === true ? { endUserId: (value: string) => `opaque(${value})` } : {}),
  };
  const result = translateResponsesRequest(vector.request, options);
  expect(translateResponsesRequest(vector.request, { ...options, ...IN_PIECES })).toEqual(result);
  expect(JSON.stringify(vector.request)).toBe(before);
  expectSameInput(
    translateTokenCountRequest(vector.request, options),
    translateResponsesRequest(vector.request, { ...options, cache: undefined }),
  );

  if (vector.refused) {
    const { message = '', ...rest } = vector.refused;
    expect(result).toMatchObject({ outcome: 'refused', problem: rest });
    if (result.outcome === 'refused') expect(result.problem.message).toContain(message);
    return;
  }
  if (result.outcome === 'refused') throw new Error(JSON.stringify(result.problem));
  const body: unknown = JSON.parse(result.body);
  expect(body).toEqual(vector.native);
  expect(JSON.stringify(body)).toBe(JSON.stringify(vector.native));
  for (const piece of vector.contains ?? []) expect(result.body).toContain(piece);
  expect(result.notes.map(({ path, reason }) => ({ path, reason }))).toEqual(vector.notes ?? []);
  expect(result.stream).toBe(vector.stream ?? false);
  expect(result.response.model).toBe('my-model');
  expect(result.response.showsSearches ?? false).toBe(result.body.includes('"web_search_2'));
  expect(Object.fromEntries(result.response.tools)).toEqual(vector.renamed ?? {});
  expect(result.response.settings).toMatchObject(vector.settings ?? {});
}

/** The upstream's count takes these members: `MessageCountTokensParams`. */
const COUNTED = new Set<string>([
  ...(['model', 'tools', 'system', 'messages', 'tool_choice'] as const),
  ...(['output_config', 'thinking', 'cache_control'] as const),
] satisfies (keyof Anthropic.MessageCountTokensParams)[]);

/** A count is asked for what the request itself would send, and for the same reasons refused. */
function expectSameInput(
  count: ReturnType<typeof translateTokenCountRequest>,
  request: ReturnType<typeof translateResponsesRequest>,
): void {
  if (request.outcome === 'refused' || count.outcome === 'refused') {
    expect(count).toEqual(request);
    return;
  }
  const native = Object.entries(JSON.parse(request.body) as object);
  const counted = Object.fromEntries(native.filter(([name]) => COUNTED.has(name)));
  expect(JSON.parse(count.body)).toEqual(counted);
  expect(count).toMatchObject({ betas: request.betas, notes: request.notes });
}

describe('translateTokenCount', () => {
  it.each([
    ['{"input_tokens":7}', 7],
    ['{"context_management":{"original_input_tokens":9},"input_tokens":0}', 0],
  ])('writes %s as the count %i', (native, input_tokens) => {
    const body = JSON.stringify({ object: 'response.input_tokens', input_tokens });
    const expected = { outcome: 'translated', body };
    expect(translateTokenCount(native)).toEqual(expected);
    expect(translateTokenCount(Buffer.from(native))).toEqual(expected);
  });

  it.each(['', '[]', '{}', '{"input_tokens":"7"}', '{"input_tokens":-1}', '{"input_tokens":1.5}'])(
    'calls %j malformed',
    (native) => {
      expect(translateTokenCount(native)).toMatchObject({ outcome: 'malformed' });
    },
  );
});

/** Fails to compile when the SDK's request has a member that is not listed here. */
const FIELDS: Record<keyof OpenAI.Responses.ResponseCreateParams, true> = {
  access_programs: true,
  background: true,
  background_options: true,
  context_management: true,
  conversation: true,
  image: true,
  include: true,
  input: true,
  instructions: true,
  max_output_tokens: true,
  max_tool_calls: true,
  metadata: true,
  model: true,
  moderation: true,
  parallel_tool_calls: true,
  previous_response_id: true,
  prompt: true,
  prompt_cache_key: true,
  prompt_cache_options: true,
  prompt_cache_retention: true,
  reasoning: true,
  safety_identifier: true,
  service_tier: true,
  store: true,
  stream: true,
  stream_options: true,
  temperature: true,
  text: true,
  tool_choice: true,
  tools: true,
  top_logprobs: true,
  top_p: true,
  truncation: true,
  user: true,
};

describe('RESPONSES_FIELDS', () => {
  const translated = (field: string, value: unknown) =>
    translateResponsesRequest(
      { model: 'm', input: 'Hi', [field]: value },
      { model: 'claude-test', traits: TRAITS['classic']!, maxOutputTokens: 8192 },
    );

  it('describes each member of a request, and cache_control', () => {
    expect([...RESPONSES_FIELDS.keys()].toSorted()).toEqual(
      [...Object.keys(FIELDS), 'cache_control'].toSorted(),
    );
  });

  it.each([...RESPONSES_FIELDS])('describes %s correctly', (name, field) => {
    const noted = { path: name, reason: 'ignored', detail: 'no upstream equivalent' };
    const result = translated(name, 'odd');
    if (field.fate === 'mapped') {
      // A mapped member is read, even if its value is unusual.
      if (result.outcome === 'refused') expect(result.problem.param).toContain(name);
      else expect(result.notes).not.toContainEqual(noted);
      return;
    }
    expect(result).toMatchObject({ outcome: 'translated', notes: [noted] });
    for (const json of field.neutral) {
      expect(translated(name, JSON.parse(json))).toMatchObject({ notes: [] });
    }
  });
});
