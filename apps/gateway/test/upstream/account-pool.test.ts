/**
 * One customer's requests get every answer that an upstream may give, on one to three accounts.
 * Meanwhile requests of other customers, which the upstream always serves, are watched.
 */

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Dispatcher } from 'undici';
import { readAnthropicFailure } from '../../src/upstream/anthropic-failures.js';
import { AccountPool } from '../../src/upstream/accounts/account-pool.js';
import { RequestBody } from '../../src/upstream/request-body.js';
import type { UpstreamCall } from '../../src/upstream/upstream.js';
import { ACCOUNT_SENTENCES } from '../support/account-sentences.js';
import { runs } from '../../../../scripts/runs.cjs';

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}
const SERVED: Answer = { status: 200, headers: {}, body: '{}' };

const answers: fc.Arbitrary<Answer> = fc.record({
  status: fc.constantFrom(200, 400, 401, 402, 403, 404, 408, 409, 413, 429, 500, 503, 529),
  headers: fc.oneof(
    fc.constant({}),
    fc.constantFrom('1', '5', '60', '86400', '-1', 'soon').map((time) => ({ 'retry-after': time })),
  ),
  body: fc.oneof(
    fc.constantFrom('', '<html>', '{}', 'null'),
    fc
      .record({
        type: fc.constantFrom(
          'invalid_request_error',
          'authentication_error',
          'billing_error',
          'permission_error',
          'rate_limit_error',
          'overloaded_error',
          'api_error',
          'odd',
        ),
        message: fc.constantFrom(
          'invalid x-api-key',
          'OAuth authentication is currently not supported.',
          'your organization may not use this model',
          ...ACCOUNT_SENTENCES,
        ),
        details: fc.constantFrom(
          undefined,
          { error_code: 'organization_on_hold' },
          { error_code: 'cmek_key_disabled' },
          { error_code: 'monthly_spend_limit_reached' },
        ),
      })
      .map((error) => JSON.stringify({ type: 'error', error })),
  ),
});

/** What the attacker sends; the answers of the accounts `a`, `b` and `c`; then time passes. */
const steps = fc.array(
  fc.record({
    key: fc.constantFrom('key_1', 'key_2'),
    model: fc.constantFrom('small', 'large'),
    operation: fc.constantFrom('messages' as const, 'count_tokens' as const),
    bytes: fc.constantFrom(10, 5_000, 5_000_000),
    answers: fc.tuple(answers, answers, answers),
    ms: fc.constantFrom(0, 1, 4_000, 30_000, 61_000),
  }),
  { maxLength: 12 },
);

const NAMES = ['a', 'b', 'c', 'd'];
const WATCHERS = ['watcher_1', 'watcher_2', 'watcher_3', 'watcher_4'];

/** Accounts whose answers a test gives. */
function startPool(count: number) {
  const asked: string[] = [];
  const state = {
    now: 0,
    /** By how much the clock moves each time that it is read. */
    tickMs: 0,
    answers: [SERVED, SERVED, SERVED] as readonly Answer[],
  };
  const pool = new AccountPool(
    NAMES.slice(0, count).map((name, index) => ({
      name,
      requestsPerMinute: undefined,
      tokensPerMinute: undefined,
      client: {
        answersTo: () => ({
          providerName: 'anthropic',
          openStream: () => undefined,
          readFailure: readAnthropicFailure,
          requestIdOf: () => undefined,
        }),
        send(_call, handler) {
          asked.push(name);
          const { status, headers, body } = state.answers[index]!;
          handler.onRequestStart?.(CONTROLLER, undefined);
          handler.onResponseStart?.(CONTROLLER, status, headers);
          handler.onResponseData?.(CONTROLLER, Buffer.from(body));
          handler.onResponseEnd?.(CONTROLLER, {});
        },
        close: () => Promise.resolve(),
      },
    })),
    {
      now: () => (state.now += state.tickMs),
      maxWaitMs: 0,
      jitterMs: () => 0,
      onAnswer: () => undefined,
      onState: () => undefined,
    },
  );

  /** @returns the status, or 0 and the error if no account was asked, and who answered */
  function ask(
    call: Pick<UpstreamCall, 'keyId' | 'accountId' | 'model' | 'operation' | 'bodyBytes'>,
  ): Promise<{
    readonly status: number;
    readonly account: string | undefined;
    readonly error?: Error;
  }> {
    const body = new RequestBody(new Uint8Array(1), () => undefined);
    const whole: UpstreamCall = {
      ...call,
      query: '',
      headers: {},
      body,
      client: { destroyed: false },
    };
    return new Promise((resolve) => {
      let answered = 0;
      pool.send(whole, {
        onResponseStart(_controller, status) {
          answered = status;
        },
        onResponseEnd: () => {
          resolve({ status: answered, account: whole.account });
        },
        onResponseError(_controller, error) {
          resolve({ status: 0, account: whole.account, error });
        },
      });
    });
  }
  return { state, ask, asked: () => asked };
}

