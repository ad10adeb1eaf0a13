/** What of a response reaches the exchange, and when it can still be dropped. */

import { expect, it, jest } from '@jest/globals';
import type { Dispatcher } from 'undici';
import { AccountAttempt } from '../../src/upstream/accounts/account-attempt.js';
import type { AttemptOutcome } from '../../src/upstream/accounts/account-attempt.js';

const STREAM = { 'content-type': 'text/event-stream; charset=utf-8' };
const ERROR = '{"type":"error","error":{"type":"overloaded_error","message":"é"}}';
const CONTROLLER = { abort: () => undefined } as unknown as Dispatcher.DispatchController;

function startAttempt() {
  /** What the exchange got: the status, texts, `end` or the message of an error. */
  const got: (string | number)[] = [];
  const outcomes: AttemptOutcome[] = [];
  const attempt = new AccountAttempt(
    {
      onResponseStart: (_controller, status) => got.push(status),
      onResponseData: (_controller, chunk) => got.push(chunk.toString()),
      onResponseEnd: () => got.push('end'),
      onResponseError: (_controller, error) => got.push(error.message),
    },
    (outcome) => outcomes.push(outcome),
  );
  attempt.onRequestStart(CONTROLLER, undefined);
  const begin = (status: number, headers = {}) =>
    attempt.onResponseStart(CONTROLLER, status, headers);
  return {
    got,
    outcomes,
    attempt,
    begin,
    send: (text: string | Buffer) => attempt.onResponseData(CONTROLLER, Buffer.from(text)),
    end: () => attempt.onResponseEnd(CONTROLLER, {}),
    fail: (message: string) => attempt.onResponseError(CONTROLLER, new Error(message)),
  };
}

it('a stream that begins with anything else is passed on from its first bytes', () => {
  for (const first of ['event: message_start\n', 'event: e', 'event: ping\n', ': hello\n', 'd']) {
    const { got, outcomes, begin, send } = startAttempt();
    begin(200, STREAM);
    expect(got).toEqual([]);
    send(first);
    // `event: e` may be the beginning of an error.
    if (first === 'event: e') expect(got).toEqual([]);
    else {
      expect(got).toEqual([200, first]);
      expect(outcomes).toEqual([{ outcome: 'accepted', status: 200 }]);
    }
  }
});

it.each(['\n', '\r\n', '\r'])(
  'a stream that begins with an error, split anywhere, is a refusal; line ends %j',
  (lineEnd) => {
    const event = Buffer.from(['event: error', `data: ${ERROR}`, '', ''].join(lineEnd));
    for (let at = 0; at <= event.length; at += 1) {
      const { got, outcomes, begin, send, end, fail } = startAttempt();
      begin(200, STREAM);
      send(event.subarray(0, at));
      send(event.subarray(at));
      expect(got).toEqual([]);
      expect(outcomes).toMatchObject([{ outcome: 'refused', status: 200 }]);
      const [refused] = outcomes as [AttemptOutcome & { outcome: 'refused' }];
      expect(refused.body.toString()).toBe(ERROR);
      // What follows concerns nobody.
      end();
      fail('too late');
      expect(got).toEqual([]);
      refused.replay();
      expect([got[0], got.at(-1)]).toEqual([200, 'end']);
    }
  },
);

it('a stream that breaks off before its first event may have been accepted', () => {
  for (const bytes of ['', 'event: err', `event: error\ndata: ${ERROR}`]) {
    const { got, outcomes, begin, send, fail } = startAttempt();
    begin(200, STREAM);
    send(bytes);
    fail('reset');
    expect(outcomes).toMatchObject([{ outcome: 'unanswered' }]);
    const [unanswered] = outcomes as [AttemptOutcome & { outcome: 'unanswered' }];
    unanswered.replay();
    expect([got[0], got.at(-1)]).toEqual([200, 'reset']);
  }
});

it('a stream that ends before its first event is passed on', () => {
  const { got, outcomes, begin, send, end } = startAttempt();
  begin(200, STREAM);
  send('event: err');
  end();
  expect(got).toEqual([200, 'event: err', 'end']);
  expect(outcomes).toEqual([{ outcome: 'accepted', status: 200 }]);
});

it('the head of a stream that stays silent is passed on after two seconds', () => {
  jest.useFakeTimers();
  const { got, outcomes, begin, send } = startAttempt();
  begin(200, STREAM);
  jest.advanceTimersByTime(1_999);
  expect(got).toEqual([]);
  jest.advanceTimersByTime(1);
  expect(got).toEqual([200]);
  expect(outcomes).toEqual([{ outcome: 'accepted', status: 200 }]);
  send('event: error\n');
  expect(got).toEqual([200, 'event: error\n']);
  jest.useRealTimers();
});

it('a failure before the request was written is told apart from one after it', () => {
  const outcomes: AttemptOutcome[] = [];
  const attempt = new AccountAttempt({}, (outcome) => outcomes.push(outcome));
  attempt.onResponseError(CONTROLLER, new Error('connect ECONNREFUSED'));
  const { outcomes: others, fail } = startAttempt();
  fail('read ECONNRESET');
  expect([...outcomes, ...others]).toMatchObject([
    { outcome: 'not_sent' },
    { outcome: 'unanswered' },
  ]);
});
