/** The folder of the embedded ledger, unless `DATA_DIR` names another. */

import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { Environment } from './variables.js';

/**
 * Depends on the user, not on the folder in which the command is typed: `farthing keys create`
 * finds the ledger of `farthing serve`. The place is that of the XDG Base Directory Specification:
 * https://specifications.freedesktop.org/basedir/latest/
 */
export function defaultDataDir({ XDG_DATA_HOME: given = '' }: Environment): string {
  // The specification says that a relative path must be ignored.
  const base = isAbsolute(given) ? given : join(homedir(), '.local/share');
  return join(base, 'farthing');
}