const CONTROLLER: Dispatcher.DispatchController = {
  aborted: false,
  paused: false,
  reason: null,
  rawHeaders: null,
  rawTrailers: null,
  abort: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
};

// F139: one customer's request gets a 429 from every upstream account: only its customer waits,
// with requests that are at least as large.
// F140: one customer's request gets a 401, 402, 403 or an unreadable answer: no other customer is
// refused or moved, and no alert about a 403.
it('answers to one customer never refuse a request of another, and move none unless another account served what the first one refused', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 3 }), steps, async (count, attack) => {
      const { state, ask } = startPool(count);
      const watch = async () => {
        state.answers = [SERVED, SERVED, SERVED];
        const seen: (string | undefined)[] = [];
        for (const keyId of WATCHERS) {
          for (const bodyBytes of [10, 6_000_000]) {
            const call = { keyId, accountId: keyId, model: 'large', bodyBytes };
            const answer = await ask({ ...call, operation: 'messages' });
            expect(answer.status).toBe(200);
            seen.push(answer.account);
          }
        }
        return seen;
      };
      const homes = await watch();
      /** When the attacker's request last was refused by an account and served by a later one. */
      let servedElsewhere = -Infinity;
      for (const { key, model, operation, bytes, answers, ms } of attack) {
        state.answers = answers;
        const call = { keyId: key, accountId: 'attacker', model, operation, bodyBytes: bytes };
        const { status } = await ask(call);
        if (status > 0 && status < 400 && count > 1) servedElsewhere = state.now;
        if (state.now - servedElsewhere > 60_000) expect(await watch()).toEqual(homes);
        else await watch();
        state.now += ms;
      }
      state.now += 61_000;
      expect(await watch()).toEqual(homes);
    }),
    { numRuns: runs(__filename, 'sequences') },
  );
});

// F140
it('an account with a wrong key, without credit or at its limit is left out for everybody after one request', async () => {
  for (const refusal of [
    { status: 401, headers: {}, body: errorBody('authentication_error', 'invalid x-api-key') },
    ...ACCOUNT_SENTENCES.map((sentence) => {
      return { status: 400, headers: {}, body: errorBody('odd', sentence) };
    }),
    { status: 402, headers: {}, body: errorBody('billing_error', 'pay') },
    { status: 429, headers: { 'retry-after': '30' }, body: errorBody('rate_limit_error', 'limit') },
  ]) {
    const { state, ask } = startPool(2);
    const call = { model: 'small', operation: 'messages', bodyBytes: 10 } as const;
    const { account: home } = await ask({ ...call, keyId: 'key_1', accountId: 'one' });
    const other = home === 'a' ? 'b' : 'a';
    const asked: (string | undefined)[] = [];
    state.answers = home === 'a' ? [refusal, SERVED] : [SERVED, refusal];
    for (const accountId of ['one', ...WATCHERS]) {
      // The same key id, so that all have the same home.
      const answer = await ask({ ...call, keyId: 'key_1', accountId });
      expect(answer.status).toBe(200);
      asked.push(answer.account);
    }
    expect(asked).toEqual(Array(5).fill(other));
    // None asks the account again, so its answer would not matter.
    state.answers = [SERVED, SERVED];
    expect(await ask({ ...call, keyId: 'key_1', accountId: 'two' })).toMatchObject({
      account: other,
    });
  }
});

// F335: the last upstream account's wait ends between two looks at it: `retry-after` is finite.
it('a wait that ends while it is looked at is finite', async () => {
  const { state, ask } = startPool(1);
  const call = { model: 'small', operation: 'messages', bodyBytes: 10 } as const;
  const asker = { ...call, keyId: 'key_1', accountId: 'one' };
  const body = errorBody('rate_limit_error', 'limit');
  state.answers = [{ status: 429, headers: { 'retry-after': '1' }, body }];
  await ask(asker);
  Object.assign(state, { now: 998.5, tickMs: 1 });
  const { error } = await ask(asker);
  expect(error).toMatchObject({ name: 'UpstreamBusyError', retryAfterMs: 0 });
});

