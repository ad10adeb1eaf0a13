/** The list of models, in pages like those of the provider's endpoint. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import Anthropic from '@anthropic-ai/sdk';
import { startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

let gateway: TestGateway;
let apiKey: string;
let ids: string[];
beforeAll(async () => {
  gateway = await startTestGateway();
  ({ apiKey } = await gateway.createKey());
  ids = gateway.running.prices.list().map(({ id }) => id);
});
afterAll(() => gateway.stop());

interface Page {
  readonly data: readonly { readonly id: string }[];
  readonly has_more: boolean;
  readonly first_id: string;
  readonly last_id: string;
  /** Present in an error, instead of the members above. */
  readonly error: { readonly message: string };
}

async function list(query: string): Promise<{ readonly status: number; readonly body: Page }> {
  const response = await fetch(`${gateway.url}/v1/models${query}`, {
    headers: { authorization: `Bearer ${apiKey}` },
  });
  return { status: response.status, body: await response.json() };
}
const idsOf = ({ body }: { readonly body: Page }): string[] => body.data.map(({ id }) => id);

describe('GET /v1/models', () => {
  it('lists all models unless the query limits them', async () => {
    const { status, body } = await list('');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      object: 'list',
      has_more: false,
      first_id: ids[0],
      last_id: ids.at(-1),
    });
    expect(idsOf({ body })).toEqual(ids);
  });

  // F83: list of models in pages: each model once, from either end.
  it.each([1, 2, 5, 1000])(
    'pages forward through all models in pages of %i, each model once',
    async (limit) => {
      const seen: string[] = [];
      let after = '';
      for (;;) {
        const page = await list(`?limit=${String(limit)}${after}`);
        const found = idsOf(page);
        seen.push(...found);
        expect(page.body).toMatchObject({ first_id: found[0], last_id: found.at(-1) });
        expect(page.body.has_more).toBe(seen.length < ids.length);
        if (!page.body.has_more) break;
        expect(found).toHaveLength(limit);
        after = `&after_id=${page.body.last_id}`;
      }
      expect(seen).toEqual(ids);
    },
  );

  it.each([1, 3, 1000])('pages backward from the last model in pages of %i', async (limit) => {
    const seen: string[] = [];
    let before = ids.at(-1)!;
    for (;;) {
      const page = await list(`?limit=${String(limit)}&before_id=${before}`);
      seen.unshift(...idsOf(page));
      if (!page.body.has_more) break;
      before = page.body.first_id;
    }
    expect(seen).toEqual(ids.slice(0, -1));
  });

  it('is empty beyond either end', async () => {
    for (const query of [`?after_id=${ids.at(-1)!}`, `?before_id=${ids[0]!}`]) {
      expect((await list(query)).body).toMatchObject({
        data: [],
        has_more: false,
        first_id: null,
        last_id: null,
      });
    }
  });

  it('lists the models between two others', async () => {
    const between = await list(`?after_id=${ids[0]!}&before_id=${ids[3]!}`);
    expect(idsOf(between)).toEqual(ids.slice(1, 3));
    expect(between.body.has_more).toBe(false);
  });

  it.each(['lifecycle=', 'lifecycle[]='])(
    'filters by lifecycle, written as %s, before it divides into pages',
    async (name) => {
      const prices = gateway.running.prices.list();
      const old = prices.filter(({ deprecatedAt }) => deprecatedAt !== undefined);
      const [deprecated, both, retired, first] = await Promise.all([
        list(`?${name}deprecated`),
        list(`?${name}deprecated&${name}active`),
        list(`?${name}retired`),
        list(`?${name}deprecated&limit=1`),
      ]);
      expect(idsOf(deprecated)).toEqual(old.map(({ id }) => id));
      expect(idsOf(both)).toEqual(ids);
      expect(retired.body).toMatchObject({ data: [], has_more: false, first_id: null });
      expect(first.body).toMatchObject({ has_more: true, first_id: old[0]!.id });
    },
  );

  it('describes each model as the API does, from the traits in the price table', async () => {
    const client = new Anthropic({ apiKey, baseURL: gateway.url });
    for await (const model of client.models.list()) {
      const price = gateway.running.prices.find(model.id)!;
      const { thinking, effort, structured_outputs: outputs } = model.capabilities!;
      const isOld = price.deprecatedAt !== undefined;
      expect(model).toMatchObject({
        line: price.line,
        lifecycle: isOld ? 'deprecated' : 'active',
        deprecated_at: price.deprecatedAt ?? null,
        retires_at: price.retiresAt ?? null,
      });
      const levels = ['low', 'medium', 'high', 'xhigh', 'max'] as const;
      expect(levels.filter((level) => effort[level]?.supported === true)).toEqual(
        price.traits.effort,
      );
      expect(outputs.supported).toBe(price.traits.structuredOutputs === 'accepted');
      const off = { never: [], disabled: ['disabled'], omit: ['disabled'] };
      const ways = Object.entries(thinking.types).filter(([, { supported }]) => supported);
      expect(ways.map(([type]) => type).filter((type) => /disabled|between/.test(type))).toEqual(
        { ...off, between_tools: ['between_tools'] }[price.traits.thinkingOff],
      );
    }
  });

  it('describes the models that the key may use to Codex, from the traits in the price table', async () => {
    interface Catalogue {
      readonly models: readonly (Readonly<Record<string, unknown>> & { readonly slug: string })[];
    }
    const catalogue = async (key: string) => {
      const response = await fetch(`${gateway.url}/v1/models?client_version=0.171.0`, {
        headers: { authorization: `Bearer ${key}` },
      });
      return ((await response.json()) as Catalogue).models;
    };
    const models = await catalogue(apiKey);
    expect(models.map(({ slug }) => slug)).toEqual(ids);
    for (const [index, model] of models.entries()) {
      const price = gateway.running.prices.find(model.slug)!;
      const levels = model['supported_reasoning_levels'] as readonly { readonly effort: string }[];
      expect(levels.map(({ effort }) => effort)).toEqual(price.traits.effort);
      expect(model['default_reasoning_level']).toBe(levels.length > 0 ? 'high' : undefined);
      expect(model).toMatchObject({
        display_name: price.displayName,
        context_window: price.contextWindow,
        visibility: price.deprecatedAt === undefined ? 'list' : 'hide',
        priority: index,
        supports_reasoning_summaries: price.traits.thinkingOn !== undefined,
        // Codex ignores the catalogue without these.
        base_instructions: expect.stringMatching(/^You are a coding agent/),
        shell_type: 'unified_exec',
        supported_in_api: true,
        support_verbosity: false,
        truncation_policy: { mode: 'tokens', limit: 10_000 },
        experimental_supported_tools: [],
        apply_patch_tool_type: 'freeform',
      });
    }
    const only = await gateway.createKey({ models: [ids[1]!] });
    expect((await catalogue(only.apiKey)).map(({ slug }) => slug)).toEqual([ids[1]]);
  });

  // F200
  it('offers no model for verified organizations', () => {
    expect(ids.filter((id) => id.includes('mythos'))).toEqual([]);
  });

  // F83
  it.each([
    ['?lifecycle=gone', 'lifecycle.0', /^lifecycle\.0: /],
    ['?limit=0', 'limit', /^limit: must be at least 1$/],
    ['?limit=', 'limit', /^limit: must be at least 1$/],
    ['?limit=1001', 'limit', /^limit: must be at most 1000$/],
    ['?limit=1.5', 'limit', /^limit: must be an integer$/],
    ['?limit=many', 'limit', /^limit: must be a number$/],
    ['?limit=1&limit=2', 'limit', /^limit: must be a number$/],
    ['?limit=1e400', 'limit', /^limit: /],
    ['?after_id=nothing', 'after_id', /^after_id: is not a model that is offered$/],
    ['?before_id=nothing', 'before_id', /^before_id: is not a model that is offered$/],
    ['?after_id=', 'after_id', /^after_id: is not a model that is offered$/],
    ['?after_id=a&after_id=b', 'after_id', /^after_id: must be given once$/],
  ])('refuses %s, naming %s', async (query, field, message) => {
    const { status, body } = await list(query);
    expect(status).toBe(400);
    expect(body).toMatchObject({
      type: 'error',
      error: { type: 'invalid_request_error', param: field },
    });
    expect(body.error.message).toMatch(message);
  });
});
