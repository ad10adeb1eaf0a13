/**
 * Finds requests in the gateway's log that the upstream may have served, and whose charge the
 * ledger lacks or has with other counts.
 */

import { z } from 'zod';
import { invalidInput } from '../endpoints/operation-error.js';
import { WITNESS_BATCH } from '../operator/operations/ledger.js';
import type { CallOperation } from '../operator/operations/operations.js';
import { NO_CHARGE } from '../operator/operations/witness.js';
import type { WitnessedUsage } from '../operator/operations/witness.js';
import type { ExplainingRequest } from '../upstream/reconciliation/explain-difference.js';
import { isLogLine, readJsonLines } from './json-lines.js';
import { chargesOf } from './witness-file.js';

export interface LoggedRequest extends ExplainingRequest {
  readonly model: string;
}

/**
 * The line of a response without a confirmed charge (it has a `loss`), or of a request that was
 * sent and failed without an answer (it has a `fault`): the upstream may have served it all the
 * same. An answer with an error costs nothing. A request that the gateway refused itself costs
 * nothing either; its line has no `streamed`.
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
  let logged: LoggedCharge[] = [];
  let hasLogLine = false;
  const isInRange = (time: string) => {
    const at = Date.parse(time);
    return at >= range.from.getTime() && at < range.until.getTime();
  };
  const compare = async () => {
    if (logged.length > 0) found.push(...(await missingOf(logged, call)));
    logged = [];
  };
  const add = async (charge: LoggedCharge) => {
    logged.push(charge);
    if (logged.length === WITNESS_BATCH) await compare();
  };
  for await (const { place, json } of readJsonLines(file)) {
    if (!isLogLine(json)) continue;
    hasLogLine = true;
    const uncharged = unchargedLine.safeParse(json);
    if (uncharged.success) {
      const { time: at, request_id, key_id, model, loss, fault = '' } = uncharged.data;
      if (!isInRange(at)) continue;
      if (loss === 'ledger_unavailable') {
        await add({ usage: { request_id, ...NO_COUNTS }, at, key_id, model, loss });
      } else {
        const detail = loss ?? fault;
        found.push({ cause: 'not_charged', request_id, key_id, model, at, detail });
      }
      continue;
    }
    for (const { usage, more, endedAt: at } of chargesOf(json, place)) {
      if (at === undefined || !isInRange(at)) continue;
      const { key_id = '', model = '' } = more;
      // Leaves out the amount, because older logs have only the sum of all parts of a request.
      const { charge_usd: _amount, ...counts } = usage;
      await add({ usage: counts, at, key_id, model });
    }
  }
  if (!hasLogLine) {
    const message = `${file}: has no line of the gateway's log`;
    throw invalidInput(message);
  }
  await compare();
  return found;
}

interface LoggedCharge {
  readonly usage: WitnessedUsage;
  readonly at: string;
  readonly key_id: string;
  readonly model: string;
  /** The ledger did not answer in time: it may have the charge, with counts that are not logged. */
  readonly loss?: 'ledger_unavailable';
}

const NO_COUNTS = {
  input_tokens: 0,
  output_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
};

/**
 * Returns the charges that the ledger does not have, or has with other counts. Leaves out those
 * that may be in an archive.
 */
async function missingOf(
  charges: readonly LoggedCharge[],
  call: CallOperation,
): Promise<readonly LoggedRequest[]> {
  // The last line of a request counts. A request is logged once, but a file that was put together
  // from several may have a line twice.
  const byId = new Map(charges.map((charge) => [charge.usage.request_id, charge]));
  const { differences, archived_until } = await call('compareWitness', {
    usages: [...byId.values()].map(({ usage }) => usage),
  });
  return differences.flatMap(({ request_id, expected, found }): readonly LoggedRequest[] => {
    const charge = byId.get(request_id);
    if (charge === undefined) return [];
    const { at, key_id, model, loss } = charge;
    const request = { request_id, key_id, model, at };
    if (found.startsWith(NO_CHARGE)) {
      if (archived_until !== null && Date.parse(at) < Date.parse(archived_until)) return [];
      return loss === undefined
        ? [{ ...request, cause: 'not_in_ledger', detail: expected }]
        : [{ ...request, cause: 'not_charged', detail: loss }];
    }
    if (loss !== undefined) return [];
    const detail = `${expected}; the ledger has ${found}`;
    return [{ ...request, cause: 'other_counts', detail }];
  });
}
