/**
 * Copies the gateway's version from its manifest into the chart: as its `appVersion`, the default
 * tag of the image, and as its own, because each release has a new chart. The last step of `npm run
 * release:version`. It needs no build, because the job of the release workflow that runs it may
 * write to the repository, and therefore runs as little code as possible.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chartFolder } from './release/chart.mjs';
import { root } from './setup.mjs';

const { version } = JSON.parse(readFileSync(join(root, 'apps/gateway/package.json'), 'utf8'));

const chart = join(chartFolder(), 'Chart.yaml');
const text = readFileSync(chart, 'utf8')
  .replace(/^version: .*$/m, `version: ${version}`)
  .replace(/^appVersion: .*$/m, `appVersion: '${version}'`);
writeFileSync(chart, text);
