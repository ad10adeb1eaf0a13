/**
 * A program as a user of the packages would write it: one streamed request with a tool, from
 * admission to ledger.
 */

import assert from 'node:assert/strict';
import { openEmbeddedStore } from '@gateway/balance-store/embedded';
import { chargeOf, defaultPriceTable, formatUsd } from '@gateway/billing';
import { createMemoryLimiter } from '@gateway/rate-limiter';
import { createChatStream, translateRequest } from '@gateway/translator';
import { startUpstreamSimulator } from '@gateway/upstream-simulator';

const limits = { concurrency: 1, burst: 10, requestsPerMinute: 60 };
const price = defaultPriceTable().find('claude-sonnet-4-6');
assert.ok(price);
const simulator = await startUpstreamSimulator();
const store = await openEmbeddedStore({ dataDir: './ledger', pepper: 'of this example only' });
const limiter = createMemoryLimiter();
const { record: key } = await store.createKey({ name: 'example', limits, expiresAt: null });
const credit = 5n * 10n ** 14n;
await store.topUp({
  topUpId: 'first',
  to: { keyId: key.id },
  amount: credit,
  by: { name: 'example' },
});

const admission = limiter.admit(key.id, limits);
assert.equal(admission.outcome, 'admitted');

const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const request = translateRequest(
  {
    model: 'my-model',
    stream: true,
    messages: [{ role: 'user', content: 'How is the weather in Paris?' }],
    tools: [{ type: 'function', function: { name: 'get_weather', parameters: city } }],
    tool_choice: 'required',
  },
  { model: price.id, traits: price.traits, maxOutputTokens: price.maxOutputTokens },
);
assert.equal(request.outcome, 'translated');

const upstream = await fetch(`${simulator.url}/v1/messages`, {
  method: 'POST',
  headers: {
    'content-type': 'application/json',
    'anthropic-version': '2023-06-01',
    'x-api-key': 'any',
  },
  body: request.body,
});
assert.equal(upstream.status, 200);
const pipe = createChatStream({ ...request.response, created: Math.floor(Date.now() / 1000) });
const received = [];
assert.ok(upstream.body);
for await (const bytes of upstream.body) received.push(Buffer.from(pipe.push(bytes)));
const end = pipe.end();
assert.equal(end.outcome, 'complete');
assert.equal(end.usage.outcome, 'read');
received.push(Buffer.from(end.tail));

const events = Buffer.concat(received).toString().trimEnd().split('\n\n');
assert.equal(events.pop(), 'data: [DONE]');
const choices = events.flatMap((event) => JSON.parse(event.slice('data: '.length)).choices);
const calls = choices.flatMap(({ delta }) => delta.tool_calls ?? []);
assert.equal(calls[0].function.name, 'get_weather');
const weatherArguments = JSON.parse(calls.map((call) => call.function.arguments).join(''));
assert.equal(typeof weatherArguments.city, 'string');
assert.equal(choices.at(-1).finish_reason, 'tool_calls');

const { usage } = end.usage;
const [served] = simulator.journal.usages();
assert.equal(usage.inputTokens, served.usage.input_tokens);
assert.equal(usage.outputTokens, served.usage.output_tokens);
const amount = chargeOf(usage, price.rates);
const settled = await store.settle(
  {
    requestId: 'example-1',
    keyId: key.id,
    amount,
    model: price.id,
    usage,
    rates: price.rates,
    overdraft: 'bounded',
    endpoint: 'chat.completions',
    streamed: true,
    upstreamId: end.messageId,
  },
  { deadlineMs: 10_000 },
);
assert.deepEqual(settled, {
  outcome: 'settled',
  balance: credit - amount,
  isActive: true,
  writtenOff: 0n,
});
assert.equal((await store.audit()).isSound, true);

admission.lease.release();
await store.close();
await simulator.close();
console.log(
  `get_weather(${JSON.stringify(weatherArguments)}): ${usage.inputTokens} + ${usage.outputTokens} tokens, ` +
    `${formatUsd(amount)} USD`,
);
