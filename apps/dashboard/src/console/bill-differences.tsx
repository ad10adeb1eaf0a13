/** The figures of the provider and of the ledger for each day and model that differs, and why. */

import type { Sent } from '../shared/api/gateway-types.js';
import { Id } from '../shared/text/ids.js';
import { PagedTable } from '../shared/controls/paged-table.js';
import type { Column } from '../shared/controls/paged-table.js';
import { loadedList } from '../shared/api/pages.js';
import { Count, Money, TableFrame, Time } from '../shared/controls/parts.js';
import { CLASSES } from '../shared/money/price-table.js';
import { to } from '../shared/api/router.js';
import { sumUsd } from '../shared/text/usd.js';

type Difference = Sent<'providerReconciliation'>['differences'][number];
type Item = Difference['items'][number];
type Explanation = Difference['requests'][number];

const modelOf = ({ model, items }: Difference) =>
  model ?? (items.some(isAllCosts) ? 'all models' : 'no model');

const COLUMNS: readonly Column<Difference>[] = [
  {
    label: 'Day and model',
    value: (difference) => `${difference.day} ${modelOf(difference)}`,
    cell: (difference) => (
      <>
        {difference.day}
        <span class="when">{modelOf(difference)}</span>
      </>
    ),
  },
  {
    label: 'Provider',
    kind: 'usd',
    value: ({ items }) => sumOf(items.map((item) => item.provider_usd)),
    cell: ({ items }) => <SumOf amounts={items.map((item) => item.provider_usd)} />,
  },
  {
    label: 'Ledger',
    kind: 'usd',
    value: ({ items }) => sumOf(items.map((item) => item.ledger_usd)),
    cell: ({ items }) => <SumOf amounts={items.map((item) => item.ledger_usd)} />,
  },
  { label: 'Worth', kind: 'usd', value: (difference) => difference.difference_usd },
];

export function DifferenceList({ of }: { readonly of: readonly Difference[] }) {
  return (
    <>
      <p class="quiet">
        The sums contain only items that differ. The worth of a row is the sum over its items: for
        each, the difference of the costs, or that of the tokens at their price, whichever is
        larger. Where your costs are recorded, those of a day are one figure; its worth is what the
        tokens of the day do not explain.
      </p>
      <PagedTable
        list={loadedList(of)}
        what="differences"
        columns={COLUMNS}
        empty="Nothing differs."
        comesBy="their day"
        idOf={(difference) => `${difference.day} ${modelOf(difference)}`}
        rowName="data-difference"
        detailsOf="the difference of"
        details={(difference) => () => (
          <Details of={difference} name={`${difference.day}, ${modelOf(difference)}`} />
        )}
        file="differences"
      />
    </>
  );
}

/** @param props.name - The day and the model: several differences may be open at the same time. */
function Details({ of, name }: { readonly of: Difference; readonly name: string }) {
  return (
    <div class="stack">
      <Items of={of.items} name={name} />
      {of.requests.length > 0 && <Requests of={of.requests} name={name} hasMore={of.has_more} />}
      {of.requests.length === 0 && (
        <p>
          No request explains this difference. If the tokens differ, something else uses the same
          organization. If only the costs differ, the price table differs from the provider's
          prices, or the gateway does not charge this item.
        </p>
      )}
    </div>
  );
}

function Items({ of, name }: { readonly of: readonly Item[]; readonly name: string }) {
  return (
    <TableFrame label={`What differs: ${name}`}>
      <table class="items">
        <caption>What differs</caption>
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col" class="n">
              Provider, tokens
            </th>
            <th scope="col" class="n">
              Ledger, tokens
            </th>
            <th scope="col" class="n">
              Provider, USD
            </th>
            <th scope="col" class="n">
              Ledger, USD
            </th>
            <th scope="col" class="n">
              Worth
            </th>
          </tr>
        </thead>
        <tbody>
          {of.map((item) => (
            <tr key={item.item} data-item={item.item}>
              <th scope="row">{nameOf(item.item)}</th>
              <td class="n">
                <Tokens of={item.provider_tokens} />
              </td>
              <td class="n">
                <Tokens of={item.ledger_tokens} />
              </td>
              <td class="n">
                <SumOf amounts={[item.provider_usd]} />
              </td>
              <td class="n">
                <SumOf amounts={[item.ledger_usd]} />
              </td>
              <td class="n">
                {item.difference_usd === null ? 'no price' : <Money usd={item.difference_usd} />}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableFrame>
  );
}

/** The costs of tokens are `null` on a day whose costs are compared in one figure. */
function SumOf({ amounts }: { readonly amounts: readonly (string | null)[] }) {
  const sum = sumOf(amounts);
  return sum === null ? <span class="quiet">in all costs</span> : <Money usd={sum} />;
}

function sumOf(amounts: readonly (string | null)[]): string | null {
  const known = amounts.filter((amount) => amount !== null);
  return known.length === 0 ? null : sumUsd(known);
}

function isAllCosts({ item }: Item): boolean {
  return item === 'cost';
}

/** @returns the label of a class of tokens, of write-offs or of costs, or the provider's word */
function nameOf(item: string): string {
  const known = CLASSES.find(([name]) => name === item)?.[1];
  return known ?? OTHER_ITEMS[item] ?? item.replaceAll('_', ' ');
}

const OTHER_ITEMS: Readonly<Record<string, string>> = {
  written_off: 'Written off',
  cost: 'All costs of the day',
};

function Tokens({ of }: { readonly of: number | null }) {
  return of === null ? <span class="quiet">no tokens</span> : <Count of={of} />;
}

/** What happened to a request. docs/operating.md says what to do about each. */
const CAUSES: Readonly<Record<Explanation['cause'], string>> = {
  in_flight_at_midnight: 'charged just after midnight; the provider may count it on the day before',
  written_off: 'part or all of it was not charged, because the balance did not cover it',
  set_aside: 'in quarantine: its usage could not be charged',
  hold_open: 'its hold is still open: the request is in flight, or its process ended',
  not_charged: "the gateway's log says that it was not charged",
  not_in_ledger: "the gateway's log has its charge, but the ledger does not",
  other_counts: "the token counts in the gateway's log differ from those in the ledger",
};

function Requests(props: {
  readonly of: readonly Explanation[];
  readonly name: string;
  readonly hasMore: boolean;
}) {
  return (
    <>
      <TableFrame label={`Requests that may explain it: ${props.name}`}>
        <table>
          <caption>Requests that may explain it</caption>
          <thead>
            <tr>
              <th scope="col">Request</th>
              <th scope="col">What happened</th>
              <th scope="col">Time</th>
              <th scope="col">Key</th>
            </tr>
          </thead>
          <tbody>
            {props.of.map(({ request_id: id, key_id: keyId, cause, at, detail }) => (
              <tr key={`${cause} ${id}`} data-cause={cause}>
                <td>
                  <a href={to(['dispute'], { request_id: id })}>
                    <Id of={id} />
                  </a>
                </td>
                <td>
                  {CAUSES[cause]}
                  <span class="when">{detail}</span>
                </td>
                <td>
                  <Time iso={at} />
                </td>
                <td>
                  <Id of={keyId} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableFrame>
      {props.hasMore && <p>There are more. Only the first 100 are shown.</p>}
    </>
  );
}
