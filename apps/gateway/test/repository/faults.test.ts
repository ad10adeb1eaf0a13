/** Every numbered fault (docs/faults.md) has one description and a test that runs. */

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const ROOT = join(__dirname, '../../../..');

interface Fault {
  readonly number: number;
  readonly sentences: readonly string[];
  readonly proofs: readonly { readonly file: string; readonly title: string }[];
}

const faults = JSON.parse(
  execFileSync(process.execPath, ['scripts/faults.mjs', '--json'], { cwd: ROOT, encoding: 'utf8' }),
) as readonly Fault[];

it('every fault has a number, one description, and a test or a part of the torture', () => {
  const last = faults.at(-1)!.number;
  const numbers = Array.from({ length: last }, (_, index) => index + 1);
  // There is no F25.
  expect(faults.map(({ number }) => number)).toEqual(numbers.filter((number) => number !== 25));
  expect(faults.filter(({ sentences }) => sentences.length !== 1)).toEqual([]);
  expect(faults.length).toBeGreaterThan(230);
});

it('a test that proves several faults, and a fault with several tests, are listed', () => {
  const of = (number: number): Fault | undefined => faults.find((fault) => fault.number === number);
  const title = 'a commit whose answer was lost with its connection is found, not repeated';
  const file = 'packages/balance-store/test/postgres/faults.test.ts';
  expect(of(12)?.proofs).toEqual([{ file, title }]);
  expect(of(20)?.proofs.map(({ title }) => title)).toEqual(
    expect.arrayContaining(['race', 'zero']),
  );
  expect(of(67)?.proofs.map(({ title }) => title)).toContain('zero');
});
