/** `translateCompletion` and `translateChatError` with their vectors. */

import { describe, expect, it } from '@jest/globals';
import { readUsage } from '../../src/index.js';
import {
  ERROR_STATUS,
  errorOfStatus,
  statusOfError,
  translateChatError,
  translateCompletion,
} from '../../src/reverse/index.js';
import {
  contextOf,
  load,
  nativeCounts,
  textOf,
  type ErrorVector,
  type ResponseVector,
} from './vectors.js';
import { titled } from '../titled.js';

describe('translateCompletion, with vectors', () => {
  it.each(titled(load<ResponseVector>('response')))('%s', (_title, vector) => {
    expect([vector.why, vector.source]).toEqual([expect.any(String), expect.any(String)]);
    // If the digits matter, the vector has text, because JSON.stringify would round them.
    const body = textOf(vector.chat);
    const result = translateCompletion(new TextEncoder().encode(body), contextOf(vector));
    expect(translateCompletion(body, contextOf(vector))).toEqual(result);
    if (result.outcome !== 'translated') {
      expect(result.outcome).toBe(vector.outcome);
      if (result.outcome === 'error') expect(result.error).toEqual(vector.error);
      return;
    }
    expect(vector.outcome).toBeUndefined();
    const message = JSON.parse(result.body);
    expect(message).toEqual({
      id: vector.id ?? 'msg_chatcmpl-1',
      type: 'message',
      role: 'assistant',
      model: 'my-"model"',
      content: vector.content,
      stop_reason: vector.stop_reason,
      stop_sequence: vector.stop_sequence ?? null,
      stop_details: vector.stop_details ?? null,
      container: null,
      diagnostics: null,
      usage: {
        ...nativeCounts(vector.usage),
        cache_creation: null,
        server_tool_use: null,
        service_tier: null,
        speed: null,
        inference_geo: null,
      },
    });
    for (const piece of vector.contains ?? []) expect(result.body).toContain(piece);
    expect(result).toMatchObject({ messageId: message.id, stopReason: message.stop_reason });
    expect(result.usage).toEqual(
      vector.usage === 'invalid'
        ? { outcome: 'invalid', reason: expect.stringMatching(/\w/) }
        : { outcome: 'read', usage: vector.usage },
    );
    // A caller that charges from the native body reads the same counts, or none if none are known.
    expect(readUsage(message.usage).outcome).toBe(result.usage.outcome);
    if (result.usage.outcome === 'read') expect(readUsage(message.usage)).toEqual(result.usage);
  });
});

describe('translateChatError, with vectors', () => {
  it.each(titled(load<ErrorVector>('error')))('%s', (_title, { chat, native, why, source }) => {
    expect([why, source]).toEqual([expect.any(String), expect.any(String)]);
    const { status, type, message } = native;
    const body = textOf(chat.body);
    const result = translateChatError({ status: chat.status, body, requestId: 'req_1' });
    expect(result).toMatchObject({ status, error: { type, message } });
    expect(JSON.parse(result.body)).toEqual({
      type: 'error',
      error: { type, message },
      request_id: 'req_1',
    });
    expect(statusOfError(type)).toBe(status);
  });
});

describe('the table of errors', () => {
  it('maps every type to its status and back', () => {
    for (const [type, status] of Object.entries(ERROR_STATUS)) {
      expect([statusOfError(type), errorOfStatus(status)]).toEqual([status, type]);
    }
  });

  it('knows a type for every status and a status for every type', () => {
    expect([408, 418, 422, 451, 502, 503, 599].map(errorOfStatus)).toEqual([
      'timeout_error',
      'invalid_request_error',
      'invalid_request_error',
      'invalid_request_error',
      'api_error',
      'overloaded_error',
      'api_error',
    ]);
    expect(['a_future_error', 'toString', ''].map(statusOfError)).toEqual([500, 500, 500]);
  });
});
