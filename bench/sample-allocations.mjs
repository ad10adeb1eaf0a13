/**
 * Loaded into a process by `--import`, with the file for the result as `?to=`: SIGUSR2 starts
 * sampling what its main thread allocates, also what is freed again, and a second SIGUSR2 ends it.
 */

import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { isMainThread } from 'node:worker_threads';

const INTERVAL_BYTES = 16 * 1024;

if (isMainThread) {
  const to = new URL(import.meta.url).searchParams.get('to') ?? '';
  let session;
  process.on('SIGUSR2', () => {
    if (session === undefined) {
      session = new Session();
      session.connect();
      session.post('HeapProfiler.startSampling', {
        samplingInterval: INTERVAL_BYTES,
        includeObjectsCollectedByMajorGC: true,
        includeObjectsCollectedByMinorGC: true,
      });
    } else {
      session.post('HeapProfiler.stopSampling', (error, found) => {
        writeFileSync(to, JSON.stringify(error ?? found.profile));
      });
    }
  });
}
