import { expect, it, jest } from '@jest/globals';
import { generateCredential } from '../../src/credential.js';
import { StoreUnavailableError } from '../../src/index.js';
import type { KeyRecord } from '../../src/index.js';
import { createKeyFinder } from '../../src/ledger/store/key-finder.js';
import type { FoundKey } from '../../src/ledger/database/ledger-database.js';

/** What a finder looks at of a record, so that a new column of keys does not touch this test. */
const RECORD = {
  id: 'key',
  state: 'active',
  standing: 'active',
  isActive: true,
  previousUntil: null,
} as KeyRecord;

function foundBy(record: KeyRecord, hasOldHash = false): FoundKey {
  return { record, hasOldHash, presented: 'current' };
}

it.each([
  // Revoked keys are not cached. If they were, a second attempt would be refused faster than with
  // an unknown key, and the time would reveal that the key once existed.
  ['an unknown key', undefined, 3],
  [
    'a revoked key',
    { ...RECORD, state: 'revoked', standing: 'revoked', isActive: false } as const,
    3,
  ],
  ['an active key', RECORD, 1],
  [
    'a suspended key',
    { ...RECORD, state: 'suspended', standing: 'suspended', isActive: false } as const,
    1,
  ],
])(
  'caches an active or suspended key, but not an unknown or revoked one: %s',
  async (_, record, asked) => {
    let lookUps = 0;
    const find = () => {
      lookUps += 1;
      return Promise.resolve(record === undefined ? undefined : foundBy(record));
    };
    const finder = createKeyFinder({
      keys: { find },
      peppers: { pepper: 'pepper' },
      renew: () => Promise.resolve(),
      now: () => 0,
    });
    const credential = generateCredential();
    for (let i = 0; i < 3; i += 1) await finder.find(credential);
    expect(lookUps).toBe(asked);
  },
);

it('reads a cached key again for a change', async () => {
  let lookUps = 0;
  const find = () => {
    lookUps += 1;
    return Promise.resolve(foundBy(RECORD));
  };
  const finder = createKeyFinder({
    keys: { find },
    peppers: { pepper: 'pepper' },
    renew: () => Promise.resolve(),
    now: () => 0,
  });
  const credential = generateCredential();
  const found = [finder.find(credential), finder.find(credential, { isFresh: true })];
  await Promise.all(found);
  expect(lookUps).toBe(2);
});

// F115
it.each([
  ['the ledger cannot be written', new StoreUnavailableError('read-only'), 'found'],
  ['the renewal has a bug', new TypeError('bug'), 'failed'],
])(
  'finds a key although the ledger cannot renew its hash, but fails on a bug: %s',
  async (_, fault, outcome) => {
    const finder = createKeyFinder({
      keys: { find: () => Promise.resolve(foundBy(RECORD, true)) },
      peppers: { pepper: 'pepper', previousPepper: 'previous' },
      renew: () => Promise.reject(fault),
      now: () => 0,
    });
    const found = finder.find(generateCredential());
    if (outcome === 'found') expect(await found).toEqual({ ...RECORD, presented: 'current' });
    else await expect(found).rejects.toBe(fault);
  },
);

it('renews the hash of a key once, and never that of a revoked key', async () => {
  const renewed: string[] = [];
  const finderOf = (record: KeyRecord) =>
    createKeyFinder({
      keys: { find: () => Promise.resolve(foundBy(record, true)) },
      peppers: { pepper: 'pepper', previousPepper: 'previous' },
      renew(credential) {
        renewed.push(credential);
        return Promise.resolve();
      },
      now: () => 0,
    });
  const credential = generateCredential();
  const finder = finderOf(RECORD);
  await Promise.all([finder.find(credential), finder.find(credential)]);
  await finder.find(credential);
  await finderOf({ ...RECORD, state: 'revoked', standing: 'revoked', isActive: false }).find(
    generateCredential(),
  );
  expect(renewed).toEqual([credential]);
});

