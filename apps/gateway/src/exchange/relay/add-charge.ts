/** The charge in the usage of translated answers: clients that stream get no header with it. */

import { addUsageMembers } from '@gateway/translator';
import type { StreamOutput } from '../../http/response-format.js';

/** @param chargeUsd - Text, because a number would be rounded. */
export function addCharge<Written extends StreamOutput | string>(
  written: Written,
  chargeUsd: string,
): Written;
export function addCharge(written: StreamOutput | string, chargeUsd: string) {
  return typeof written === 'string' || written instanceof Uint8Array
    ? addUsageMembers(written, { charge_usd: chargeUsd })
    : written;
}
