/** The mutant of this process, as `MUTANT` says: `{"file":…,"start":…,"end":…,"text":…}`. */

const { env } = require('node:process');

const mutant = JSON.parse(env['MUTANT'] ?? '{}');

/**
 * @param {string} source
 * @param {string} file
 * @returns {string} the source with the mutant's place replaced, if it is in this file
 */
function mutated(source, file) {
  if (file !== mutant.file) return source;
  return source.slice(0, mutant.start) + mutant.text + source.slice(mutant.end);
}

module.exports = { mutated };
