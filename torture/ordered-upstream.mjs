/**
 * An upstream that does what the text of each request orders: how many tokens it reports, at which
 * moments it waits, and which answer it gives instead of a message. Its journal is a witness
 * outside of the gateway: whose requests were in flight, from when until when, and what each one
 * cost.
 */

import { once } from 'node:events';
import { createServer } from 'node:http';
import { clearTimeout, setTimeout } from 'node:timers';
import { setTimeout as sleep } from 'node:timers/promises';
import { MODELS, chargeOf } from './check.mjs';

/** A wait never lasts longer, so that no part hangs. */
const LONGEST_WAIT_MS = 20_000;
/**
 * The gateway learns before the upstream that a client has left. Its next request may then arrive
 * before the upstream sees the end of the one before it.
 */
const LEFT_EARLIER_MS = 250;
const SHOWN_MARK = /@@([\w-]+)@@/;

/** @typedef {'answer' | 'stream' | 'end'} Moment */

/**
 * @typedef {object} Answer - in place of a message
 * @property {number} [status]
 * @property {Readonly<Record<string, string>>} [headers]
 * @property {string} [body]
 * @property {number} [fillBytes] - the body, or one event of a stream, is this large
 * @property {Readonly<Record<string, unknown>>} [usage] - these members replace those of the usage
 * @property {'head' | 'middle'} [cut] - where the connection is closed
 */

/**
 * @typedef {object} Order
 * @property {string} who - the customer
 * @property {string} [id]
 * @property {number} [input] - reported tokens
 * @property {number} [output]
 * @property {number} [delayMs] - before the answer
 * @property {readonly Moment[]} [waits] - the moments at which the response waits for `open`:
 *   before its first byte, in its middle, and before the bytes that carry the final usage
 * @property {number} [waitMs] - the longest of these waits
 * @property {readonly Answer[]} [answers] - one for each upstream account, in turn
 */

/**
 * One request that the upstream received.
 *
 * @typedef {object} Entry
 * @property {string} who
 * @property {string | undefined} id
 * @property {boolean} isCount - a request to count tokens
 * @property {number} account - the index of its API key
 * @property {number} bytes
 * @property {string} model
 * @property {string} messageId
 * @property {number} startedAt
 * @property {number | undefined} endedAt
 * @property {'open' | 'complete' | 'left' | 'refused'} outcome - left: the gateway closed the
 *   connection, or the upstream cut it
 * @property {any} usage
 * @property {bigint} price
 */

/**
 * @typedef {object} Rate
 * @property {number} perMinute
 * @property {number} burst
 * @property {number} since - no request was admitted before
 */

/** @param {Order} order */
export function orderText(order) {
  return `@@${Buffer.from(JSON.stringify(order)).toString('base64url')}@@`;
}

