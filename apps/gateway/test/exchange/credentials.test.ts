/** The credential of a request that has both headers. */

import { expect, it } from '@jest/globals';
import { readConfig } from '../../src/config/config.js';
import { readCredential } from '../../src/exchange/credentials.js';

const KEY = 'gw_0123456789';
const both = (bearer: string, xApiKey: string) => ({
  authorization: `Bearer ${bearer}`,
  'x-api-key': xApiKey,
});

// F204: one key in both headers: refused with a 400, unless the operator accepts it; two different
// ones are always refused.
it('one key in both headers is accepted only if the operator says so', () => {
  const { sameKeyInBothHeaders: byDefault } = readConfig({}).exchange;
  expect(readCredential(both(KEY, KEY), 'x-api-key', byDefault)).toMatchObject({
    refusal: { status: 400, message: expect.stringMatching(/^the same credential/) as unknown },
  });
  expect(readCredential(both(KEY, KEY), 'x-api-key', 'accepted')).toEqual({
    outcome: 'presented',
    credential: KEY,
  });
  // The balance takes only the Bearer form, with any setting.
  expect(readCredential(both(KEY, KEY), 'bearer', 'accepted')).toMatchObject({
    refusal: { status: 401 },
  });
});

// F204
it.each([
  [KEY, `${KEY}0`],
  [KEY, KEY.toUpperCase()],
])('two different ones are refused with any setting (%j, %j)', (bearer, xApiKey) => {
  for (const setting of ['accepted', 'refused'] as const) {
    expect(readCredential(both(bearer, xApiKey), 'x-api-key', setting)).toMatchObject({
      refusal: { status: 400, message: expect.stringMatching(/^two different/) as unknown },
    });
  }
});

// F360: a header template with an unset variable sends an empty header beside the credential: it is
// no credential, so the other one decides.
it.each([
  { authorization: `Bearer ${KEY}`, 'x-api-key': '' },
  { authorization: '', 'x-api-key': KEY },
  { authorization: 'Bearer', 'x-api-key': KEY },
  { authorization: 'Bearer ', 'x-api-key': KEY },
])('an empty header beside it is no second one: %j', (headers) => {
  expect(readCredential(headers, 'x-api-key', 'refused')).toEqual({
    outcome: 'presented',
    credential: KEY,
  });
  const none = { authorization: '', 'x-api-key': '' };
  expect(readCredential(none, 'x-api-key', 'refused')).toMatchObject({ refusal: { status: 401 } });
});
