/** Refusals of the admin port. All are in the format of the Messages API. */

import type { Response } from 'express';
import type { Refusal } from '../base/errors/refusal.js';
import { sendRefusal } from '../http/refusal.js';
import { newRequestId } from '../http/request-id.js';

export function refuse(res: Response, refusal: Refusal): void {
  sendRefusal(res, refusal, { dialect: 'messages', requestId: newRequestId(Date.now()) });
}
