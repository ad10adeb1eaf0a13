/** How a charge is calculated: tokens x rate = amount, line by line. */

import type { Sent } from '../api/gateway-types.js';
import { Count, Decimal, Facts, Money, TableFrame } from '../controls/parts.js';
import type { Fact } from '../controls/parts.js';
import { formatUsd, parseUsd } from '../text/usd.js';
import { OWN_STYLE } from '../text/numbers.js';

/** The members of a charge that the customer's page and the console receive. */
type ChargeFacts = Pick<
  Sent<'usage'>,
  | 'endpoint'
  | 'streamed'
  | 'upstream_id'
  | 'written_off_usd'
  | 'usage'
  | 'rates'
  | 'pricing'
  | 'delivered'
>;

export const BOOKING_NAMES = {
  top_up: 'Credit',
  adjustment: 'Correction',
  expiry: 'Credit expired',
} as const;

/** A credit, a correction or an expiry, in words. */
export function BookingText({ booking }: { readonly booking: Sent<'credit'> }) {
  const details = [booking.source, booking.reason?.replaceAll('_', ' '), booking.reference];
  return (
    <>
      {BOOKING_NAMES[booking.kind]}
      <span class="quiet"> {details.filter(Boolean).join(', ')}</span>
    </>
  );
}

export function negated(usd: string): string {
  if (usd === '0') return usd;
  return usd.startsWith('-') ? usd.slice(1) : `-${usd}`;
}

export interface ChargeLine {
  readonly name: string;
  readonly tokens: number;
  readonly rate: string;
  readonly amount: bigint;
}

const MILLION = 1_000_000n;

export function chargeLines({
  usage,
  rates,
}: Pick<ChargeFacts, 'usage' | 'rates'>): readonly ChargeLine[] {
  const of1h = usage.cache_creation_1h_input_tokens;
  const lines: readonly (readonly [string, number, string])[] = [
    ['Input', usage.input_tokens, rates.input],
    ['Output', usage.output_tokens, rates.output],
    ['Cache read', usage.cache_read_input_tokens, rates.cache_read],
    ['Cache write, 5 minutes', usage.cache_creation_input_tokens - of1h, rates.cache_write_5m],
    ['Cache write, 1 hour', of1h, rates.cache_write_1h],
  ];
  return lines
    .filter(([, tokens]) => tokens > 0)
    .map(([name, tokens, rate]) => ({
      name,
      tokens,
      rate,
      // The price of one token has at most 14 decimals, so this division leaves no remainder.
      amount: (BigInt(tokens) * parseUsd(rate)) / MILLION,
    }));
}

const FEE_NAMES: Readonly<Record<string, string>> = { web_search_requests: 'Web searches' };

/** A circumstance that decided the rates, in words. */
export function termText([name, value]: readonly [string, string]): string {
  switch (name) {
    case 'above_prompt_tokens':
      return `prompts over ${OWN_STYLE.whole(Number(value))} tokens`;
    case 'speed':
      return `${value} mode`;
    case 'inference_geo':
      return `the region ${value}`;
    default:
      return `${name.replaceAll('_', ' ')} ${value}`;
  }
}

/** The details of a charge: its calculation, and the other facts about its request. */
export function OpenedCharge(props: {
  readonly charge: ChargeFacts;
  readonly requestId: string;
  readonly more?: readonly Fact[];
}) {
  const { charge, requestId, more = [] } = props;
  return (
    <div class="stack">
      <ChargeDetails charge={charge} requestId={requestId} />
      <Facts
        facts={[
          ['Request', requestId],
          ['Message of the upstream', charge.upstream_id],
          ...more,
          ...deliveryFacts(charge),
          ['Endpoint', `${charge.endpoint}, ${charge.streamed ? 'streamed' : 'in one piece'}`],
        ]}
      />
    </div>
  );
}

/** A response is charged whole, also if its client left before the end. */
function deliveryFacts({ delivered, usage }: ChargeFacts): readonly Fact[] {
  if (delivered === null) return [];
  const share = delivered.of_bytes === 0 ? 0 : (100 * delivered.bytes) / delivered.of_bytes;
  const text =
    `the client left after ${String(Math.floor(share))} % of the response, about ` +
    `${OWN_STYLE.whole(delivered.output_tokens)} of ${OWN_STYLE.whole(usage.output_tokens)} ` +
    'output tokens';
  return [['Delivered', text]];
}

function ChargeDetails(props: { readonly charge: ChargeFacts; readonly requestId: string }) {
  const { charge, requestId } = props;
  const lines = chargeLines(charge);
  const { terms = {}, fees = [] } = charge.pricing ?? {};
  const writtenOff = parseUsd(charge.written_off_usd);
  const total =
    lines.reduce((sum, { amount }) => sum + amount, 0n) +
    fees.reduce((sum, { amount_usd: amount }) => sum + parseUsd(amount), 0n) -
    writtenOff;
  const why = Object.entries(terms).map(termText);
  return (
    <TableFrame label={`How the charge of ${requestId} is calculated`}>
      <table class="lines">
        <caption>
          Tokens × rate = amount{why.length > 0 && `, at the rates for ${why.join(', ')}`}
        </caption>
        <thead>
          <tr>
            <th scope="col">Tokens of</th>
            <th scope="col" class="n">
              Tokens
            </th>
            <th scope="col" class="n">
              USD per million
            </th>
            <th scope="col" class="n">
              Amount
            </th>
          </tr>
        </thead>
        <tbody>
          {lines.map(({ name, tokens, rate, amount }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td class="n">
                <Count of={tokens} />
              </td>
              <td class="n">
                <Decimal of={rate} />
              </td>
              <td class="n">
                <Money usd={formatUsd(amount)} />
              </td>
            </tr>
          ))}
          {fees.map(({ what, units, unit_usd: unit, amount_usd: amount }) => (
            <tr key={what}>
              <th scope="row">{FEE_NAMES[what] ?? what.replaceAll('_', ' ')}</th>
              <td class="n">
                <Count of={units} />
              </td>
              <td class="n">
                <Decimal of={unit} /> each
              </td>
              <td class="n">
                <Money usd={amount} />
              </td>
            </tr>
          ))}
          {writtenOff !== 0n && (
            <tr>
              <th scope="row">Not charged</th>
              <td colSpan={2}>beyond the balance or a cap</td>
              <td class="n">
                <Money usd={formatUsd(-writtenOff)} />
              </td>
            </tr>
          )}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row" colSpan={3}>
              Charged
            </th>
            <td class="n">
              <Money usd={formatUsd(total)} />
            </td>
          </tr>
        </tfoot>
      </table>
    </TableFrame>
  );
}
