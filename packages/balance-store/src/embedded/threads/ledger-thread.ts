/**
 * A thread of the embedded ledger. The writing thread is the only one of its process that writes
 * the ledger, and no other thread waits for the disk, except that of the record of requests. The
 * reading threads serve lists, sums and audits, which therefore do not delay requests or charges.
 */

import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { workerData } from 'node:worker_threads';
import { yieldToOtherThreads } from '../../ledger/background-thread.js';
import { markReader } from '../commit-mark.js';
import { markErasure, rewriteErased } from '../erasure.js';
import { assertNotMoved } from '../moved.js';
import { openRequests } from '../requests-file.js';
import { openReader, openWriter } from '../sqlite/connection.js';
import type { Connection } from '../sqlite/connection.js';
import { faultOf } from '../sqlite/faults.js';
import { emptyLog, isLogLarge } from '../sqlite/log.js';
import { decode, encode } from '../../ledger/thread-codec.js';
import { createCommitReports } from './commit-reports.js';
import { STOP } from './messages.js';
import type { Answer, Progress, Request, StartedThreadData } from './messages.js';
import {
  createReadOperations,
  createRequestOperations,
  createWriteOperations,
} from './operations.js';

const { file, role, checkpoints, indexDescriptor, port } = workerData as StartedThreadData;

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

const operations = createOperations() as Readonly<
  Record<string, (...args: readonly unknown[]) => unknown>
>;

async function answer({ id, operation, args, reportsProgress }: Request): Promise<Answer> {
  const report = (progress: unknown): void => {
    port.postMessage({ id, progress: encode(progress) } satisfies Progress);
  };
  try {
    const run = operations[operation];
    if (run === undefined) throw new Error(`there is no operation ${operation}`);
    const result = encode(await run(...args.map(decode), ...(reportsProgress ? [report] : [])));
    const commit = commits.take();
    return commit === undefined ? { id, result } : { id, result, commit };
  } catch (error) {
    commits.take();
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    return { id, fault: faultOf(error), name, message };
  }
}

port.on('message', (message: Request | typeof STOP) => {
  if (message === STOP) {
    if ((role === 'write' || role === 'requests') && checkpoints) rewriteErased(connection, file);
    connection.close();
    port.close();
    return;
  }
  void answer(message).then((reply) => {
    port.postMessage(reply);
  });
});
