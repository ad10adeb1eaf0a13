/**
 * Anthropic's Messages API as the upstream, and homes that serve the same models: with other
 * headers or other names of the models (docs/decisions/0123), or by a cloud's own API and
 * credentials (docs/decisions/0125).
 */

import type { AnthropicTarget } from '../config/upstream-target.js';
import { anthropicFailures } from './anthropic-failures.js';
import type { CredentialOptions } from './homes/credentials/credential.js';
import { openCredential } from './homes/credentials/open-credential.js';
import { checkHome } from './homes/check-home.js';
import { readCloudError } from './homes/errors/cloud-error.js';
import type { HomeApi } from './homes/home-api.js';
import { homeBody } from './homes/home-body.js';
import { addressOf } from './homes/home-headers.js';
import { listHome } from './homes/list-home.js';
import { MESSAGES_API } from './homes/messages-api.js';
import { createOwnNames } from './homes/own-names.js';
import { providerNameOf } from './homes/provider-name.js';
import { refusalForLacks } from './homes/refuse-lacking.js';
import type { StreamFraming, Upstream, UpstreamCall, UpstreamRequest } from './upstream.js';

const UNWATCHED: CredentialOptions = {
  now: () => performance.now(),
  onProblem: () => undefined,
  proxies: {},
};

/** @param given.url - Base address, with or without `/v1`. */
export function anthropicUpstream(
  given: AnthropicTarget,
  options: Partial<CredentialOptions> = {},
  api: HomeApi = MESSAGES_API,
): Upstream {
  const lacks = [...(given.lacks ?? []), ...api.lacks];
  const target = { ...given, lacks };
  const { url, models } = target;
  const { origin, prefix } = addressOf(url);
  const addCredential = openCredential(target, { ...UNWATCHED, ...options });
  const isHome = isOtherHome(given);
  const names = isHome ? createOwnNames(models ?? {}) : undefined;
  const refusalFor = refusalForLacks(target);

  function request(call: UpstreamCall): UpstreamRequest | Promise<UpstreamRequest> {
    const path = prefix + api.path(call, target);
    const form = api.bodyForm(call, target);
    const body = form === undefined ? call.body : homeBody(call, form);
    const headers = isHome ? api.headers(call, target) : call.headers;
    const added = addCredential({
      method: 'POST',
      url: origin + path,
      headers,
      body: () => body.view(),
    });
    return 'then' in added
      ? added.then((each) => ({ path, body, ...each }))
      : { path, body, ...added };
  }

  const home = { target, origin, prefix, request, addCredential };
  return {
    origin,
    request,
    providerName: api.providerName ?? providerNameOf(target),
    ...(isHome && {
      answerForm: {
        openFrames: (headers) => api.openFrames?.(headers),
        readError: readCloudError,
      },
    }),
    ...(refusalFor && { refusalFor }),
    // undici gives an array for a header that came twice, although its type does not say so.
    openStream(headers) {
      if (!/^text\/event-stream/i.test(String(headers['content-type']))) return undefined;
      return names === undefined ? UNFRAMED : names.openStream();
    },
    ...(names && { readBody: names.inBody, readSkimmed: names.inSkimmed }),
    readFailure: anthropicFailures(target),
    requestIdOf: (headers) =>
      headers['request-id'] ?? headers['x-amzn-requestid'] ?? headers['apim-request-id'],
    check: (asking) => checkHome(home, asking),
    listModels: (asking) => listHome(home, asking),
  };
}

/** Whether requests differ from those to Anthropic's own API. */
function isOtherHome(target: AnthropicTarget): boolean {
  const { api, auth, credential, headers, models, version, versionIn } = target;
  return [api, auth, credential, headers, models, version, versionIn].some(
    (each) => each !== undefined,
  );
}

/** The upstream's chunks are the bytes of the event stream itself, so nothing is removed. */
const UNFRAMED: StreamFraming = { push: (chunk) => chunk };
