/** A limit on the memory of a process, set by the system as a container's is: more is answered by SIGKILL. */

import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const ROOT = '/sys/fs/cgroup';
/** The two versions of control groups name their files differently. */
const VERSIONS = [
  {
    parent: `${ROOT}/memory`,
    limit: 'memory.limit_in_bytes',
    peak: 'memory.max_usage_in_bytes',
  },
  { parent: ROOT, limit: 'memory.max', peak: 'memory.peak' },
];

/** @returns undefined where this process may not set one: not root, no Linux, or no control groups */
export function createMemoryLimit(bytes) {
  for (const { parent, limit, peak } of VERSIONS) {
    const group = `${parent}/gateway-torture-${process.pid}`;
    try {
      mkdirSync(group);
    } catch {
      continue;
    }
    if (!existsSync(`${group}/${limit}`)) {
      rmdirSync(group);
      continue;
    }
    writeFileSync(`${group}/${limit}`, String(bytes));
    return {
      /** A process that writes its id there is limited, and what it starts as well. */
      processes: `${group}/cgroup.procs`,
      peakBytes: () =>
        existsSync(`${group}/${peak}`) ? Number(readFileSync(`${group}/${peak}`, 'utf8')) : NaN,
      async remove() {
        // The last process may still be on its way out.
        for (let tries = 0; tries < 100; tries += 1) {
          try {
            rmdirSync(group);
            return;
          } catch {
            await sleep(50);
          }
        }
      },
    };
  }
  return undefined;
}
