/** The usage of the key or of the account: spend, tokens and requests by day. */

import { useState } from 'preact/hooks';
import { Segments } from '../shared/parts.js';
import { useResource } from '../shared/resource.js';
import { lastDays } from '../shared/times.js';
import { DAY_COUNTS, UsagePlot } from '../shared/usage-plot.js';
import type { DayCount } from '../shared/usage-plot.js';
import { call } from './session.js';

const OWNERS = [
  ['key', 'This key'],
  ['account', 'All keys'],
] as const;

export function Usage({ isManager }: { readonly isManager: boolean }) {
  const [count, setCount] = useState<DayCount>('30');
  const [of, setOf] = useState<'key' | 'account'>(isManager ? 'account' : 'key');
  const days = lastDays(Number(count), Date.now());
  const sums = useResource(`usage ${of} ${count}`, (signal) =>
    call('GET', '/v1/dashboard/usage/summary', {
      query: { by: 'day,model', from: days[0], until: days.at(-1), of },
      signal,
    }),
  );
  const controls = (
    <div class="row">
      {isManager && <Segments label="Whose usage" value={of} options={OWNERS} onValue={setOf} />}
      <Segments label="How many days" value={count} options={DAY_COUNTS} onValue={setCount} />
    </div>
  );
  return (
    <section class="card" aria-label="Usage">
      <h2>Usage</h2>
      <UsagePlot days={days} of={sums} what="your usage" controls={controls} />
    </section>
  );
}