describe('a request that fails at its account', () => {
  const call = { model: 'small', operation: 'messages', bodyBytes: 10 } as const;
  const asker = { ...call, keyId: 'key_1', accountId: 'one' };
  const overloaded = { status: 529, headers: {}, body: errorBody('overloaded_error', 'busy') };
  const limitedFor = (seconds: string): Answer => ({
    status: 429,
    headers: { 'retry-after': seconds },
    body: errorBody('rate_limit_error', 'limit'),
  });

  it.each<[string, Answer, boolean]>([
    ['an overload of the API', overloaded, true],
    ['an error of the API', { ...overloaded, status: 500 }, true],
    ['a timeout of the API', { ...overloaded, status: 504 }, true],
    ['a 429 of the API', { ...overloaded, status: 429 }, true],
    ['a 502 page', { status: 502, headers: {}, body: '<html>' }, false],
    ['a 504 without a body', { status: 504, headers: {}, body: '' }, false],
    [
      'a 500 whose error is not in the form of the API',
      { status: 500, headers: {}, body: '{"error":{"type":"server_error","message":"Oh"}}' },
      false,
    ],
    ['a 429 page', { status: 429, headers: {}, body: '<html>' }, false],
    ['a 403 page', { status: 403, headers: {}, body: '<html>' }, false],
    ['a 408 of the API', { ...overloaded, status: 408 }, false],
    ['a 409 of the API', { ...overloaded, status: 409 }, false],
  ])('with %s moves only if the API itself answered', async (_what, answer, moves) => {
    const { state, ask, asked } = startPool(2);
    state.answers = [answer, answer, SERVED];
    const { status } = await ask(asker);
    expect(asked()).toHaveLength(moves ? 2 : 1);
    if (answer.status !== 429) expect(status).toBe(answer.status);
  });

  it('moves at most twice, and the client gets the last overload', async () => {
    const { state, ask, asked } = startPool(4);
    state.answers = Array<Answer>(4).fill(overloaded);
    expect(await ask(asker)).toMatchObject({ status: 529 });
    expect(asked()).toHaveLength(3);
    expect(new Set(asked()).size).toBe(3);
  });

  it('begins no attempt after its deadline', async () => {
    const { state, ask, asked } = startPool(3);
    state.answers = Array<Answer>(3).fill(overloaded);
    state.tickMs = 20_000;
    expect(await ask(asker)).toMatchObject({ status: 529 });
    expect(asked()).toHaveLength(1);
  });

  it('is answered by what an overloaded account says, if the others are limited for longer', async () => {
    const { state, ask } = startPool(2);
    for (const answers of [
      [overloaded, limitedFor('259200')],
      [limitedFor('259200'), overloaded],
    ]) {
      state.answers = answers;
      const { status, account } = await ask(asker);
      expect([status, account]).toEqual([529, answers[0] === overloaded ? 'a' : 'b']);
      state.now += 100_000_000_000;
    }
  });

  it('waits as long as the first limit that ends, however long that is', async () => {
    const { state, ask, asked } = startPool(2);
    state.answers = [limitedFor('259200'), limitedFor('400000')];
    for (const ms of [0, 1_000]) {
      state.now = ms;
      const { error } = await ask(asker);
      expect(error).toMatchObject({ isLimit: true, retryAfterMs: 259_200_000 - ms });
    }
    expect(asked()).toHaveLength(2);
  });

  it('with a 429 that names no time benches no account, and its client waits a little', async () => {
    const { state, ask, asked } = startPool(2);
    state.answers = Array<Answer>(2).fill({ ...limitedFor(''), headers: {} });
    for (let request = 0; request < 2; request += 1)
      expect(await ask(asker)).toMatchObject({ error: { isLimit: true, retryAfterMs: 5_000 } });
    expect(asked()).toHaveLength(4);
  });
});

function errorBody(type: string, message: string): string {
  return JSON.stringify({ type: 'error', error: { type, message } });
}

describe('a 403 of the upstream', () => {
  const failureOf = (message: string) =>
    readAnthropicFailure(
      403,
      {},
      Buffer.from(JSON.stringify({ error: { type: 'permission_error', message } })),
    );

  // F206: the provider has not granted a model to the operator: an error of that model, no alarm
  // about the credential.
  it('about one model is an error of that model, and not of the credential', () => {
    expect(failureOf('claude-mythos-5-2 requires an access grant')).toMatchObject({
      cause: 'unknown',
      refusal: {
        status: 403,
        type: 'permission_error',
        message: expect.not.stringMatching(/grant$/),
      },
    });
    expect(failureOf('Your organization may not do this')).toMatchObject({
      cause: 'permission',
      refusal: { status: 502 },
    });
  });
});
