/**
 * Anthropic's Messages API as the upstream, and homes that serve the same API with other headers or
 * under other names of the models (docs/decisions/0123).
 */

import { newRefusal } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';
import type { AnthropicTarget } from '../config/upstream-target.js';
import { anthropicFailures } from './anthropic-failures.js';
import { openCredential } from './homes/file-credential.js';
import type { CredentialOptions } from './homes/file-credential.js';
import { checkHome } from './homes/check-home.js';
import { homeBody } from './homes/home-body.js';
import { addressOf, credentialHeader, headersOf } from './homes/home-headers.js';
import { listHome } from './homes/list-home.js';
import { createOwnNames } from './homes/own-names.js';
import type { AskedOf, StreamFraming, Upstream } from './upstream.js';

const PATHS = { messages: '/v1/messages', count_tokens: '/v1/messages/count_tokens' } as const;

const UNWATCHED: CredentialOptions = { now: () => performance.now(), onProblem: () => undefined };

/** @param target.url - Base address, with or without `/v1`. */
export function anthropicUpstream(
  target: AnthropicTarget,
  options: CredentialOptions = UNWATCHED,
): Upstream {
  const { url, apiKey, apiKeyFile, models, lacks } = target;
  const { origin, prefix } = addressOf(url);
  const credential = openCredential({ apiKey, apiKeyFile }, options);
  const names = models === undefined ? undefined : createOwnNames(models);
  const isHome = isOtherHome(target);
  const lacksSomething = models !== undefined || lacks?.includes('count_tokens') === true;
  const writer: Pick<Upstream, 'origin' | 'request'> = {
    origin,
    request(call) {
      const path = prefix + PATHS[call.operation] + call.query;
      if (!isHome) {
        const headers = { ...call.headers, 'x-api-key': credential() };
        return { path, headers, body: call.body };
      }
      const headers = {
        ...headersOf(target, call.headers),
        ...credentialHeader(target, credential()),
      };
      return { path, headers, body: homeBody(call, target) };
    },
  };
  return {
    ...writer,
    ...(lacksSomething && { refusalFor: (asked: AskedOf) => refusalFor(target, asked) }),
    // undici gives an array for a header that came twice, although its type does not say so.
    openStream(headers) {
      if (!/^text\/event-stream/i.test(String(headers['content-type']))) return undefined;
      return names === undefined ? UNFRAMED : names.openStream();
    },
    ...(names && { readBody: names.inBody, readSkimmed: names.inSkimmed }),
    readFailure: anthropicFailures(target.auth),
    requestIdOf: (headers) =>
      headers['request-id'] ?? headers['x-amzn-requestid'] ?? headers['apim-request-id'],
    check: (asking) => checkHome({ ...target, apiKey: credential() }, writer, asking),
    listModels: (asking) => listHome({ ...target, apiKey: credential() }, asking),
  };
}

/** Whether requests differ from those to Anthropic's own API. */
function isOtherHome({ auth, headers, models, version, versionIn }: AnthropicTarget): boolean {
  return [auth, headers, models, version, versionIn].some((each) => each !== undefined);
}

function refusalFor({ models, lacks }: AnthropicTarget, asked: AskedOf): Refusal | undefined {
  const { operation, model } = asked;
  const named = asked.models ?? [{ path: 'model', model }];
  const missing =
    models && named.find((each) => each.model === undefined || !Object.hasOwn(models, each.model));
  if (missing !== undefined) {
    return newRefusal('upstream_lacks_model', {
      param: missing.path,
      model: missing.model ?? 'a model of its own choice',
    });
  }
  return operation === 'count_tokens' && lacks?.includes('count_tokens') === true
    ? newRefusal('upstream_lacks_token_counting', { model })
    : undefined;
}

/** The upstream's chunks are the bytes of the event stream itself, so nothing is removed. */
const UNFRAMED: StreamFraming = { push: (chunk) => chunk };
