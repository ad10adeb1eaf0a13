/**
 * Node's SQLite. Node 22 calls it experimental and says so on stderr, where it would appear among
 * the errors of every command; Node 24 no longer does. Everything used here is the same in both.
 */

export const { DatabaseSync, backup } = withoutWarnings(() =>
  process.getBuiltinModule('node:sqlite'),
);

function withoutWarnings<Result>(load: () => Result): Result {
  const original = process.emitWarning.bind(process);
  process.emitWarning = () => undefined;
  try {
    return load();
  } finally {
    process.emitWarning = original;
  }
}
