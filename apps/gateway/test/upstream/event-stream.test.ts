/** AWS's binary framing, against frames that AWS's own library has made. */

import { expect, it } from '@jest/globals';
import { EventStreamCodec } from '@smithy/core/event-streams';
import { BrokenFrameError, openEventStream } from '../../src/upstream/homes/aws-event-stream.js';

const CODEC = new EventStreamCodec(
  (bytes) => (typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString()),
  (text) => Buffer.from(text),
);
const text = (value: string) => ({ type: 'string' as const, value });

function frame(names: Readonly<Record<string, string>>, body: object): Buffer {
  const headers = Object.fromEntries(
    Object.entries(names).map(([name, value]) => [name, text(value)]),
  );
  const others = {
    ':date': { type: 'timestamp' as const, value: new Date(0) },
    count: { type: 'integer' as const, value: 7 },
    flag: { type: 'boolean' as const, value: true },
    raw: { type: 'binary' as const, value: Buffer.from([1, 2, 3]) },
    id: { type: 'uuid' as const, value: '01234567-89ab-4cde-8f01-23456789abcd' },
  };
  return Buffer.from(
    CODEC.encode({ headers: { ...others, ...headers }, body: Buffer.from(JSON.stringify(body)) }),
  );
}

const chunk = (json: string): Buffer =>
  frame(
    { ':message-type': 'event', ':event-type': 'chunk' },
    { bytes: Buffer.from(json).toString('base64'), p: 'abc' },
  );

const DELTA =
  '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"é 😀"}}';
const STOP =
  '{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":1,"outputTokenCount":2}}';
const STREAM = Buffer.concat([
  chunk(DELTA),
  chunk('{\n "type": "ping"\n}'),
  frame({ ':message-type': 'event', ':event-type': 'later' }, { bytes: 'AAAA' }),
  chunk(STOP),
]);
const EVENTS =
  `event: content_block_delta\ndata: ${DELTA}\n\n` +
  'event: ping\ndata: {"type":"ping"}\n\n' +
  'event: message_stop\ndata: {"type":"message_stop"}\n\n';

function decoded(bytes: Buffer, size: number): string {
  const framing = openEventStream();
  const out: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size)
    out.push(framing.push(bytes.subarray(at, at + size)));
  return Buffer.concat(out).toString();
}

it.each([1, 2, 3, 11, 12, 13, 100, 250, 1e6])(
  'frames become the events of the API, in chunks of %i bytes',
  (size) => {
    expect(decoded(STREAM, size)).toBe(EVENTS);
  },
);

it('each event is passed on with its last byte', () => {
  const framing = openEventStream();
  const first = chunk(DELTA);
  expect(framing.push(first.subarray(0, -1)).length).toBe(0);
  expect(Buffer.from(framing.push(first.subarray(-1))).toString()).toContain('text_delta');
});

it.each([
  ['throttlingException', { message: 'Too many tokens for 123456789012.' }, 'rate_limit_error'],
  ['serviceUnavailableException', { message: 'x' }, 'overloaded_error'],
  ['modelTimeoutException', { message: 'x' }, 'timeout_error'],
  ['internalServerException', {}, 'api_error'],
  [
    'modelStreamErrorException',
    { message: 'x', originalStatusCode: 500, originalMessage: 'y' },
    'api_error',
  ],
  ['validationException', { message: 'messages: too many' }, 'invalid_request_error'],
])('%s becomes an error of the API', (name, body, type) => {
  const bytes = frame({ ':message-type': 'exception', ':exception-type': name }, body);
  const [, data = ''] = decoded(bytes, 50).split('data: ');
  expect(JSON.parse(data)).toMatchObject({ type: 'error', error: { type } });
  expect(data).not.toContain('123456789012');
});

it('an error of the connection itself becomes an error of the API', () => {
  const names = { ':message-type': 'error', ':error-code': 'ThrottlingException' };
  expect(decoded(frame(names, {}), 1e6)).toContain('"type":"rate_limit_error"');
});

it('every bit that is flipped is found', () => {
  const bytes = chunk(DELTA);
  for (let at = 0; at < bytes.length; at += 1) {
    const broken = Buffer.from(bytes);
    broken.writeUInt8(broken.readUInt8(at) ^ 0x10, at);
    expect(() => decoded(broken, 64)).toThrow(BrokenFrameError);
  }
});

it('what is no chunk is broken too', () => {
  const names = { ':message-type': 'event', ':event-type': 'chunk' };
  for (const body of [{}, { bytes: '%%%' }, { bytes: Buffer.from('[]').toString('base64') }]) {
    expect(() => decoded(frame(names, body), 1e6)).toThrow(BrokenFrameError);
  }
});
