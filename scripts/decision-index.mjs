/**
 * Writes `docs/decisions/README.md` from the records beside it. With `--check` it compares instead
 * of writing.
 */

import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isCheck, writeOrCompare } from './generated-files.mjs';
import { root, step } from './setup.mjs';

const FOLDER = 'docs/decisions';

step(isCheck ? 'Comparing the index of decisions' : 'Writing the index of decisions');
const files = readdirSync(join(root, FOLDER))
  .filter((name) => /^\d{4}-.*\.md$/.test(name))
  .sort();
const numbers = new Set(files.map((name) => Number(name.slice(0, 4))));
const unused = Array.from({ length: Math.max(...numbers) }, (_, index) => index + 1)
  .filter((number) => !numbers.has(number))
  .map((number) => String(number).padStart(4, '0'));

const INTRODUCTION = `# Decision records

Decisions that a newcomer would question. A new record takes the next number and the same form: date and status, context,
decision, downside, with the figures that justify it, as long as someone who has not read the code needs it, mostly up to
200 words. A superseded record keeps its number and one line that names its successor; here it has an arrow. Made by
\`npm run docs\`. Never used: ${unused.join(', ')}.
`;

await writeOrCompare(
  { [`${FOLDER}/README.md`]: `${INTRODUCTION}\n${files.map(lineOf).join('\n')}\n` },
  'npm run docs',
);

function lineOf(file) {
  const text = readFileSync(join(root, FOLDER, file), 'utf8');
  const [, number, title] = /^# (\d{4}): (.*)$/m.exec(text) ?? [];
  if (title === undefined) throw new Error(`${file} has no title such as "# 0001: …"`);
  const [, line] = /^# .*\n\n_(.*)_\n$/.exec(text) ?? [];
  return `- [${number}](${file}): ${title}${line === undefined ? '' : ` → ${successorIn(line)}`}`;
}

/** What a record of one line refers to: another record, a document or a file. */
function successorIn(line) {
  const [link, label] = /\[([^\]]*)\]\([^)]*\)/.exec(line) ?? [];
  if (link !== undefined) return /^\d{4}$/.test(label) ? label : link;
  return /`[^`]*`/.exec(line)?.[0] ?? 'removed';
}
