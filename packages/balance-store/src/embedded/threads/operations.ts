/** What the threads of the embedded ledger can be asked to do. Each runs to its end by itself. */

import type { AuditOptions } from '../../audit.js';
import { auditLedger } from '../../ledger/audit-ledger.js';
import { createAuditSource, readHead } from '../sqlite/audit-source.js';
import type { Connection } from '../sqlite/connection.js';
import { findEntries, findEntry, listEntries } from '../sqlite/entries.js';
import { countHolds, listHolds, placeHolds, releaseHolds, renewHolds } from '../sqlite/holds.js';
import { insertKey, listKeys, updateKey } from '../sqlite/keys.js';
import { sealBlock, unsealedKeyIds } from '../sqlite/seals.js';
import { insertQuarantine, quarantineSettlement, settleBatch } from '../sqlite/settle.js';
import { summarizeLedger } from '../sqlite/summary.js';
import { topUpOnce } from '../sqlite/top-up.js';
import { decodeBatch, encodeOutcomes } from './batch-codec.js';

export type WriteOperations = ReturnType<typeof createWriteOperations>;
export type ReadOperations = ReturnType<typeof createReadOperations>;

/** Leaves out the connection, which the thread has. */
type Rest<Args extends unknown[]> = Args extends [Connection, ...infer Others] ? Others : never;

function on<Args extends [Connection, ...unknown[]], Result>(
  connection: Connection,
  operation: (...args: Args) => Result,
): (...args: Rest<Args>) => Result {
  return (...args) => operation(...([connection, ...args] as unknown as Args));
}

/** @param assertInPlace - Throws if the connection's file is no longer the ledger's. */
export function createWriteOperations(connection: Connection, assertInPlace: () => void) {
  const guarded: Connection = {
    ...connection,
    write(work) {
      assertInPlace();
      return connection.write(work);
    },
  };
  return {
    settleBatch: (batch: string) => encodeOutcomes(settleBatch(guarded, decodeBatch(batch))),
    quarantineSettlement: on(guarded, quarantineSettlement),
    insertQuarantine: on(guarded, insertQuarantine),
    topUp: on(guarded, topUpOnce),
    placeHolds: on(guarded, placeHolds),
    renewHolds: on(guarded, renewHolds),
    releaseHolds: on(guarded, releaseHolds),
    insertKey: on(guarded, insertKey),
    updateKey: on(guarded, updateKey),
    sealBlock: on(guarded, sealBlock),
    ping(): void {
      assertInPlace();
      connection.get('SELECT 1');
    },
  };
}

export function createReadOperations(connection: Connection) {
  return {
    listKeys: on(connection, listKeys),
    listHolds: on(connection, listHolds),
    countHolds: on(connection, countHolds),
    findEntry: on(connection, findEntry),
    findEntries: on(connection, findEntries),
    listEntries: on(connection, listEntries),
    unsealedKeyIds: on(connection, unsealedKeyIds),
    readHead: on(connection, readHead),
    summarize: on(connection, summarizeLedger),
    audit: (options: AuditOptions) => auditLedger(createAuditSource(connection), options),
  };
}
