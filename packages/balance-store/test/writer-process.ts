/**
 * Runs processes that settle charges until they are killed, and checks the acknowledged charges.
 */

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect } from '@jest/globals';
import type { BalanceStore } from '../src/index.js';

export interface WriterProcess {
  /** Resolves once this number of charges is acknowledged. */
  hasAcknowledged(count: number): Promise<void>;
  /** Resolves when charges have been acknowledged, but none in the last three seconds. */
  hasStalled(): Promise<void>;
  /** Sends SIGKILL. Resolves when the process has ended and all its output is read. */
  kill(): Promise<void>;
}

/**
 * @param args - Arguments of `writer.ts`.
 * @param acknowledged - Receives the amount of each acknowledged charge by its request id.
 */
export function spawnWriter(
  args: readonly string[],
  acknowledged: Map<string, bigint>,
  {
    maxFileBytes,
  }: {
    /** Limits the size of files, to simulate a full disk. */ readonly maxFileBytes?: number;
  } = {},
): WriterProcess {
  const hooks = join(__dirname, 'run-typescript.mjs');
  const program = join(__dirname, 'writer.ts');
  const limit = maxFileBytes === undefined ? 'unlimited' : String(Math.floor(maxFileBytes / 512));
  // `ulimit -f` counts blocks of 512 bytes.
  const command = ['-c', `ulimit -f ${limit} && exec "$0" "$@"`, process.execPath];
  const writer = spawn('sh', [...command, '--import', hooks, program, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: writer.stdout });
  const exited = new Promise((resolve) => writer.once('exit', resolve));
  const heard = new Promise((resolve) => lines.once('close', resolve));
  let count = 0;
  lines.on('line', (line) => {
    const [requestId, amount] = line.split(' ');
    // The last line may be cut off because the process was killed.
    if (requestId === undefined || amount === undefined || !amount.endsWith(';')) return;
    acknowledged.set(requestId, BigInt(amount.slice(0, -1)));
    count += 1;
  });
  return {
    async hasAcknowledged(goal) {
      while (count < goal) {
        if (writer.exitCode !== null) throw new Error('the writer has ended by itself');
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
    async hasStalled() {
      for (let last = 0; last === 0 || count > last;) {
        last = count;
        await new Promise((resolve) => setTimeout(resolve, 3_000));
        if (writer.exitCode !== null) throw new Error('the writer has ended by itself');
      }
    },
    async kill() {
      writer.kill('SIGKILL');
      await Promise.all([exited, heard]);
    },
  };
}

/** Asserts that the ledger is sound and has every acknowledged charge once, with its amount. */
export async function expectAllOnce(
  store: BalanceStore,
  acknowledged: ReadonlyMap<string, bigint>,
): Promise<void> {
  const report = await store.audit();
  expect(report).toMatchObject({ isSound: true, gap: 0n, conflicts: 0, quarantined: 0 });
  const found = new Map<string, bigint>();
  let rows = 0;
  let cursor: string | undefined;
  do {
    const page = await store.listEntries({
      kind: 'charge',
      limit: 5_000,
      ...(cursor === undefined ? {} : { cursor }),
    });
    for (const entry of page.entries) found.set(entry.id, -entry.delta);
    rows += page.entries.length;
    cursor = page.next;
  } while (cursor !== undefined);
  expect(found.size).toBe(rows);
  const lost = [...acknowledged].filter(([id, amount]) => found.get(id) !== amount);
  expect(lost).toEqual([]);
}
