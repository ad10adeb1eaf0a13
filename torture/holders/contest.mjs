/**
 * An operator suspends and caps keys of an account, and the account's holder tries everything to
 * undo it.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { askIn } from '../calls.mjs';
import { chargeOf, toUnits } from '../check.mjs';
import { FORMATS } from '../formats.mjs';
import { orderText } from '../ordered-upstream.mjs';
import { toUsd } from '../teams/operators.mjs';

const MODEL = 'claude-haiku-4-5';
const OUTPUT = 1_000;
const INPUT = 10;
const PRICE = chargeOf({ model: MODEL, input: INPUT, output: OUTPUT, read: 0, written: 0 });
const PERIODS = ['day', 'week', 'month', 'total'];
const MANAGES = { scope: 'manage' };

export async function createContest({ system, createAccount }, { calls, overdraft }, random) {
  const account = await createAccount('contested', { creditUsd: '1000', keys: [MANAGES, MANAGES] });
  const managing = account.keys;
  const undone = [];
  const counts = { suspensions: 0, caps: 0 };
  let addresses = 0;

  const address = () => `10.231.${(addresses += 1) >> 8}.${addresses & 255}`;
  const holderCall = async (path, body, method = 'POST') => {
    const { credential } = random.pick(managing);
    const call = { path: `/v1/dashboard/${path}`, credential, address: address(), method };
    return calls.call({ ...call, body: JSON.stringify(body) });
  };

  /** Sends one request, again if a limit refuses it. @returns its status */
  async function use(credential) {
    for (let tries = 0; tries < 20; tries += 1) {
      const { path, body } = askIn({
        format: random.pick(FORMATS),
        model: MODEL,
        maxTokens: OUTPUT,
        stream: random.chance(0.5),
        text: orderText({ who: 'contested', input: INPUT, output: OUTPUT }),
      });
      const { status } = await calls.call({ path, body, credential, address: address() });
      if (status !== 429) return status;
      await sleep(200);
    }
    return 429;
  }

  async function newKey() {
    const key = await system.callAdmin('POST', 'keys', {
      account_id: account.id,
      name: `contested-${address()}`,
    });
    return { id: key.id, credential: key.api_key };
  }

  async function contestSuspension() {
    const key = await newKey();
    // Whose suspension it is must not depend on who was first.
    if (random.chance(0.4)) await holderCall(`keys/${key.id}/suspend`, {});
    await system.callAdmin('POST', `keys/${key.id}/suspend`, {});
    const tries = random.shuffle([
      ['resume', {}],
      ['resume', {}],
      ['suspend', {}],
      ['rotate', { grace_seconds: 60 }],
    ]);
    const credentials = [key.credential];
    for (const [action, body] of [...tries, ['resume', {}]]) {
      const { status, text } = await holderCall(`keys/${key.id}/${action}`, body);
      const rotated = status === 200 ? JSON.parse(text).api_key : undefined;
      if (rotated !== undefined) credentials.push(rotated);
    }
    await holderCall(`keys/${key.id}`, { expires_at: null, name: 'mine' }, 'PATCH');
    const { is_active: isActive } = await system.callAdmin('GET', `keys/${key.id}`);
    const statuses = await Promise.all(credentials.map(use));
    if (isActive || statuses.includes(200)) undone.push({ suspended: key.id, isActive, statuses });
    counts.suspensions += 1;
    return key;
  }

  async function contestCap() {
    const key = await newKey();
    const period = random.pick(PERIODS);
    const field = `cap_${period}_usd`;
    const cap = (PRICE * 5n) / 2n;
    // The operator may set the cap on a key whose holder has set one already.
    if (random.chance(0.4))
      await holderCall(`keys/${key.id}`, { [field]: random.pick(['0.001', '100']) }, 'PATCH');
    await system.callAdmin('PATCH', `keys/${key.id}`, { [field]: toUsd(cap) });
    for (const value of random.shuffle(['100', null, '0.001', null])) {
      await holderCall(`keys/${key.id}`, { [field]: value }, 'PATCH');
      const view = await system.callAdmin('GET', `keys/${key.id}`);
      const shown = view.caps[period].cap_usd;
      if (shown === null || toUnits(shown) > cap) undone.push({ cap: toUsd(cap), period, shown });
    }
    await holderCall(`keys/${key.id}`, { [field]: random.pick(['100', null]) }, 'PATCH');
    let spent = 0n;
    for (let n = 0; n < 5; n += 1) if ((await use(key.credential)) === 200) spent += PRICE;
    // Without holds, the request that reaches the cap may exceed it.
    const most = overdraft === 'none' ? cap : cap + PRICE;
    if (spent > most) undone.push({ cap: toUsd(cap), period, spent: toUsd(spent) });
    counts.caps += 1;
    return key;
  }

  return {
    undone,
    counts,
    async act() {
      const key = await (random.chance(0.5) ? contestSuspension() : contestCap());
      await system.callAdmin('POST', `keys/${key.id}/revoke`, {});
    },
  };
}
