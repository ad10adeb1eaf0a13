/** Compares the usage objects that an SDK received with the ledger. The objects are not sent. */

import { useState } from 'preact/hooks';
import { countText } from '../shared/text/count-text.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { Empty, FailureNote, TableFrame, TextField, Time } from '../shared/controls/parts.js';
import type { Failure } from '../shared/api/api.js';
import { dayAfter, lastDays } from '../shared/text/times.js';
import { compareUsages } from './comparison.js';
import type { Comparison } from './comparison.js';
import { readReceived } from '../shared/money/received-usage.js';
import { call } from './session.js';
import { OWN_STYLE } from '../shared/text/numbers.js';

const PAGE_CHARGES = 1000;
const MOST_PAGES = 50;

interface Result extends Comparison {
  readonly problems: readonly string[];
  /** Whether there are more charges than were read. */
  readonly hasMore: boolean;
  /** Charges before this time are in an archive. */
  readonly archivedUntil: string | null;
}

export function CheckUsage() {
  const days = lastDays(30, Date.now());
  const [from, setFrom] = useState(days[0] ?? '');
  const [until, setUntil] = useState(days.at(-1) ?? '');
  const [text, setText] = useState('');
  const [progress, setProgress] = useState<string>();
  const [failure, setFailure] = useState<Failure>();
  const [result, setResult] = useState<Result>();

  async function compare() {
    const received = readReceived(text);
    setResult(undefined);
    setFailure(undefined);
    setProgress('Reading the ledger…');
    const read = await readCharges({ from, until: dayAfter(until) }, setProgress);
    setProgress(undefined);
    if (!read.ok) {
      setFailure(read.failure);
      return;
    }
    const { charges, hasMore, archivedUntil } = read;
    const comparison = compareUsages(received.usages, charges, !hasMore && archivedUntil === null);
    setResult({ ...comparison, problems: received.problems, hasMore, archivedUntil });
  }

  return (
    <section class="card" aria-label="Check my usage">
      <h2>Check my usage</h2>
      <p class="quiet">
        Drop the responses or usage objects that your SDK received: a JSON array, or one object per
        line, each with its <code>id</code> (or <code>request_id</code>) and <code>usage</code>.
        They are compared in your browser and not sent anywhere.
      </p>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void compare();
        }}
      >
        <UsageField text={text} onText={setText} />
        <div class="row">
          <TextField label="First day (UTC)" type="date" value={from} onValue={setFrom} />
          <TextField label="Last day (UTC)" type="date" value={until} onValue={setUntil} />
          <button
            type="submit"
            class="main"
            disabled={text.trim() === '' || progress !== undefined}
          >
            Compare with the ledger
          </button>
        </div>
      </form>
      {progress !== undefined && (
        <p class="loading" role="status">
          {progress}
        </p>
      )}
      {failure !== undefined && (
        <FailureNote failure={failure} what="the ledger" retry={() => void compare()} />
      )}
      {result !== undefined && <ComparisonShown comparison={result} />}
    </section>
  );
}

/** Reads page after page. @param onProgress - Called after each page. */
async function readCharges(
  range: { readonly from: string; readonly until: string },
  onProgress: (text: string) => void,
) {
  const charges: Sent<'usage'>[] = [];
  let cursor: string | undefined;
  let archivedUntil: string | null = null;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const answer = await call('GET /v1/dashboard/usage', {
      query: { kind: 'charge', ...range, limit: PAGE_CHARGES, cursor },
    });
    if (!answer.ok) return answer;
    charges.push(...answer.value.data.filter((entry) => entry.object === 'usage'));
    onProgress(`Read ${OWN_STYLE.whole(charges.length)} charges…`);
    archivedUntil = answer.value.archived_until;
    cursor = answer.value.next_cursor ?? undefined;
    if (cursor === undefined) break;
  }
  return { ok: true, charges, hasMore: cursor !== undefined, archivedUntil } as const;
}

/** A text that files fill when they are dropped or chosen. */
function UsageField(props: { readonly text: string; readonly onText: (text: string) => void }) {
  const { text, onText } = props;
  const [isOver, setIsOver] = useState(false);

  async function read(files: FileList | null | undefined) {
    const texts = await Promise.all([...(files ?? [])].map((file) => file.text()));
    if (texts.length > 0) onText(texts.join('\n'));
  }

  return (
    <div
      class={`drop stack ${isOver ? 'over' : ''}`}
      onDragOver={(event) => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => {
        setIsOver(false);
      }}
      onDrop={(event) => {
        event.preventDefault();
        setIsOver(false);
        void read(event.dataTransfer?.files);
      }}
    >
      <label>
        Drop a file here, or choose one:{' '}
        <input
          type="file"
          accept=".json,.jsonl,.ndjson,.txt"
          onChange={(event) => void read(event.currentTarget.files)}
        />
      </label>
      <textarea
        class="mono"
        aria-label="Usage objects"
        spellcheck={false}
        placeholder={'{"id":"msg_…","usage":{"input_tokens":12,"output_tokens":34}}'}
        value={text}
        onInput={(event) => {
          onText(event.currentTarget.value);
        }}
      />
    </div>
  );
}

function ComparisonShown({ comparison }: { readonly comparison: Result }) {
  const { compared, unknown, differences, problems, others, hasMore, archivedUntil } = comparison;
  if (compared + unknown + problems.length === 0)
    return <Empty>There is nothing to compare.</Empty>;
  const isEqual = unknown + differences.length + problems.length === 0;
  return (
    <div class="stack" role="status">
      <div class={`note ${isEqual ? 'good' : 'bad'}`}>
        <p>
          {OWN_STYLE.whole(compared)} compared, {OWN_STYLE.whole(compared - differences.length)}{' '}
          equal, {OWN_STYLE.whole(differences.length)} different
          {problems.length > 0 && `, ${String(problems.length)} not readable`}.
        </p>
        <p>
          {others > 0
            ? `${countText(others, 'more charge')} of these days without a usage object here.`
            : !hasMore &&
              archivedUntil === null &&
              'Every charge of these days has its usage object.'}
        </p>
        {hasMore && (
          <p>
            Only the newest {OWN_STYLE.whole(MOST_PAGES * PAGE_CHARGES)} charges of these days were
            read. Choose fewer days.
          </p>
        )}
        {archivedUntil !== null && (
          <p>
            Charges before <Time iso={archivedUntil} /> are in an archive and were not read.
          </p>
        )}
        {unknown > 0 && (
          <p>{countText(unknown, 'usage object')} without a charge among those that were read.</p>
        )}
      </div>
      {problems.length > 0 && (
        <ul>
          {problems.slice(0, 20).map((problem) => (
            <li key={problem}>Object {problem}</li>
          ))}
        </ul>
      )}
      {differences.length > 0 && (
        <TableFrame label="Differences">
          <table>
            <caption>Differences</caption>
            <thead>
              <tr>
                <th scope="col">Id</th>
                <th scope="col">You received</th>
                <th scope="col">The ledger has</th>
              </tr>
            </thead>
            <tbody>
              {differences.map(({ id, received, charged }) => (
                <tr key={id}>
                  <td class="id">{id}</td>
                  <td>{received}</td>
                  <td>{charged}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </TableFrame>
      )}
    </div>
  );
}
