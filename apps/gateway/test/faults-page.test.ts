/**
 * `docs/faults.md` names tests: that they exist, and that no case lacks one, is for a test to say.
 */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const ROOT = join(__dirname, '../../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const page = read('docs/faults.md');
const paths = new Map(
  [...page.matchAll(/^\| ([\w-]+) +\| `([^`]+)` +\|$/gm)].map(([, name, path]) => [name!, path!]),
);
/** What stands below `- F<n>`, case by case. */
const proofs = page.split(/^- (?=F\d+$)/m).slice(1);

it('the page of faults has a row and a proof for each case', () => {
  const cases = Array.from({ length: 95 }, (_, n) => `F${String(n + 1)}`).filter(
    (name) => name !== 'F25',
  );
  expect([...page.matchAll(/^\| (F\d+) +\|/gm)].map(([, name]) => name)).toEqual(cases);
  expect(proofs.map((proof) => proof.split('\n')[0])).toEqual(cases);
  for (const proof of proofs) expect(proof).toMatch(/^ {2}- [\w-]+: ["`]/m);
});

it('the page of faults names tests by titles that they have, and parts of the torture that there are', () => {
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
