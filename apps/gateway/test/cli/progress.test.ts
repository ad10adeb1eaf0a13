/** The stopwatch of long commands. */

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { eraseProgress, showProgress, timed } from '../../src/cli/progress.js';

let written: string;
const { isTTY } = process.stderr;

beforeEach(() => {
  jest.useFakeTimers();
  written = '';
  jest.spyOn(process.stderr, 'write').mockImplementation((chunk) => {
    written += String(chunk);
    return true;
  });
});
afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
  Object.assign(process.stderr, { isTTY });
});

const onTerminal = (is: boolean) => Object.assign(process.stderr, { isTTY: is });

/** Work of so many seconds. */
async function working(seconds: number, during?: () => void): Promise<string> {
  const running = timed(
    () => new Promise<string>((resolve) => setTimeout(() => resolve('done'), seconds * 1_000)),
  );
  during?.();
  await jest.advanceTimersByTimeAsync(seconds * 1_000);
  return running;
}

describe('a stopwatch', () => {
  it('counts the seconds of long work on a terminal, and goes away', async () => {
    onTerminal(true);
    expect(await working(2.5)).toBe('done');
    expect(written.split('\r\u001b[K')).toEqual(['', '1 s', '2 s', '']);
  });

  it('shows the progress beside the seconds', async () => {
    onTerminal(true);
    await working(1.5, () => showProgress('40 of 90 entries', false));
    expect(written).toContain('40 of 90 entries, 1 s');
  });

  it('shows nothing for work of less than a second, or in a log', async () => {
    onTerminal(true);
    await working(0.9);
    onTerminal(false);
    await working(5, () => showProgress('40 of 90 entries', false));
    expect(written).toBe('');
  });

  it('ends when the work fails', async () => {
    onTerminal(true);
    await expect(timed(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await jest.advanceTimersByTimeAsync(3_000);
    eraseProgress();
    expect(written).toBe('');
  });
});
