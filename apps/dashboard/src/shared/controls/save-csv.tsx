/** A whole list as a CSV file. */

import { useState } from 'preact/hooks';
import { patiently } from '../api/api.js';
import type { Answer, Failure, Success } from '../api/api.js';
import { FailureNote, download } from './parts.js';

/**
 * @param props.fileName - Without `.csv`.
 * @param props.what - What the file has, if it is not what the screen shows.
 * @param props.read - Its text is the file.
 */
export function SaveCsv(props: {
  readonly fileName: string;
  readonly what?: string | undefined;
  readonly read: () => Promise<Answer<unknown>>;
}) {
  const { fileName, what, read } = props;
  const [isSaving, setIsSaving] = useState(false);
  const [failure, setFailure] = useState<Failure>();

  async function save() {
    setIsSaving(true);
    setFailure(undefined);
    // A key or an operator can have one file at a time.
    const answer = await patiently(read);
    setIsSaving(false);
    if (answer.ok) download(`${fileName}${lackOf(answer)}.csv`, answer.text, 'text/csv');
    else setFailure(answer.failure);
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

/** What the file lacks is in its name, which stays with it. */
function lackOf({ archivedUntil }: Success<unknown>): string {
  return archivedUntil === undefined ? '' : `-without-charges-before-${archivedUntil.slice(0, 10)}`;
}
