/**
 * Node's SQLite. Node 22 and the first versions of Node 24 call it experimental and say so on
 * stderr, where it would appear among the errors of every command. Everything used here is the same
 * in all of them.
 */

import type * as NodeSqliteModule from 'node:sqlite';
import { partOfNode } from '../../node-parts.js';

type NodeSqlite = typeof NodeSqliteModule;

export const { DatabaseSync } = partOfNode(() => withoutWarnings(load));

/** Undefined in Node 20, which may also lack `getBuiltinModule`. */
function load(): NodeSqlite | undefined {
  const found: Partial<Pick<NodeJS.Process, 'getBuiltinModule'>> = process;
  return found.getBuiltinModule?.('node:sqlite');
}

function withoutWarnings<Result>(work: () => Result): Result {
  const original = process.emitWarning.bind(process);
  process.emitWarning = () => undefined;
  try {
    return work();
  } finally {
    process.emitWarning = original;
  }
}
