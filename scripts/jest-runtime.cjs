/**
 * Jest's runtime, but that a worker compiles each module once, not once for each test file. Each
 * file still runs the modules that it imports afresh, so that none sees another's state.
 */

const { compileFunction } = require('node:vm');
const { default: Runtime } = require('jest-runtime');

/**
 * By file name: the source, and the function that runs it.
 *
 * @type {Map<string, { source: string, run: Function }>}
 */
const compiled = new Map();
/**
 * Runs the modules of the present test file.
 *
 * @type {any}
 */
let current;

module.exports = {
  __esModule: true,
  default: class extends Runtime {
    /** @param {ConstructorParameters<typeof Runtime>} args */
    constructor(...args) {
      super(...args);
      // These members are private to Jest.
      const { esmLoader, executor } = /** @type {any} */ (this);
      current = executor;
      esmLoader.getContext = () => undefined;
      const parameters = executor.injectedModuleParameters;
      executor.compile = (/** @type {string} */ source, /** @type {string} */ filename) => {
        const known = compiled.get(filename);
        if (known?.source === source) return known.run;
        const run = compileFunction(source, parameters, {
          filename,
          importModuleDynamically: (specifier, _function, attributes, phase) =>
            current.dynamicImport(specifier, filename, undefined, attributes, phase),
        });
        compiled.set(filename, { source, run });
        return run;
      };
    }
  },
};
