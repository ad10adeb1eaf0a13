/** The processes that serve clients: this one, or workers. */

import type { SettingsReport } from '../config/reloader.js';
import type { Settings } from '../config/settings.js';
import type { WorkerMetrics } from '../observe/registry.js';
import type { AdminParts } from './admin-app.js';

export interface ClientProcesses extends Pick<AdminParts, 'metrics' | 'activity'> {
  readonly url: string;
  /** The metrics of each process of this gateway that responds. */
  readonly readMetrics: () => Promise<readonly WorkerMetrics[]>;
  readonly applySettings: (settings: Settings) => Promise<void>;
  readonly workerVersions: () => Promise<SettingsReport['workers']>;
  /** Makes `/readyz` answer 503. Requests are accepted as before, until `drain`. */
  announceStop(): void;
  /** @returns `abandoned`, how many requests were in progress at the deadline */
  drain(): Promise<{ readonly abandoned: number }>;
  /** Call it after the ledger was closed, which may still be writing charges. */
  close(): Promise<void>;
}
