/**
 * Whatever a client of a translated format asks of a model, the upstream accepts the translation:
 * the simulator has the API's rules for each model, and the gateway its traits.
 */

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { defaultPriceTable } from '@gateway/billing';
import { postChat, postResponses, startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

const MODELS = defaultPriceTable().list();

let gateway: TestGateway;
let apiKey: string;
beforeAll(async () => {
  const verified = MODELS.filter(({ verifiedOnly }) => verifiedOnly).map(({ id }) => id);
  const env = {
    VERIFIED_MODELS: verified.join(','),
    CHAT_JSON_SCHEMA: 'native',
    CHAT_REASONING: 'reasoning_content',
    CHAT_CACHE: 'always',
  };
  gateway = await startTestGateway({ env });
  ({ apiKey } = await gateway.createKey({ balance_usd: '100' }));
});
afterAll(() => gateway.stop());

const user = { role: 'user', content: 'Hi' };
const assistant = { role: 'assistant', content: 'Hello.' };
const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
const parameters = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const tool = (strict: boolean) => ({ name: 'get_weather', parameters, strict });
const CHOICES = ['auto', 'none', 'required'];
const schema = { name: 'place', schema: parameters, strict: true };

/** Each member of a request alone, and those that limit each other together. */
const CHAT: readonly object[] = [
  {},
  ...EFFORTS.map((reasoning_effort) => ({ reasoning_effort })),
  ...EFFORTS.flatMap((reasoning_effort) =>
    CHOICES.map((tool_choice) => ({
      reasoning_effort,
      tool_choice,
      tools: [{ type: 'function', function: tool(true) }],
    })),
  ),
  ...EFFORTS.map((reasoning_effort) => ({ reasoning_effort, temperature: 0.5, top_p: 0.5 })),
  { messages: [user, assistant] },
  { messages: [{ role: 'system', content: 'Be brief.' }, user, assistant, user] },
  { messages: [user, { role: 'system', content: 'Be brief.' }, assistant, user] },
  { messages: [user, assistant, { role: 'developer', content: 'Be brief.' }] },
  { response_format: { type: 'json_object' } },
  { response_format: { type: 'json_schema', json_schema: schema } },
  { max_completion_tokens: 1, reasoning_effort: 'high' },
];
const RESPONSES: readonly object[] = [
  ...EFFORTS.flatMap((effort) =>
    CHOICES.map((tool_choice) => ({
      reasoning: { effort },
      tool_choice,
      tools: [{ type: 'function', ...tool(true) }],
    })),
  ),
  { text: { format: { type: 'json_schema', ...schema } }, reasoning: { effort: 'none' } },
  { temperature: 0.5, instructions: 'Be brief.' },
  { max_output_tokens: 16, reasoning: { effort: 'max' } },
];

// F233: a client of a translated format asks for an effort, a call, sampling or a schema that the
// model does not accept so: the translation is a request that the model accepts.
it.each(MODELS.map(({ id }) => id))(
  'the upstream accepts what clients ask of %s',
  async (model) => {
    const refused: unknown[] = [];
    const answer = async (post: typeof postChat, request: object) => {
      const response = await post(gateway, apiKey, { model, ...request });
      const text = await response.text();
      if (response.status !== 200) refused.push([request, text]);
    };
    for (const request of CHAT) await answer(postChat, { messages: [user], ...request });
    for (const request of RESPONSES) await answer(postResponses, { input: 'Hi', ...request });
    expect(refused).toEqual([]);
  },
);
