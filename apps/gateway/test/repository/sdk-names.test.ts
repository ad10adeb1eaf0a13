/**
 * Compares the names in the installed SDKs' types with what the project serves, by
 * `scripts/sdk-names.mjs`. The workflow `newest-sdks.yml` does the same with the newest SDKs.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

type Reasons = Record<string, Record<string, string[]>>;

const scripts = join(__dirname, '../../../../scripts');
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sdk-names-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** The exit code and the output of the script, with changed reasons. */
function compare(change: (reasons: Reasons) => void) {
  const reasons = JSON.parse(readFileSync(join(scripts, 'unserved-names.json'), 'utf8')) as Reasons;
  change(reasons);
  const file = join(folder, 'reasons.json');
  writeFileSync(file, JSON.stringify(reasons));
  const options = ['--reasons', file];
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(scripts, 'sdk-names.mjs'), ...options],
    { encoding: 'utf8' },
  );
  return [status, stdout, stderr];
}

// F232: an SDK has a member, block, event, tool, stop reason or beta that nothing here serves: a
// test names it; each week, a workflow compares with the newest SDKs.
it('every name of the installed SDKs is served, or has a reason', () => {
  expect(compare(() => undefined)).toEqual([0, '', '']);
});

// F232
it('a name without a reason is printed, and a reason without a name or need', () => {
  const printed = compare((reasons) => {
    reasons['messages: delta'] = { 'No reason.': ['hologram_delta'] };
    reasons['chat completions: tool'] = { 'Not served.': ['function'] };
  });
  const lines = [
    'messages: delta: signature_delta is neither served nor in unserved-names.json',
    'messages: delta: compaction_delta is neither served nor in unserved-names.json',
    'messages: delta: hologram_delta is in unserved-names.json, but in no SDK',
    'chat completions: tool: function is in unserved-names.json, but served',
  ];
  expect(printed).toEqual([1, lines.map((line) => `${line}\n`).join(''), '']);
});
