/** Writes the chargeback of each day by itself, when the day is final. */

import type { BalanceStore } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import type { Logger } from 'pino';
import { reasonOf } from '../base/error-code.js';
import { startHourly } from '../base/hourly.js';
import { DAY_MS } from '../base/times.js';
import type { Config } from '../config/config.js';
import { bucketPlace } from './exports/chargeback-bucket.js';
import { chargebackCsv, isFinal, readChargeback } from './exports/chargeback.js';
import { lastDayIn, writeChargeback } from './exports/chargeback-files.js';
import { folderPlace } from './exports/chargeback-folder.js';
import type { ChargebackPlace } from './exports/chargeback-place.js';
import type { OperationContext } from './operations/operation.js';

interface WriterParts extends Pick<OperationContext, 'operator' | 'now'> {
  readonly store: BalanceStore;
  readonly log: Logger;
  /** Without any, nothing is written. */
  readonly places: readonly ChargebackPlace[];
}

export interface ChargebackWriter {
  /** Looks now. */
  look(): Promise<void>;
  stop(): Promise<void>;
}

/** The places that are configured. */
export async function chargebackPlaces({
  chargebackDir: folder,
  chargebackBucket: bucket,
}: Pick<Config['books'], 'chargebackDir' | 'chargebackBucket'>): Promise<ChargebackPlace[]> {
  return [
    ...(folder === undefined ? [] : [folderPlace(folder)]),
    ...(bucket === undefined ? [] : [await bucketPlace(bucket)]),
  ];
}

/**
 * Looks every hour. Begins with the last day that is final, and later continues after the last day
 * of each place's manifest, so that no day is left out while the gateway does not run.
 */
export function startChargebackWriter(parts: WriterParts): ChargebackWriter {
  const { store, log, places, operator } = parts;

  async function look(): Promise<void> {
    for (const place of places) {
      try {
        await lookAt(place);
      } catch (error) {
        // The next look tries again.
        log.error({ reason: reasonOf(error) }, 'a chargeback cannot be written');
      }
    }
  }

  async function lookAt(place: ChargebackPlace): Promise<void> {
    const last = await lastDayIn(place);
    const now = parts.now();
    const today = Math.floor(now / DAY_MS) * DAY_MS;
    const yesterday = new Date(today - DAY_MS);
    const first = isFinal(yesterday, now) ? yesterday : new Date(today - 2 * DAY_MS);
    let day = last === undefined ? first : new Date(Date.parse(last) + DAY_MS);
    for (; isFinal(day, now); day = new Date(day.getTime() + DAY_MS)) {
      await write(place, day, now);
    }
  }

  async function write(place: ChargebackPlace, day: Date, now: number): Promise<void> {
    const name = day.toISOString().slice(0, 10);
    const { outcome, file, sha256 } = await writeChargeback(place, name, async () => {
      const provider = operator?.name ?? 'Farthing';
      const found = await readChargeback(store, { day, accountId: undefined, provider, now });
      const { rows, charged } = found;
      return { csv: chargebackCsv(found), rows: rows.length, charged_usd: formatUsd(charged) };
    });
    if (outcome === 'written') log.info({ file, sha256 }, 'a chargeback was written');
  }

  return { look, stop: startHourly(look, places.length > 0) };
}
