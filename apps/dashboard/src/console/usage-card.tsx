/** The usage of one account, or of all accounts, by day, and the margin of the same days. */

import { useState } from 'preact/hooks';
import { Segments } from '../shared/parts.js';
import { useResource } from '../shared/resource.js';
import { SaveCsv } from '../shared/save-csv.js';
import { dayAfter, lastDays } from '../shared/times.js';
import { DAY_COUNTS, UsagePlot } from '../shared/usage-plot.js';
import type { DayCount } from '../shared/usage-plot.js';
import { Margin } from './margin.js';
import { call } from './session.js';

export function UsageCard({ accountId }: { readonly accountId?: string }) {
  const [count, setCount] = useState<DayCount>('30');
  const days = lastDays(Number(count), Date.now());
  const range = {
    from: `${days[0] ?? ''}T00:00:00Z`,
    until: `${dayAfter(days.at(-1) ?? '')}T00:00:00Z`,
    account_id: accountId,
  };
  const query = { ...range, by: 'day,model' };
  const sums = useResource(JSON.stringify(query), (signal) =>
    call('GET /admin/usage', { query, signal }),
  );
  return (
    <>
      <section class="card" aria-label="Usage">
        <h2>Usage</h2>
        <UsagePlot
          days={days}
          of={sums}
          what="the usage"
          controls={
            <div class="row">
              <Segments
                label="How many days"
                value={count}
                options={DAY_COUNTS}
                onValue={setCount}
              />
              <SaveCsv
                fileName={`usage-${days[0] ?? ''}-${days.at(-1) ?? ''}`}
                read={() => call('GET /admin/usage', { query: { ...query, format: 'csv' } })}
              />
            </div>
          }
        />
      </section>
      {sums.value !== undefined && <Margin of={range} sums={sums.value.data} />}
    </>
  );
}
