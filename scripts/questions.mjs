/**
 * `npm run questions`: asks both pages what customers and operators ask, in a browser, over the
 * data of `npm run demo`. Prints for each question the clicks, the seconds, the answer that the
 * screen showed, and the answer that the ledger has. Fails if one is wrong, or takes more than
 * three clicks or 20 seconds.
 *
 *   npm run questions -- --shots /tmp/shots       a picture of each answer
 *   npm run questions -- --widths 390 --page operator
 *   npm run questions -- --untimed                seconds are shown, but do not fail
 */

import { join } from 'node:path';
import { ensureBuilt, ensureInstalled, node, root, run } from './setup.mjs';

ensureInstalled();
ensureBuilt();
run(node, [
  '--disable-warning=ExperimentalWarning',
  join(root, 'scripts/questions/main.mjs'),
  ...process.argv.slice(2),
]);
