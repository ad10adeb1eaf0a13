/** Errors. */

import { z } from 'zod';
import { orNull, text } from './basics.js';

/**
 * The error body of all endpoints. It has `param` and `code`, except on `/v1/messages`, in the
 * admin API and on the webhook of the payment provider.
 */
export const error = z
  .looseObject({
    error: z.looseObject({
      type: text,
      message: text,
      param: orNull(text).optional(),
      code: orNull(text).optional(),
    }),
  })
  .meta({ id: 'Error' });
