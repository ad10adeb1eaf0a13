/** The chart of this repository, or of a copy of it. */

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../setup.mjs';

/** @returns the folder with `Chart.yaml` */
export function chartFolder(from = root) {
  const charts = join(from, 'deploy/helm');
  const [name] = readdirSync(charts).filter((each) => existsSync(join(charts, each, 'Chart.yaml')));
  return join(charts, name);
}
