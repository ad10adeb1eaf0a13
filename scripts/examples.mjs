/** Finds the TypeScript examples in READMEs and docstrings, and turns them into modules. */

import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { runInNewContext } from 'node:vm';
import ts from 'typescript';
import { root } from './setup.mjs';

/** @returns the fenced `ts` blocks of a Markdown file, as `{ file, line, code, isRun }` */
export function examplesOfMarkdown(path) {
  return fencedBlocks(readFileSync(path, 'utf8').split('\n'), path);
}

/**
 * @returns the examples in the docstrings of a source file, in the same form: fenced `ts` blocks,
 * and `@example`s without a fence
 */
export function examplesOfSource(path) {
  const text = readFileSync(path, 'utf8');
  return [...text.matchAll(/^[ \t]*\/\*\*[^]*?\*\//gm)].flatMap((comment) => {
    const firstLine = text.slice(0, comment.index).split('\n').length - 1;
    const lines = comment[0].split('\n').map((line) => line.replace(/^\s*(\/\*\*|\*\/|\*) ?/, ''));
    // Empty lines in place of the lines before the comment, so that line numbers stay right.
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

/** The text after `@example`, up to the next tag or the end of the comment. */
function bareExamples(lines, firstLine, path) {
  return lines.flatMap((line, at) => {
    if (line.trim() !== '@example' || lines[at + 1].startsWith('```')) return [];
    const rest = lines.slice(at + 1);
    const end = rest.findIndex((text) => text.startsWith('@'));
    return [example(path, firstLine + at + 1, end < 0 ? rest : rest.slice(0, end), 'ts')];
  });
}

/** @param line - Number of lines in the file before the example. */
function example(path, line, lines, info) {
  const file = relative(root, path);
  if (info !== 'ts' && info !== 'ts no-run') {
    throw new Error(`${file}:${line}: "${info}" is neither "ts" nor "ts no-run"`);
  }
  return { file, line, code: lines.join('\n'), isRun: info === 'ts' };
}

/** The module specifiers that an example imports. */
export function importsOf({ code }) {
  const { importedFiles } = ts.preProcessFile(code);
  return importedFiles.map(({ fileName }) => fileName);
}

/**
 * Turns an example into a module that fails if a comment has another value than its statement: in
 * `sum; // 3` and `const sum = 1 + 2; // 3` the comment is compared with the value.
 *
 * Each line keeps its number, so that an error shows the line to correct.
 *
 * @param own - The example's own package. An example in a docstring does not have to import from
 * it.
 */
export function moduleOf({ code, line }, own) {
  const source = ts.createSourceFile('example.ts', code, ts.ScriptTarget.Latest);
  let checked = '';
  let done = 0;
  for (const statement of source.statements) {
    const [, stated] = /^[ \t]*\/\/ (.*)/.exec(code.slice(statement.end)) ?? [];
    const subject =
      stated !== undefined && isValue(stated) ? subjectOf(statement, source) : undefined;
    if (subject === undefined) continue;
    // An expression is evaluated only once, because it may have effects.
    const until = ts.isExpressionStatement(statement) ? statement.getStart(source) : statement.end;
    checked += `${code.slice(done, until)} deepEqual(${subject}, ${stated});`;
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

/** The expression whose value the comment after a statement states. */
function subjectOf(statement, source) {
  if (ts.isExpressionStatement(statement)) return statement.expression.getText(source);
  if (!ts.isVariableStatement(statement)) return undefined;
  const [{ name }, ...others] = statement.declarationList.declarations;
  if (others.length > 0) return undefined;
  if (ts.isIdentifier(name)) return name.text;
  const [element, ...rest] = name.elements;
  if (rest.length > 0 || element === undefined || !ts.isBindingElement(element)) return undefined;
  return element.name.getText(source);
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
