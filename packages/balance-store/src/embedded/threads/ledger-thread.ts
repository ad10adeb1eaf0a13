/**
 * A thread of the embedded ledger. The writing thread is the only one of its process that writes
 * the ledger, and no other thread waits for the disk, except that of the record of requests. The
 * reading threads serve lists, sums and audits, which therefore do not delay requests or charges.
 */

import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { workerData } from 'node:worker_threads';
import { yieldToOtherThreads } from '../../ledger/threads/background-thread.js';
import type { StartedThreadData } from '../../ledger/threads/messages.js';
import { serveThread } from '../../ledger/threads/serve-thread.js';
import { markReader } from '../files/commit-mark.js';
import { markErasure, rewriteErased } from '../files/erasure.js';
import { assertNotMoved } from '../files/moved.js';
import { openRequests } from '../files/requests-file.js';
import { openReader, openWriter } from '../sqlite/connection.js';
import type { Connection } from '../sqlite/connection.js';
import { faultOf } from '../sqlite/faults.js';
import { emptyLog, isLogLarge } from '../sqlite/log.js';
import { createCommitReports } from './commit-reports.js';
import type { ThreadData } from './messages.js';
import {
  createReadOperations,
  createRequestOperations,
  createWriteOperations,
} from './operations.js';

const { file, role, checkpoints, indexDescriptor, port } = workerData as ThreadData &
  StartedThreadData;

if (role === 'background') yieldToOtherThreads();
const connection = open();
const { ino, dev } = statSync(file);

function open(): Connection {
  if (role === 'requests') return openRequests(file, { checkpoints });
  return role === 'write' ? openWriter(file, { checkpoints }) : openReader(file);
}

/** A commit to a file that was replaced or deleted would be lost without an error. */
function assertInPlace(): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found?.ino === ino && found.dev === dev) return;
  throw Object.assign(new Error(`the file ${file} was replaced or deleted: restart the gateway`), {
    code: 'ENOENT',
  });
}

const LOG_CHECK_MS = 500;
if (role === 'write' && checkpoints) {
  setInterval(() => {
    if (isLogLarge(file)) emptyLog(connection);
  }, LOG_CHECK_MS).unref();
}

const commits = createCommitReports(
  indexDescriptor === undefined ? undefined : markReader(indexDescriptor),
);
function beforeErasure(): void {
  markErasure(file);
}
function afterErasure(): void {
  if (checkpoints) emptyLog(connection);
}

function createOperations() {
  if (role === 'read' || role === 'background') return createReadOperations(connection);
  if (role === 'requests') {
    return createRequestOperations(connection, { assertInPlace, beforeErasure, afterErasure });
  }
  return createWriteOperations(connection, {
    commits,
    assertInPlace,
    assertNotMoved() {
      assertNotMoved(dirname(file));
    },
    beforeErasure,
    afterErasure,
  });
}

serveThread({
  port,
  operations: createOperations(),
  faultOf,
  takeReport: commits.take,
  onStop() {
    if ((role === 'write' || role === 'requests') && checkpoints) rewriteErased(connection, file);
    connection.close();
  },
});
