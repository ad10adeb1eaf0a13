/** For Jest's option `--filter`, which takes no ES module: the tests of `npm run test:quick`. */

const { isQuick } = require('./needed-servers.mjs');

/** @param {readonly string[]} testFiles */
module.exports = (testFiles) => ({ filtered: testFiles.filter(isQuick) });
