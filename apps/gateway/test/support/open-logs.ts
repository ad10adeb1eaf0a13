/**
 * Counts the logs that the gateways of this process open and close. They write nothing. Import this
 * before everything that loads the gateway.
 */

import { jest } from '@jest/globals';
import { pino } from 'pino';

/** Those that are not closed yet. */
export const openLogs = new Set<object>();

jest.mock('../../src/base/log.js', () => ({
  openLog() {
    const log = pino({ level: 'silent' });
    openLogs.add(log);
    return { log, close: () => Promise.resolve(openLogs.delete(log)) };
  },
}));
