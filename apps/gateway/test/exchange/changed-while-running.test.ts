/**
 * Everything that a holder or an operator may change of a key, changed at every moment of a
 * request: the charge stays the price of what was served, and nothing but the balance limits it.
 */

import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { defaultPriceTable, formatUsd, parseUsd } from '@gateway/billing';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { isLong } from '../../../../scripts/runs.cjs';
import { changedKey } from '../../src/customer/keys.js';
import { operations } from '../../src/operator/operations/operations.js';
import { startGatedUpstream } from '../support/gated-upstream.js';
import type { GatedUpstream } from '../support/gated-upstream.js';
import { MODEL, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { ledgerEnv } from '../support/ledger-env.js';
import { until } from '../support/until.js';

const { rates } = defaultPriceTable().find(MODEL)!;
/** The least amount that there is. */
const LEAST = '0.00000000000001';
const OTHER_MODELS = ['claude-haiku-4-5'];
const CAPS = ['cap_day_usd', 'cap_week_usd', 'cap_month_usd', 'cap_total_usd'] as const;

/** Values of every member of a key that both may change. */
const VALUES: readonly (readonly [member: string, value: unknown])[] = [
  ...CAPS.flatMap((cap) =>
    ['0', LEAST, '0.01', '1000', null].map((value) => [cap, value] as const),
  ),
  ['models', OTHER_MODELS],
  ['models', null],
  ['allowed_networks', ['192.0.2.0/24']],
  ['allowed_networks', null],
  ['concurrency', 1],
  ['burst', 1],
  ['requests_per_minute', 1],
  ['expires_at', 'now'],
  ['expires_at', null],
  ['name', 'another'],
  ['metadata', { team: 'another' }],
  ['member_id', 'a member'],
  ['member_id', null],
];
const OF_OPERATORS: typeof VALUES = [
  ...VALUES,
  ['scope', 'use'],
  ['scope', 'manage'],
  ['external_id', null],
  ['names_members', { unknown: 'create' }],
  ['names_members', null],
];
const ACTS = ['suspend', 'resume', 'revoke', 'rotate'] as const;

const MOMENTS = [
  'while its body arrives',
  'while the response is awaited or streams',
  'as the response ends',
] as const;

// F135
it('the tables name every member of a key that can be changed', () => {
  const named = (values: typeof VALUES) => [...new Set(values.map(([member]) => member))].sort();
  expect(named(VALUES)).toEqual(Object.keys(changedKey.shape).sort());
  const { key_id: _id, ...changeable } = operations.updateKey.input.shape;
  expect(named(OF_OPERATORS)).toEqual(Object.keys(changeable).sort());
});

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await usePostgresServer();
});
afterAll(() => postgres.stop());

/** The short form has each ledger and each way of overdraft once. */
const LEDGERS = [
  ['embedded', 'none'],
  ['PostgreSQL', 'bounded'],
  ['embedded', 'bounded'],
  ['PostgreSQL', 'none'],
] as const;

