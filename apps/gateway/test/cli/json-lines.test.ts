/** Which characters end a line of a log or a witness file. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { readJsonLines } from '../../src/cli/json-lines.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gateway-json-lines-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

async function read(text: string) {
  const path = join(folder, 'lines');
  writeFileSync(path, text);
  const lines = [];
  for await (const { place, json } of readJsonLines(path)) {
    lines.push([Number(place.slice(path.length + 1)), json]);
  }
  return lines;
}

it.each([
  ['U+2028', '\u2028'],
  ['U+2029', '\u2029'],
  ['U+0085', '\u0085'],
])('does not end a line at %s, which JSON text may contain', async (_, character) => {
  const line = JSON.stringify({ msg: `a${character}b` });
  expect(line).toContain(character);
  expect(await read(`${line}\n{"msg":"c"}\n`)).toEqual([
    [1, { msg: `a${character}b` }],
    [2, { msg: 'c' }],
  ]);
});

it('reads a last line without an end, and counts the lines that it skips', async () => {
  const skipped = 'gateway: listening on http://127.0.0.1:8080\r\n\n';
  expect(await read(`${skipped}{"msg":"a"}\r\n{"msg":`)).toEqual([
    [3, { msg: 'a' }],
    [4, undefined],
  ]);
});
