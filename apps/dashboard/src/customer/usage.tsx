/** The usage of the key or of the account: spend, tokens and requests by day. */

import { useState } from 'preact/hooks';
import { Segments } from '../shared/parts.js';
import { useResource } from '../shared/resource.js';
import { SaveCsv } from '../shared/save-csv.js';
import { dayAfter, lastDays } from '../shared/times.js';
import { DAY_COUNTS, UsagePlot } from '../shared/usage-plot.js';
import type { DayCount } from '../shared/usage-plot.js';
import { OWNERS } from './ledger.js';
import { call } from './session.js';

export function Usage({ seesAccount }: { readonly seesAccount: boolean }) {
  const [count, setCount] = useState<DayCount>('30');
  const [of, setOf] = useState<'key' | 'account'>(seesAccount ? 'account' : 'key');
  const days = lastDays(Number(count), Date.now());
  const query = { by: 'day,model', from: days[0], until: dayAfter(days.at(-1) ?? ''), of };
  const sums = useResource(`usage ${of} ${count}`, (signal) =>
    call('GET /v1/dashboard/usage/summary', { query, signal }),
  );
  const controls = (
    <div class="row">
      {seesAccount && <Segments label="Whose usage" value={of} options={OWNERS} onValue={setOf} />}
      <Segments label="How many days" value={count} options={DAY_COUNTS} onValue={setCount} />
      <SaveCsv
        fileName={`usage-${days[0] ?? ''}-${days.at(-1) ?? ''}`}
        read={() => call('GET /v1/dashboard/usage/summary', { query: { ...query, format: 'csv' } })}
      />
    </div>
  );
  return (
    <section class="card" aria-label="Usage">
      <h2>Usage</h2>
      <UsagePlot days={days} of={sums} what="your usage" controls={controls} />
    </section>
  );
}
