/** Finds requests in the gateway's log that the upstream answered and that were not charged. */

import { z } from 'zod';
import { WITNESS_BATCH } from '../operations/ledger.js';
import { OperationError } from '../operations/operation.js';
import type { CallOperation } from '../operations/operations.js';
import type { WitnessedUsage } from '../operations/witness.js';
import type { ExplainingRequest } from '../reconciliation/explain-difference.js';
import { isLogLine, readJsonLines } from './json-lines.js';
import { chargesOf } from './witness-file.js';

export interface LoggedRequest extends ExplainingRequest {
  readonly model: string;
}

/**
 * The line of a response that was not charged (it has a `loss`), or of a request that was sent and
 * failed without an answer (it has a `fault`): the upstream may have served it all the same. An
 * answer with an error costs nothing, nor does a request that was never sent, whose line does not
 * say whether it was `streamed`.
 */
const unchargedLine = z
  .looseObject({
    time: z.iso.datetime(),
    request_id: z.string().min(1),
    key_id: z.string(),
    model: z.string(),
    loss: z.string().optional(),
    fault: z.string().optional(),
    streamed: z.boolean().optional(),
    upstream_status: z.int().optional(),
    charge_usd: z.undefined().optional(),
  })
  .refine(
    ({ loss, fault, streamed, upstream_status: status = 200 }) =>
      loss !== undefined || (fault !== undefined && streamed !== undefined && status < 300),
  );

/**
 * Reads the lines of this range of time.
 *
 * @throws {OperationError} The file cannot be read, or is not a log.
 */
export async function findUncharged(
  file: string,
  range: { readonly from: Date; readonly until: Date },
  call: CallOperation,
): Promise<readonly LoggedRequest[]> {
  const found: LoggedRequest[] = [];
  let charged: LoggedCharge[] = [];
  let hasLogLine = false;
  const isInRange = (time: string) => {
    const at = Date.parse(time);
    return at >= range.from.getTime() && at < range.until.getTime();
  };
  for await (const { place, json } of readJsonLines(file)) {
    if (!isLogLine(json)) continue;
    hasLogLine = true;
    const uncharged = unchargedLine.safeParse(json);
    if (uncharged.success) {
      const { time, request_id, key_id, model, loss, fault = '' } = uncharged.data;
      const request = { cause: 'not_charged' as const, request_id, key_id, model };
      if (isInRange(time)) found.push({ ...request, at: time, detail: loss ?? fault });
      continue;
    }
    for (const { usage, more, endedAt: at } of chargesOf(json, place)) {
      if (at === undefined || !isInRange(at)) continue;
      const { key_id = '', model = '' } = more;
      // Leaves out the amount, because older logs have only the sum of all parts of a request.
      const { charge_usd: _amount, ...counts } = usage;
      charged.push({ usage: counts, at, key_id, model });
      if (charged.length < WITNESS_BATCH) continue;
      found.push(...(await missingOf(charged, call)));
      charged = [];
    }
  }
  if (!hasLogLine) {
    const message = `${file}: has no line of the gateway's log`;
    throw new OperationError(400, 'invalid_request_error', message);
  }
  if (charged.length > 0) found.push(...(await missingOf(charged, call)));
  return found;
}

interface LoggedCharge {
  readonly usage: WitnessedUsage;
  readonly at: string;
  readonly key_id: string;
  readonly model: string;
}

/** Returns the charges that the ledger does not have, or has with other counts. */
async function missingOf(
  charges: readonly LoggedCharge[],
  call: CallOperation,
): Promise<readonly LoggedRequest[]> {
  // The last line of a request counts. A request is logged once, but the same log may be given
  // twice.
  const byId = new Map(charges.map((charge) => [charge.usage.request_id, charge]));
  const { differences } = await call('compareWitness', {
    usages: [...byId.values()].map(({ usage }) => usage),
  });
  return differences.flatMap(({ request_id, expected, found }) => {
    const charge = byId.get(request_id);
    if (charge === undefined) return [];
    const { at, key_id, model } = charge;
    const isMissing = found === 'no charge';
    return [
      {
        cause: isMissing ? ('not_in_ledger' as const) : ('other_counts' as const),
        ...{ request_id, key_id, model, at },
        detail: isMissing ? expected : `${expected}; the ledger has ${found}`,
      },
    ];
  });
}
