/** Reads a gateway's `/metrics`. */

import type { TestGateway } from './gateway.js';

/**
 * @param name - The name as `/metrics` writes it: with its labels, if it has any.
 * @returns the value; `undefined` if there is no such line
 */
export async function readMetric(
  gateway: Pick<TestGateway, 'adminUrl'>,
  name: string,
): Promise<number | undefined> {
  const text = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
}
