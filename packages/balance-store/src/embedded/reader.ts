/** Admission reads for a process that does not own the ledger: a worker of a gateway. */

import { createKeyFinder } from '../ledger/store/key-finder.js';
import type { BalanceStore } from '../store.js';
import { ledgerFile } from './open.js';
import { openReader } from './sqlite/connection.js';
import { findKey, getKey, readStanding } from './sqlite/keys.js';
import { readHere } from './read-here.js';

export interface EmbeddedReader extends Pick<
  BalanceStore,
  'findKeyByCredential' | 'recallKey' | 'getKey' | 'readStanding'
> {
  close(): void;
}

export interface EmbeddedReaderOptions {
  readonly dataDir: string;
  readonly pepper: string;
  /** The pepper that `pepper` replaces. Keys issued under it are still found. */
  readonly previousPepper?: string | undefined;
  /**
   * Asks the owner of the ledger to find the key of a credential that is stored under the previous
   * pepper, because the owner then stores it under `pepper`. When absent, the credential stays
   * stored under the previous pepper.
   */
  readonly renew?: ((credential: string) => Promise<void>) | undefined;
}

/**
 * Opens a ledger that another process has open. A read sees every charge that was acknowledged
 * before it.
 */
export function openEmbeddedReader(options: EmbeddedReaderOptions): EmbeddedReader {
  const reader = openReader(ledgerFile(options.dataDir));
  const finder = createKeyFinder({
    keys: { find: (hashes) => readHere(() => findKey(reader, hashes)) },
    peppers: options,
    renew: options.renew ?? (() => Promise.resolve()),
    now: () => performance.now(),
  });
  return {
    findKeyByCredential: finder.find,
    recallKey: finder.recall,
    getKey: (keyId) => readHere(() => getKey(reader, keyId)),
    readStanding: (keyId) => readHere(() => readStanding(reader, keyId)),
    close() {
      reader.close();
    },
  };
}
