/** Sends witness files to the operations that read them, in batches. */

import { formatUsd, parseUsd } from '@gateway/billing';
import { newRefusal } from '../base/errors/refusal.js';
import { OperationError, invalidInput } from '../endpoints/operation-error.js';
import { WITNESS_BATCH } from '../operator/operations/ledger.js';
import type {
  CallOperation,
  OperationInput,
  OperationOutput,
} from '../operator/operations/operations.js';
import type { WitnessDifference } from '../operator/operations/witness.js';
import { showProgress } from './progress.js';
import { readWitnessFile } from './witness-file.js';
import type { WitnessLine } from './witness-file.js';

export async function compareWithFiles(files: readonly string[], call: CallOperation) {
  let compared = 0;
  const differences: WitnessDifference[] = [];
  await inBatches(files, async (lines) => {
    const answer = await call('compareWitness', { usages: lines.map(({ usage }) => usage) });
    compared += answer.compared;
    differences.push(...answer.differences);
  });
  return { compared, differences };
}

export type Recharged = Omit<OperationOutput<'rechargeUsages'>, 'object'>;

/**
 * Books the charges of files. Their lines name the keys that are charged. Usage objects come from
 * customers, who could name the key of somebody else, so they are booked only for confirmed keys.
 * Lines of the gateway's own log need no confirmation.
 *
 * @param keys - The confirmed keys. If there are some, lines of other keys are refused, those of
 * the log too.
 * @throws {OperationError} Nothing was booked: a line cannot be used, or needs a confirmation. The
 * error then names all keys that the files would charge.
 */
export async function rechargeFromFiles(
  files: readonly string[],
  keys: readonly string[],
  call: CallOperation,
): Promise<Recharged> {
  if (keys.length === 0) await assertOwnLog(files);
  let [booked, present, charged] = [0, 0, 0n];
  const refused: Recharged['refused'][number][] = [];
  const isConfirmed = ({ key_id }: LostChargeInput) => keys.length === 0 || keys.includes(key_id);
  await inBatches(files, async (lines) => {
    const charges = lines.map(lostChargeOf);
    for (const { request_id } of charges.filter((charge) => !isConfirmed(charge))) {
      refused.push({ request_id, reason: 'key_id: is not one of those given with --key' });
    }
    const confirmed = charges.filter(isConfirmed);
    if (confirmed.length === 0) return;
    const answer = await call('rechargeUsages', { charges: confirmed });
    booked += answer.booked;
    present += answer.already_charged;
    charged += parseUsd(answer.charged_usd);
    refused.push(...answer.refused);
  });
  return { booked, charged_usd: formatUsd(charged), already_charged: present, refused };
}

/** @throws {OperationError} names the keys of a file that has other lines than those of a log. */
async function assertOwnLog(files: readonly string[]): Promise<void> {
  const lines = new Map<string, number>();
  let needsKeys = false;
  for await (const line of linesOf(files)) {
    const { key_id } = lostChargeOf(line);
    lines.set(key_id, (lines.get(key_id) ?? 0) + 1);
    // Only lines of the log have the time at which the request ended.
    needsKeys ||= line.endedAt === undefined;
  }
  if (!needsKeys) return;
  const shown = [...lines]
    .slice(0, MAX_SHOWN_KEYS)
    .map(([keyId, count]) => `${keyId} (${String(count)} ${count === 1 ? 'line' : 'lines'})`);
  if (lines.size > shown.length) shown.push(`${String(lines.size - shown.length)} more`);
  const details = { files: files.join(', '), keys: shown.join(', ') };
  throw new OperationError(newRefusal('charges_need_confirmation', details));
}

const MAX_SHOWN_KEYS = 20;

async function* linesOf(files: readonly string[]): AsyncGenerator<WitnessLine> {
  for (const file of files) yield* readWitnessFile(file);
}

type LostChargeInput = OperationInput<'rechargeUsages'>['charges'][number];

/** @throws {OperationError} names the line that lacks the key or the model of the charge. */
function lostChargeOf({ place, usage, more }: WitnessLine): LostChargeInput {
  const { key_id, model, ...rest } = more;
  const { whole: _compared, ...counts } = usage;
  if (key_id === undefined || model === undefined) {
    const missing = key_id === undefined ? 'key_id' : 'model';
    throw invalidInput(`${place}: ${missing}: is missing`);
  }
  return { ...counts, key_id, model, ...rest };
}

async function inBatches(
  files: readonly string[],
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
  for await (const line of linesOf(files)) {
    batch.push(line);
    if (batch.length === WITNESS_BATCH) await flush();
  }
  await flush();
  if (sent > 0) showProgress(`${String(sent)} usages`, true);
}
