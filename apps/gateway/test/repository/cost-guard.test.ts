/**
 * `npm run bench:guard`: how surely it notices that a request became more expensive. Its power
 * stands here: with pairs that differ by 5 % and processes that differ by 1 %.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { runs } from '../../../../scripts/runs.cjs';

const ROOT = resolve(__dirname, '../../../..');
const TRIALS = runs(__filename, 'trials');
/** Of pairs on a quiet machine. */
const QUIET = 0.05;
/** Of pairs while other work takes both cores. */
const BUSY = 0.5;

type Shares = Record<'passed' | 'slower' | 'undecided' | 'busy', number>;

/** @returns the share of each verdict */
function judge(trial: { slowdown: number; pairSpread: number; othersBusy?: number }): Shares {
  const script = join(__dirname, '../support/guard-trials.mjs');
  const args = [script, JSON.stringify({ trials: TRIALS, ...trial })];
  const counted = JSON.parse(
    execFileSync(process.execPath, args, { encoding: 'utf8' }),
  ) as Partial<Shares>;
  return { passed: 0, slower: 0, undecided: 0, busy: 0, ...counted };
}

describe('the guard of what a request costs', () => {
  it('passes what costs the same: 19 of 20 rows at least, and calls none slower', () => {
    const { passed, slower } = judge({ slowdown: 1, pairSpread: QUIET });
    expect(passed).toBeGreaterThanOrEqual(0.95);
    expect(slower).toBeLessThanOrEqual(0.01);
  });

  it('fails a planted slowdown of 5 % in 8 of 10 rows, and passes it in 1 of 12 at most', () => {
    const { passed, slower } = judge({ slowdown: 1.05, pairSpread: QUIET });
    expect(slower).toBeGreaterThanOrEqual(0.8);
    expect(passed).toBeLessThanOrEqual(1 / 12);
  });

  // F458: each of several changes makes a request 2 % more expensive: no guard notices any of them,
  // nor their sum.
  it('fails four changes of 2 % together, because it compares with the commit before the first', () => {
    expect(judge({ slowdown: 1.02, pairSpread: QUIET }).slower).toBeLessThan(0.5);
    expect(judge({ slowdown: 1.02 ** 4, pairSpread: QUIET }).slower).toBeGreaterThanOrEqual(0.97);
  });

  it('decides nothing from pairs that differ too much', () => {
    for (const slowdown of [1, 1.05]) {
      const { passed, slower } = judge({ slowdown, pairSpread: BUSY });
      expect(passed + slower).toBeLessThanOrEqual(0.1);
    }
  });

  it('decides nothing while other processes take the cores', () => {
    expect(judge({ slowdown: 1.2, pairSpread: QUIET, othersBusy: 0.5 }).busy).toBe(1);
  });

  it('says how to fetch a pinned commit that a shallow clone lacks', () => {
    const module = pathToFileURL(join(ROOT, 'bench/pinned.mjs')).href;
    const commit = '0123456789012345678901234567890123456789';
    const said = execFileSync(
      process.execPath,
      [
        '--input-type=module',
        '--eval',
        `import { pinnedCheckout } from '${module}'; console.log(pinnedCheckout('${commit}').missing)`,
      ],
      { encoding: 'utf8' },
    );
    expect(said).toMatch(new RegExp(`Fetch (it|the commit): git fetch .*origin ${commit}`, 'u'));
  });

  it('has a reason for each commit that was pinned', () => {
    const pins = JSON.parse(readFileSync(join(ROOT, 'bench/pinned.json'), 'utf8')) as object[];
    for (const pin of pins) {
      expect(pin).toEqual({
        commit: expect.stringMatching(/^[0-9a-f]{40}$/u),
        pinnedOn: expect.stringMatching(/^\d{4}-\d\d-\d\d$/u),
        reason: expect.stringMatching(/^.{20,}$/u),
      });
    }
  });
});
