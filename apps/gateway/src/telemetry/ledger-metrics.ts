/** Metrics of the ledger as a whole. All processes of a gateway share one ledger. */

import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import type { LedgerSummary } from '@gateway/balance-store';
import { addGauge, approximateUsd } from './registry.js';

export interface LedgerFigures {
  /** Read once a minute; `undefined` before the first time. */
  readonly summary: () => LedgerSummary | undefined;
  /** Whether the ledger's database responds. */
  readonly isReachable: () => Promise<boolean>;
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
  addGauge(
    registry,
    'gateway_ledger_reachable',
    'Whether the database of the ledger answers, asked at each scrape',
    async () => Number(await figures.isReachable()),
  );
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
