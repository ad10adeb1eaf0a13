/**
 * Clients that record every usage object they receive: the external witness. The ledger must
 * contain all of them, even if processes were killed.
 */

import { Agent, request } from 'undici';
import { setTimeout as sleep } from 'node:timers/promises';
import { callHeaders } from './headers.mjs';

export function createClients({ replicas, keys, models, parallel, random, onProgress }) {
  const seen = [];
  /** Refused requests, which must not have a ledger entry. */
  const refused = [];
  const tally = { complete: 0, refused: 0, cut: 0 };
  const agent = new Agent({ connections: parallel, bodyTimeout: 150_000, headersTimeout: 150_000 });
  let started = 0;
  let stopped = false;

  async function client() {
    while (!stopped) {
      const i = started++;
      const outcome = await one(i);
      tally[outcome] += 1;
      onProgress?.(tally);
      if (outcome !== 'complete') await sleep(20 + random.below(80));
    }
  }

  async function one(i) {
    const replica = random.pick(replicas);
    const key = random.pick(keys);
    const model = random.pick(models);
    const isChat = i % 2 === 1;
    const isStream = i % 10 !== 0;
    let requestId;
    try {
      const response = await request(
        `${replica.url}${isChat ? '/v1/chat/completions' : '/v1/messages'}`,
        {
          dispatcher: agent,
          method: 'POST',
          headers: callHeaders(key.credential),
          body: JSON.stringify({
            model: model.id,
            max_tokens: 30 + (i % 50),
            stream: isStream,
            messages: [{ role: 'user', content: `question ${i} ${'word '.repeat(i % 40)}` }],
          }),
        },
      );
      requestId = response.headers['x-gateway-request-id'];
      const text = await response.body.text();
      if (response.statusCode !== 200) {
        refused.push({ requestId, status: response.statusCode });
        return 'refused';
      }
      const usage = isChat ? chatUsage(text, isStream) : nativeUsage(text, isStream);
      if (usage === undefined) return 'cut';
      seen.push({ requestId, keyId: key.id, model: model.id, ...usage });
      return 'complete';
    } catch {
      return 'cut';
    }
  }

  return {
    seen,
    refused,
    tally,
    stop() {
      stopped = true;
    },
    async run() {
      await Promise.all(Array.from({ length: parallel }, client));
      await agent.destroy();
    },
  };
}

/** The final usage in a native response, if it has one. */
function nativeUsage(text, isStream) {
  if (!isStream) return counts(JSON.parse(text).usage);
  let usage;
  let isFinal = false;
  for (const event of events(text)) {
    if (event.type === 'message_start') usage = { ...event.message.usage };
    if (event.type === 'message_delta') {
      usage = { ...usage, ...event.usage };
      isFinal = true;
    }
  }
  return isFinal ? counts(usage) : undefined;
}

function chatUsage(text, isStream) {
  const usage = isStream
    ? events(text).find((chunk) => chunk.usage != null)?.usage
    : JSON.parse(text).usage;
  if (usage === undefined) return undefined;
  const read = usage.prompt_tokens_details?.cached_tokens ?? 0;
  const written = usage.prompt_tokens_details?.cache_write_tokens ?? 0;
  return {
    input: usage.prompt_tokens - read - written,
    output: usage.completion_tokens,
    read,
    written,
  };
}

function counts(usage) {
  return {
    input: usage.input_tokens,
    output: usage.output_tokens,
    read: usage.cache_read_input_tokens ?? 0,
    written: usage.cache_creation_input_tokens ?? 0,
  };
}

/** Complete events only: a line without its line end may be half a line. */
function events(text) {
  return text
    .split('\n')
    .slice(0, -1)
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)));
}
