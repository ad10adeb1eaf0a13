import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Polls until a condition holds. If it never does, the test's own timeout ends the wait. The longer
 * it takes, the rarer it polls, because each poll takes CPU time from what is waited for.
 */
export async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const begin = performance.now();
  while (!(await isTrue())) {
    const ms = Math.min(Math.max((performance.now() - begin) / 10, 5), 100);
    await new Promise((resolve) => setTimeout(resolve, ms));
  }
}

/**
 * Repeats an expectation until it holds, for effects that come a moment after their cause, such as
 * what a page draws. On a busy machine this moment is long.
 */
export async function eventually(expectation: () => Promise<void>): Promise<void> {
  for (const deadline = Date.now() + 120_000; ; await sleep(50)) {
    try {
      await expectation();
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
  }
}
