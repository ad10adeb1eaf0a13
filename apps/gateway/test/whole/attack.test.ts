/** A short run of the attacks: hostile bodies against a gateway with little memory. */

import { expect, it } from '@jest/globals';
import { runTorture } from '../support/torture.js';

// F71: body that takes much time or memory: 400, or prepared in a worker thread; other requests are
// served meanwhile.
it('survives hostile bodies of every shape, serves other keys meanwhile, and charges every answer', () => {
  const { output, status } = runTorture('attack');
  // Shows the number of bodies, the longest block of the event loop, the most memory, and answers
  // that were not charged.
  process.stdout.write(output.slice(output.indexOf('\n\n')));
  expect(output).toMatch(/\n\nseed 1: 8 passed, 0 failed\n$/);
  expect(status).toBe(0);
});
