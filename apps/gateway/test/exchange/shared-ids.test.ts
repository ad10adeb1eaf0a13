/**
 * Ids from outside that become ids of the ledger: the Idempotency-Keys of holders, the request ids
 * of operators, promotional codes, and the request ids of recharged charges. Each author chooses
 * without knowing the others, so no id may block, replay or read the work of another author.
 */

import { expect, it } from '@jest/globals';
import { settlement } from '../../../../packages/balance-store/src/testing/samples.js';
import { rewriteLedger } from '../../../../packages/balance-store/test/rewrite-ledger.js';
import { MODEL } from '../support/gateway.js';
import { describePayments } from '../support/payments.js';

/** `new`: it was done now. `invalid`: an id of this form is refused, whoever used it before. */
type Outcome = 'new' | 'replayed' | 'conflict' | 'invalid';

interface Place {
  readonly accountId: string;
  /** Where transfers go. */
  readonly otherId: string;
  readonly apiKey: string;
  /** The key that rotations change. */
  readonly targetId: string;
  /** The ids of top-ups, adjustments and transfers are shared by all accounts. */
  readonly x: string;
}

interface Author {
  readonly name: string;
  readonly use: (place: Place, id: string) => Promise<Outcome>;
}

/** Ids that are equal, or become equal once an author's part is put before one of them. */
const idsIn = ({ accountId, targetId, x }: Place): readonly string[] => [
  x,
  `${accountId}:${x}`,
  `${accountId}:${accountId}:${x}`,
  `${targetId}:${x}`,
  `operator:${x}`,
  `operator:operator:${x}`,
  `topup:${x}`,
  `adjustment:${x}`,
  `transfer:${x}:out`,
  `transfer:${x}:in`,
  `topup:initial:${accountId}:2`,
  `initial:${accountId}:2`,
  `req_${x}`,
  `topup:req_${x}`,
  `stripe:${x}`,
  `topup:stripe:${x}`,
];

