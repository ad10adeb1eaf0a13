/** The environment of the tests puts back what a file has changed, and nothing else. */

import { expect, it } from '@jest/globals';
import TestEnvironment from '../../../../scripts/jest-environment.cjs';

const listeners = () =>
  Object.fromEntries(process.eventNames().map((name) => [name, process.listenerCount(name)]));

it('removes the listeners of files, and keeps those of Node and Jest', async () => {
  const before = listeners();
  expect(Object.keys(before)).toContain('newListener');
  for (let file = 0; file < 10; file += 1) {
    const environment = new TestEnvironment({ projectConfig: { fakeTimers: {} } });
    await environment.setup();
    process.on('beforeExit', () => undefined);
    process.once('SIGUSR2', () => undefined);
    process.on('warning', () => undefined);
    await environment.teardown();
    expect(listeners()).toEqual(before);
  }
});

it('puts back variables, and properties of the globals', async () => {
  const environment = new TestEnvironment({ projectConfig: { fakeTimers: {} } });
  process.env['OF_A_FILE'] = '1';
  const { fetch } = globalThis;
  Object.assign(globalThis, { ofAFile: 1, fetch: () => undefined });
  await environment.teardown();
  expect(process.env).not.toHaveProperty('OF_A_FILE');
  expect(globalThis).not.toHaveProperty('ofAFile');
  expect(globalThis.fetch).toBe(fetch);
});
