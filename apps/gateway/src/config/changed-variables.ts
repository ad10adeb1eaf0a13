/**
 * The variables that operators changed while the gateway served. They are one document beside the
 * ledger, so that all replicas, and a later start, have the same ones.
 */

import { z } from 'zod';
import { SETTINGS } from '@gateway/balance-store';
import type { Actor, BalanceStore } from '@gateway/balance-store';
import { ConfigError } from './config.js';
import { isJsonText, isNamedTable } from './settings.js';
import { BY_NAME } from './variables.js';

export interface ChangedVariables {
  /** Of the document; 0: nothing was changed yet. */
  readonly version: number;
  readonly texts: Readonly<Record<string, string>>;
}

type Documents = Pick<BalanceStore, 'getDocument' | 'writeDocument'>;

const stored = z.record(z.string(), z.string());

export async function readChangedVariables(
  store: Pick<Documents, 'getDocument'>,
): Promise<ChangedVariables> {
  const document = await store.getDocument(SETTINGS.kind, SETTINGS.id);
  if (document === undefined) return { version: 0, texts: {} };
  return { version: document.version, texts: stored.parse(document.data) };
}

export interface VariableChange {
  readonly name: string;
  /** `null`: the value of the environment, the file or the default applies again. */
  readonly text: string | null;
}

/**
 * @returns the variables after the change, which is not written yet
 * @throws {ConfigError} if operators cannot change this variable, or not to this text
 */
export function withChange(
  { texts }: ChangedVariables,
  { name, text }: VariableChange,
): ChangedVariables['texts'] {
  const variable = BY_NAME.get(name);
  if (variable?.isChangeable !== true) {
    const names = [...BY_NAME].flatMap(([known, { isChangeable }]) => (isChangeable ? known : []));
    throw new ConfigError([`name: must be one of ${names.join(', ')}`]);
  }
  const { [name]: _before, ...others } = texts;
  if (text === null) return others;
  if (variable.isFile === true && !isJsonText(text) && !isNamedTable(text)) {
    // Otherwise an operator could find out which files the machine has.
    throw new ConfigError([`${name}: must be JSON, or the name of a table; not that of a file`]);
  }
  return { ...others, [name]: text };
}

/**
 * Writes a change into the ledger's database, and into the trail.
 *
 * @throws {RangeError} All changes together are too long.
 */
export async function writeChange(
  store: Pick<Documents, 'writeDocument'>,
  before: ChangedVariables,
  { after, name, by }: WrittenChange,
): Promise<'written' | 'conflict'> {
  const { outcome } = await store.writeDocument({
    ...SETTINGS,
    accountId: '',
    version: before.version,
    data: after,
    trail: {
      action: 'settings.change',
      by,
      details: { [name]: { before: before.texts[name] ?? null, after: after[name] ?? null } },
    },
  });
  return outcome;
}

export interface WrittenChange {
  readonly after: ChangedVariables['texts'];
  readonly name: string;
  readonly by: Actor;
}
