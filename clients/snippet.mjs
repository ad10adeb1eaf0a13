/**
 * Prints the block of docs/clients.md that is named after its language, such as
 * ```` ```yaml models.yaml ````, with this gateway's address and key. So the checks run what the
 * document says.
 */

import { readFileSync } from 'node:fs';

const [name] = process.argv.slice(2);
const { GATEWAY_URL = '', OPENAI_API_KEY = '' } = process.env;
const page = readFileSync(new URL('../docs/clients.md', import.meta.url), 'utf8');
const block = page
  .matchAll(/^```\S+ (\S+)\n([^]*?)^```$/gm)
  .find(([, given]) => given === name)?.[2];
if (block === undefined) throw new Error(`docs/clients.md has no block "${name}"`);
process.stdout.write(
  block.replaceAll('http://127.0.0.1:8080', GATEWAY_URL).replaceAll('<API_KEY>', OPENAI_API_KEY),
);
