/** The operator's methods for keys: create, read, change. None of them changes a balance. */

import { randomBytes } from 'node:crypto';
import { generateCredential, hashCredential, hintOf, pepperIdOf } from '../credential.js';
import type { KeyLimits, KeyRecord, KeyState, NewKey } from '../key.js';
import type { BalanceStore } from '../store.js';
import type { KeyChange, KeyTable } from './ledger-database.js';

export type KeyAdmin = Pick<
  BalanceStore,
  'createKey' | 'getKey' | 'listKeys' | 'suspendKey' | 'resumeKey' | 'revokeKey' | 'updateKey'
>;

export interface KeyAdminOptions {
  readonly keys: KeyTable;
  readonly pepper: string;
  /** Called after each change to a key. */
  readonly onChange: (keyId: string) => void;
}

export function createKeyAdmin({ keys, pepper, onChange }: KeyAdminOptions): KeyAdmin {
  const newKeyId = createKeyIds(Date.now);

  async function change(
    keyId: string,
    changes: KeyChange,
    onlyInState?: KeyState,
  ): Promise<KeyRecord | undefined> {
    await keys.update(keyId, changes, onlyInState);
    onChange(keyId);
    return keys.get(keyId);
  }

  return {
    async createKey({ name, limits, expiresAt }: NewKey) {
      assertLimits(limits);
      const credential = generateCredential();
      const id = newKeyId();
      await keys.insert({
        id,
        name,
        hint: hintOf(credential),
        credentialHmac: new Uint8Array(hashCredential(credential, pepper)),
        pepperId: pepperIdOf(pepper),
        expiresAt,
        limits,
      });
      const record = await keys.get(id);
      if (record === undefined) throw new Error(`key ${id} was not found after its creation`);
      return { record, credential };
    },

    getKey: (keyId) => keys.get(keyId),
    listKeys: (page) => keys.list(page),
    suspendKey: (keyId) => change(keyId, { state: 'suspended' }, 'active'),
    resumeKey: (keyId) => change(keyId, { state: 'active' }, 'suspended'),
    revokeKey: (keyId) => change(keyId, { state: 'revoked' }),

    async updateKey(keyId, { limits, expiresAt, name }) {
      if (limits !== undefined) assertLimits(limits);
      return change(keyId, {
        ...limits,
        ...(expiresAt === undefined ? {} : { expiresAt }),
        ...(name === undefined ? {} : { name }),
      });
    },
  };
}

/**
 * Makes ids that sort by creation: a time in milliseconds that always increases within this
 * process, then 64 random bits.
 */
function createKeyIds(now: () => number): () => string {
  let last = 0;
  return () => {
    last = Math.max(now(), last + 1);
    return `key_${last.toString(16).padStart(12, '0')}${randomBytes(8).toString('hex')}`;
  };
}

const MAX_INTEGER = 2 ** 31 - 1;

function assertLimits({ concurrency, burst, requestsPerMinute }: Partial<KeyLimits>): void {
  for (const [name, count] of Object.entries({ concurrency, burst })) {
    if (count === undefined) continue;
    if (!Number.isInteger(count) || count < 1 || count > MAX_INTEGER) {
      throw new RangeError(`${name} is ${String(count)}, not an integer above 0`);
    }
  }
  if (requestsPerMinute === undefined) return;
  if (!(requestsPerMinute > 0 && requestsPerMinute < Infinity)) {
    throw new RangeError(`requestsPerMinute is ${String(requestsPerMinute)}, not a number above 0`);
  }
}
