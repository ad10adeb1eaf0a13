/** A table of prices per million tokens, by model and class of tokens. */

import type { ComponentChildren } from 'preact';
import { termText } from './charge.js';
import type { Sent } from '../api/gateway-types.js';
import { Badge, Count, Decimal, TableFrame } from '../controls/parts.js';

export type Price = Omit<Sent<'price'>, 'object'>;

/** The classes of tokens, in the order in which prices are shown. */
export const CLASSES = [
  ['input', 'Input'],
  ['output', 'Output'],
  ['cache_read', 'Cache read'],
  ['cache_write_5m', 'Cache write, 5 min'],
  ['cache_write_1h', 'Cache write, 1 h'],
] as const satisfies readonly (readonly [keyof Price['rates'], string])[];

type SpecialRates = NonNullable<Price['special_rates']>[number];

function whyOf({ rates: _rates, ...circumstances }: SpecialRates): string {
  return Object.entries(circumstances)
    .map(([name, value]) => termText([name, String(value)]))
    .join(', ');
}

function SpecialRow({ special }: { readonly special: SpecialRates }) {
  return (
    <tr>
      <th scope="row" class="quiet">
        {whyOf(special)}
      </th>
      {CLASSES.map(([name]) => (
        <td key={name} class="n">
          <Decimal of={special.rates[name]} />
        </td>
      ))}
      <td colSpan={2} />
    </tr>
  );
}

export function PriceTable(props: {
  readonly prices: readonly Price[];
  /** Further content below the name of a model. */
  readonly note?: (price: Price) => ComponentChildren;
}) {
  return (
    <TableFrame label="Prices by model">
      <table>
        <caption>USD per million tokens</caption>
        <thead>
          <tr>
            <th scope="col">Model</th>
            {CLASSES.map(([name, label]) => (
              <th key={name} scope="col" class="n">
                {label}
              </th>
            ))}
            <th scope="col" class="n">
              Context
            </th>
            <th scope="col" class="n">
              Longest output
            </th>
          </tr>
        </thead>
        <tbody>
          {props.prices.flatMap((price) => [
            <tr key={price.model}>
              <th scope="row">
                {price.display_name}
                <span class="when id">{price.model}</span>
                {price.is_deprecated && <Badge tone="warning">deprecated</Badge>}
                {props.note?.(price)}
              </th>
              {CLASSES.map(([name]) => (
                <td key={name} class="n">
                  <Decimal of={price.rates[name]} />
                </td>
              ))}
              <td class="n">
                <Count of={price.max_input_tokens} />
              </td>
              <td class="n">
                <Count of={price.max_output_tokens} />
              </td>
            </tr>,
            ...(price.special_rates ?? []).map((special) => (
              <SpecialRow key={`${price.model} ${whyOf(special)}`} special={special} />
            )),
            ...Object.entries(price.fees_usd ?? {}).map(([what, fee]) => (
              <tr key={`${price.model} ${what}`}>
                <th scope="row" class="quiet">
                  {what.replaceAll('_', ' ')}
                </th>
                <td colSpan={CLASSES.length + 2}>
                  <Decimal of={fee} /> USD each
                </td>
              </tr>
            )),
          ])}
        </tbody>
      </table>
    </TableFrame>
  );
}