describe.each(LEDGERS.slice(0, isLong ? undefined : 2))(
  'a request on the %s ledger, OVERDRAFT=%s',
  (ledger, overdraft) => {
    let upstream: GatedUpstream;
    let gateway: TestGateway;
    beforeAll(async () => {
      // Each answer costs more than its hold of 600 tokens and more than 0.02 USD, the smaller
      // balance, and has less output than an answer that would be set aside.
      upstream = await startGatedUpstream({ moreOutput: 1_400 });
      gateway = await startTestGateway({
        env: {
          UPSTREAM_URL: upstream.url,
          OVERDRAFT: overdraft,
          TRUST_PROXY: '1',
          ...(await ledgerEnv(ledger, postgres)),
        },
      });
    });
    afterAll(async () => {
      await gateway.stop();
      await upstream.close();
    });

    /** One request of a key of its own account, and the change that is made meanwhile. */
    interface Case {
      readonly what: string;
      readonly accountId: string;
      readonly balance: bigint;
      readonly apiKey: string;
      readonly stream: boolean;
      readonly change: () => Promise<unknown>;
    }

    let addresses = 0;
    async function asHolder(manager: string, method: string, path: string, body: object) {
      addresses += 1;
      const response = await fetch(`${gateway.url}/v1/dashboard/keys/${path}`, {
        method,
        headers: {
          authorization: `Bearer ${manager}`,
          'content-type': 'application/json',
          // The endpoint has a limit per address.
          'x-forwarded-for': `10.0.${String(addresses >> 8)}.${String(addresses & 255)}`,
        },
        body: JSON.stringify(body),
      });
      expect([path, body, response.status]).toEqual([path, body, 200]);
    }

    async function newCase(
      by: 'holder' | 'operator',
      what: string,
      of: { readonly balance: string; readonly caps: object; readonly stream: boolean },
      change: (key: { readonly id: string; readonly manager: string }) => Promise<unknown>,
    ): Promise<Case> {
      const { id: accountId } = await gateway.call('createAccount', {
        name: 'a',
        balance_usd: of.balance,
      });
      const input = { account_id: accountId, name: 'k' };
      const manager = await gateway.call('createKey', { ...input, scope: 'manage' });
      const key = await gateway.call('createKey', input);
      // Set by the holder, who may then raise and remove them.
      if (Object.keys(of.caps).length > 0) {
        await asHolder(manager.api_key ?? '', 'PATCH', key.id, of.caps);
      }
      return {
        what: `${by}: ${what}, balance ${of.balance}, stream ${String(of.stream)}`,
        accountId,
        balance: parseUsd(of.balance),
        apiKey: key.api_key ?? '',
        stream: of.stream,
        change: () => change({ id: key.id, manager: manager.api_key ?? '' }),
      };
    }

    /** Of the account of a key. */
    async function newMember(key_id: string): Promise<string> {
      const { account_id } = await gateway.call('showKey', { key_id });
      return (await gateway.call('createMember', { account_id, name: 'm' })).id;
    }

    /** One case for each change, in turns with and without a stream, caps and much money. */
    async function allCases(turn: number): Promise<Case[]> {
      const makers: ((index: number) => Promise<Case>)[] = [];
      const valueOf = async (value: unknown, keyId: string) => {
        if (value === 'a member') return newMember(keyId);
        return value === 'now' ? new Date().toISOString() : value;
      };
      const kindOf = (index: number) => ({
        stream: (index + turn) % 2 === 0,
        balance: (index + turn) % 3 === 0 ? '0.02' : '10',
        caps: (index + turn) % 5 < 2 ? {} : Object.fromEntries(CAPS.map((cap) => [cap, '9'])),
      });
      for (const [member, value] of VALUES) {
        makers.push((index) =>
          newCase('holder', `${member} ${String(value)}`, kindOf(index), async (key) =>
            asHolder(key.manager, 'PATCH', key.id, { [member]: await valueOf(value, key.id) }),
          ),
        );
      }
      for (const [member, value] of OF_OPERATORS) {
        makers.push((index) =>
          newCase('operator', `${member} ${String(value)}`, kindOf(index), async (key) =>
            gateway.call('updateKey', {
              key_id: key.id,
              [member]: await valueOf(value, key.id),
            }),
          ),
        );
      }
      for (const act of ACTS) {
        makers.push(
          (index) =>
            newCase('holder', act, kindOf(index), (key) =>
              asHolder(key.manager, 'POST', `${key.id}/${act}`, {}),
            ),
          (index) =>
            newCase('operator', act, kindOf(index), (key) =>
              gateway.call(`${act}Key`, { key_id: key.id }),
            ),
        );
      }
      const cases: Case[] = [];
      for (const [index, make] of makers.entries()) cases.push(await make(index));
      return cases;
    }

    /** Sends the head of a request. `finish` sends its body. */
    function begin({ apiKey, stream }: Case) {
      const body = JSON.stringify(userMessage('Hello', { stream, max_tokens: 600 }));
      const req = request(`${gateway.url}/v1/messages`, {
        method: 'POST',
        agent: false,
        headers: {
          'x-api-key': apiKey,
          'anthropic-version': '2023-06-01',
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        },
      });
      const answered = once(req, 'response') as Promise<[IncomingMessage]>;
      req.flushHeaders();
      req.write(body.slice(0, 10));
      return {
        finish: () => req.end(body.slice(10)),
        status: async () => {
          const [response] = await answered;
          response.resume();
          await once(response, 'end');
          return response.statusCode;
        },
      };
    }

    /** The entry of each answer costs its price, and only the balance limits what is taken. */
    async function compare({ what, accountId, balance }: Case, isServed: boolean) {
      const { data } = await gateway.call('listLedger', { account_id: accountId, kind: 'charge' });
      const account = await gateway.call('showAccount', { account_id: accountId });
      const [entry] = data as never as readonly {
        readonly upstream_id: string;
        readonly written_off_usd: string;
      }[];
      const served = upstream.served.find(({ messageId }) => messageId === entry?.upstream_id);
      const price =
        served === undefined
          ? 0n
          : BigInt(served.input) * rates.inputPerToken +
            BigInt(served.output) * rates.outputPerToken;
      const paid = overdraft === 'none' && price > balance ? balance : price;
      expect([what, data.length, account.balance_usd, entry?.written_off_usd ?? '0']).toEqual([
        what,
        isServed ? 1 : 0,
        formatUsd(balance - paid),
        formatUsd(price - paid),
      ]);
    }

    // F134
    // F135: any other value of a key is changed at any moment of a request, or the key is
    // suspended, revoked or rotated: the request is refused and free before it is sent; later, it
    // is charged what it served.
    it.each(MOMENTS)('is charged what it served, whatever is changed %s', async (moment) => {
      const cases = await allCases(MOMENTS.indexOf(moment));
      const before = upstream.served.length;
      upstream.shut();
      const requests = cases.map(begin);
      const statuses = Promise.all(requests.map(({ status }) => status()));
      const change = async () => {
        for (const each of cases) await each.change();
      };
      if (moment === 'while its body arrives') {
        await change();
        upstream.open();
        for (const { finish } of requests) finish();
      } else {
        for (const { finish } of requests) finish();
        await until(() => upstream.waiting() === cases.length);
        if (moment === 'as the response ends') {
          upstream.open();
          await change();
        } else {
          await change();
          upstream.open();
        }
      }
      const results = await statuses;
      // A change before the request is sent may refuse it. Later changes do not.
      if (moment !== 'while its body arrives') expect(new Set(results)).toEqual(new Set([200]));
      const served = results.filter((status) => status === 200).length;
      await until(() => upstream.served.length - before === served);
      for (const [index, each] of cases.entries()) await compare(each, results[index] === 200);
      expect(await gateway.call('auditLedger', {})).toMatchObject({ is_sound: true, gap_usd: '0' });
      expect((await gateway.call('listHolds', { state: 'live' })).data).toEqual([]);
    });
  },
);
