/**
 * Short runs of the parts of the torture harness that search for a way past the bounds of an
 * account: random key operations of holders, random answers of the upstream to one customer, and
 * values of a key that change at every moment of a request.
 */

import { expect, it } from '@jest/globals';
import { runTorture } from '../support/torture.js';

it('keeps every bound of an account and every charge, whatever its holder and the upstream do', () => {
  const { output, status } = runTorture('holders', 'answers', 'changes');
  expect(output).toMatch(/\n\nseed 1: 18 passed, 0 failed\n$/);
  expect(status).toBe(0);
});
