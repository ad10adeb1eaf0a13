/**
 * Reads the settings again on SIGHUP and on request of the operator, and gives them to every
 * process of this gateway.
 */

import type { Logger } from 'pino';
import { ConfigError, readConfig, readEnvironment } from './config.js';
import type { Config } from './config.js';
import { ADMIN_TOKEN_VARIABLES } from './settings.js';
import type { Settings } from './settings.js';
import { BY_NAME } from './variables.js';
import type { Environment } from './variables.js';

export interface SettingsReport {
  readonly object: 'settings';
  readonly version: string;
  /** Since when this version has been in force here. */
  readonly loaded_at: string;
  /** The version that each worker has; empty without workers. */
  readonly workers: readonly { readonly worker: number; readonly version: string }[];
  /** Variables that have changed since the start, and take effect only after a restart. */
  readonly needs_restart: readonly string[];
}

export interface Reloader {
  /**
   * @throws {ConfigError} if the new settings cannot be used. Nothing has changed then.
   */
  readonly reload: () => Promise<SettingsReport>;
  readonly report: () => Promise<SettingsReport>;
}

export interface ReloaderParts {
  readonly env: Environment;
  readonly initial: Settings;
  /** Reads and checks the settings. */
  readonly read: (config: Config) => Settings;
  /** Puts checked settings into force in all processes. */
  readonly apply: (settings: Settings) => Promise<void>;
  readonly workerVersions: () => Promise<SettingsReport['workers']>;
  readonly log: Logger;
  /** Called with the outcome of each reload. */
  readonly onReload: (outcome: 'loaded' | 'refused', version: string) => void;
}

export function createReloader(parts: ReloaderParts): Reloader {
  const { env, log } = parts;
  const started = readEnvironment(env);
  let current = parts.initial;
  let loadedAt = new Date();
  let needsRestart: readonly string[] = [];
  let last: Promise<unknown> = Promise.resolve();

  function needsStart(name: string): boolean {
    const hasAdminApi = parts.initial.adminTokens.length > 0;
    if (ADMIN_TOKEN_VARIABLES.includes(name)) return !hasAdminApi;
    return BY_NAME.get(name)?.isReloadable !== true;
  }

  async function report(): Promise<SettingsReport> {
    return {
      object: 'settings',
      version: current.version,
      loaded_at: loadedAt.toISOString(),
      workers: await parts.workerVersions(),
      needs_restart: needsRestart,
    };
  }

  async function load(): Promise<SettingsReport> {
    let next: Settings;
    try {
      next = parts.read(readConfig(env));
      needsRestart = changedVariables(started, readEnvironment(env)).filter(needsStart);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      parts.onReload('refused', current.version);
      log.error({ problems: error.problems, version: current.version }, 'settings refused');
      throw error;
    }
    await parts.apply(next);
    const previous = current.version;
    if (next.version !== previous) loadedAt = new Date();
    current = next;
    parts.onReload('loaded', next.version);
    log.info({ version: next.version, previous, needs_restart: needsRestart }, 'settings loaded');
    return report();
  }

  return {
    report,
    /**
     * Reloads run one after the other, because two at once could end with different versions in
     * different workers.
     */
    reload() {
      const mine = last.then(load);
      last = mine.catch(() => undefined);
      return mine;
    },
  };
}

function changedVariables(before: Environment, after: Environment): readonly string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => before[name] !== after[name]).sort();
}
