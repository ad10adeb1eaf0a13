/** Audits as jobs: one at a time, each with the anchor it was asked for. */

import { describe, expect, it } from '@jest/globals';
import { BackgroundWorkError } from '@gateway/balance-store';
import type { AuditOptions, AuditReport, NewEvent } from '@gateway/balance-store';
import { createAuditJobs } from '../../src/operator/operations/audit-jobs.js';
import { until } from '../support/until.js';

const ANCHOR = { block: 7n, hash: 'a'.repeat(64) };

function setUp() {
  const asked: AuditOptions[] = [];
  const events: NewEvent[] = [];
  let failures = 0;
  let end: (report: AuditReport) => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const jobs = createAuditJobs(
    {
      audit: (options = {}) => {
        asked.push(options);
        return new Promise((resolve, reject) => ([end, fail] = [resolve, reject]));
      },
      readUsage: () => Promise.resolve([]),
      recordEvent: (event) => Promise.resolve(void events.push(event)),
    },
    Date.now,
    { error: () => undefined },
    () => (failures += 1),
  );
  return {
    jobs,
    asked,
    events,
    end: (report: Partial<AuditReport>) => end(report as AuditReport),
    fail: (error: Error) => fail(error),
    failures: () => failures,
  };
}

describe('audits as jobs', () => {
  it('start once, however many callers ask for the same audit', async () => {
    const { jobs, asked, end } = setUp();
    const [first, second] = await Promise.all([jobs.start(ANCHOR), jobs.start(ANCHOR)]);
    expect(second?.id).toBe(first?.id);
    expect((await jobs.start({ ...ANCHOR }))?.id).toBe(first?.id);
    expect(asked).toHaveLength(1);
    end({ isSound: true, entries: 3 });
    await until(() => jobs.find(first?.id ?? '')?.result.state === 'done');
    expect((await jobs.start(ANCHOR))?.id).not.toBe(first?.id);
  });

  it('are not shared with a caller that asks for a different anchor', async () => {
    const { jobs, asked, end } = setUp();
    const [first, other] = await Promise.all([jobs.start(undefined), jobs.start(ANCHOR)]);
    expect(other).toBeUndefined();
    end({ isSound: true, entries: 0 });
    await until(() => jobs.find(first?.id ?? '')?.result.state === 'done');
    await jobs.start(ANCHOR);
    expect(asked.map(({ anchor }) => anchor)).toEqual([undefined, ANCHOR]);
  });

  it('record an event for the operator if the ledger is not sound', async () => {
    const { jobs, events, end } = setUp();
    const job = await jobs.start(undefined);
    end({ isSound: false, entries: 1, differences: [], gap: 5n });
    await until(() => jobs.find(job?.id ?? '')?.result.state === 'done');
    expect(events.map(({ type }) => type)).toEqual(['ledger.unsound']);
  });

  // F152
  it('fail with the reason if the thread of the audit needs more memory than it may use', async () => {
    const { jobs, fail, failures } = setUp();
    const job = await jobs.start(undefined);
    fail(new BackgroundWorkError('the work needed more memory than it may use, and was ended'));
    await until(() => jobs.find(job?.id ?? '')?.result.state === 'failed');
    expect(jobs.find(job?.id ?? '')?.result).toMatchObject({
      reason: 'the work needed more memory than it may use, and was ended',
    });
    expect(failures()).toBe(1);
    expect((await jobs.start(undefined))?.id).not.toBe(job?.id);
  });
});
