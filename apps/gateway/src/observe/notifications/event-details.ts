/** The details of an event as receivers and operators see them. */

import type { StoredEvent } from '@gateway/balance-store';
import { formatUsd, parseUsd } from '@gateway/billing';

/** Members that are amounts. Each gets the suffix that all amounts in the API have. */
const AMOUNTS = new Set(['amount', 'balance', 'cap', 'full', 'gap', 'tax', 'threshold', 'used']);

/** @throws {UsdFormatError} */
export function eventDetails(data: StoredEvent['data']): Readonly<Record<string, string | null>> {
  const details: Record<string, string | null> = {};
  for (const [name, value] of Object.entries(data)) {
    if (name === 'subject') details[name] = value === '' ? null : value;
    else if (AMOUNTS.has(name) && value !== null)
      details[`${name}_usd`] = formatUsd(parseUsd(value));
    else details[name] = value;
  }
  return details;
}
