/** Who spends: the member of a key, or one whom a request names. On both ledgers. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseUsd } from '@gateway/billing';
import type { BalanceStore, GroupRecord, MemberRecord, Naming } from '@gateway/balance-store';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { chargesOf } from '../../src/cli/witness-file.js';
import { anthropicUpstream } from '../../src/upstream/anthropic.js';
import { createUpstreamClient } from '../../src/upstream/client.js';
import { startGatedUpstream } from '../support/gated-upstream.js';
import { created } from '../support/created.js';
import {
  ENDPOINTS,
  PATHS,
  POSTS,
  bodyFor,
  postMessages,
  startTestGateway,
  userMessage,
} from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { ledgerEnv } from '../support/ledger-env.js';
import { until } from '../support/until.js';

const BY = { name: 'tests' };

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await usePostgresServer();
});
afterAll(() => postgres.stop());

describe.each(['embedded', 'PostgreSQL'] as const)('on the %s ledger', (ledger) => {
  let gateway: TestGateway;
  let store: BalanceStore;
  beforeAll(async () => {
    gateway = await startTestGateway({
      env: { TAG_METADATA_MEMBER: 'user_id', ...(await ledgerEnv(ledger, postgres)) },
    });
    ({ store } = gateway.running);
  });
  afterAll(() => gateway.stop());

  /** A key of a new account. */
  async function keyOf(naming?: Naming) {
    const key = await gateway.createKey();
    const record = naming === undefined ? undefined : await store.updateKey(key.id, { naming });
    const { accountId } = record ?? (await store.getKey(key.id))!;
    return { ...key, accountId };
  }
  const groupOf = async (accountId: string, name: string, parentId?: string) =>
    created<GroupRecord>(await store.createGroup({ accountId, name, parentId }, { by: BY }));
  const memberOf = async (member: Parameters<BalanceStore['createMember']>[0]) =>
    created<MemberRecord>(await store.createMember(member, { by: BY }));

  /** @returns the status, the id of the request, and who spent its charge */
  async function send(
    endpoint: keyof typeof PATHS,
    apiKey: string,
    {
      headers = {},
      ...more
    }: { readonly headers?: Readonly<Record<string, string>> } & Readonly<Record<string, unknown>>,
  ) {
    const body = bodyFor(PATHS[endpoint], userMessage('Hello', more));
    const response = await POSTS[endpoint](gateway, apiKey, body, headers);
    const text = await response.text();
    const id = response.headers.get('x-gateway-request-id') ?? '';
    return { status: response.status, text, id, spender: await spenderOf(id) };
  }
  async function spenderOf(id: string) {
    const [entry] = await store.findEntries([id]);
    return entry?.kind === 'charge' ? entry.spender : undefined;
  }

  it.each(ENDPOINTS)(
    'the member of a key spends, with its groups, a tag and a session (%s)',
    async (endpoint) => {
      const { id, apiKey, accountId } = await keyOf();
      const chair = await groupOf(accountId, 'Chair');
      const course = await groupOf(accountId, 'Course', chair.id);
      const ada = await memberOf({ accountId, name: 'Ada', groupId: course.id });
      await store.updateKey(id, { memberId: ada.id });
      const sent = await send(endpoint, apiKey, {
        metadata: { user_id: 'of the body' },
        headers: { 'x-claude-code-session-id': 'session-0001' },
      });
      expect([sent.status, sent.spender]).toEqual([
        200,
        { memberId: ada.id, groups: course.path, tag: 'of the body', run: 'session-0001' },
      ]);
      const tagged = await send(endpoint, apiKey, { headers: { 'x-gateway-tag': 'mine' } });
      expect(tagged.spender).toEqual({ memberId: ada.id, groups: course.path, tag: 'mine' });
      let found: { readonly memberId?: string | undefined } | undefined;
      await until(async () => {
        const { requests } = await store.listRequests({ id: tagged.id, limit: 1 });
        [found] = requests;
        return found !== undefined;
      });
      expect(found?.memberId).toBe(ada.id);
    },
  );

  it('a charge of a key without a member names nobody', async () => {
    const { apiKey } = await keyOf();
    expect((await send('messages', apiKey, {})).spender).toBeUndefined();
  });

  it.each(ENDPOINTS)(
    'a key without that right names nobody, whatever it sends (%s)',
    async (endpoint) => {
      const { id, apiKey, accountId } = await keyOf();
      const [own, other] = [
        await memberOf({ accountId, name: 'own' }),
        await memberOf({ accountId, name: 'other', externalId: 'other', email: 'o@x.org' }),
      ];
      await store.updateKey(id, { memberId: own.id });
      const sent = await send(endpoint, apiKey, {
        headers: {
          'x-gateway-member': other.id,
          'x-claude-gateway-user-id': 'other',
          'x-claude-gateway-user-email': 'o@x.org',
        },
        ...(endpoint === 'messages' ? {} : { user: 'other' }),
      });
      expect([sent.status, sent.spender]).toEqual([200, { memberId: own.id }]);
      const unknown = await send(endpoint, apiKey, { headers: { 'x-gateway-member': 'nobody' } });
      expect(unknown.status).toBe(200);
    },
  );

  it.each(ENDPOINTS)(
    'a key with that right names a member by its id, external id or address (%s)',
    async (endpoint) => {
      const { apiKey, accountId } = await keyOf({ unknown: 'refuse' });
      const group = await groupOf(accountId, 'Course');
      const texts = { externalId: 'u-1', email: 'ada@x.org' };
      const ada = await memberOf({ accountId, name: 'Ada', groupId: group.id, ...texts });
      const bob = await memberOf({ accountId, name: 'Bob', externalId: 'u-2' });
      const named = { memberId: ada.id, groups: group.path };
      const given: readonly Readonly<Record<string, string>>[] = [
        { 'x-gateway-member': ada.id },
        { 'x-gateway-member': 'u-1', 'x-claude-gateway-user-id': 'u-2' },
        { 'x-gateway-member': 'Ada@x.org' },
        { 'x-claude-gateway-user-id': 'u-1', 'x-claude-gateway-user-email': 'nobody@x.org' },
        // Only its address is known.
        { 'x-claude-gateway-user-id': 'sub-7', 'x-claude-gateway-user-email': 'ada@x.org' },
      ];
      for (const headers of given) {
        const sent = await send(endpoint, apiKey, { headers });
        expect([headers, sent.status, sent.spender]).toEqual([headers, 200, named]);
      }
      const [last] = gateway.simulator.journal.requests().slice(-1);
      expect(JSON.stringify(last?.headers)).not.toMatch(/sub-7|ada@|x-gateway|x-claude/);
      const withUser = await send(endpoint, apiKey, endpoint === 'messages' ? {} : { user: 'u-2' });
      expect(withUser.spender).toEqual(endpoint === 'messages' ? undefined : { memberId: bob.id });
    },
  );

  it.each(ENDPOINTS)(
    'unknown, ended and foreign names are refused, naming the header, and nothing is sent (%s)',
    async (endpoint) => {
      const { id, apiKey, accountId } = await keyOf({ unknown: 'refuse' });
      const own = await memberOf({ accountId, name: 'own' });
      await store.updateKey(id, { memberId: own.id });
      const gone = await memberOf({ accountId, name: 'gone', externalId: 'gone' });
      await store.endMember(gone.id, BY);
      const foreign = await memberOf({
        accountId: (await keyOf()).accountId,
        name: 'foreign',
        externalId: 'foreign',
      });
      const before = gateway.simulator.journal.requests().length;
      for (const [header, name, words] of [
        ['x-gateway-member', 'nobody', /the account has no member "nobody"/],
        ['x-gateway-member', foreign.id, /the account has no member/],
        ['x-claude-gateway-user-id', 'foreign', /the account has no member "foreign"/],
        ['x-claude-gateway-user-email', 'a@x.org', /the account has no member "a@x.org"/],
        ['x-gateway-member', 'gone', /the member "gone" has ended/],
        ['x-gateway-member', gone.id, /has ended/],
        ['x-gateway-member', 'x'.repeat(201), /must be one name of 1 to 200/],
      ] as const) {
        const sent = await send(endpoint, apiKey, { headers: { [header]: name } });
        const message = String(JSON.parse(sent.text).error.message);
        expect([sent.status, message]).toEqual([400, expect.stringMatching(words)]);
        expect(message.startsWith(`${header}: `)).toBe(true);
      }
      if (endpoint !== 'messages') {
        const sent = await send(endpoint, apiKey, { user: 'nobody' });
        expect(JSON.parse(sent.text).error).toMatchObject({
          param: 'user',
          message: 'user: the account has no member "nobody"',
        });
      }
      expect(gateway.simulator.journal.requests()).toHaveLength(before);
      // Without a name, the key's own member spends.
      expect((await send(endpoint, apiKey, {})).spender).toEqual({ memberId: own.id });
    },
  );

  it('an unknown name makes a member, once, in the group of the key, if the key says so', async () => {
    const first = await keyOf();
    const { accountId } = first;
    const group = await groupOf(accountId, 'Course');
    const naming = { unknown: 'create', groupId: group.id } as const;
    await store.updateKey(first.id, { naming });
    const headers = {
      'x-claude-gateway-user-id': 'sub-1',
      'x-claude-gateway-user-email': 'a@x.org',
    };
    const sent = await Promise.all(
      ENDPOINTS.flatMap((endpoint) =>
        [1, 2, 3].map(() => send(endpoint, first.apiKey, { headers })),
      ),
    );
    const members = await store.listMembers({ accountId, limit: 10 });
    expect(members).toMatchObject([
      { name: 'a@x.org', externalId: 'sub-1', email: 'a@x.org', groupId: group.id },
    ]);
    const spender = { memberId: members[0]!.id, groups: group.path };
    expect(sent.map((each) => each.spender)).toEqual(sent.map(() => spender));
    const [trail] = await store.listTrail({ accountId, limit: 1 });
    expect(trail).toMatchObject({ action: 'member.create', actor: first.id });

    const chat = await send('chat.completions', first.apiKey, { user: 'someone' });
    expect(await store.getMember(chat.spender!.memberId!)).toMatchObject({
      name: 'someone',
      externalId: 'someone',
      email: null,
    });
    // A text with the form of an id is a mistake, not a name.
    const mistaken = await send('messages', first.apiKey, {
      headers: { 'x-gateway-member': 'mem_0' },
    });
    expect(mistaken.status).toBe(400);
    expect(await store.listMembers({ accountId, limit: 10 })).toHaveLength(2);
  });

  it('a member that moves while its answer streams has spent it in its former group', async () => {
    const { id, apiKey, accountId } = await keyOf();
    const [a, b] = [await groupOf(accountId, 'A'), await groupOf(accountId, 'B')];
    const ada = await memberOf({ accountId, name: 'Ada', groupId: a.id });
    await store.updateKey(id, { memberId: ada.id });
    const gated = await startGatedUpstream();
    gated.shut();
    const { appParts } = gateway.running;
    const { upstream: before } = appParts;
    const upstream = createUpstreamClient(anthropicUpstream({ url: gated.url, apiKey: 'k' }));
    Object.assign(appParts, { upstream });
    try {
      const response = await postMessages(gateway, apiKey, userMessage('Hello', { stream: true }));
      await store.updateMember(ada.id, { groupId: b.id }, BY);
      const during = await postMessages(gateway, apiKey, userMessage('Hello', { stream: true }));
      gated.open();
      await Promise.all([response.text(), during.text()]);
      const spenders = [response, during].map((each) =>
        spenderOf(each.headers.get('x-gateway-request-id') ?? ''),
      );
      expect(await Promise.all(spenders)).toEqual([
        { memberId: ada.id, groups: a.path },
        { memberId: ada.id, groups: b.path },
      ]);
    } finally {
      Object.assign(appParts, { upstream: before });
      await upstream.close();
      await gated.close();
    }
  });

  it('a charge that the ledger lost is booked again for the same spender, by the line of the log', async () => {
    const { id, apiKey, accountId } = await keyOf();
    const group = await groupOf(accountId, 'Course');
    const ada = await memberOf({ accountId, name: 'Ada', groupId: group.id });
    const spender = { memberId: ada.id, groups: group.path, tag: 'blue', run: 'run-0001' };
    await store.updateKey(id, { memberId: ada.id });
    const sent = await send('messages', apiKey, {
      headers: { 'x-gateway-tag': 'blue', 'x-claude-code-session-id': 'run-0001' },
    });
    expect(sent.spender).toEqual(spender);
    const [charge] = await store.findEntries([sent.id]);
    if (charge?.kind !== 'charge') throw new Error('no charge');
    const { usage } = charge;
    const line = {
      time: new Date().toISOString(),
      model: charge.model,
      key_id: id,
      endpoint: 'messages',
      streamed: false,
      charge_usd: '0',
      input_tokens: usage.inputTokens,
      output_tokens: usage.outputTokens,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
    };
    const of = { member_id: ada.id, groups: group.path, tag: 'blue', run: 'run-0001' };
    const again = async (n: number, logged: object) => {
      const request_id = `req_lost-${ledger}-${String(n)}`;
      const [lost] = chargesOf({ ...line, ...logged, request_id }, 'line 1');
      const { whole: _whole, charge_usd: _charged, ...counts } = lost!.usage;
      const { is_unbilled: _unbilled, ...more } = lost!.more;
      const charges = [{ ...counts, ...more, key_id: id, model: charge.model }];
      const { refused } = await gateway.call('rechargeUsages', { charges });
      return refused[0]?.reason ?? (await spenderOf(request_id));
    };
    expect(await again(1, of)).toEqual(spender);
    // The line of a request that named nobody, before the key had a member.
    expect(await again(2, {})).toBeUndefined();
    const foreign = await memberOf({ accountId: (await keyOf()).accountId, name: 'foreign' });
    expect(await again(3, { ...of, member_id: foreign.id })).toBe(
      'member_id: is not a member of the account of the key',
    );
    // Usage that a client recorded says nothing about members: the key's own one spent.
    const { data } = await gateway.call('listLedger', { key_id: id, kind: 'charge' });
    expect(data.every(({ amount_usd: amount }) => parseUsd(amount) < 0n)).toBe(true);
    await gateway.call('rechargeUsages', {
      charges: [
        {
          request_id: `req_client-${ledger}`,
          key_id: id,
          model: charge.model,
          input_tokens: 1,
          output_tokens: 1,
          cache_read_input_tokens: 0,
          cache_creation_input_tokens: 0,
        },
      ],
    });
    expect(await spenderOf(`req_client-${ledger}`)).toEqual({
      memberId: ada.id,
      groups: group.path,
    });
  });
});