describePayments((bench) => {
  const { dashboard } = bench;
  const started = new Set<string>();
  let places = 0;

  const asOperator = async (
    work: () => Promise<{ readonly replayed: boolean }>,
  ): Promise<Outcome> => {
    try {
      return (await work()).replayed ? 'replayed' : 'new';
    } catch (error) {
      const { status } = error as { readonly status?: number };
      if (status !== 400 && status !== 409) throw error;
      return status === 400 ? 'invalid' : 'conflict';
    }
  };

  const asHolder = async (
    { apiKey }: Place,
    id: string,
    path: string,
    body: object,
  ): Promise<Outcome> => {
    const { status, json } = await dashboard(apiKey, path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'idempotency-key': id },
    });
    expect([200, 409]).toContain(status);
    if (status === 409) return 'conflict';
    return json.object === 'payment' ? startedOnce(json.id) : replayedIf(json.api_key === null);
  };
  const replayedIf = (isReplay: boolean): Outcome => (isReplay ? 'replayed' : 'new');
  const startedOnce = (paymentId: string): Outcome => {
    const isReplay = started.has(paymentId);
    started.add(paymentId);
    return replayedIf(isReplay);
  };

  const holders: readonly Author[] = [
    {
      name: 'a holder creates a key',
      use: (place, id) => asHolder(place, id, 'keys', { name: 'x' }),
    },
    {
      name: 'a holder rotates a key',
      use: (place, id) => asHolder(place, id, `keys/${place.targetId}/rotate`, {}),
    },
  ];
  const operators: readonly Author[] = [
    {
      name: 'an operator creates a key',
      use: ({ accountId }, idempotency_key) =>
        asOperator(() =>
          bench.gateway.call('createKey', { name: 'x', account_id: accountId, idempotency_key }),
        ),
    },
    {
      name: 'an operator creates an account',
      use: (_place, idempotency_key) =>
        asOperator(() => bench.gateway.call('createAccount', { name: 'x', idempotency_key })),
    },
    {
      name: 'an operator rotates a key',
      use: ({ targetId }, idempotency_key) =>
        asOperator(() => bench.gateway.call('rotateKey', { key_id: targetId, idempotency_key })),
    },
  ];
  const money: readonly Author[] = [
    {
      name: 'a holder starts a payment',
      use: (place, id) => asHolder(place, id, 'top-ups', { amount_usd: '20' }),
    },
    {
      name: 'an operator starts a payment',
      use: ({ accountId }, request_id) =>
        asOperator(async () => {
          const given = { account_id: accountId, amount_usd: '20', request_id };
          const { id } = await bench.gateway.call('startPayment', given);
          return { replayed: startedOnce(id) === 'replayed' };
        }),
    },
    {
      name: 'an operator recharges a charge',
      use: ({ targetId }, request_id) =>
        asOperator(async () => {
          const { booked, refused } = await bench.gateway.call('rechargeUsages', {
            charges: [
              {
                request_id,
                key_id: targetId,
                model: MODEL,
                input_tokens: 1,
                output_tokens: 1,
                cache_read_input_tokens: 0,
                cache_creation_input_tokens: 0,
              },
            ],
          });
          expect(refused).toEqual([]);
          return { replayed: booked === 0 };
        }),
    },
    {
      name: 'an operator adds credit',
      use: ({ accountId }, top_up_id) =>
        asOperator(() =>
          bench.gateway.call('topUpAccount', {
            account_id: accountId,
            amount_usd: '1',
            top_up_id,
          }),
        ),
    },
    {
      name: 'an operator adjusts the balance',
      use: ({ accountId }, adjustment_id) =>
        asOperator(() =>
          bench.gateway.call('adjustBalance', {
            account_id: accountId,
            amount_usd: '1',
            reason: 'goodwill',
            adjustment_id,
          }),
        ),
    },
    {
      name: 'an operator transfers credit',
      use: ({ accountId, otherId }, transfer_id) =>
        asOperator(() =>
          bench.gateway.call('transfer', {
            account_id: accountId,
            to_account_id: otherId,
            amount_usd: '0.01',
            transfer_id,
          }),
        ),
    },
  ];

  async function newPlace(): Promise<Place> {
    const { call } = bench.gateway;
    const { id: accountId } = await call('createAccount', { name: 'place', balance_usd: '100' });
    const { id: otherId } = await call('createAccount', { name: 'other' });
    const inAccount = { name: 'key', account_id: accountId };
    const { id: targetId } = await call('createKey', inAccount);
    const { api_key } = await call('createKey', { ...inAccount, scope: 'manage' });
    places += 1;
    return { accountId, otherId, apiKey: api_key ?? '', targetId, x: `x${String(places)}` };
  }

  /** Creations and rotations by one author share one set of ids, so a set has one of them. */
  const sets = [
    ...holders.flatMap((holder) => operators.map((operator) => [holder, operator])),
    money,
  ];

  // An author must get the same outcome, whichever others used the same ids before.
  // F146: a holder and an operator choose the same id, or one that looks like an id of the other:
  // each request is done once; neither blocks, replays or reads the other.
  // F147: a recharged charge with the id of a credit; a file of usage objects that names keys of
  // others: refused: only request ids of the gateway, and only keys that the operator confirms; a
  // credit names the charge that took its id before.
  it.each(sets.map((authors) => [authors.map(({ name }) => name).join(', '), authors] as const))(
    'do not meet: %s',
    async (_names, authors) => {
      for (const inOrder of [authors, authors.toReversed()]) {
        const place = await newPlace();
        for (const { name, use } of inOrder) {
          for (const id of idsIn(place)) {
            const outcome = await use(place, id);
            expect([name, id, outcome]).toEqual([
              name,
              id,
              expect.stringMatching(/^(new|invalid)$/),
            ]);
            if (outcome === 'new') expect(await use(place, id)).toBe('replayed');
            else expect(await use(place, id)).toBe('invalid');
          }
        }
      }
    },
  );

  // F146
  it('an operator cannot take the id of a redemption or of a first credit', async () => {
    const { call } = bench.gateway;
    const code = 'CODE-2026';
    await call('createPromoCode', { code, amount_usd: '1', max_redemptions: 9 });
    const { accountId, apiKey, targetId } = await newPlace();
    for (const top_up_id of [`promo:${code}:${accountId}`, `initial:${accountId}:2`]) {
      const given = { amount_usd: '1', top_up_id };
      for (const credit of [
        () => call('topUpAccount', { ...given, account_id: accountId }),
        () => call('topUp', { ...given, key_id: targetId }),
      ]) {
        await expect(credit()).rejects.toMatchObject({
          status: 400,
          message: expect.stringMatching(/^top_up_id: must not begin with "(promo|initial):"/),
        });
      }
    }
    const redeemed = await dashboard(apiKey, 'promo-codes', {
      method: 'POST',
      body: JSON.stringify({ code }),
    });
    expect([redeemed.status, redeemed.json.replayed]).toEqual([200, false]);
    const more = { name: 'more', account_id: accountId, balance_usd: '1' };
    expect((await call('createKey', more)).account.balance_usd).toBe('102');
  });

  // F147
  it('a credit names the charge that has its id, if one was booked before ids had a form', async () => {
    const { accountId, targetId } = await newPlace();
    const { store } = bench.gateway.running;
    const charge = settlement(targetId);
    const { outcome } = await store.settle(charge, { deadlineMs: 60_000 });
    expect(outcome).toBe('settled');
    // The store refuses such an id by now.
    const { DATABASE_URL: databaseUrl } = bench.env;
    await rewriteLedger(
      databaseUrl === undefined
        ? { dataDir: bench.gateway.running.dataDir?.path ?? '' }
        : { databaseUrl },
      `UPDATE ledger SET id = 'topup:taken' WHERE id = '${charge.requestId}'`,
    );
    const given = { account_id: accountId, amount_usd: '1', top_up_id: 'taken' };
    await expect(bench.gateway.call('topUpAccount', given)).rejects.toMatchObject({
      status: 409,
      message: expect.stringMatching(/^top_up_id: a charge was booked .* id topup:taken/),
    });
  });
});
