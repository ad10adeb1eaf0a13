/** Links that show a key once: what they show, to whom, and when they end. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { createKeyLinks } from '../../src/ledger/key-links.js';
import { gatewayCommand } from '../support/gateway-process.js';
import { postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { ledgerEnv } from '../support/ledger-env.js';
import { startMailServer } from '../support/mail-server.js';
import type { MailServer } from '../support/mail-server.js';

interface Opened {
  readonly object?: string;
  readonly key_id?: string;
  readonly name?: string;
  readonly api_key?: string;
  readonly error?: { readonly message: string; readonly code: string | null };
}

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await usePostgresServer();
});
afterAll(() => postgres.stop());

describe.each(['embedded', 'PostgreSQL'] as const)('on the %s ledger', (ledger) => {
  let gateway: TestGateway;
  let mail: MailServer;
  beforeAll(async () => {
    mail = await startMailServer({
      recipient: (address) => (address.startsWith('nobody') ? 550 : undefined),
    });
    const mailing = {
      SMTP_URL: mail.url,
      MAIL_FROM: 'keys@example.com',
      PUBLIC_URL: 'https://gateway.example/',
    };
    gateway = await startTestGateway({
      env: { ...(await ledgerEnv(ledger, postgres)), ...mailing },
    });
  });
  afterAll(async () => {
    await gateway.stop();
    await mail.close();
  });

  async function open(link: string): Promise<{ readonly status: number; readonly body: Opened }> {
    const response = await fetch(`${gateway.url}/v1/dashboard/key-link`, {
      method: 'POST',
      headers: { authorization: `Bearer ${link}` },
    });
    return { status: response.status, body: (await response.json()) as Opened };
  }
  const statusWith = async (apiKey: string) =>
    (await postMessages(gateway, apiKey, userMessage('Hello'))).status;

  it('a link shows the key to the first who opens it, and says to others that it was opened', async () => {
    const key = await gateway.createKey({ name: 'of Ada' });
    const made = await gateway.call('createKeyLink', { key_id: key.id });
    expect(made).toEqual({
      object: 'key_link',
      key_id: key.id,
      link: expect.stringMatching(/^gk_/),
      path: `/dashboard/#key=${made.link}`,
      url: `https://gateway.example/dashboard/#key=${made.link}`,
      expires_at: expect.any(String),
      mailed_to: null,
      mail_problem: null,
    });
    // Until then the key keeps its credential.
    expect(await statusWith(key.apiKey)).toBe(200);
    const answers = await Promise.all(Array.from({ length: 5 }, () => open(made.link)));
    const [shown, ...rest] = answers.sort((a, b) => a.status - b.status);
    expect(shown).toEqual({
      status: 200,
      body: {
        object: 'opened_key_link',
        key_id: key.id,
        name: 'of Ada',
        api_key: expect.stringMatching(/^gw_/),
      },
    });
    for (const { status, body } of [...rest, await open(made.link)]) {
      expect([status, body.error?.code, body.error?.message]).toEqual([
        401,
        'link_opened',
        expect.stringContaining('this link was opened before'),
      ]);
    }
    expect(await statusWith(shown?.body.api_key ?? '')).toBe(200);
    expect(await statusWith(key.apiKey)).toBe(401);
    const { data } = await gateway.call('listTrail', { key_id: key.id });
    expect(data.map(({ action, actor }) => [action, actor])).toEqual(
      expect.arrayContaining([['key.rotate', key.id]]),
    );
    expect(data.find(({ action }) => action === 'key.link')?.details).toMatchObject({ once: true });
    expect(JSON.stringify(data)).not.toContain(made.link.slice(-20));
  });

  it('a link ends with its time, with its key, and when the key gets another credential', async () => {
    const [{ id: rotated }, { id: revoked }, { id: late }] = [
      await gateway.createKey(),
      await gateway.createKey(),
      await gateway.createKey(),
    ];
    const linkOf = async (key_id: string) => (await gateway.call('createKeyLink', { key_id })).link;
    const links = [await linkOf(rotated), await linkOf(revoked)];
    await gateway.call('rotateKey', { key_id: rotated });
    await gateway.call('revokeKey', { key_id: revoked });
    const record = await gateway.running.store.getKey(late);
    const { keyLinks } = gateway.running.appParts;
    links.push(keyLinks.create(record!, new Date(Date.now() - 1_000)));
    const codes = [];
    for (const link of links) codes.push((await open(link)).body.error?.code);
    expect(codes).toEqual(['link_opened', 'link_ended', 'link_ended']);
  });

  it('nothing else is taken for a link, and a link for nothing else', async () => {
    const { id, apiKey } = await gateway.createKey();
    const { link } = await gateway.call('createKeyLink', { key_id: id });
    const reading = await gateway.call('createLink', { key_id: id });
    const stranger = createKeyLinks({ pepper: 'of a stranger', previousPepper: undefined });
    const record = await gateway.running.store.getKey(id);
    const forged = stranger.create(record!, new Date(Date.now() + 60_000));
    for (const wrong of [apiKey, reading.link, forged, `${link}x`, 'gk_']) {
      const { status, body } = await open(wrong);
      expect([status, body.error?.code]).toEqual([401, 'invalid_api_key']);
    }
    const asKey = await fetch(`${gateway.url}/v1/dashboard/balance`, {
      headers: { authorization: `Bearer ${link}` },
    });
    expect([asKey.status, await statusWith(link)]).toEqual([401, 401]);
    expect((await open(link)).status).toBe(200);
  });

  it('a link is sent to the member whose key it is, if that is asked for', async () => {
    const { id: account_id } = await gateway.call('createAccount', { name: 'a' });
    const keyOf = async (email?: string) => {
      const member = await gateway.call('createMember', { account_id, name: 'm', email });
      return (await gateway.call('createKey', { account_id, name: 'k', member_id: member.id })).id;
    };
    const before = mail.received.length;
    const sent = await gateway.call('createKeyLink', {
      key_id: await keyOf('ada@example.com'),
      mail: true,
    });
    expect([sent.mailed_to, sent.mail_problem]).toEqual(['ada@example.com', null]);
    const [letter] = mail.received.slice(before);
    expect(letter?.to).toEqual(['ada@example.com']);
    expect(letter?.headers['subject']).toBe('Your API key');
    expect(letter?.text).toContain(`\n${sent.url!}\n`);
    const refused = await gateway.call('createKeyLink', {
      key_id: await keyOf('nobody@example.com'),
      mail: true,
    });
    expect([refused.mailed_to, refused.mail_problem]).toEqual([
      null,
      'the mail server responded with 550 to RCPT TO',
    ]);
    await expect(
      gateway.call('createKeyLink', { key_id: await keyOf(), mail: true }),
    ).rejects.toThrow('mail: the key belongs to no member with a mail address');
  });

  it('an address may open sixty links a minute, as it may sign in', async () => {
    const statuses = [];
    for (let n = 0; n < 62; n += 1) statuses.push((await open('gk_guess')).status);
    expect(statuses.at(-1)).toBe(429);
  });
});

it('a gateway that sends no mail refuses to send a link', async () => {
  const gateway = await startTestGateway();
  try {
    const { id } = await gateway.createKey();
    await expect(gateway.call('createKeyLink', { key_id: id, mail: true })).rejects.toThrow(
      'mail: cannot be set, because this gateway sends no mail: set SMTP_URL and MAIL_FROM first',
    );
    const ADMIN_TOKEN = gateway.running.dataDir?.secret('admin-token') ?? '';
    const env = { ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN };
    const { code, out } = await gatewayCommand(['keys', 'key-link', id, '--days', '3'], env);
    expect([code, out]).toEqual([0, expect.stringContaining('/dashboard/#key=gk_')]);
  } finally {
    await gateway.stop();
  }
});
