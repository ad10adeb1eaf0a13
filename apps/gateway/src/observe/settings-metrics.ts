/** Metrics of the settings that are in force. */

import { Counter, Gauge } from 'prom-client';
import type { Registry } from 'prom-client';

export interface SettingsMetrics {
  readonly reloaded: (outcome: 'loaded' | 'refused', version: string) => void;
}

/** @param version - The version of the settings in force at the start. */
export function addSettingsMetrics(registry: Registry, version: string): SettingsMetrics {
  const info = new Gauge({
    name: 'gateway_settings_info',
    help: 'Always 1; the label is the version of the settings in force',
    labelNames: ['version'],
    registers: [registry],
  });
  const reloads = new Counter({
    name: 'gateway_settings_reloads_total',
    help: 'Reloads of the settings; refused: a file could not be used and nothing was changed',
    labelNames: ['outcome'],
    registers: [registry],
  });
  for (const outcome of ['loaded', 'refused']) reloads.inc({ outcome }, 0);
  info.set({ version }, 1);
  return {
    reloaded(outcome, inForce) {
      reloads.inc({ outcome });
      info.reset();
      info.set({ version: inForce }, 1);
    },
  };
}
