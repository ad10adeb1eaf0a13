/**
 * How Vertex AI writes answers: messages and most errors as the API does, quotas and what happens
 * before a model in Google's shape. There, a stream's error is the only item of a list.
 */

import type { ErrorType } from '../../message/script.js';
import type { Wire, WrittenError } from '../../message/wire.js';
import { NATIVE_WIRE } from '../../message/wire.js';
import { idWith } from '../shared/cloud-answers.js';
import { googleError } from './google-error.js';
import type { GoogleStatus } from './google-error.js';

const STATUSES: Partial<Readonly<Record<ErrorType, GoogleStatus>>> = {
  authentication_error: 'UNAUTHENTICATED',
  permission_error: 'PERMISSION_DENIED',
  not_found_error: 'NOT_FOUND',
  rate_limit_error: 'RESOURCE_EXHAUSTED',
  api_error: 'INTERNAL',
  timeout_error: 'DEADLINE_EXCEEDED',
};

export const VERTEX_WIRE: Wire = {
  ...NATIVE_WIRE,
  headers: {},
  error(error, requestId, status) {
    const google = STATUSES[error.type];
    const written =
      google === undefined
        ? NATIVE_WIRE.error(error, requestId, status)
        : googleError(google, error.message);
    return { ...written, status: status ?? written.status };
  },
  id: (native) => idWith('vrtx', native),
};

export const VERTEX_STREAM_WIRE: Wire = {
  ...VERTEX_WIRE,
  error: (error, requestId, status) => listed(VERTEX_WIRE.error(error, requestId, status)),
};

/** The form of an error of Google's in answer to a request for a stream. */
export function listed(written: WrittenError): WrittenError {
  const { body } = written;
  const isGoogles = typeof body === 'object' && body !== null && !('type' in body);
  return isGoogles ? { ...written, body: [body] } : written;
}
