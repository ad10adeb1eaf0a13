/** Finds the places of a source file that can be made wrong, each in one way. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { root } from '../setup.mjs';

const OPERATORS = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '&&': '||',
  '||': '&&',
  '??': '&&',
  '+=': '-=',
  '-=': '+=',
};

/**
 * @returns of each place: the file, the number and the text of its line, where it begins and ends,
 * the text there, and the text of the mutant
 */
export function findMutants(path) {
  const text = readFileSync(join(root, path), 'utf8');
  const lines = text.split('\n');
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found = [];
  const add = (node, replacement) => {
    const [start, end] = [node.getStart(source), node.getEnd()];
    const { line } = source.getLineAndCharacterOfPosition(start);
    const code = lines[line].trim();
    const was = text.slice(start, end);
    found.push({ path, line: line + 1, code, start, end, was, text: replacement });
  };
  const visit = (node) => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return;
    mutate(node, add);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function mutate(node, add) {
  if (ts.isBinaryExpression(node)) {
    const other = OPERATORS[node.operatorToken.getText()];
    if (other !== undefined && !isText(node)) add(node.operatorToken, other);
  } else if (ts.isPrefixUnaryExpression(node)) {
    if (node.operator === ts.SyntaxKind.ExclamationToken) add(node, node.operand.getText());
  } else if (ts.isNumericLiteral(node) || ts.isBigIntLiteral(node)) {
    const isLarge = ts.isBigIntLiteral(node);
    const value = BigInt(Math.trunc(Number(node.text.replaceAll('_', '').replace(/n$/u, ''))));
    add(node, `${String(value + 1n)}${isLarge ? 'n' : ''}`);
  } else if (node.kind === ts.SyntaxKind.TrueKeyword) {
    add(node, 'false');
  } else if (node.kind === ts.SyntaxKind.FalseKeyword) {
    add(node, 'true');
  } else if (ts.isIfStatement(node)) {
    add(node.expression, 'false');
    add(node.expression, 'true');
  } else if (ts.isConditionalExpression(node)) {
    add(node.condition, 'false');
    add(node.condition, 'true');
  } else if (ts.isExpressionStatement(node)) {
    const { expression } = node;
    if (ts.isCallExpression(expression) || ts.isAwaitExpression(expression)) add(node, ';');
  }
}

/** Whether a sum is known to be text, of which no part can be subtracted. */
function isText({ left, right, operatorToken }) {
  const isSum = operatorToken.kind === ts.SyntaxKind.PlusToken;
  return (
    isSum &&
    [left, right].some((side) => ts.isStringLiteralLike(side) || ts.isTemplateExpression(side))
  );
}

/** A sample that stays the same while the lines of its mutants do. */
export function sampleOf(mutants, count) {
  return mutants
    .map((mutant) => ({ mutant, rank: createHash('sha256').update(nameOf(mutant)).digest('hex') }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .slice(0, count)
    .map(({ mutant }) => mutant);
}

/** Names a mutant by its file and the text of its line, which other changes of the file keep. */
export function nameOf({ path, code, was, text }) {
  return `${path}: ${code}: ${was.replaceAll(/\s+/gu, ' ')} → ${text}`;
}
