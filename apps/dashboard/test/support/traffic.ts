/** A gateway that serves the pages, and traffic in the native and the chat format. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultPriceTableJson } from '@gateway/billing';
import {
  postChat,
  postMessages,
  startTestGateway,
  userMessage,
} from '../../../gateway/test/support/gateway.js';
import type { TestGateway } from '../../../gateway/test/support/gateway.js';
import { PAGES_DIR } from './browser.js';

export const ADMIN_TOKEN = 'admin-token-of-the-browser-tests';
export const READ_TOKEN = 'read-token-of-the-browser-tests';

export function startPages(env: Readonly<Record<string, string>> = {}): Promise<TestGateway> {
  return startTestGateway({
    env: {
      PAGES_DIR,
      ADMIN_TOKEN,
      ADMIN_TOKENS: `reader:read:${READ_TOKEN}`,
      KEY_PEPPER: 'pepper of the tests of the pages',
      // Reads are limited per address, and each window sends an address of its own.
      TRUST_PROXY: '1',
      ...env,
    },
  });
}

/** Creates a folder for a ledger, which several gateways can open one after the other. */
export function createFolder(): { readonly path: string; readonly remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'gateway-pages-'));
  return {
    path,
    remove: () => {
      rmSync(path, { recursive: true, force: true });
    },
  };
}

/** Writes the default prices with every input rate changed. @returns the path of the table */
export function writeOtherPrices(folder: string): string {
  const path = join(folder, 'other-prices.json');
  const table = structuredClone(defaultPriceTableJson) as { models: { rate_in: string }[] };
  for (const model of table.models) model.rate_in = '7.654321';
  writeFileSync(path, JSON.stringify(table));
  return path;
}

export const MODELS = ['claude-sonnet-4-6', 'claude-haiku-4-5'] as const;

/** @param seed - The same seed gives the same requests. */
export async function sendTraffic(
  gateway: TestGateway,
  apiKeys: readonly string[],
  { count, seed }: { readonly count: number; readonly seed: number },
): Promise<void> {
  const next = pseudoRandom(seed);
  for (let index = 0; index < count; index += 1) {
    const post = next(2) === 0 ? postMessages : postChat;
    const body = userMessage('word '.repeat(1 + next(400)), {
      model: MODELS[next(MODELS.length)],
      stream: next(2) === 0,
    });
    const response = await post(gateway, apiKeys[next(apiKeys.length)] ?? '', body);
    const text = await response.text();
    if (!response.ok) throw new Error(text);
  }
}

/** Returns pseudorandom whole numbers from 0 to `below - 1` (mulberry32). */
function pseudoRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}
