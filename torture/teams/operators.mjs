/**
 * The operators of the teams: credits, refunds, transfers, rotations, caps and suspensions, through
 * the admin API of any gateway. An operator repeats each call unchanged until a gateway gives a
 * final answer, and sends some calls twice at the same time. The record of the answers is a witness
 * that does not depend on the ledger.
 *
 * @import { RepeatedCalls } from '../repeated-calls.mjs'
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

const UNITS_PER_USD = 10n ** 14n;

/** @param {bigint} units - of 10^-14 USD */
export function toUsd(units) {
  const digits = (units < 0n ? -units : units).toString().padStart(15, '0');
  return `${units < 0n ? '-' : ''}${digits.slice(0, -14)}.${digits.slice(-14)}`;
}

/**
 * @param {object} options
 * @param {RepeatedCalls['callAdmin']} options.callAdmin
 * @param {readonly { id: string, keys: any[] }[]} options.teams - `credential` and `mostCap` of the
 *   keys change
 */
export function createOperators({ callAdmin, teams }, random) {
  const witness = {
    /** The account and the amount of each entry that must exist, by the entry's id. */
    booked: new Map(),
    /** Ids of entries that must not exist, because every answer was a refusal. */
    refused: new Set(),
    /** When each expiring credit expires, by its entry's id. */
    expiries: new Map(),
    /**
     * Credentials that were replaced, and until when each one may work at the latest.
     *
     * @type {{ credential: string, until: number }[]}
     */
    retired: [],
    /**
     * Answers that no operator should get.
     *
     * @type {{ status: number, value: unknown }[]}
     */
    surprises: [],
  };
  const done = {};
  let stopped = false;

  const amountBelow = (usd) => BigInt(random.below(usd * 1_000_000)) * 10n ** 8n + 1n;

  /** Sends a change once, or twice at the same time, each time to a random gateway. */
  async function send(path, body) {
    const calls = random.chance(0.3) ? 2 : 1;
    return Promise.all(Array.from({ length: calls }, () => callAdmin('POST', path, body)));
  }

  /** @param {readonly (readonly [id: string, accountId: string, amount: bigint])[]} entries */
  function note(entries, answers, allowed) {
    const isBooked = answers.some(({ status }) => status === 200);
    for (const [id, accountId, amount] of entries) {
      if (isBooked) witness.booked.set(id, { accountId, amount });
      else witness.refused.add(id);
    }
    for (const { status, value } of answers) {
      if (status !== 200 && !allowed.includes(status)) witness.surprises.push({ status, value });
    }
    return isBooked;
  }

  const ACTIONS = {
    async credit() {
      const team = random.pick(teams);
      const id = randomUUID();
      const amount = amountBelow(0.013);
      const expires = random.chance(0.4);
      const expiresAt = new Date(Date.now() + 500 + random.below(4_000));
      const answers = await send(`accounts/${team.id}/top-ups`, {
        top_up_id: id,
        amount_usd: toUsd(amount),
        anyway: true,
        source: expires || random.chance(0.2) ? 'promotional' : 'paid',
        ...(expires ? { expires_at: expiresAt.toISOString() } : {}),
      });
      // A repetition that arrives after the expiry is refused if the first attempt was lost.
      const isBooked = note([[`topup:${id}`, team.id, amount]], answers, expires ? [400] : []);
      if (expires && isBooked) witness.expiries.set(`topup:${id}`, expiresAt);
    },
    async adjust() {
      const team = random.pick(teams);
      const id = randomUUID();
      const amount = random.chance(0.7) ? -amountBelow(0.01) : amountBelow(0.005);
      const answers = await send(`accounts/${team.id}/adjustments`, {
        adjustment_id: id,
        amount_usd: toUsd(amount),
        reason: amount < 0n ? 'refund' : 'goodwill',
      });
      note([[`adjustment:${id}`, team.id, amount]], answers, []);
    },
    async transfer() {
      const [from, to] = random.shuffle(teams);
      const id = randomUUID();
      const amount = amountBelow(0.02);
      const answers = await send(`accounts/${from.id}/transfers`, {
        transfer_id: id,
        to_account_id: to.id,
        amount_usd: toUsd(amount),
      });
      const entries = /** @type {const} */ ([
        [`transfer:${id}:out`, from.id, -amount],
        [`transfer:${id}:in`, to.id, amount],
      ]);
      // The balance may not cover it.
      note(entries, answers, [402, 409]);
    },
    async rotate() {
      const key = random.pick(random.pick(teams).keys);
      // Two rotations of one key at the same time would replace each other's credentials.
      if (key.isRotating) return;
      key.isRotating = true;
      const graceSeconds = random.pick([0, 1, 3]);
      let credential;
      while (credential === undefined) {
        // The credential of a rotation whose answer was lost is not shown again: only another
        // rotation helps.
        const { status, value } = await callAdmin('POST', `keys/${key.id}/rotate`, {
          grace_seconds: graceSeconds,
          idempotency_key: randomUUID(),
        });
        if (status !== 200) witness.surprises.push({ status, value });
        credential = value.api_key ?? undefined;
      }
      witness.retired.push({ credential: key.credential, until: Date.now() + graceSeconds * 1000 });
      key.credential = credential;
      key.isRotating = false;
    },
    async cap() {
      const key = random.pick(random.pick(teams).keys);
      const cap = key.isCapped || random.chance(0.5) ? amountBelow(0.01) : null;
      // Recorded before the call, because the cap counts from some moment during the call.
      if (cap === null) key.mostCap = undefined;
      else if (key.mostCap !== undefined && cap > key.mostCap) key.mostCap = cap;
      const { status, value } = await callAdmin('PATCH', `keys/${key.id}`, {
        cap_total_usd: cap === null ? null : toUsd(cap),
      });
      if (status !== 200) witness.surprises.push({ status, value });
    },
    async suspend() {
      const key = random.pick(random.pick(teams).keys);
      for (const action of ['suspend', 'resume']) {
        const { status, value } = await callAdmin('POST', `keys/${key.id}/${action}`, {});
        if (status !== 200) witness.surprises.push({ status, value });
        await sleep(random.below(300));
      }
    },
  };
  const OFTEN = ['credit', 'credit', 'credit', 'adjust', 'transfer', 'rotate', 'cap', 'suspend'];

  async function operator() {
    while (!stopped) {
      const name = random.pick(OFTEN);
      await ACTIONS[name]();
      done[name] = (done[name] ?? 0) + 1;
      await sleep(random.below(40));
    }
  }

  return {
    witness,
    done,
    stop() {
      stopped = true;
    },
    async run(parallel) {
      await Promise.all(Array.from({ length: parallel }, operator));
    },
  };
}

