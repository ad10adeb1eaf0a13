/**
 * Jest's transform, with the mutant in its place. No file is changed, so several mutants can run at
 * once.
 */

const swc = require('@swc/jest');
const { mutated } = require('./mutated.cjs');

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
