/**
 * Prints `version=…` if the plan publishes the server, whose image and chart are then released
 * with it. The release workflow appends this to the outputs of its job.
 *
 *   node planned-server.mjs publish-plan.json
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../setup.mjs';

const { name } = JSON.parse(readFileSync(join(root, 'apps/gateway/package.json'), 'utf8'));
const { plan } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const server = plan.flat().find((each) => each.kind === 'publish' && each.name === name);
if (server !== undefined) process.stdout.write(`version=${server.version}\n`);
