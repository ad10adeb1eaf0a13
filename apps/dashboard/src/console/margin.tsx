/** What customers paid, what it cost the operator, and the margin: in all and by one dimension. */

import { useState } from 'preact/hooks';
import { Amount } from '../shared/figures.js';
import type { Sent } from '../shared/gateway-types.js';
import { Id } from '../shared/ids.js';
import { Count, Empty, Loaded, Money, Segments, TableFrame } from '../shared/parts.js';
import { useResource } from '../shared/resource.js';
import { sumUsd } from '../shared/usd.js';
import { AccountLink } from './account-link.js';
import { call } from './session.js';

type Sum = Sent<'costedUsageSum'>;

const DIMENSIONS = [
  ['model', 'Model'],
  ['day', 'Day'],
  ['account', 'Account'],
  ['key', 'Key'],
  ['upstream', 'Upstream account'],
] as const;
type Dimension = (typeof DIMENSIONS)[number][0];

/** The rows with the highest charges. */
const ROWS = 100;
const LARGEST = { sort: 'charged', top: ROWS } as const;

export interface MarginRange {
  readonly from: string;
  readonly until: string;
  readonly account_id: string | undefined;
}

/** @param props.sums - All sums of the range, grouped in any way. */
export function Margin(props: { readonly of: MarginRange; readonly sums: readonly Sum[] }) {
  const { of, sums } = props;
  const all = totalOf(sums);
  return (
    <section class="card" aria-label="Margin">
      <h2>Margin</h2>
      {all.cost_usd === undefined ? (
        <Empty>
          No cost is recorded in these days. With <code>COSTS=list</code>, each charge records what
          it costs you at the provider's list.
        </Empty>
      ) : (
        <div class="stack">
          <dl class="grid">
            <Amount name="Charged to customers" usd={all.charged_usd} />
            <Amount name="Cost to you" usd={all.cost_usd} />
            {all.margin_usd !== undefined && <Amount name="Margin" usd={all.margin_usd} />}
          </dl>
          {all.requests_without_cost !== undefined && (
            <p class="note">
              The cost of <Count of={all.requests_without_cost} /> requests is not recorded, so
              there is no margin of sums that contain them.
            </p>
          )}
          <MarginTable of={of} />
        </div>
      )}
    </section>
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

function MarginTable({ of }: { readonly of: MarginRange }) {
  const [by, setBy] = useState<Dimension>('model');
  const isOfOne = of.account_id !== undefined;
  const query = { ...of, by, ...(by === 'day' ? {} : LARGEST) };
  const sums = useResource(`margin ${JSON.stringify(query)}`, (signal) =>
    call('GET /admin/usage', { query, signal }),
  );
  return (
    <>
      <Segments
        label="Margin by"
        value={by}
        options={DIMENSIONS.filter(([name]) => !(isOfOne && name === 'account'))}
        onValue={setBy}
      />
      <Loaded of={sums} what="the margin">
        {({ data }) => (
          <TableFrame label="Margin, as a table">
            <table>
              <caption class="hidden">Charged, cost and margin</caption>
              <thead>
                <tr>
                  <th scope="col">{DIMENSIONS.find(([name]) => name === by)?.[1]}</th>
                  <th scope="col" class="n">
                    Requests
                  </th>
                  <th scope="col" class="n">
                    Charged
                  </th>
                  <th scope="col" class="n">
                    Cost
                  </th>
                  <th scope="col" class="n">
                    Margin
                  </th>
                </tr>
              </thead>
              <tbody>
                {data.map((sum) => (
                  <Row key={nameOf(sum, by)} of={sum} by={by} />
                ))}
              </tbody>
            </table>
            {data.length === ROWS && by !== 'day' && (
              <p class="quiet">
                The {ROWS} with the highest charges. The figures above are of all.
              </p>
            )}
          </TableFrame>
        )}
      </Loaded>
    </>
  );
}

function Row({ of, by }: { readonly of: Sum; readonly by: Dimension }) {
  const name = nameOf(of, by);
  return (
    <tr data-margin={name}>
      <th scope="row">
        {by === 'account' ? <AccountLink id={name} /> : by === 'key' ? <Id of={name} /> : name}
      </th>
      <td class="n">
        <Count of={of.requests} />
      </td>
      <td class="n">
        <Money usd={of.charged_usd} />
      </td>
      <td class="n">{of.cost_usd === undefined ? 'unknown' : <Money usd={of.cost_usd} />}</td>
      <td class="n">{of.margin_usd === undefined ? 'unknown' : <Money usd={of.margin_usd} />}</td>
    </tr>
  );
}

function nameOf(sum: Sum, by: Dimension): string {
  switch (by) {
    case 'model':
      return sum.model ?? '';
    case 'day':
      return sum.day ?? '';
    case 'account':
      return sum.account_id ?? '';
    case 'key':
      return sum.key_id ?? '';
    case 'upstream':
      return sum.upstream_account ?? 'none';
  }
}
