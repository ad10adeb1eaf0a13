/** For tests that prepare requests of any size on the main thread. */

import type { ThreadLimits } from '../../src/exchange/preparation/prepare-request.js';

export const NO_LIMITS: ThreadLimits = {
  nativeValues: Infinity,
  nativeBytes: Infinity,
  chatValues: Infinity,
  chatBytes: Infinity,
};
