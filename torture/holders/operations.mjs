/**
 * What a holder does: the operations from which the part `holders` makes random sequences. A holder
 * has two managing keys and some others, and knows only what an HTTP client of the gateway knows.
 *
 * @import { Moment, Order } from '../ordered-upstream.mjs'
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { askIn } from '../calls.mjs';
import { MODELS } from '../check.mjs';
import { FORMATS } from '../formats.mjs';
import { orderText } from '../ordered-upstream.mjs';

const MOST_OUTPUT = 2_000;
const MOST_IN_BACKGROUND = 60;
const MOST_SILENT = 180;
const MOST_SILENT_AT_ONCE = 24;
const LARGEST_BODY = 32 * 1024 * 1024;
const SMALLEST_BODY = 300;
const MOST_WAIT_MS = 500;
const MOST_SURGING = 20;
const DEAREST_MODEL = 'claude-opus-5-5';
/** @type {Partial<Order>} */
const DEAREST_ORDER = { output: MOST_OUTPUT, delayMs: 0, waits: ['end'], waitMs: 4_000 };
/** @type {readonly Moment[]} */
const WAITS = ['answer', 'stream', 'end'];
const GRACE_SECONDS = 600;

/**
 * @param {object} options
 * @param {string} options.who - the name under which the upstream counts this holder
 * @param {{ id: string, keys: { id: string, credential: string }[] }} options.account - its first
 *   two keys may manage keys
 * @param {ReturnType<typeof import('../calls.mjs').createCalls>} options.calls
 * @param {(which: { who: string }) => Promise<unknown>} options.open - ends waits of the upstream
 * @param {(accountId: string) => Promise<unknown>} options.topUp
 */
