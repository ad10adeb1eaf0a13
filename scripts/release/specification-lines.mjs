/**
 * Lines of the interface specification, asked of a gateway that was installed from what is
 * published. Needs only Node: a stranger's machine has nothing else of this repository.
 *
 *   node specification-lines.mjs http://127.0.0.1:8080 <API_KEY>
 */

import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';

const QUESTION = {
  model: 'claude-opus-5',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Hello' }],
};

/**
 * @param {string} url - of the gateway, without `/v1`
 * @param {string} key - of an account with a balance
 * @throws an error that says which line does not hold
 */
export async function checkSpecification(url, key) {
  const bearer = { authorization: `Bearer ${key}` };
  const native = { 'x-api-key': key, 'anthropic-version': '2023-06-01' };
  const ask = (path, headers, body) =>
    fetch(`${url}/v1/${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  /** Such lines as the sections of the specification have them. */
  const lines = {
    '2.6: the balance is that of an active key': async () => {
      const balance = await jsonOf(await ask('dashboard/balance', bearer), 200);
      assert.equal(balance.object, 'balance');
      assert.equal(balance.is_active, true);
      assert.ok(balance.balance_usd > 0);
      return balance.balance_usd;
    },
    '4.1: a native request is answered with its usage': async () => {
      const message = await jsonOf(await ask('messages', native, QUESTION), 200);
      assert.deepEqual([message.type, message.role], ['message', 'assistant']);
      assert.ok(message.content.some(({ type, text }) => type === 'text' && text !== ''));
      assertCounts(message.usage, ['input_tokens', 'output_tokens']);
    },
    '4.2: a chat request is answered with its usage': async () => {
      const completion = await jsonOf(await ask('chat/completions', bearer, QUESTION), 200);
      assert.equal(completion.object, 'chat.completion');
      assert.equal(completion.choices[0].message.role, 'assistant');
      assertCounts(completion.usage, ['prompt_tokens', 'completion_tokens', 'total_tokens']);
    },
    '4.1: a native stream ends with message_stop': async () => {
      const text = await streamOf(await ask('messages', native, { ...QUESTION, stream: true }));
      assert.match(text, /^event: message_start\n/);
      assert.match(text, /\nevent: message_stop\n.*\n\n$/);
    },
    '6: a chat stream consists of chunks in its own format': async () => {
      const text = await streamOf(
        await ask('chat/completions', bearer, { ...QUESTION, stream: true }),
      );
      assert.ok(text.endsWith('data: [DONE]\n\n'));
      const chunks = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json));
      assert.ok(chunks.length > 1);
      assert.ok(chunks.every(({ object }) => object === 'chat.completion.chunk'));
    },
    '7: an unknown key is refused with authentication_error': async () => {
      const unknown = { ...native, 'x-api-key': 'gw_of_nobody' };
      const refused = await jsonOf(await ask('messages', unknown, QUESTION), 401);
      assert.equal(refused.type, 'error');
      assert.equal(refused.error.type, 'authentication_error');
    },
    '5: the balance is refused without a bearer credential': async () => {
      await jsonOf(await ask('dashboard/balance', { 'x-api-key': key }), 401);
    },
  };
  const [balanceLine] = Object.keys(lines);
  let before;
  for (const [line, hold] of Object.entries(lines)) {
    const found = await hold().catch((error) => {
      throw new Error(`specification ${line}: ${error.message}`, { cause: error });
    });
    if (line === balanceLine) before = found;
  }
  const after = await lines[balanceLine]();
  assert.ok(after < before, 'specification 2.7: the requests are charged');
  return Object.keys(lines).length + 1;
}

async function jsonOf(response, status) {
  const text = await response.text();
  assert.equal(response.status, status, text);
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
  return JSON.parse(text);
}

async function streamOf(response) {
  const text = await response.text();
  assert.equal(response.status, 200, text);
  assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
  return text;
}

function assertCounts(usage, names) {
  for (const name of names) assert.ok(Number.isInteger(usage[name]) && usage[name] > 0, name);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [url, key] = process.argv.slice(2);
  const count = await checkSpecification(url, key);
  process.stdout.write(`  ${count} lines of the specification hold\n`);
}
