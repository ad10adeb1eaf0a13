/**
 * Turns off the schedule of payments, which would now and then run between two steps of a test; it
 * is tested in payments-workers.test.ts. Import this before everything that loads the gateway.
 */

import { jest } from '@jest/globals';

jest.mock('../../src/payments/payment-upkeep.js', () => ({
  startPaymentUpkeep: () => ({ stop: () => Promise.resolve() }),
}));
