/**
 * `npm run faults`: everything that can go wrong, what happens then, and the tests that prove it
 * (docs/faults.md).
 *
 *   npm run faults              all faults
 *   npm run faults -- F12 F40   some of them
 *   npm run faults -- --json    the same, to be read by a program
 *
 * It reads comments above the tests, and above the parts of the torture:
 *
 *   // F12: a connection is lost after the commit: the charge is found, not repeated.
 *   it('a commit whose answer was lost with its connection is found, not repeated', …
 *
 * A comment with numbers only, such as `// F12, F26`, adds a proof. One test has the sentence.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import ts from 'typescript';
import { root } from './setup.mjs';

const TAG = /^F\d+(?:, F\d+)*(?=:|,?$)/;
/** Names of functions that declare a test which does not run. */
const SWITCHED_OFF = /^(?:x\w+|\w+\.(?:skip|todo))\b/;

const { values, positionals } = parseArgs({
  options: { json: { type: 'boolean', default: false } },
  allowPositionals: true,
});

const faults = collect(taggedFiles().flatMap(tagsOf));
const wanted = faults.filter(
  ({ number }) => positionals.length === 0 || positionals.includes(`F${number}`),
);
if (wanted.length === 0) {
  process.stderr.write(`there is no fault ${positionals.join(', ')}\n`);
  process.exit(2);
}
process.stdout.write(values.json ? `${JSON.stringify(wanted)}\n` : wanted.map(asText).join('\n'));

function taggedFiles() {
  const args = ['grep', '-lE', '^ *// F[0-9]+', '--', '*.ts', '*.mjs'];
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim().split('\n');
}

/** The tags of a file: the numbers and sentences of each, and the title of what it stands at. */
function tagsOf(file) {
  const text = readFileSync(join(root, file), 'utf8');
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const tags = [];
  const visit = (node) => {
    const title = titleOf(node);
    if (title !== undefined)
      for (const comment of commentsBefore(node, text)) tags.push({ ...comment, file, title });
    ts.forEachChild(node, visit);
  };
  visit(source);
  const written = text.match(/^ *\/\/ F\d+(?:, F\d+)*(?=:|,?$)/gm) ?? [];
  if (written.length !== tags.length)
    throw new Error(`${file}: ${written.length - tags.length} numbers of faults are at no test`);
  return tags;
}

/** What a test or a part of the torture is called, or undefined for all else. */
function titleOf(node) {
  if (ts.isPropertyAssignment(node))
    return ts.isComputedPropertyName(node.name) ? undefined : node.name.text;
  if (!ts.isExpressionStatement(node) || !ts.isCallExpression(node.expression)) return undefined;
  const { expression, arguments: args } = node.expression;
  if (args.length === 0 || SWITCHED_OFF.test(expression.getText())) return undefined;
  if (ts.isStringLiteralLike(args[0])) return args[0].text;
  return ts.isTemplateExpression(args[0]) ? args[0].getText().slice(1, -1) : undefined;
}

function commentsBefore(node, text) {
  const tags = [];
  for (const { pos, end } of ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []) {
    const line = text.slice(pos, end).replace(/^\/\/ ?/, '');
    const [numbers] = TAG.exec(line) ?? [];
    if (numbers !== undefined)
      tags.push({
        numbers: Array.from(numbers.matchAll(/\d+/g), ([digits]) => Number(digits)),
        lines: [line.slice(numbers.length).replace(/^[:,] ?/, '')],
      });
    else tags.at(-1)?.lines.push(line);
  }
  return tags.map(({ numbers, lines }) => ({ numbers, sentences: lines.join(' ').trim() }));
}

function collect(tags) {
  const faults = new Map();
  for (const { numbers, sentences, file, title } of tags) {
    for (const number of numbers) {
      const fault = faults.get(number) ?? { number, sentences: [], proofs: [] };
      faults.set(number, fault);
      if (sentences !== '') fault.sentences.push(sentences);
      fault.proofs.push({ file, title });
    }
  }
  return [...faults.values()].sort((a, b) => a.number - b.number);
}

function asText({ number, sentences, proofs }) {
  const lines = proofs.map(({ file, title }) => `    ${file}: ${title}\n`);
  return `F${number}  ${sentences.join(' ')}\n${lines.join('')}`;
}
