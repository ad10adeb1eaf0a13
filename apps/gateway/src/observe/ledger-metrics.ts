/** Metrics of the ledger as a whole. All processes of a gateway share one ledger. */

import { statfs } from 'node:fs/promises';
import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import type { ChargingState, LedgerSummary } from '@gateway/balance-store';
import type { DataDir } from '../config/data-dir.js';
import { addGauge, approximateUsd } from './registry.js';

export interface LedgerFigures {
  /** Read once a minute; `undefined` before the first time. */
  readonly summary: () => LedgerSummary | undefined;
  /** Whether the ledger's database responds. */
  readonly isReachable: () => Promise<boolean>;
  readonly charging: () => ChargingState;
  /** The directory of the embedded ledger; `undefined` with PostgreSQL. */
  readonly dataDir: DataDir | undefined;
}

export function addLedgerMetrics(registry: Registry, figures: LedgerFigures): void {
  const gauge = (name: string, help: string, read: (summary: LedgerSummary) => number): void => {
    addGauge(registry, name, help, () => {
      const summary = figures.summary();
      return summary === undefined ? undefined : read(summary);
    });
  };
  gauge(
    'gateway_holds_orphaned',
    'Holds that expired, with neither a charge nor a release',
    ({ orphanedHolds }) => orphanedHolds,
  );
  gauge(
    'gateway_quarantine_rows',
    'Usages that were set aside and never charged',
    ({ quarantined }) => quarantined,
  );
  gauge(
    'gateway_settle_conflicts',
    'Request ids that were settled again with contents other than those charged',
    ({ conflicts }) => conflicts,
  );
  gauge(
    'gateway_keys_previous_pepper',
    'Keys that only the pepper before KEY_PEPPER can find; at 0, that pepper can be removed',
    ({ keysUnderPreviousPepper }) => keysUnderPreviousPepper,
  );
  gauge(
    'gateway_unspent_usd',
    'Sum of all balances above zero: credit that customers have not used; approximate',
    ({ unspent }) => approximateUsd(unspent),
  );
  gauge(
    'gateway_overdrawn_usd',
    'Sum of all balances below zero, as a positive amount; approximate',
    ({ overdrawn }) => approximateUsd(overdrawn),
  );
  gauge(
    'gateway_ledger_last_seal_timestamp_seconds',
    'When the hash chain over the ledger was last extended; 0 if never',
    ({ lastSealAt }) => (lastSealAt?.getTime() ?? 0) / 1000,
  );
  gauge(
    'gateway_ledger_clock_behind_seconds',
    "How far the ledger's clock is behind its last entry, because the clock was set back",
    ({ clockBehindMs }) => clockBehindMs / 1000,
  );
  addGauge(
    registry,
    'gateway_ledger_reachable',
    'Whether the database of the ledger answers, asked at each scrape',
    async () => Number(await figures.isReachable()),
  );
  addGauge(
    registry,
    'gateway_ledger_chargeable',
    'Whether charges can be recorded; while 0, requests are refused with 503',
    () => Number(figures.charging().fault === undefined),
  );
  addGauge(
    registry,
    'gateway_ledger_clock_skew_seconds',
    "How far the clock of the ledger's database is ahead of this process's; only with PostgreSQL",
    () => {
      const { clockSkewMs } = figures.charging();
      return clockSkewMs === undefined ? undefined : clockSkewMs / 1000;
    },
  );
  if (figures.dataDir !== undefined) addDiskMetrics(registry, figures.dataDir);
  new Gauge({
    name: 'gateway_keys',
    help: 'Keys by standing',
    labelNames: ['standing'],
    registers: [registry],
    collect() {
      for (const [standing, keys] of Object.entries(figures.summary()?.keys ?? {})) {
        this.set({ standing }, keys);
      }
    },
  });
}

function addDiskMetrics(registry: Registry, dataDir: DataDir): void {
  addGauge(
    registry,
    'gateway_data_dir_free_bytes',
    'Room on the disk of DATA_DIR for the user of the gateway',
    async () => {
      const { bavail, bsize } = await statfs(dataDir.path);
      return bavail * bsize;
    },
  );
  addGauge(registry, 'gateway_data_dir_size_bytes', 'Size of the disk of DATA_DIR', async () => {
    const { blocks, bsize } = await statfs(dataDir.path);
    return blocks * bsize;
  });
  addGauge(
    registry,
    'gateway_ledger_last_backup_timestamp_seconds',
    'When `farthing ledger backup` last finished; absent before the first time',
    () => {
      const at = dataDir.lastBackupAt();
      return at === undefined ? undefined : at.getTime() / 1000;
    },
  );
}
