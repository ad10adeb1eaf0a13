/**
 * Run by Jest before each test file. Compares bytes natively: Jest itself would call a function for
 * each byte, which took most of the time of the tests that compare whole streams.
 */

const { Buffer } = require('node:buffer');
const { expect } = require('@jest/globals');

expect.addEqualityTesters([
  (a, b) =>
    a instanceof Uint8Array && b instanceof Uint8Array && a.constructor === b.constructor
      ? Buffer.compare(a, b) === 0
      : undefined,
]);
