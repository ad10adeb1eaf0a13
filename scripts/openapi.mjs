/**
 * Writes `apps/gateway/openapi/*.json`, the OpenAPI documents that the gateway serves. With
 * `--check` it compares instead of writing. Either way each document must be valid.
 */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { ensureBuilt, node, output, root, step } from './setup.mjs';

const DOCUMENTS = 'apps/gateway/openapi';
const isCheck = process.argv.includes('--check');
const problems = [];

step(isCheck ? 'Comparing the OpenAPI documents' : 'Writing the OpenAPI documents');
ensureBuilt();
for (const port of ['client', 'admin']) {
  const text = output(node, [join(root, 'apps/gateway/dist/main.js'), 'openapi', port]);
  const document = JSON.parse(text);
  const { valid, errors } = await new Validator().validate(document);
  if (!valid) problems.push(`${port}: ${JSON.stringify(errors, undefined, 2)}`);
  keep(`${DOCUMENTS}/${port}.json`, text);
}
if (problems.length > 0) {
  process.stderr.write(`${problems.join('\n')}\n`);
  process.exit(1);
}

function keep(path, text) {
  const file = join(root, path);
  if (!isCheck) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  } else if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
    problems.push(`${path} is out of date: npm run openapi`);
  }
}
