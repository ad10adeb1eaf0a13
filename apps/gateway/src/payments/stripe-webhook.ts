/**
 * `POST /webhooks/stripe`: Stripe reports what happened to payments.
 *
 * Anybody may send requests here. A request without a signature is therefore refused before its
 * body is read, and the size of bodies, the time to read one and their number at once are limited.
 * The signature is verified over the bytes as received, before anything else is done with them.
 *
 * After a 2xx, Stripe does not send the notification again. After any other status, it repeats it
 * for three days.
 */

import type { Request, RequestHandler } from 'express';
import type { Logger } from 'pino';
import { StoreUnavailableError } from '@gateway/balance-store';
import { PaymentProviderError } from '@gateway/payments';
import { newRefusal } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';
import { addressGroup } from '../http/client-address.js';
import { inviteBody } from '../http/continue.js';
import { requestIdHeaders, sendEarlyRefusal } from '../http/refusal.js';
import { newRequestId } from '../http/request-id.js';
import type { Telemetry } from '../observe/telemetry.js';
import type { NotificationOutcome } from './notification-outcome.js';
import type { Payments } from './payments.js';

const ENDPOINT = 'stripe_webhook';
const MAX_BYTES = 256 * 1024;
const MAX_SIGNATURE_CHARS = 4_096;
const BODY_MS = 10_000;
/** Notifications that are booked at once. */
const MOST_BOOKED = 64;
/**
 * Bodies that are read at once, in all and from one address. A client that sends bodies slowly
 * takes only the places of its own address.
 */
const MOST_READ = 256;
const MOST_READ_PER_ADDRESS = 16;

export function stripeWebhookRoute(
  payments: Payments,
  parts: { readonly telemetry: Telemetry; readonly log: Logger; readonly now: () => number },
): RequestHandler {
  let booking = 0;
  let reading = 0;
  const readingFrom = new Map<string, number>();

  async function outcomeOf(req: Request): Promise<NotificationOutcome | Refusal> {
    const signature = req.headers['stripe-signature'];
    if (typeof signature !== 'string' || signature.length > MAX_SIGNATURE_CHARS) return UNSIGNED;
    if (Number(req.headers['content-length'] ?? 0) > MAX_BYTES) return TOO_LARGE;
    const body = await readSome(req);
    return Buffer.isBuffer(body) ? book(body, signature) : body;
  }

  async function readSome(req: Request): Promise<Buffer | Refusal> {
    const address = addressGroup(req.ip);
    const fromAddress = readingFrom.get(address) ?? 0;
    if (reading >= MOST_READ || fromAddress >= MOST_READ_PER_ADDRESS) return BUSY;
    reading += 1;
    readingFrom.set(address, fromAddress + 1);
    if (req.res !== undefined) inviteBody(req, req.res);
    const body = await readBytes(req);
    reading -= 1;
    const left = (readingFrom.get(address) ?? 0) - 1;
    if (left > 0) readingFrom.set(address, left);
    else readingFrom.delete(address);
    return body ?? TOO_LARGE;
  }

  async function book(body: Buffer, signature: string): Promise<NotificationOutcome | Refusal> {
    if (booking >= MOST_BOOKED) return BUSY;
    booking += 1;
    try {
      return await payments.notify(body, signature);
    } catch (error) {
      if (!(error instanceof StoreUnavailableError || error instanceof PaymentProviderError)) {
        throw error;
      }
      parts.log.warn({ fault: error.message }, 'notification was not booked yet');
      return { ...BUSY, fault: error.message };
    } finally {
      booking -= 1;
    }
  }

  return async function takeNotification(req, res) {
    const startedAt = parts.now();
    const requestId = newRequestId(startedAt);
    const outcome = await outcomeOf(req);
    const refusal = typeof outcome === 'object' ? outcome : refusalOf(outcome);
    if (refusal === undefined) {
      res.writeHead(200, { ...requestIdHeaders(requestId), 'content-type': 'application/json' });
      res.end('{"received":true}');
    } else {
      sendEarlyRefusal(req, res, refusal, { dialect: 'messages', requestId });
    }
    parts.telemetry.requestFinished({
      requestId,
      endpoint: ENDPOINT,
      status: refusal?.status ?? 200,
      durationMs: parts.now() - startedAt,
      fault: refusal?.fault,
    });
  };
}

const UNSIGNED = newRefusal('notification_unsigned');
const TOO_LARGE = newRefusal('notification_too_large');
const BUSY = newRefusal('notification_not_booked');

function refusalOf(outcome: NotificationOutcome): Refusal | undefined {
  switch (outcome) {
    case 'unsigned':
      return UNSIGNED;
    case 'other_mode':
      return newRefusal('notification_of_other_mode');
    case 'unreadable':
      return newRefusal('notification_unreadable');
    case 'unavailable':
      return BUSY;
    case 'booked':
    case 'known':
    case 'noted':
    case 'foreign':
    case 'unbooked':
    case 'ignored':
      return undefined;
  }
}

/** @returns `undefined` for a body that is too large or too slow, or whose client has left */
function readBytes(req: Request): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const finish = (body: Buffer | undefined): void => {
      clearTimeout(timer);
      req.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      resolve(body);
    };
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > MAX_BYTES) finish(undefined);
      else chunks.push(chunk);
    };
    const onEnd = (): void => {
      finish(Buffer.concat(chunks));
    };
    const onClose = (): void => {
      finish(undefined);
    };
    const timer = setTimeout(onClose, BODY_MS);
    req.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}
