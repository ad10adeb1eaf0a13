import { expect, it } from '@jest/globals';
import {
  CredentialError,
  RenewedToken,
} from '../../src/upstream/homes/credentials/renewed-token.js';

/** A source whose answers a test decides. */
/** @param lifeMs - `Infinity`: the token has no end. */
function start(lifeMs = 3_600_000) {
  const state = { now: 1_000_000, asked: 0, fails: undefined as string | undefined };
  const problems: string[] = [];
  const token = new RenewedToken({
    now: () => state.now,
    onProblem: (reason) => problems.push(reason),
    async renew() {
      state.asked += 1;
      const token = `token-${String(state.asked)}`;
      await Promise.resolve();
      if (state.fails !== undefined) throw new CredentialError(state.fails);
      return { token, expiresAtMs: lifeMs === Infinity ? undefined : state.now + lifeMs };
    },
  });
  return { state, token, problems };
}

it('is asked for once by all who wait, and then kept', async () => {
  const { state, token } = start();
  const all = await Promise.all([token.current(), token.current(), token.current()]);
  expect([...all, token.current()]).toEqual(Array<string>(4).fill('token-1'));
  expect(state.asked).toBe(1);
});

it('is renewed shortly before it expires, while requests still use it', async () => {
  const { state, token } = start();
  await token.current();
  state.now += 3_600_000 - 300_001;
  expect([token.current(), state.asked]).toEqual(['token-1', 1]);
  state.now += 1;
  expect([token.current(), token.current(), state.asked]).toEqual(['token-1', 'token-1', 2]);
  await Promise.resolve();
  await new Promise(setImmediate);
  expect([token.current(), state.asked]).toEqual(['token-2', 2]);
});

it('that is short-lived is used for most of its life, and one without an end for ever', async () => {
  const short = start(60_000);
  await short.token.current();
  short.state.now += 44_999;
  expect([short.token.current(), short.state.asked]).toEqual(['token-1', 1]);
  const endless = start(Infinity);
  await endless.token.current();
  endless.state.now += 1e12;
  expect([endless.token.current(), endless.state.asked]).toEqual(['token-1', 1]);
});

it('stays while it is valid and cannot be renewed, which is reported once', async () => {
  const { state, token, problems } = start();
  await token.current();
  state.fails = 'Entra: invalid_client';
  state.now += 3_600_000 - 200_000;
  for (let at = 0; at < 3; at += 1) {
    expect(token.current()).toBe('token-1');
    await new Promise(setImmediate);
    state.now += 1_000;
  }
  expect([state.asked, problems]).toEqual([4, ['Entra: invalid_client']]);
  state.now += 3_600_000;
  await expect(token.current()).rejects.toThrow('there is no credential: Entra: invalid_client');
  state.fails = undefined;
  // Within a second of a failure nobody asks again.
  await expect(token.current()).rejects.toThrow('invalid_client');
  state.now += 1_000;
  expect(await token.current()).toBe('token-6');
});

it('that is refused is dropped once, unless it is new', async () => {
  const { state, token } = start();
  await token.current();
  expect(token.refused('token-1')).toBe(false);
  state.now += 10_000;
  expect(token.refused('token-1')).toBe(true);
  // Of those who had the old one, each may try the new one.
  expect(token.refused('token-1')).toBe(true);
  expect([await token.current(), state.asked]).toEqual(['token-2', 2]);
  expect(token.refused('token-1')).toBe(true);
  expect(token.refused('token-2')).toBe(false);
});