/** @param {readonly string[]} [apiKeys] - one for each upstream account */
export async function startOrderedUpstream(apiKeys = ['ordered-upstream-key']) {
  /** @type {Entry[]} */
  const journal = [];
  /** @type {Set<{ entry: Entry, moment: Moment, open: () => void }>} */
  const waiting = new Set();
  /** @type {{ id: string, moment: Moment, resolve: () => void }[]} */
  const observers = [];
  const server = createServer((req, res) => {
    serve(req, res).catch(() => res.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());

  async function serve(req, res) {
    // A gateway asks for the models when it starts, to find a wrong key. No customer did.
    if (req.method === 'GET') {
      res.setHeader('content-type', 'application/json');
      res.end('{"data":[],"has_more":false}');
      return;
    }
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const mark = SHOWN_MARK.exec(text)?.[1];
    /** @type {Order} */
    const order =
      mark === undefined
        ? { who: 'nobody' }
        : JSON.parse(Buffer.from(mark, 'base64url').toString());
    const sent = text === '' ? {} : JSON.parse(text);
    const account = apiKeys.indexOf(String(req.headers['x-api-key']));
    /** @type {Entry} */
    const entry = {
      who: order.who,
      id: order.id,
      isCount: req.url.startsWith('/v1/messages/count_tokens'),
      account,
      bytes: text.length,
      model: sent.model,
      messageId: `msg_ordered_${journal.length}`,
      startedAt: Date.now(),
      endedAt: undefined,
      outcome: 'open',
      usage: undefined,
      price: 0n,
    };
    journal.push(entry);
    res.on('close', () => {
      entry.endedAt ??= Date.now();
      if (entry.outcome === 'open') entry.outcome = 'left';
    });
    const answer = order.answers?.[Math.max(0, account) % order.answers.length];
    if (order.delayMs !== undefined) await sleep(order.delayMs);
    await wait('answer', order, entry);
    if (entry.isCount) {
      entry.endedAt = Date.now();
      res.setHeader('content-type', 'application/json');
      res.end(JSON.stringify({ input_tokens: order.input ?? 10 }));
    } else if (answer?.status !== undefined) await sendAnswer(res, answer, entry);
    else await sendMessage(res, { sent, order, entry, answer });
  }

  /**
   * @param {Moment} moment
   * @param {Order} order
   * @param {Entry} entry
   */
  async function wait(moment, { waits = [], waitMs = LONGEST_WAIT_MS, id }, entry) {
    for (const [index, each] of [...observers.entries()].reverse()) {
      if (each.id !== id || each.moment !== moment) continue;
      observers.splice(index, 1);
      each.resolve();
    }
    if (!waits.includes(moment)) return;
    await new Promise((resolve) => {
      const waiter = {
        entry,
        moment,
        open() {
          clearTimeout(timer);
          waiting.delete(waiter);
          resolve(undefined);
        },
      };
      const timer = setTimeout(waiter.open, waitMs);
      waiting.add(waiter);
    });
  }

  async function sendMessage(res, { sent, order, entry, answer }) {
    const usage = {
      input_tokens: order.input ?? 10,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: order.output ?? 5,
      ...answer?.usage,
    };
    entry.usage = usage;
    entry.price = priceOf(entry);
    const message = {
      id: entry.messageId,
      type: 'message',
      role: 'assistant',
      model: entry.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...usage, output_tokens: 1 },
    };
    const parts = (sent.stream === true ? streamParts : plainParts)(message, usage, answer);
    const type = sent.stream === true ? 'text/event-stream' : 'application/json';
    res.writeHead(200, { 'content-type': type });
    if (answer?.cut === 'head') {
      res.flushHeaders();
      res.destroy();
      return;
    }
    await write(res, parts.first);
    await wait('stream', order, entry);
    await write(res, parts.middle);
    if (answer?.cut === 'middle') {
      res.destroy();
      return;
    }
    await wait('end', order, entry);
    // The request is no longer counted before its last bytes are sent, because the gateway may
    // admit the next one as soon as it has them.
    entry.endedAt ??= Date.now();
    if (res.destroyed) return;
    await new Promise((resolve) => {
      res.once('close', resolve);
      res.end(parts.last, () => {
        if (entry.outcome === 'open') entry.outcome = 'complete';
        resolve(undefined);
      });
    });
  }

  return {
    url: `http://127.0.0.1:${port}`,
    apiKeys,
    /**
     * @param {string} who
     * @param {Rate} rate
     * @returns how many requests of this customer the upstream received, how many were in flight
     *   at once, the highest price of one, and how many arrived more than a rate allows
     */
    summaryOf(who, rate) {
      const own = journal.filter((entry) => entry.who === who);
      const paid = own.filter(({ isCount }) => !isCount);
      return {
        requests: paid.length,
        inFlight: mostInFlight(paid),
        countsInFlight: mostInFlight(own.filter(({ isCount }) => isCount)),
        dearest: paid.reduce((most, { price }) => (price > most ? price : most), 0n),
        beyondRate: mostBeyondRate(paid, rate),
      };
    },
    entries: () => journal,
    /** Resolves when the request with this id is at this moment of its response. */
    reached(id, moment) {
      return new Promise((resolve) => {
        observers.push({ id, moment, resolve: () => resolve(undefined) });
      });
    },
    /**
     * Ends the waits of a customer's requests, or of one request.
     *
     * @param {{ who?: string, id?: string }} which
     */
    open({ who, id }) {
      for (const waiter of [...waiting]) {
        if (who === undefined || waiter.entry.who === who) {
          if (id === undefined || waiter.entry.id === id) waiter.open();
        }
      }
    },
    async stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** The price of what was served, independent of the product. 0 for models of no known price. */
function priceOf({ model, usage }) {
  if (!MODELS.some(({ id }) => id === model)) return 0n;
  const count = (value) => (Number.isSafeInteger(value) && value > 0 ? value : 0);
  return chargeOf({
    model,
    input: count(usage.input_tokens),
    output: count(usage.output_tokens),
    read: count(usage.cache_read_input_tokens),
    written: count(usage.cache_creation_input_tokens),
  });
}

/**
 * @param {import('node:http').ServerResponse} res
 * @param {Answer} answer
 * @param {Entry} entry
 */
async function sendAnswer(res, { status = 200, headers, body = '', fillBytes = 0, cut }, entry) {
  const text = fillBytes > body.length ? body.padEnd(fillBytes, ' ') : body;
  entry.outcome = 'refused';
  entry.endedAt ??= Date.now();
  res.writeHead(status, { 'content-type': 'application/json', ...headers });
  if (cut === 'head') {
    res.flushHeaders();
    res.destroy();
  } else if (cut === 'middle') {
    await write(res, text.slice(0, text.length / 2));
    res.destroy();
  } else res.end([204, 304].includes(status) ? undefined : text);
}

function plainParts(message, usage, answer) {
  const text = JSON.stringify({
    ...message,
    content: [{ type: 'text', text: 'x'.repeat(answer?.fillBytes ?? 20) }],
    stop_reason: 'end_turn',
    usage,
  });
  const third = Math.floor(text.length / 3);
  return {
    first: text.slice(0, third),
    middle: text.slice(third, 2 * third),
    last: text.slice(2 * third),
  };
}

function streamParts(message, usage, answer) {
  const event = (value) => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
  const delta = (text) =>
    event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } });
  return {
    first:
      event({ type: 'message_start', message }) +
      event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }) +
      delta('one '),
    middle: delta('x'.repeat(answer?.fillBytes ?? 4)),
    last:
      event({ type: 'content_block_stop', index: 0 }) +
      event({
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage,
      }) +
      event({ type: 'message_stop' }),
  };
}

