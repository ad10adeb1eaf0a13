/** Requests for structured outputs, and the simulator's verdicts on them. */

import { expect } from '@jest/globals';
import type { UpstreamSimulator } from '../src/index.js';

export const QUESTION = {
  model: 'claude-sonnet-4-5',
  max_tokens: 200,
  messages: [{ role: 'user', content: 'Where is get_weather?' }] as object[],
};

export const formatOf = (schema: unknown) => ({ type: 'json_schema', schema });

export const asking = (schema: unknown) => ({
  ...QUESTION,
  output_config: { format: formatOf(schema) },
});

interface Options {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function send(
  { url }: UpstreamSimulator,
  body: object,
  { path = '', headers = {} }: Options = {},
): Promise<Response> {
  return fetch(`${url}/v1/messages${path}`, {
    method: 'POST',
    headers: { 'x-api-key': 'sim', 'anthropic-version': '2023-06-01', ...headers },
    body: JSON.stringify(body),
  });
}

export async function answerTo(simulator: UpstreamSimulator, body: object, options?: Options) {
  const response = await send(simulator, body, options);
  const answer = await response.json();
  expect([response.status, answer.error]).toEqual([200, undefined]);
  return answer;
}

export async function refusalOf(
  simulator: UpstreamSimulator,
  body: object,
  options?: Options,
): Promise<string> {
  const response = await send(simulator, body, options);
  const { error } = await response.json();
  expect([response.status, error?.type]).toEqual([400, 'invalid_request_error']);
  return error.message;
}
