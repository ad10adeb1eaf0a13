/** Finds the TypeScript examples in READMEs and docstrings, and makes modules of them. */

import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { runInNewContext } from 'node:vm';
import ts from 'typescript';
import { root } from './setup.mjs';

/** @returns the fenced `ts` blocks of a Markdown file, as `{ file, line, code, isRun }` */
export function examplesOfMarkdown(path) {
  return fencedBlocks(readFileSync(path, 'utf8').split('\n'), path);
}

/** @returns the same of the docstrings in a source file: fenced `ts` blocks, and bare `@example`s */
export function examplesOfSource(path) {
  const text = readFileSync(path, 'utf8');
  return [...text.matchAll(/^[ \t]*\/\*\*[^]*?\*\//gm)].flatMap((comment) => {
    const firstLine = text.slice(0, comment.index).split('\n').length - 1;
    // Emptied, not removed: what is found keeps the line that it has in the file.
    const lines = comment[0].split('\n').map((line) => line.replace(/^\s*(\/\*\*|\*\/|\*) ?/, ''));
    const before = Array.from({ length: firstLine }, () => '');
    return [...fencedBlocks([...before, ...lines], path), ...bareExamples(lines, firstLine, path)];
  });
}

function fencedBlocks(lines, path) {
  const blocks = [];
  for (let at = 0; at < lines.length; at += 1) {
    const [, info] = /^```(ts\b.*)$/.exec(lines[at]) ?? [];
    if (info === undefined) continue;
    const end = lines.indexOf('```', at);
    blocks.push(example(path, at + 1, lines.slice(at + 1, end), info));
    at = end;
  }
  return blocks;
}

/** What follows `@example` up to the next tag or the end of the comment. */
function bareExamples(lines, firstLine, path) {
  return lines.flatMap((line, at) => {
    if (line.trim() !== '@example' || lines[at + 1].startsWith('```')) return [];
    const rest = lines.slice(at + 1);
    const end = rest.findIndex((text) => text.startsWith('@'));
    return [example(path, firstLine + at + 1, end < 0 ? rest : rest.slice(0, end), 'ts')];
  });
}

/** @param line - How many lines of the file come before the first of the example. */
function example(path, line, lines, info) {
  const file = relative(root, path);
  if (info !== 'ts' && info !== 'ts no-run') {
    throw new Error(`${file}:${line}: "${info}" is neither "ts" nor "ts no-run"`);
  }
  return { file, line, code: lines.join('\n'), isRun: info === 'ts' };
}

/** What an example imports from elsewhere: names of packages. */
export function importsOf({ code }) {
  const { importedFiles } = ts.preProcessFile(code);
  return importedFiles.map(({ fileName }) => fileName);
}

/**
 * Makes an example a module that fails where a comment tells another value than there is: in
 * `sum; // 3` and `const sum = 1 + 2; // 3` the comment is compared with the value.
 *
 * Every line stays where it is in the file, so that an error names the line to be mended.
 *
 * @param own - The package that the example belongs to: one in a docstring need not import from it.
 */
export function moduleOf({ code, line }, own) {
  const source = ts.createSourceFile('example.ts', code, ts.ScriptTarget.Latest);
  let checked = '';
  let done = 0;
  for (const statement of source.statements) {
    const [, told] = /^[ \t]*\/\/ (.*)/.exec(code.slice(statement.end)) ?? [];
    const subject = told !== undefined && isValue(told) ? subjectOf(statement, source) : undefined;
    if (subject === undefined) continue;
    // An expression is not evaluated twice: it may count.
    const until = ts.isExpressionStatement(statement) ? statement.getStart(source) : statement.end;
    checked += `${code.slice(done, until)} deepEqual(${subject}, ${told});`;
    done = statement.end;
  }
  checked += code.slice(done);
  const imports = ["import { deepEqual } from 'node:assert/strict';"];
  if (own !== undefined && !code.includes(`from '${own.name}`)) {
    const used = own.exported.filter((name) => new RegExp(`\\b${name}\\b`).test(code));
    imports.push(`import { ${used.join(', ')} } from '${own.name}';`);
  }
  return imports.join(' ') + '\n'.repeat(line) + checked;
}

/** What the comment after a statement tells the value of. */
function subjectOf(statement, source) {
  if (ts.isExpressionStatement(statement)) return statement.expression.getText(source);
  if (!ts.isVariableStatement(statement)) return undefined;
  const [{ name }, ...others] = statement.declarationList.declarations;
  if (others.length > 0) return undefined;
  if (ts.isIdentifier(name)) return name.text;
  return name.elements.length === 1 ? name.elements[0].name.getText(source) : undefined;
}

/** Whether a comment is a literal, not a sentence. */
function isValue(text) {
  try {
    runInNewContext(`(${text})`, Object.create(null));
    return true;
  } catch {
    return false;
  }
}
