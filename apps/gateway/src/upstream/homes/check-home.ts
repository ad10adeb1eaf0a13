/** Asks a home something that costs nothing, to find out whether it can be used. */

import { z } from 'zod';
import { parseJson } from '../../base/parse-json.js';
import type { AnthropicTarget } from '../../config/upstream-target.js';
import { ask, reasonOf } from '../asking.js';
import type { Answer, Asking, UpstreamCheck } from '../asking.js';
import { RequestBody } from '../request-body.js';
import type { UpstreamCall } from '../upstream.js';
import { API_VERSION } from './home-headers.js';
import { PAGE, askForModels, deniedCredential } from './list-home.js';
import type { AskedHome } from './list-home.js';

/** Asks in the way that the home offers: by its list, by counting tokens, or with an empty body. */
export async function checkHome(home: AskedHome, asking: Asking): Promise<UpstreamCheck> {
  const { models, lacks = [] } = home.target;
  if (!lacks.includes('models')) return checkByList(home, asking);
  return models === undefined || lacks.includes('count_tokens')
    ? checkByEmptyBody(home, asking)
    : checkByCounting(models, home, asking);
}

const idsOfPage = z.object({
  data: z.array(z.object({ id: z.string() })),
  has_more: z.boolean().optional(),
});

async function checkByList(home: AskedHome, asking: Asking): Promise<UpstreamCheck> {
  const { models } = home.target;
  const limit = models === undefined ? 1 : PAGE;
  const answer = await askForModels(home, { limit }, asking);
  const denied = deniedBy(answer);
  if (denied !== undefined) return denied;
  const accepted = { outcome: 'accepted', reason: undefined } as const;
  const page = idsOfPage.safeParse('text' in answer ? parseJson(answer.text) : undefined);
  if (models === undefined || !page.success || page.data.has_more === true) return accepted;
  const listed = new Set(page.data.data.map(({ id }) => id));
  const missing = Object.entries(models).flatMap(([id, name]) =>
    listed.has(name) ? [] : [`its list has no model "${name}", which models.${id} names`],
  );
  return { ...accepted, found: `its list has ${countOf(listed.size)}`, missing };
}

async function checkByCounting(
  models: NonNullable<AnthropicTarget['models']>,
  home: AskedHome,
  asking: Asking,
): Promise<UpstreamCheck> {
  const answers = await Promise.all(
    Object.entries(models).map(async ([id, name]) => {
      const body = { model: id, messages: [{ role: 'user', content: 'Hello' }] };
      return { id, name, answer: await post(home, { operation: 'count_tokens', body }, asking) };
    }),
  );
  const missing: string[] = [];
  const isAccepted = answers.some(({ answer }) => 'status' in answer && answer.status === 200);
  // Of an accepted credential, a 403 is about the model.
  const aboutModel = isAccepted ? [400, 403, 404] : [400, 404];
  for (const { id, name, answer } of answers) {
    if ('status' in answer && aboutModel.includes(answer.status)) {
      const status = String(answer.status);
      missing.push(`it answers with status ${status} for "${name}", which models.${id} names`);
      continue;
    }
    const denied = deniedBy(answer);
    if (denied !== undefined) return denied;
  }
  const counted = countOf(answers.length - missing.length);
  return {
    outcome: 'accepted',
    reason: undefined,
    found: `it counts tokens for ${counted}`,
    missing,
  };
}

/** A request without messages is refused for what it lacks, if the credential is accepted. */
async function checkByEmptyBody(home: AskedHome, asking: Asking): Promise<UpstreamCheck> {
  const { models } = home.target;
  const [first] = Object.keys(models ?? {});
  // The model is in the URL of some homes.
  const body = { ...(first === undefined ? undefined : { model: first }), messages: [] };
  const answer = await post(home, { operation: 'messages', body }, asking);
  if ('status' in answer && [400, 422].includes(answer.status)) {
    const count = Object.keys(models ?? {}).length;
    const found = count === 0 ? undefined : `the names of ${countOf(count)} were not tried`;
    return { outcome: 'accepted', reason: undefined, found };
  }
  return deniedBy(answer) ?? { outcome: 'unclear', reason: 'it accepted an empty request' };
}

function countOf(models: number): string {
  return `${String(models)} ${models === 1 ? 'model' : 'models'}`;
}

/** @returns undefined if the answer is a success */
function deniedBy(answer: Answer): UpstreamCheck | undefined {
  if ('status' in answer && answer.status === 200) return undefined;
  const isRefused =
    'status' in answer ? [401, 403].includes(answer.status) : answer.isDenied === true;
  return { outcome: isRefused ? 'refused' : 'unclear', reason: reasonOf(answer) };
}

/** @param body - If it has a model, it begins with it. */
async function post(
  { origin, request }: AskedHome,
  { operation, body }: { readonly operation: UpstreamCall['operation']; readonly body: object },
  asking: Asking,
): Promise<Answer> {
  const bytes = Buffer.from(JSON.stringify(body));
  const call: UpstreamCall = {
    operation,
    model: 'model' in body ? String(body.model) : '',
    models: 'model' in body ? undefined : [],
    query: '',
    headers: { 'anthropic-version': API_VERSION },
    body: new RequestBody(bytes, () => undefined),
    bodyBytes: bytes.length,
    keyId: '',
    accountId: '',
    client: { destroyed: false },
  };
  try {
    const made = await request(call);
    const headers = { ...made.headers, 'content-type': 'application/json' };
    const address = new URL(origin + made.path);
    return await ask(address, { method: 'POST', headers, body: made.body.take() }, asking);
  } catch (error) {
    return deniedCredential(error);
  }
}
