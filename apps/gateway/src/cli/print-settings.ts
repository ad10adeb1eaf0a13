/** Prints the settings: what is in force, and where each is set. */

import type { OperationOutput } from '../operator/operations/operations.js';
import type { Screen } from './screen.js';
import { table } from './table.js';
import type { Columns } from './table.js';

/** A price table may be a setting, and has thousands of characters. */
const MAX_SHOWN = 60;

export function printSettings(settings: OperationOutput<'showSettings'>, screen: Screen): string {
  const { version, loaded_at, workers, needs_restart, variables } = settings;
  const late = workers.filter((worker) => worker.version !== version);
  const columns: Columns<(typeof variables)[number]> = {
    setting: 'name',
    value({ is_secret, is_set, value }) {
      if (is_secret) return is_set ? '(set)' : '(not set)';
      return { text: shortened(value ?? '', MAX_SHOWN), short: shortened(value ?? '', 20) };
    },
    'set in': ({ set_in }) => (set_in === 'default' ? '' : set_in),
    'can be changed': ({ changes_by }) => CHANGES[changes_by],
  };
  return [
    table(variables, columns, { screen, leave: ['can be changed', 'set in'] }),
    version === null || loaded_at === null
      ? 'These are the settings of this command. For those of a running gateway, set ADMIN_URL.'
      : `Version ${version}, in force since ${loaded_at}`,
    ...late.map(
      ({ worker, version: other }) => `Worker ${String(worker)} still has version ${other}`,
    ),
    ...(needs_restart.length === 0
      ? []
      : [`Changed, but needs a restart: ${needs_restart.join(', ')}`]),
  ].join('\n');
}

const CHANGES = { gateway: 'change-setting', reload: 'and reloaded', restart: 'with a restart' };

function shortened(given: string, most: number): string {
  const text = given.replaceAll(/\s+/g, ' ');
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
