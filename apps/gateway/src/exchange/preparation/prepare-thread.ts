/**
 * The worker thread that prepares requests too large for the main thread. Started by `preparer.ts`.
 */

import { runInNewContext } from 'node:vm';
import { workerData } from 'node:worker_threads';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { createPreparer } from './prepare-request.js';
import type {
  Preparation,
  PreparationJob,
  PreparationRules,
  ThreadLimits,
} from './prepare-request.js';

const UNLIMITED: ThreadLimits = {
  nativeValues: Infinity,
  nativeBytes: Infinity,
  chatValues: Infinity,
  chatBytes: Infinity,
};

// The main thread has set `--expose-gc`, which applies to the whole process (see `heap-tuning.ts`).
const collectGarbage = runInNewContext('globalThis.gc') as (() => void) | undefined;
const prepare = createPreparer(workerData as PreparationRules, collectGarbage);

export default function prepareInThread(job: PreparationJob): unknown {
  const preparation = prepare(job, UNLIMITED);
  const memory = ownMemoryOf(preparation);
  return memory === undefined
    ? preparation
    : move({ [transferableSymbol]: memory, [valueSymbol]: preparation });
}

/**
 * The memory of a prepared body, if it contains nothing else. It is then transferred instead of
 * copied.
 */
function ownMemoryOf(preparation: Preparation): ArrayBuffer | undefined {
  if (preparation.outcome !== 'prepared') return undefined;
  const { buffer, byteLength } = preparation.body;
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? buffer : undefined;
}
