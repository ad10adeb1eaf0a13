/**
 * Turns off the scheduled work on payments, which could run between two steps of a test.
 * payments-workers.test.ts tests that work. Import this before everything that loads the gateway.
 */

import { jest } from '@jest/globals';

jest.mock('../../src/payments/payment-upkeep.js', () => ({
  startPaymentUpkeep: () => ({ stop: () => Promise.resolve() }),
}));
