/**
 * The worker thread that prepares requests too large for the main thread. Started by `preparer.ts`.
 */

import { runInNewContext } from 'node:vm';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import type { Preparation, ThreadLimits } from './prepare-request.js';
import type { ThreadJob } from './preparer.js';
import { createReferringPreparer } from './refer-or-prepare.js';
import type { Referral } from './refer-or-prepare.js';

const UNLIMITED: ThreadLimits = {
  nativeValues: Infinity,
  nativeBytes: Infinity,
  chatValues: Infinity,
  chatBytes: Infinity,
};

// The main thread has set `--expose-gc`, which applies to the whole process (see `heap-tuning.ts`),
// unless TUNING=none.
const gc = runInNewContext('globalThis.gc') as (() => void) | undefined;
/** Usually the next job has the same rules. */
let last:
  { readonly id: number; readonly prepare: ReturnType<typeof createReferringPreparer> } | undefined;

function collectGarbage(): void {
  // JavaScript keeps the text that a regular expression matched last (`RegExp.input`), which may be
  // most of the body.
  /^/.test('');
  gc?.();
}

export default function prepareInThread({ job, rules, rulesId }: ThreadJob): unknown {
  if (last?.id !== rulesId) {
    last = { id: rulesId, prepare: createReferringPreparer(rules, collectGarbage) };
  }
  const preparation = last.prepare(job, UNLIMITED);
  return move({ [transferableSymbol]: ownMemoryOf(preparation), [valueSymbol]: preparation });
}

/**
 * The memory of a prepared body and of a conversation to keep. It is then transferred, not copied.
 * Node.js lets small buffers share one `ArrayBuffer`, which cannot be transferred.
 */
function ownMemoryOf(preparation: Preparation | Referral): ArrayBuffer[] {
  if (preparation.outcome === 'refused' || preparation.outcome === 'too_large') return [];
  const conversation = preparation.outcome === 'refers' ? undefined : preparation.conversation;
  return [preparation.body, conversation].flatMap((bytes) => {
    if (bytes === undefined) return [];
    const { buffer } = bytes;
    const isShared = buffer.byteLength <= Buffer.poolSize;
    return buffer instanceof ArrayBuffer && !isShared ? [buffer] : [];
  });
}