/** @returns teams whose keys share one balance; a fifth of the keys always has a cap */
export async function createTeams({ callAdmin, teamCount, keysPerTeam, concurrency, credit }) {
  const limits = { concurrency, burst: 100_000, requests_per_minute: 1_000_000 };
  const teams = [];
  for (let t = 0; t < teamCount; t += 1) {
    const account = await callAdmin('POST', 'accounts', {
      name: `team-${t}`,
      idempotency_key: `team-${t}`,
    });
    const { id } = account.value;
    await callAdmin('POST', `accounts/${id}/top-ups`, {
      top_up_id: id,
      amount_usd: toUsd(credit),
      anyway: true,
    });
    const keys = [];
    for (let k = 0; k < keysPerTeam; k += 1) {
      const isCapped = k % 5 === 0;
      const cap = isCapped ? UNITS_PER_USD / 200n : undefined;
      const { value } = await callAdmin('POST', 'keys', {
        account_id: id,
        name: `key-${k}`,
        ...limits,
        ...(cap === undefined ? {} : { cap_total_usd: toUsd(cap) }),
      });
      // `mostCap`: the highest cap that the key ever had; undefined if it had none at some time.
      keys.push({ id: value.id, credential: value.api_key, isCapped, mostCap: cap });
    }
    teams.push({ id, firstCredit: credit, keys });
  }
  return teams;
}
