/**
 * Jest's runtime, but that a worker compiles each module once, not once for each test file. Each
 * file still runs the modules that it imports afresh, so that none sees another's state.
 */

const { compileFunction } = require('node:vm');
const { default: Runtime } = require('jest-runtime');

/** By file name: the source, and the function that runs it. */
const compiled = new Map();
/** The runtime of the test file that runs now. */
let current;

module.exports = {
  __esModule: true,
  default: class extends Runtime {
    constructor(...args) {
      super(...args);
      current = this;
      this.esmLoader.getContext = () => undefined;
      const parameters = this.executor.injectedModuleParameters;
      this.executor.compile = (source, filename) => {
        const known = compiled.get(filename);
        if (known?.source === source) return known.run;
        const run = compileFunction(source, parameters, {
          filename,
          importModuleDynamically: (specifier, _function, attributes, phase) =>
            current.executor.dynamicImport(specifier, filename, undefined, attributes, phase),
        });
        compiled.set(filename, { source, run });
        return run;
      };
    }
  },
};
