/**
 * Node's SQLite. Node 22 and the first versions of Node 24 call it experimental and say so on
 * stderr, where it would appear among the errors of every command. Everything used here is the same
 * in all of them.
 */

export const { DatabaseSync } = withoutWarnings(() => process.getBuiltinModule('node:sqlite'));

function withoutWarnings<Result>(load: () => Result): Result {
  const original = process.emitWarning.bind(process);
  process.emitWarning = () => undefined;
  try {
    return load();
  } finally {
    process.emitWarning = original;
  }
}
