/** A list as CSV in the command line, over operations that the test makes up. */

import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { printWholeCsv } from '../../src/cli/whole-csv.js';
import type { CallOperation } from '../../src/operator/operations/operations.js';

let out = '';
let err = '';
beforeEach(() => {
  [out, err] = ['', ''];
  answerWrites(undefined);
  jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
    err += String(text);
    return true;
  });
});
afterEach(() => {
  jest.restoreAllMocks();
});

/** @param error - What each write to the standard output fails with. */
function answerWrites(error: Error | undefined): void {
  const write = (text: string, done: (error?: Error) => void) => {
    if (error === undefined) out += text;
    done(error);
    return true;
  };
  jest.spyOn(process.stdout, 'write').mockImplementation(write as never);
}

/** A list whose pages are these, each time that it is read. */
function pagesAre(...readings: readonly (readonly (readonly object[])[])[]): CallOperation {
  let reading = -1;
  const call = (_name: string, { after = '0' }: { readonly after?: string }) => {
    const at = Number(after);
    if (at === 0) reading = Math.min(reading + 1, readings.length - 1);
    const pages = readings[reading] ?? [];
    const hasMore = at + 1 < pages.length;
    return Promise.resolve({
      data: pages[at],
      has_more: hasMore,
      next_cursor: hasMore ? String(at + 1) : null,
    });
  };
  return call as never;
}

const account = (id: string, metadata: object) => ({ id, metadata });
const list = { name: 'listAccounts', input: {} } as const;

it('has a column for each name in the metadata of any page', async () => {
  const pages = [[account('a', { plan: 'pro' })], [account('b', { region: '=1' })]];
  await printWholeCsv(pagesAre(pages), list);
  const [header = '', ...rows] = out.trimEnd().split('\r\n');
  expect(header).toMatch(/,metadata\.plan,metadata\.region$/);
  expect(rows).toEqual([expect.stringMatching(/,pro,$/), expect.stringMatching(/,,'=1$/)]);
  expect(err).toBe('');
});

// F473
it('fails if a row has a name that came while the list was read', async () => {
  const before = [[account('a', {})], [account('b', {})]];
  const after = [[account('a', {})], [account('b', { plan: 'pro' })]];
  await expect(printWholeCsv(pagesAre(before, after), list)).rejects.toThrow(
    'the CSV has no column metadata.plan, which was added while the list was read: try again',
  );
  expect(err).toBe('The CSV is not whole: it ends after row 1.\n');
});

// F477
it('fails before it prints if the rows of a long list may move while it is read', async () => {
  const pages = [[account('a', {})], [account('b', {})]];
  const byBalance = { name: 'listAccounts', input: { order: 'balance' } } as const;
  await expect(printWholeCsv(pagesAre(pages), byBalance)).rejects.toThrow(
    /^order: only with limit/,
  );
  await printWholeCsv(pagesAre([pages[0]!]), byBalance);
  expect(out.split('\r\n')).toHaveLength(3);
});

// F474
it('fails if its output cannot be written', async () => {
  answerWrites(Object.assign(new Error('write ENOSPC'), { code: 'ENOSPC' }));
  await expect(printWholeCsv(pagesAre([[account('a', {})]]), list)).rejects.toThrow(
    'output: cannot be written (ENOSPC)',
  );
});
