/** Admission reads for a process that does not own the ledger: a worker of a gateway. */

import { createKeyFinder } from '../ledger/key-finder.js';
import type { BalanceStore } from '../store.js';
import { ledgerFile } from './open.js';
import { openReader } from './sqlite/connection.js';
import { findKey, getKey, readStanding } from './sqlite/keys.js';
import { readHere } from './read-here.js';

export interface EmbeddedReader extends Pick<
  BalanceStore,
  'findKeyByCredential' | 'getKey' | 'readStanding'
> {
  close(): void;
}

/**
 * Opens a ledger that another process has open. A read sees every charge that was acknowledged
 * before it.
 */
export function openEmbeddedReader(options: {
  readonly dataDir: string;
  readonly pepper: string;
}): EmbeddedReader {
  const reader = openReader(ledgerFile(options.dataDir));
  const find = (credentialHmac: Buffer) => readHere(() => findKey(reader, credentialHmac));
  const finder = createKeyFinder({ find }, options.pepper, () => performance.now());
  return {
    findKeyByCredential: finder.find,
    getKey: (keyId) => readHere(() => getKey(reader, keyId)),
    readStanding: (keyId) => readHere(() => readStanding(reader, keyId)),
    close() {
      reader.close();
    },
  };
}
