/** Runs the vectors in `vectors/request`. */

import { describe, expect, it } from '@jest/globals';
import {
  cacheEveryRequest,
  nativeSchemas,
  webSearch,
  translateRequest,
  type ModelTraits,
  type ReasoningForm,
} from '../../src/index.js';
import { toolsOf, type VectorTools } from '../called-as.js';
import { IN_PIECES } from '../in-pieces.js';
import { titled } from '../titled.js';
import { vectorsIn } from '../vector-files.js';

interface Vector extends VectorTools {
  readonly why: string;
  readonly source: string;
  /** One of {@link TRAITS}; `classic` when absent. */
  readonly traits?: string;
  /** Whether the translation sends the client's end user upstream, as an opaque id. */
  readonly endUserId?: boolean;
  /** The features of `@gateway/translator/features` that are turned on. */
  readonly features?: readonly ('cache' | 'schemas' | 'search')[];
  readonly reasoning?: ReasoningForm;
  readonly chat: unknown;
  /** The expected body, its keys in order. */
  readonly native?: unknown;
  /** Parts of the body's text, if its exact bytes matter. */
  readonly contains?: readonly string[];
  /** Path and reason of every expected note. */
  readonly notes?: readonly { readonly path: string; readonly reason: string }[];
  readonly stream?: boolean;
  readonly includeUsage?: boolean;
  readonly legacyFunctions?: boolean;
  readonly annotations?: boolean;
  /** Whether the client asked for thinking to be left out of the answer. */
  readonly hidden?: boolean;
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
  },
  current: {
    sampling: 'refused',
    forcedToolChoice: 'refused',
    effort: ['low', 'medium', 'high', 'xhigh', 'max'],
    thinkingOff: 'never',
    thinkingOn: 'default',
    systemMessages: 'anywhere',
    structuredOutputs: 'accepted',
  },
  switchable: {
    sampling: 'refused',
    forcedToolChoice: 'accepted',
    effort: ['low', 'medium', 'high', 'xhigh', 'max'],
    thinkingOff: 'disabled',
  },
  'between-tools': {
    sampling: 'refused',
    forcedToolChoice: 'refused',
    effort: ['low', 'medium', 'high', 'xhigh', 'max'],
    thinkingOff: 'between_tools',
    thinkingOn: 'default',
  },
  'max-without-xhigh': {
    sampling: 'accepted',
    forcedToolChoice: 'accepted',
    effort: ['low', 'medium', 'high', 'max'],
    thinkingOff: 'omit',
  },
  asked: {
    sampling: 'accepted',
    forcedToolChoice: 'accepted',
    effort: ['low', 'medium', 'high', 'max'],
    thinkingOff: 'omit',
    thinkingOn: 'adaptive',
    structuredOutputs: 'accepted',
  },
  plain: {
    sampling: 'accepted',
    forcedToolChoice: 'accepted',
    effort: [],
    thinkingOff: 'omit',
  },
};

describe('translateRequest, with vectors', () => {
  it.each(titled(vectorsIn<Vector>('vectors/request')))('%s', (_title, vector) => {
    check(vector);
  });
});

function check(vector: Vector): void {
  const traits = TRAITS[vector.traits ?? 'classic'];
  if (traits === undefined) throw new Error(`unknown traits ${String(vector.traits)}`);
  expect(vector.source).toEqual(expect.any(String));
  const features = vector.features ?? [];
  const before = JSON.stringify(vector.chat);
  const options = {
    model: 'claude-test',
    traits,
    maxOutputTokens: 8192,
    jsonSchema: features.includes('schemas') ? nativeSchemas : undefined,
    webSearch: features.includes('search') ? webSearch({ maxUses: 3 }) : undefined,
    cache: features.includes('cache') ? cacheEveryRequest : undefined,
    reasoning: vector.reasoning,
    ...(vector.endUserId === true ? { endUserId: (value: string) => `opaque(${value})` } : {}),
  };
  const result = translateRequest(vector.chat, options);
  expect(translateRequest(vector.chat, { ...options, ...IN_PIECES })).toEqual(result);
  expect(JSON.stringify(vector.chat)).toBe(before);

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
  expect(result.response).toEqual({
    model: 'my-model',
    includeUsage: vector.includeUsage ?? false,
    legacyFunctions: vector.legacyFunctions ?? false,
    tools: toolsOf(vector),
    annotations: vector.annotations,
    reasoning: vector.hidden === true ? undefined : vector.reasoning,
  });
}
