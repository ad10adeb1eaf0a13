/**
 * Limits the memory of a process like that of a container: beyond the limit the system sends
 * SIGKILL.
 */

import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const ROOT = '/sys/fs/cgroup';
/** The two versions of control groups have different file names. */
const VERSIONS = [
  {
    parent: `${ROOT}/memory`,
    limit: 'memory.limit_in_bytes',
    peak: 'memory.max_usage_in_bytes',
  },
  { parent: ROOT, limit: 'memory.max', peak: 'memory.peak' },
];

/**
 * @returns undefined if this process may not set a limit: not root, not Linux, or no control
 * groups.
 */
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
      /** A process that writes its id to this file is limited, with its descendants. */
      processes: `${group}/cgroup.procs`,
      peakBytes: () =>
        existsSync(`${group}/${peak}`) ? Number(readFileSync(`${group}/${peak}`, 'utf8')) : NaN,
      async remove() {
        // The last process may not have ended yet.
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
