/**
 * Writes `apps/gateway/openapi/*.json`, the OpenAPI documents that the gateway serves, for clients
 * that are typed by them. With `--check` it compares instead of writing. Either way each document
 * must be valid.
 */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { ensureBuilt, node, output, root, step } from './setup.mjs';

const FOLDER = join(root, 'apps/gateway/openapi');
const isCheck = process.argv.includes('--check');
const problems = [];

step(isCheck ? 'Comparing the OpenAPI documents' : 'Writing the OpenAPI documents');
ensureBuilt();
mkdirSync(FOLDER, { recursive: true });
for (const port of ['client', 'admin']) {
  const text = output(node, [join(root, 'apps/gateway/dist/main.js'), 'openapi', port]);
  const { valid, errors } = await new Validator().validate(JSON.parse(text));
  if (!valid) problems.push(`${port}: ${JSON.stringify(errors, undefined, 2)}`);
  const file = join(FOLDER, `${port}.json`);
  if (!isCheck) writeFileSync(file, text);
  else if (readFileSync(file, 'utf8') !== text) {
    problems.push(`apps/gateway/openapi/${port}.json is out of date: npm run openapi`);
  }
}
if (problems.length > 0) {
  process.stderr.write(`${problems.join('\n')}\n`);
  process.exit(1);
}
