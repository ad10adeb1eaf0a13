/** Sends a witness file to the operations that read it, in batches. */

import { formatUsd, parseUsd } from '@gateway/billing';
import { WITNESS_BATCH } from '../operations/ledger.js';
import { OperationError } from '../operations/operation.js';
import type { CallOperation, OperationInput, OperationOutput } from '../operations/operations.js';
import type { WitnessDifference } from '../operations/witness.js';
import { showProgress } from './progress.js';
import { readWitnessFile } from './witness-file.js';
import type { WitnessLine } from './witness-file.js';

export async function compareWithFile(file: string, call: CallOperation) {
  let compared = 0;
  const differences: WitnessDifference[] = [];
  await inBatches(file, async (lines) => {
    const answer = await call('compareWitness', { usages: lines.map(({ usage }) => usage) });
    compared += answer.compared;
    differences.push(...answer.differences);
  });
  return { compared, differences };
}

export type Recharged = Omit<OperationOutput<'rechargeUsages'>, 'object'>;

export async function rechargeFromFile(file: string, call: CallOperation): Promise<Recharged> {
  let [booked, present, charged] = [0, 0, 0n];
  const refused: Recharged['refused'][number][] = [];
  await inBatches(file, async (lines) => {
    const answer = await call('rechargeUsages', { charges: lines.map(lostChargeOf) });
    booked += answer.booked;
    present += answer.already_charged;
    charged += parseUsd(answer.charged_usd);
    refused.push(...answer.refused);
  });
  return { booked, charged_usd: formatUsd(charged), already_charged: present, refused };
}

type LostChargeInput = OperationInput<'rechargeUsages'>['charges'][number];

/** @throws {OperationError} names the line that lacks the key or the model of the charge. */
function lostChargeOf({ place, usage, more }: WitnessLine): LostChargeInput {
  const { key_id, model, ...rest } = more;
  if (key_id === undefined || model === undefined) {
    const missing = key_id === undefined ? 'key_id' : 'model';
    throw new OperationError(400, 'invalid_request_error', `${place}: ${missing}: is missing`);
  }
  return { ...usage, key_id, model, ...rest };
}

async function inBatches(
  file: string,
  send: (lines: readonly WitnessLine[]) => Promise<void>,
): Promise<void> {
  let batch: WitnessLine[] = [];
  let sent = 0;
  const flush = async () => {
    if (batch.length === 0) return;
    await send(batch);
    sent += batch.length;
    batch = [];
    showProgress(`${String(sent)} usages`, false);
  };
  for await (const line of readWitnessFile(file)) {
    batch.push(line);
    if (batch.length === WITNESS_BATCH) await flush();
  }
  await flush();
  if (sent > 0) showProgress(`${String(sent)} usages`, true);
}