async function write(res, text) {
  if (res.destroyed || res.write(text)) return;
  await Promise.race([once(res, 'drain'), once(res, 'close')]);
}

/** @returns the highest number of requests that were in flight at one moment */
function mostInFlight(entries) {
  const steps = entries.flatMap(({ startedAt, endedAt = Infinity, outcome }) => [
    { at: startedAt, by: 1 },
    { at: Math.max(startedAt, outcome === 'left' ? endedAt - LEFT_EARLIER_MS : endedAt), by: -1 },
  ]);
  // Of the same millisecond, the ends count first.
  steps.sort((a, b) => a.at - b.at || a.by - b.by);
  let now = 0;
  let most = 0;
  for (const { by } of steps) most = Math.max(most, (now += by));
  return most;
}

/**
 * By how many the arrivals since a time ever exceeded what a rate allows. A request arrives after
 * it was admitted, so fewer have arrived at any time than were admitted.
 *
 * @param {readonly { startedAt: number }[]} entries
 * @param {Rate} rate
 */
function mostBeyondRate(entries, { perMinute, burst, since }) {
  return entries.reduce((most, { startedAt }, index) => {
    const allowed = burst + ((startedAt - since) / 60_000) * perMinute;
    return Math.max(most, Math.ceil(index + 1 - allowed));
  }, 0);
}
