/**
 * Copies the gateway's version from its manifest into the chart, whose `appVersion` is the default
 * tag of the image. The last step of `npm run release:version`. It needs no build, because the job
 * of the release workflow that runs it may write to the repository, and therefore runs as little
 * code as possible.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './setup.mjs';

const { version } = JSON.parse(readFileSync(join(root, 'apps/gateway/package.json'), 'utf8'));

const chart = join(root, 'deploy/helm/farthing/Chart.yaml');
const text = readFileSync(chart, 'utf8');
writeFileSync(chart, text.replace(/^appVersion: .*$/m, `appVersion: '${version}'`));
