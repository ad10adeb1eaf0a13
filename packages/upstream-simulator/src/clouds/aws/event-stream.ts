/**
 * Bedrock's streams: each event of the API is the base64 `bytes` of a `chunk` in AWS's binary
 * framing, with its lengths and checksums. An error is a frame of another kind.
 *
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModelWithResponseStream.html
 */

import { EventStreamCodec } from '@smithy/core/event-streams';
import { fromUtf8, toUtf8 } from '@smithy/core/serde';
import { asObject } from '../../message/message.js';
import type { JsonObject } from '../../message/message.js';
import type { ErrorType } from '../../message/script.js';
import type { SentMessage } from '../../message/wire.js';

const CODEC = new EventStreamCodec(toUtf8, fromUtf8);
const ALPHABET = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';

/** The frames that Bedrock has for errors in a stream. All others become the last one. */
const EXCEPTIONS: Partial<Readonly<Record<ErrorType, string>>> = {
  invalid_request_error: 'validationException',
  rate_limit_error: 'throttlingException',
  overloaded_error: 'serviceUnavailableException',
  timeout_error: 'modelTimeoutException',
  api_error: 'internalServerException',
};
const OTHER_EXCEPTION = 'modelStreamErrorException';

/** @param message - The whole message, whose counts the last event has. */
export function chunkFrame(event: JsonObject, message: SentMessage): Uint8Array {
  const isLast = event['type'] === 'message_stop';
  const payload = isLast
    ? { ...event, 'amazon-bedrock-invocationMetrics': invocationMetrics(message) }
    : event;
  const bytes = Buffer.from(JSON.stringify(payload)).toString('base64');
  // Hides the length of the text from an observer of the network.
  const p = ALPHABET.slice(0, 1 + (bytes.length % ALPHABET.length));
  return frame({ ':event-type': 'chunk', ':message-type': 'event' }, { bytes, p });
}

export function exceptionFrame(type: ErrorType, message: string): Uint8Array {
  const exception = EXCEPTIONS[type] ?? OTHER_EXCEPTION;
  const original =
    exception === OTHER_EXCEPTION ? { originalStatusCode: 500, originalMessage: message } : {};
  return frame(
    { ':exception-type': exception, ':message-type': 'exception' },
    { message, ...original },
  );
}

/** The counts of a message, under the names of Bedrock's metrics. */
export function invocationMetrics({ usage }: SentMessage): JsonObject {
  const counts = asObject(usage);
  return {
    inputTokenCount: counts['input_tokens'],
    outputTokenCount: counts['output_tokens'],
    invocationLatency: 1,
    firstByteLatency: 1,
    cacheReadInputTokenCount: counts['cache_read_input_tokens'],
    cacheWriteInputTokenCount: counts['cache_creation_input_tokens'],
  };
}

function frame(headers: Readonly<Record<string, string>>, body: JsonObject): Uint8Array {
  const named = { ...headers, ':content-type': 'application/json' };
  return CODEC.encode({
    headers: Object.fromEntries(
      Object.entries(named).map(([name, value]) => [name, { type: 'string', value }]),
    ),
    body: fromUtf8(JSON.stringify(body)),
  });
}
