/**
 * A holder who creates as many keys as possible at once, close to the most that it may have.
 *
 * @import { StartedSetup } from '../setups.mjs'
 */

export const MOST_LIVE_KEYS = 100;
const LIVE_BEFORE = 96;
const AT_ONCE = 30;
/** The fields of a key that may manage the keys of its account. */
const MANAGES = { scope: 'manage' };

/** @param {StartedSetup} started */
export async function createHoarder({ system, createAccount }, calls) {
  const account = await createAccount('hoarder', { creditUsd: '1', keys: [MANAGES, MANAGES] });
  const [one, other] = account.keys;
  for (let n = account.keys.length; n < LIVE_BEFORE; n += 1)
    await system.callAdmin('POST', 'keys', { account_id: account.id, name: `hoarded-${n}` });
  let rounds = 0;

  return {
    /** @returns the number of live keys afterwards, and how many were created */
    async hoard() {
      rounds += 1;
      const answers = await Promise.all(
        Array.from({ length: AT_ONCE }, (_, n) =>
          calls.call({
            path: '/v1/dashboard/keys',
            address: `10.230.${rounds % 250}.${n}`,
            credential: (n % 2 === 0 ? one : other).credential,
            body: JSON.stringify({ name: `hoarded-${rounds}-${n}` }),
          }),
        ),
      );
      const created = answers.filter(({ status }) => status === 200);
      const [{ live }] = await system.read(
        `select count(*) as live from api_key where state <> 'revoked' and account_id = '${account.id}'`,
      );
      for (const { text } of created)
        await system.callAdmin('POST', `keys/${JSON.parse(text).id}/revoke`, {});
      return { live: Number(live), created: created.length };
    },
  };
}
