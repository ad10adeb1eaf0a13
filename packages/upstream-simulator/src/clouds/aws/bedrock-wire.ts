/** How Bedrock writes answers: InvokeModel in AWS's shapes, its Messages endpoint in the API's. */

import { BEDROCK_ERRORS, bedrockError } from './aws-error.js';
import { chunkFrame, exceptionFrame, invocationMetrics } from './event-stream.js';
import type { SentMessage, Wire } from '../../message/wire.js';
import { JSON_HEADERS, NATIVE_WIRE } from '../../message/wire.js';
import { idWith } from '../shared/cloud-answers.js';

export const INVOKE_WIRE: Wire = {
  headers: {},
  streamHeaders: {
    'content-type': 'application/vnd.amazon.eventstream',
    'x-amzn-bedrock-content-type': 'application/json',
  },
  messageHeaders: (message) => ({ ...JSON_HEADERS, ...metricHeaders(message) }),
  error({ type, message }, _requestId, status) {
    const error = BEDROCK_ERRORS[type];
    return bedrockError({
      ...error,
      message: message ?? error.message,
      status: status ?? error.status,
    });
  },
  event: (event, { message }) => chunkFrame(event, message),
  streamError: ({ type, message }) => exceptionFrame(type, message),
  id: (native) => idWith('bdrk', native),
};

/** The API's shapes, without the headers of Anthropic's own place. */
export const MESSAGES_WIRE: Wire = {
  ...NATIVE_WIRE,
  headers: {},
  id: (native) => idWith('bdrk', native),
};

function metricHeaders(message: SentMessage): Record<string, string> {
  const metrics = invocationMetrics(message);
  const header = (name: string): string => String(Number(metrics[name]));
  return {
    'x-amzn-bedrock-input-token-count': header('inputTokenCount'),
    'x-amzn-bedrock-output-token-count': header('outputTokenCount'),
    'x-amzn-bedrock-cache-read-input-token-count': header('cacheReadInputTokenCount'),
    'x-amzn-bedrock-cache-write-input-token-count': header('cacheWriteInputTokenCount'),
    'x-amzn-bedrock-invocation-latency': header('invocationLatency'),
  };
}
