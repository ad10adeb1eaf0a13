/** The audit of the whole ledger. It runs in the gateway, and the page shows its progress. */

import { useEffect, useState } from 'preact/hooks';
import type { Answer, Failure } from '../shared/api/api.js';
import { countText } from '../shared/text/count-text.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { Id } from '../shared/text/ids.js';
import { Amount, Figure } from '../shared/controls/figures.js';
import {
  Badge,
  CodeBlock,
  Count,
  FailureNote,
  TableFrame,
  Time,
} from '../shared/controls/parts.js';
import { call } from './session.js';

const POLL_MS = 500;

export function Audit() {
  const [job, setJob] = useState<Sent<'auditJob'>>();
  const [failure, setFailure] = useState<Failure>();
  const [turn, setTurn] = useState(0);

  function take(answer: Answer<Sent<'auditJob'> | undefined>) {
    setFailure(answer.ok ? undefined : answer.failure);
    if (answer.ok) setJob(answer.value);
  }

  // Shows the latest audit: it may be running, or may have ended while no page was open.
  useEffect(() => {
    void call('GET /admin/ledger/audits', {}).then((answer) => {
      take(answer.ok ? { ...answer, value: answer.value.data[0] } : answer);
    });
  }, [turn]);

  useEffect(() => {
    if (job?.state !== 'running') return undefined;
    const timer = setTimeout(() => {
      void call('GET /admin/ledger/audits/:audit_id', { path: { audit_id: job.id } }).then(take);
    }, POLL_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [job]);

  async function start() {
    take(await call('POST /admin/ledger/audits', {}));
  }

  const isRunning = job?.state === 'running';
  return (
    <section class="card" aria-label="Audit">
      <h2>Audit</h2>
      <p>
        Reads the whole ledger, recomputes every charge from tokens and rates, and checks sequences,
        running balances, sums and the chain of seals. You may leave this page while the audit runs.
      </p>
      <p>
        <button type="button" class="main" disabled={isRunning} onClick={() => void start()}>
          {isRunning ? 'Auditing…' : 'Audit now'}
        </button>
      </p>
      {failure !== undefined && (
        <FailureNote
          failure={failure}
          what="the audit"
          retry={() => {
            setTurn(turn + 1);
          }}
        />
      )}
      {job !== undefined && <JobShown job={job} />}
    </section>
  );
}

function JobShown({ job }: { readonly job: Sent<'auditJob'> }) {
  switch (job.state) {
    case 'running':
      return (
        <div class="stack">
          <progress
            aria-label="Entries that were read"
            max={Math.max(job.expected_entries, 1)}
            value={job.entries}
          />
          <p class="quiet">
            <Count of={job.entries} /> of about <Count of={job.expected_entries} /> entries
          </p>
        </div>
      );
    case 'failed':
      return (
        <p class="note bad" role="alert">
          The audit that began at <Time iso={job.started_at} /> did not finish: {job.reason}.
        </p>
      );
    case 'done':
      return (
        <>
          <p class="quiet">
            Ended at <Time iso={job.finished_at} />.
          </p>
          {job.report !== null && <ReportShown report={job.report} />}
        </>
      );
  }
}

function ReportShown({ report }: { readonly report: Sent<'audit'> }) {
  const money = [
    ['Credited', report.credited_usd],
    ['Adjusted', report.adjusted_usd],
    ['Expired', report.expired_usd],
    ['Charged', report.charged_usd],
    ['Written off', report.written_off_usd],
    ['Balances', report.balances_usd],
    ['Gap', report.gap_usd],
  ] as const;
  const counts = [
    ['Accounts', report.accounts],
    ['Keys', report.keys],
    ['Entries', report.entries],
    ['Orphaned holds', report.orphaned_holds],
    ['Quarantined', report.quarantined],
    ['Conflicts', report.conflicts],
  ] as const;
  return (
    <div class="stack" role="status">
      <p>
        <Badge tone={report.is_sound ? 'good' : 'bad'}>
          {report.is_sound ? 'sound' : countText(report.differences.length, 'difference')}
        </Badge>
      </p>
      <dl class="grid" id="audit-figures">
        {money.map(([name, usd]) => (
          <Amount key={name} name={name} usd={usd} />
        ))}
        {counts.map(([name, count]) => (
          <Figure key={name} name={name}>
            <Count of={count} />
          </Figure>
        ))}
      </dl>
      {report.head !== null && (
        <div class="stack">
          <h3>End of the chain</h3>
          <CodeBlock text={report.head} what="the end of the chain" />
        </div>
      )}
      {report.differences.length > 0 && (
        <TableFrame label="Differences">
          <table>
            <caption>Differences</caption>
            <thead>
              <tr>
                <th scope="col">Check</th>
                <th scope="col">Where</th>
                <th scope="col">Expected</th>
                <th scope="col">Found</th>
              </tr>
            </thead>
            <tbody>
              {report.differences.map((difference, index) => (
                <tr key={index}>
                  <td>{difference.check}</td>
                  <td>
                    {[difference.account_id, difference.key_id, difference.entry_id]
                      .filter((id) => id !== null)
                      .map((id) => (
                        <div key={id}>
                          <Id of={id} />
                        </div>
                      ))}
                  </td>
                  <td class="id">{difference.expected}</td>
                  <td class="id">{difference.found}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </TableFrame>
      )}
    </div>
  );
}
