/** Checks `docs/faults.md`: the tests that it names exist, and every case has one. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const ROOT = join(__dirname, '../../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const page = read('docs/faults.md');
const paths = new Map(
  [...page.matchAll(/^\| ([\w-]+) +\| `([^`]+)` +\|$/gm)].map(([, name, path]) => [name!, path!]),
);
/** The text below each `- F<n>`. */
const proofs = page.split(/^- (?=F\d+$)/m).slice(1);

it('docs/faults.md has a row and a proof for each case', () => {
  const rows = [...page.matchAll(/^\| (F\d+) +\|/gm)].map(([, name]) => name);
  // There is no F25.
  const cases = rows.map((_, index) => `F${String(index < 24 ? index + 1 : index + 2)}`);
  expect(rows).toEqual(cases);
  expect(rows.length).toBeGreaterThan(100);
  expect(proofs.map((proof) => proof.split('\n')[0])).toEqual(cases);
  for (const proof of proofs) expect(proof).toMatch(/^ {2}- [\w-]+: ["`]/m);
});

it('docs/faults.md names existing tests by their titles, and existing parts of the torture', () => {
  for (const path of paths.values())
    expect([path, existsSync(join(ROOT, path))]).toEqual([path, true]);
  const used = new Set<string>();
  const missing: string[] = [];
  for (const [line, name, title] of page.matchAll(/^ {2}- ([\w-]+): ["`]([^"`]+)["`].*$/gm)) {
    used.add(name!);
    const isThere =
      name === 'torture'
        ? read('torture/main.mjs').includes(`\n  ${title!}: {\n`)
        : paths.has(name!) && read(paths.get(name!)!).includes(title!);
    if (!isThere) missing.push(line);
  }
  expect(missing).toEqual([]);
  expect([...paths.keys()].filter((name) => !used.has(name))).toEqual([]);
});
