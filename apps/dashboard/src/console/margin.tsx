/** What customers paid, what it cost the operator, and the margin: in all and by day. */

import { Amount, Figure } from '../shared/controls/figures.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { PagedTable } from '../shared/controls/paged-table.js';
import type { Column } from '../shared/controls/paged-table.js';
import { loadedList } from '../shared/api/pages.js';
import { Count, Empty, Loaded, Signed } from '../shared/controls/parts.js';
import type { Resource } from '../shared/api/resource.js';
import { sumUsd } from '../shared/text/usd.js';

type Sum = Sent<'costedUsageSum'>;
type Sums = Sent<'costedUsageSums'>;

const UNKNOWN = <span class="quiet">unknown</span>;

const COLUMNS: readonly Column<Sum>[] = [
  { label: 'Day', value: (sum) => sum.day ?? null },
  { label: 'Requests', kind: 'count', value: (sum) => sum.requests },
  { label: 'Charged', kind: 'usd', value: (sum) => sum.charged_usd },
  {
    label: 'Cost',
    kind: 'usd',
    value: (sum) => sum.cost_usd ?? null,
    cell: (sum, shown) => (sum.cost_usd === undefined ? UNKNOWN : shown),
  },
  {
    label: 'Margin',
    kind: 'usd',
    value: (sum) => sum.margin_usd ?? null,
    cell: (sum, shown) =>
      sum.margin_usd === undefined ? (
        UNKNOWN
      ) : sum.margin_usd.startsWith('-') ? (
        <strong class="loss">{shown}</strong>
      ) : (
        shown
      ),
  },
];

/** @param props.of - The sums of days. The usage beside it has those by model, account and more. */
export function Margin({ of }: { readonly of: Resource<Sums> }) {
  return (
    <section class="card" aria-label="Margin">
      <h2>Margin</h2>
      <Loaded of={of} what="the margin">
        {({ data }) => <Days of={data} />}
      </Loaded>
    </section>
  );
}

function Days({ of }: { readonly of: readonly Sum[] }) {
  const all = totalOf(of);
  if (all.cost_usd === undefined) {
    return (
      <Empty>
        No cost is recorded in these days. Each charge records one if the table of{' '}
        <code>COSTS</code> has its model.
      </Empty>
    );
  }
  return (
    <div class="stack">
      <dl class="grid">
        <Amount name="Charged to customers" usd={all.charged_usd} />
        <Amount name="Cost to you" usd={all.cost_usd} />
        {all.margin_usd !== undefined && (
          <Figure name="Margin">
            <Signed usd={all.margin_usd} />
          </Figure>
        )}
      </dl>
      {all.requests_without_cost !== undefined && (
        <p class="note">
          The cost of <Count of={all.requests_without_cost} /> requests is not recorded, so there is
          no margin of sums that contain them.
        </p>
      )}
      <PagedTable
        list={loadedList(of)}
        what="the margin of each day"
        columns={COLUMNS}
        empty="Nothing was charged in these days."
        comesBy="their day"
        idOf={({ day }) => day ?? ''}
        rowName="data-margin"
        file="margin"
      />
    </div>
  );
}

function totalOf(sums: readonly Sum[]): Partial<Sum> & Pick<Sum, 'charged_usd'> {
  const charged_usd = sumUsd(sums.map((sum) => sum.charged_usd));
  const costed = sums.flatMap((sum) => sum.cost_usd ?? []);
  if (costed.length === 0) return { charged_usd };
  const cost_usd = sumUsd(costed);
  const without = sums
    .filter((sum) => sum.margin_usd === undefined)
    .reduce((count, sum) => count + (sum.requests_without_cost ?? sum.requests), 0);
  return without > 0
    ? { charged_usd, cost_usd, requests_without_cost: without }
    : { charged_usd, cost_usd, margin_usd: sumUsd(sums.flatMap((sum) => sum.margin_usd ?? [])) };
}
