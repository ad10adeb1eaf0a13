/**
 * A short run of the torture harness: real processes, databases and kills. The ledger is compared
 * with two witnesses: the usages that the clients received, and the upstreams' journals.
 */

import { expect, it } from '@jest/globals';
import { runTorture } from '../support/torture.js';

// F4: killed again and again: nothing lost, doubled or invented, gap 0, through 200 and 100 kill
// -9.
it('loses, doubles and invents no charge, and overdraws no key beyond its bound, during kills, outages and races', () => {
  const { output, status } = runTorture('http', 'upstreams', 'race', 'zero');
  expect(output).toMatch(/\n\nseed 1: 29 passed, 0 failed\n$/);
  expect(status).toBe(0);
});
