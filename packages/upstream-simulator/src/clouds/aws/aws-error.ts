/**
 * Errors of AWS: a name in `x-amzn-errortype`, a message in the body.
 *
 * https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html
 */

import type { ErrorType } from '../../message/script.js';
import { JSON_HEADERS } from '../../message/wire.js';
import type { WrittenError } from '../../message/wire.js';

export interface AwsError {
  readonly name: string;
  readonly status: number;
  readonly message: string;
}

/** The part of the name that says which service raised the error. */
const BEDROCK = ':http://internal.amazon.com/coral/com.amazon.bedrock/';

/** An error of the door, which checks credentials: it has the name alone. */
export function doorError({ name, status, message }: AwsError): WrittenError {
  return { status, headers: { ...JSON_HEADERS, 'x-amzn-errortype': name }, body: { message } };
}

export function bedrockError({ name, status, message }: AwsError): WrittenError {
  return doorError({ name: `${name}${BEDROCK}`, status, message });
}

/** The names that Bedrock has for the API's errors, and its words if a script has none. */
export const BEDROCK_ERRORS: Readonly<Record<ErrorType, AwsError>> = {
  invalid_request_error: {
    name: 'ValidationException',
    status: 400,
    message: 'Malformed input request, please reformat your input and try again.',
  },
  authentication_error: {
    name: 'UnrecognizedClientException',
    status: 403,
    message: 'The security token included in the request is invalid.',
  },
  billing_error: {
    name: 'AccessDeniedException',
    status: 403,
    message: 'Model access is denied due to INVALID_PAYMENT_INSTRUMENT.',
  },
  permission_error: {
    name: 'AccessDeniedException',
    status: 403,
    message:
      'User: arn:aws:sts::123456789012:assumed-role/gateway/session is not authorized to perform: bedrock:InvokeModel on resource: arn:aws:bedrock:eu-central-1::foundation-model/anthropic.claude because no identity-based policy allows the bedrock:InvokeModel action',
  },
  not_found_error: {
    name: 'ResourceNotFoundException',
    status: 404,
    message: 'Could not resolve the foundation model from the provided model identifier.',
  },
  conflict_error: { name: 'ConflictException', status: 400, message: 'Conflict.' },
  request_too_large: {
    name: 'ValidationException',
    status: 400,
    message:
      "1 validation error detected: Value at 'body' failed to satisfy constraint: Member must have length less than or equal to 25000000",
  },
  rate_limit_error: {
    name: 'ThrottlingException',
    status: 429,
    message: 'Too many tokens, please wait before trying again.',
  },
  api_error: {
    name: 'InternalServerException',
    status: 500,
    message:
      'The system encountered an unexpected error during processing. Try your request again.',
  },
  timeout_error: {
    name: 'ModelTimeoutException',
    status: 408,
    message: 'Model has timed out in processing the request. Try your request again.',
  },
  overloaded_error: {
    name: 'ServiceUnavailableException',
    status: 503,
    message: 'Bedrock is unable to process your request.',
  },
};
