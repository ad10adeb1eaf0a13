/** Text of malformed usage that the databases must be able to store. */

import { expect, it } from '@jest/globals';
import { storable } from '../../src/ledger/rows/quarantine-text.js';

it.each([
  ['NUL', 'a\0b', 'a\uFFFDb'],
  ['an unpaired surrogate', 'a\uD83Db', 'a\uFFFDb'],
  ['a pair of surrogates that the cut divides', `${'x'.repeat(499)}🙂`, `${'x'.repeat(499)}\uFFFD`],
  ['a whole pair of surrogates', 'a🙂b', 'a🙂b'],
])('%s becomes storable', (_what, text, expected) => {
  expect(storable(text)).toBe(expected);
});