export function createHolder({ who, account, calls, open, topUp }, random) {
  const managing = account.keys.slice(0, 2);
  /** Keys that were not revoked. */
  const keys = account.keys.slice(2);
  /** Each managing key's credential in its grace. */
  const graces = new Map();
  const background = new Set();
  /** @type {Record<string, number>} */
  const statuses = {};
  /** Answers to managing calls with a credential in its grace. */
  const graceAnswers = [];
  let names = 0;

  const anyAddress = () => `10.${1 + random.below(200)}.${random.below(250)}.${random.below(250)}`;
  const note = (status) => {
    statuses[status] = (statuses[status] ?? 0) + 1;
  };

  /**
   * Sends a request and does not wait for its response.
   *
   * @param {{ credential: string }} key
   * @param {object} [options]
   * @param {boolean} [options.isCount]
   * @param {boolean} [options.gzip]
   * @param {Partial<Order>} [options.order]
   * @param {string} [options.model]
   */
  function begin(key, { isCount = false, gzip = false, order: given = {}, model } = {}) {
    if (background.size >= MOST_IN_BACKGROUND) return;
    const output = 100 + random.below(MOST_OUTPUT - 100);
    /** @type {Order} */
    const order = {
      who,
      output,
      delayMs: random.below(60),
      waitMs: random.below(4_000),
      waits: WAITS.filter(() => random.chance(0.4)),
      ...given,
    };
    const filler = gzip ? random.pick([1_000, 140_000, 400_000]) : random.below(200);
    const question = {
      text: `${orderText(order)} ${'go on '.repeat(filler / 6)}`,
      model: model ?? random.pick(MODELS).id,
      // Some answers cost far more than was set aside for them.
      maxTokens: random.chance(0.2) ? 10 : output,
      stream: random.chance(0.6),
    };
    const { path, body } = isCount
      ? { path: '/v1/messages/count_tokens', body: countBody(question) }
      : askIn({ format: random.pick(FORMATS), ...question });
    // Half of the compressed bodies turn out to be unreadable only at their end.
    const text = gzip && random.chance(0.5) ? `${body.slice(0, -1)},` : body;
    const sending = calls.call({
      path,
      credential: key.credential,
      address: anyAddress(),
      body: gzip ? gzipSync(text) : text,
      headers: gzip ? { 'content-encoding': 'gzip' } : {},
      ...(random.chance(0.15) ? { leaveAfterMs: 1 + random.below(800) } : {}),
    });
    background.add(sending);
    void sending.then(({ status }) => {
      note(status);
      background.delete(sending);
    });
  }

  /** @returns {Promise<{ status: number, value: any }>} */
  async function manage(path, { credential, method, body }) {
    const { status, text } = await calls.call({
      path: `/v1/dashboard/${path}`,
      credential,
      address: anyAddress(),
      method,
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    note(status);
    return { status, value: status === 200 && text.startsWith('{') ? JSON.parse(text) : {} };
  }
  const withManaging = (path, call) =>
    manage(path, { credential: random.pick(managing).credential, method: 'POST', ...call });

  async function create() {
    names += 1;
    const { value } = await withManaging('keys', { body: { name: `made-${names}` } });
    if (value.api_key === undefined) return undefined;
    const key = { id: value.id, credential: value.api_key };
    keys.push(key);
    return key;
  }

  async function revoke(key) {
    const { status } = await withManaging(`keys/${key.id}/revoke`, { body: {} });
    if (status === 200 && keys.includes(key)) keys.splice(keys.indexOf(key), 1);
  }

  const tinyOrLarge = () => random.pick([null, '0.00000000000001', '0.01', '5']);
  const randomChange = () =>
    random.pick([
      { cap_day_usd: tinyOrLarge() },
      { cap_week_usd: tinyOrLarge() },
      { cap_month_usd: tinyOrLarge() },
      { cap_total_usd: tinyOrLarge() },
      { concurrency: 1 + random.below(100), burst: 1 + random.below(1_000) },
      { requests_per_minute: 1 + random.below(10_000) },
      { models: random.pick([null, [random.pick(MODELS).id]]) },
      { expires_at: random.pick([null, new Date(Date.now() + random.below(3e6)).toISOString()]) },
      { name: `renamed-${random.below(1_000)}` },
      { metadata: { plan: `plan-${random.below(10)}` } },
    ]);

  const OPERATIONS = {
    async begin() {
      for (let n = 1 + random.below(6); n > 0; n -= 1) begin(anyKey());
    },
    async count() {
      for (let n = 1 + random.below(6); n > 0; n -= 1) begin(anyKey(), { isCount: true });
    },
    async gzip() {
      begin(anyKey(), { gzip: true });
    },
    /** Begins requests with a new key, and revokes the key while they run. */
    async burn() {
      const key = await create();
      if (key === undefined) return;
      for (let n = 0; n < 4; n += 1) begin(key);
      await sleep(5 + random.below(100));
      await revoke(key);
    },
    /**
     * Opens a connection with each key, declares a body and is silent. What is refused is tried
     * again with half the size, so that the declared bodies fill all memory that the gateway gives.
     */
    async beSilent() {
      let declaredBytes = LARGEST_BODY;
      const startedAt = Date.now();
      await withManaging('prices', { method: 'GET' });
      // A refusal takes about as long as another answer does at the moment.
      const waitMs = Math.min(MOST_WAIT_MS, 40 + 2 * (Date.now() - startedAt));
      for (const key of random.shuffle([...managing, ...keys]).slice(0, MOST_SILENT_AT_ONCE)) {
        let isOpen = false;
        while (!isOpen && declaredBytes > SMALLEST_BODY && calls.silentCount() < MOST_SILENT) {
          isOpen = await calls.beSilent({
            path: '/v1/messages',
            credential: key.credential,
            address: anyAddress(),
            declaredBytes,
            sent: random.pick(['', '{"model":"claude-haiku-4-5",', '{"messages":[']),
            waitMs,
            closeAfterMs: 8_000 + random.below(12_000),
          });
          if (!isOpen) declaredBytes = Math.floor(declaredBytes / 2);
        }
      }
    },
    /** Begins as many of the dearest requests as possible, and lets all end at once. */
    async surge() {
      await topUp(account.id);
      const ask = { order: DEAREST_ORDER, model: DEAREST_MODEL };
      for (const key of random.shuffle(keys).slice(0, MOST_SURGING)) {
        begin(key, ask);
        begin(key, ask);
      }
      for (let n = random.below(4); n > 0; n -= 1) {
        const key = await create();
        if (key === undefined) break;
        begin(key, ask);
        begin(key, ask);
        await revoke(key);
      }
      await sleep(500);
      await open({ who });
    },
    async read() {
      const path = random.pick([
        'balance',
        'usage',
        'usage?format=csv',
        'statement?month=2026-11',
        'prices',
        'keys',
        `usage/summary?by=day,hour,model,endpoint&from=2026-11-01&until=2026-12-01`,
      ]);
      await withManaging(path, { method: 'GET' });
    },
    create,
    async revoke() {
      if (keys.length > 4) await revoke(random.pick(keys));
    },
    async rotate() {
      const key = random.pick(keys);
      const body = { grace_seconds: random.pick([0, 1, GRACE_SECONDS]) };
      const { value } = await withManaging(`keys/${key.id}/rotate`, { body });
      key.credential = value.api_key ?? key.credential;
    },
    async suspend() {
      const { id } = random.pick(keys);
      await withManaging(`keys/${id}/suspend`, { body: {} });
      if (random.chance(0.8)) await withManaging(`keys/${id}/resume`, { body: {} });
    },
    async change() {
      await withManaging(`keys/${random.pick(keys).id}`, {
        method: 'PATCH',
        body: randomChange(),
      });
    },
    async link() {
      await withManaging('links', { body: { key_id: random.pick(keys).id } });
    },
    /** From then on the replaced credential is in its grace. */
    async rotateItself() {
      const key = random.pick(managing);
      const { credential } = key;
      graces.delete(key);
      const { value } = await manage(`keys/${key.id}/rotate`, {
        credential,
        method: 'POST',
        body: { grace_seconds: GRACE_SECONDS },
      });
      if (value.api_key === undefined) return;
      key.credential = value.api_key;
      graces.set(key, credential);
    },
    /** Every managing call, with a credential in its grace. */
    async useGrace() {
      if (graces.size === 0) await OPERATIONS.rotateItself();
      const [own, credential] = random.pick([...graces]) ?? [];
      if (own === undefined) return;
      const target = random.pick([own, ...managing, ...keys]).id;
      const [path, body, method = 'POST'] = random.pick([
        ['keys', { name: 'by-a-replaced-credential' }],
        [`keys/${target}`, randomChange(), 'PATCH'],
        [`keys/${own.id}/rotate`, { grace_seconds: GRACE_SECONDS }],
        [`keys/${target}/rotate`, {}],
        [`keys/${target}/suspend`, {}],
        [`keys/${target}/resume`, {}],
        [`keys/${target}/revoke`, {}],
        ['links', {}],
        ['links', { key_id: target, expires_in_seconds: 86_400 }],
      ]);
      const { status, value } = await manage(path, { credential, method, body });
      // In the meantime another rotation may have ended this grace.
      if (status === 401 && graces.get(own) !== credential) return;
      graceAnswers.push({ path: `${method} ${path}`, status });
      if (status !== 200) return;
      // On with the attack, although a call succeeded that must not.
      if (path.endsWith('/revoke')) {
        const at = keys.findIndex(({ id }) => id === target);
        if (at >= 0) keys.splice(at, 1);
      }
      const rotated = [...managing, ...keys].find(({ id }) => path === `keys/${id}/rotate`);
      if (rotated !== undefined) rotated.credential = value.api_key ?? rotated.credential;
    },
    /** Ends the waits of this holder's requests, so that many are settled at once. */
    async open() {
      await open({ who });
    },
    async topUp() {
      await topUp(account.id);
    },
  };
  /** How often each operation is chosen, relative to the others. */
  const WEIGHTS = {
    begin: 12,
    count: 1,
    gzip: 1,
    burn: 3,
    beSilent: 3,
    read: 2,
    create: 2,
    revoke: 1,
    rotate: 1,
    suspend: 1,
    change: 2,
    link: 0.5,
    rotateItself: 0.5,
    useGrace: 1.5,
    surge: 1,
    open: 1.5,
    topUp: 0.5,
  };
  const CHOICES = Object.entries(WEIGHTS).flatMap(([name, weight]) =>
    Array.from({ length: 2 * weight }, () => name),
  );

  function anyKey() {
    return random.chance(0.15) ? random.pick(managing) : random.pick(keys);
  }

  /** Resolves when all responses have ended. */
  async function settle() {
    while (background.size > 0) {
      await open({ who });
      await sleep(50);
    }
  }

  return {
    who,
    account,
    statuses,
    graceAnswers,
    /** What a check of the run needs to have happened, which random operations may leave out. */
    async actFirst() {
      await OPERATIONS.useGrace();
      await OPERATIONS.surge();
    },
    /**
     * Makes the dearest requests until the balance is below zero. Random operations of an account
     * with a small concurrency may leave it money.
     *
     * @param {(accountId: string) => Promise<boolean>} isOverdrawn
     */
    async overdraw(isOverdrawn) {
      while (!(await isOverdrawn(account.id))) {
        await OPERATIONS.surge();
        await settle();
      }
    },
    /** One random operation. @returns its name */
    async act() {
      const name = random.pick(CHOICES);
      await OPERATIONS[name]();
      return name;
    },
    settle,
  };
}

function countBody({ text, model }) {
  return JSON.stringify({ model, messages: [{ role: 'user', content: text }] });
}
