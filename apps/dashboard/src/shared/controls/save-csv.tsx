/** A list as a CSV file: all pages of it, as the gateway writes them. */

import { useState } from 'preact/hooks';
import { patiently } from '../api/api.js';
import type { Answer, Failure } from '../api/api.js';
import { FailureNote, download } from './parts.js';

/**
 * @param props.fileName - Without `.csv`.
 * @param props.what - What the file has, if it is not what the screen shows.
 * @param props.read - Asks for the page of a cursor, as CSV; the first page has none.
 */
export function SaveCsv(props: {
  readonly fileName: string;
  readonly what?: string | undefined;
  readonly read: (cursor: string | undefined) => Promise<Answer<unknown>>;
}) {
  const { fileName, what, read } = props;
  const [isSaving, setIsSaving] = useState(false);
  const [failure, setFailure] = useState<Failure>();

  async function save() {
    setIsSaving(true);
    setFailure(undefined);
    const text = await readAll(read);
    setIsSaving(false);
    if (typeof text === 'string') download(`${fileName}.csv`, text, 'text/csv');
    else setFailure(text);
  }

  return (
    <div class="no-print">
      <button type="button" class="small" disabled={isSaving} onClick={() => void save()}>
        {isSaving ? 'Saving…' : what === undefined ? 'Save as CSV' : `Save ${what} as CSV`}
      </button>
      {failure !== undefined && (
        <FailureNote failure={failure} what="the file" retry={() => void save()} />
      )}
    </div>
  );
}

/** @returns all pages as one text with one header, or why there is none */
async function readAll(
  read: (cursor: string | undefined) => Promise<Answer<unknown>>,
): Promise<string | Failure> {
  let whole = '';
  let cursor: string | undefined;
  do {
    // A long list has more pages than one may read in a minute.
    const page = await patiently(() => read(cursor));
    if (!page.ok) return page.failure;
    const { text, next } = page;
    whole += cursor === undefined ? text : text.slice(text.indexOf('\n') + 1);
    cursor = next;
  } while (cursor !== undefined);
  return whole;
}
