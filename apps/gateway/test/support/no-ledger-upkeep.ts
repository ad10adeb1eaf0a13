/**
 * Turns off the scheduled work on the ledger. A minute after a gateway's start, it rolls up the
 * sums of past hours, which a test may still be moving in time, and it seals entries that a test
 * rewrites. ledger-upkeep.test.ts tests that work. Import this before everything that loads the
 * gateway.
 */

import { jest } from '@jest/globals';

jest.mock('../../src/ledger/ledger-upkeep.js', () => ({
  startLedgerUpkeep: () => ({ summary: undefined, stop: () => Promise.resolve() }),
}));
