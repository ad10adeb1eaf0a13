/**
 * Jest's transform with one place of one source file replaced, as `MUTANT` says:
 * `{"file":…,"start":…,"end":…,"text":…}`. No file is changed, so several mutants can run at once.
 */

const { env } = require('node:process');
const swc = require('@swc/jest');

const mutant = JSON.parse(env['MUTANT'] ?? '{}');

function mutated(source, file) {
  if (file !== mutant.file) return source;
  return source.slice(0, mutant.start) + mutant.text + source.slice(mutant.end);
}

module.exports = {
  createTransformer(options) {
    /** @type {any} Its type leaves open which members it has. */
    const inner = swc.createTransformer(options);
    return {
      ...inner,
      process: (source, file, context) => inner.process(mutated(source, file), file, context),
      getCacheKey: (source, file, context) =>
        inner.getCacheKey(mutated(source, file), file, context),
    };
  },
};
