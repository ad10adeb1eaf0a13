/**
 * Reads the settings again on SIGHUP, on request of the operator and after a change in the ledger,
 * and gives them to every process of this gateway.
 */

import type { Logger } from 'pino';
import { StoreUnavailableError } from '@gateway/balance-store';
import type { Actor } from '@gateway/balance-store';
import { withChange } from './changed-variables.js';
import type { ChangedVariables, VariableChange, WrittenChange } from './changed-variables.js';
import { ConfigError, readConfig, readEnvironment } from './config.js';
import type { Config } from './config.js';
import { describeVariables } from './describe-variables.js';
import type { VariableView } from './describe-variables.js';
import { ADMIN_TOKEN_VARIABLES } from './settings.js';
import type { Settings } from './settings.js';
import { BY_NAME } from './variables.js';
import type { Environment } from './variables.js';

export interface SettingsReport {
  readonly object: 'settings';
  /** `null` in the command line, like `loaded_at`: only a running gateway knows. */
  readonly version: string | null;
  /** Since when this version has been in force here. */
  readonly loaded_at: string | null;
  /** The version that each worker has; empty without workers. */
  readonly workers: readonly { readonly worker: number; readonly version: string }[];
  /** Variables that have changed since the start, and take effect only after a restart. */
  readonly needs_restart: readonly string[];
  /** Every variable, with its value in force. */
  readonly variables: readonly VariableView[];
}

export interface Reloader {
  /**
   * @throws {ConfigError} if the new settings cannot be used. Nothing has changed then.
   */
  readonly reload: () => Promise<SettingsReport>;
  readonly report: () => Promise<SettingsReport>;
  /**
   * Changes one variable for all replicas, in this one at once.
   *
   * @throws {ConfigError} if it cannot be changed so. Nothing has changed then.
   * @throws {ConcurrentChangeError}
   */
  readonly change: (change: VariableChange, by: Actor) => Promise<SettingsReport>;
  /** Reads the settings again if a change is in the ledger that this gateway does not have. */
  readonly follow: () => Promise<void>;
}

/** Two operators changed settings at once. */
export class ConcurrentChangeError extends Error {
  override readonly name = 'ConcurrentChangeError';
}

export interface ReloaderParts {
  readonly env: Environment;
  readonly initial: Settings;
  /** Those that `initial` has. */
  readonly initiallyChanged: ChangedVariables;
  /** Those that the ledger has. */
  readonly readChanged: () => Promise<ChangedVariables>;
  readonly writeChange: (
    before: ChangedVariables,
    change: WrittenChange,
  ) => Promise<'written' | 'conflict'>;
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
  let loaded = started;
  let changed = parts.initiallyChanged;
  let current = parts.initial;
  let loadedAt = new Date();
  let waiting: readonly string[] = [];
  let last: Promise<unknown> = Promise.resolve();

  function needsStart(name: string): boolean {
    const hasAdminApi = parts.initial.adminTokens.length > 0;
    return ADMIN_TOKEN_VARIABLES.includes(name) ? !hasAdminApi : needsRestart(name);
  }

  async function report(): Promise<SettingsReport> {
    return {
      object: 'settings',
      version: current.version,
      loaded_at: loadedAt.toISOString(),
      workers: await parts.workerVersions(),
      needs_restart: waiting,
      variables: describeVariables({ env, started, loaded, changed: changed.texts, needsStart }),
    };
  }

  async function load(): Promise<SettingsReport> {
    const stored = await parts.readChanged().catch((error: unknown) => {
      // Keys and tokens can be replaced while the database is away. `follow` reads changes later.
      if (error instanceof StoreUnavailableError) return changed;
      throw error;
    });
    const environment = readEnvironment(env);
    let next: Settings;
    try {
      next = parts.read(readConfig(env, stored.texts));
      waiting = changedVariables(started, environment).filter(needsStart);
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
    loaded = environment;
    changed = stored;
    parts.onReload('loaded', next.version);
    log.info({ version: next.version, previous, needs_restart: waiting }, 'settings loaded');
    return report();
  }

  async function change(asked: VariableChange, by: Actor): Promise<SettingsReport> {
    await changeVariable(asked, by, {
      ...parts,
      check: (texts) => parts.read(readConfig(env, texts)),
    });
    return load();
  }

  /**
   * One after the other, because two reloads at once could end with different versions in different
   * workers.
   */
  function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  }

  /** The version that could not be used. It is not tried, and logged, again and again. */
  let refused = 0;

  async function follow(): Promise<void> {
    const { version } = await parts.readChanged();
    if (version === changed.version || version === refused) return;
    await load().catch((error: unknown) => {
      if (!(error instanceof ConfigError)) throw error;
      refused = version;
    });
  }

  return {
    report,
    reload: () => inTurn(load),
    change: (asked, by) => inTurn(() => change(asked, by)),
    follow: () => inTurn(follow),
  };
}

/** Whether a change of a variable of the environment only takes effect after a restart. */
export function needsRestart(name: string): boolean {
  return BY_NAME.get(name)?.isReloadable !== true;
}

/**
 * @throws {ConfigError} The variable cannot be changed so. Nothing was written.
 * @throws {ConcurrentChangeError}
 */
export async function changeVariable(
  change: VariableChange,
  by: Actor,
  { readChanged, writeChange, check }: ChangeParts,
): Promise<void> {
  const { name } = change;
  const before = await readChanged();
  const after = withChange(before, change);
  if (after[name] === before.texts[name]) return;
  // With a setting that cannot be used, no replica could start.
  check(after);
  const outcome = await writeChange(before, { after, name, by });
  if (outcome === 'conflict') throw new ConcurrentChangeError();
}

interface ChangeParts extends Pick<ReloaderParts, 'readChanged' | 'writeChange'> {
  /** Throws a `ConfigError` if the settings cannot be used. */
  readonly check: (texts: ChangedVariables['texts']) => void;
}

function changedVariables(before: Environment, after: Environment): readonly string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => before[name] !== after[name]).sort();
}