// F217: many keys are used at once after the pepper was replaced: hashes are renewed one at a time,
// so requests keep the connections they need.
it('renews one hash at a time, and the others at a later look-up', async () => {
  const renewed: string[] = [];
  const waiting: (() => void)[] = [];
  const finder = createKeyFinder({
    keys: { find: () => Promise.resolve(foundBy(RECORD, true)) },
    peppers: { pepper: 'pepper', previousPepper: 'previous' },
    renew: (credential) =>
      new Promise((resolve) => {
        renewed.push(credential);
        waiting.push(resolve);
      }),
    now: () => 0,
  });
  const [first, second] = [generateCredential(), generateCredential()];
  const finding = finder.find(first, { isFresh: true });
  // Is found at once, although the first renewal has not ended.
  expect(await finder.find(second, { isFresh: true })).toMatchObject({ id: RECORD.id });
  expect(renewed).toEqual([first]);
  waiting.shift()?.();
  await finding;
  const again = finder.find(second, { isFresh: true });
  await Promise.resolve();
  await Promise.resolve();
  waiting.shift()?.();
  await again;
  expect(renewed).toEqual([first, second]);
});

it('recalls a record of the last minute at once, but not after the key was changed', async () => {
  let now = 0;
  const finder = createKeyFinder({
    keys: { find: () => Promise.resolve(foundBy(RECORD)) },
    peppers: { pepper: 'pepper' },
    renew: () => Promise.resolve(),
    now: () => now,
  });
  const credential = generateCredential();
  expect(finder.recall(credential)).toBeUndefined();
  await finder.find(credential);
  now = 59_999;
  expect(finder.recall(credential)).toEqual({ ...RECORD, presented: 'current' });
  now = 60_000;
  expect(finder.recall(credential)).toBeUndefined();
  await finder.find(credential);
  finder.forget(RECORD.id);
  expect(finder.recall(credential)).toBeUndefined();
});

it('uses a record for longer than a second only while the database knows of no other change', async () => {
  let [nowMs, version, lookUps] = [0, 1 as number | undefined, 0];
  let presented: 'current' | 'replaced' = 'current';
  const finder = createKeyFinder({
    keys: {
      find: () => {
        lookUps += 1;
        return Promise.resolve({ record: RECORD, presented, hasOldHash: false });
      },
      version: () => version,
    },
    peppers: { pepper: 'pepper' },
    renew: () => Promise.resolve(),
    now: () => nowMs,
  });
  const credential = generateCredential();
  const findLater = async () => {
    nowMs += 2_000;
    await finder.find(credential);
    return lookUps;
  };
  expect(await findLater()).toBe(1);
  expect(await findLater()).toBe(1);
  version = 2;
  expect(await findLater()).toBe(2);
  expect(await findLater()).toBe(2);
  version = undefined;
  expect(await findLater()).toBe(3);
  expect(await findLater()).toBe(4);
  [version, presented] = [2, 'replaced'];
  expect(await findLater()).toBe(5);
  expect(await findLater()).toBe(6);
});

// F379: a credential that was replaced reaches the end of its grace while its record is in memory:
// it is looked up again at that moment, not up to a second later.
it('uses the record of a replaced credential only until the end of its grace', async () => {
  const wallClock = jest.spyOn(Date, 'now');
  const previousUntil = new Date(1_000_000);
  let lookUps = 0;
  const finder = createKeyFinder({
    keys: {
      find: () => {
        lookUps += 1;
        if (Date.now() >= previousUntil.getTime()) return Promise.resolve(undefined);
        const record = { ...RECORD, previousUntil };
        return Promise.resolve({ record, presented: 'replaced' as const, hasOldHash: false });
      },
      version: () => 1,
    },
    peppers: { pepper: 'pepper' },
    renew: () => Promise.resolve(),
    now: () => 0,
  });
  const credential = generateCredential();
  wallClock.mockReturnValue(previousUntil.getTime() - 1);
  expect(await finder.find(credential)).toMatchObject({ presented: 'replaced' });
  expect(await finder.find(credential)).toMatchObject({ presented: 'replaced' });
  expect(lookUps).toBe(1);
  wallClock.mockReturnValue(previousUntil.getTime());
  expect(finder.recall(credential)).toBeUndefined();
  expect(await finder.find(credential)).toBeUndefined();
  wallClock.mockRestore();
});
