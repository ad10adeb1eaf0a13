/**
 * What the APIs of homes differ in: where a request goes, what of it is in the URL or the body, and
 * how streams are framed. `messages-api.ts`, `vertex-api.ts` and `invoke-api.ts` are the kinds.
 */

import type { IncomingHttpHeaders } from 'node:http';
import type { HomeLack } from '../../config/home-lacks.js';
import type { AnthropicTarget } from '../../config/upstream-target.js';
import type { StreamFraming, UpstreamCall } from '../upstream.js';
import type { BodyForm } from './home-body.js';

export interface HomeApi {
  /** As OpenTelemetry names those who serve it. Absent: that depends on the home. */
  readonly providerName?: string;
  /** What no home of this kind has. */
  readonly lacks: readonly HomeLack[];
  /** The path below that of the home, with the query. */
  path(call: UpstreamCall, target: AnthropicTarget): string;
  /** `undefined`: the body passes as it is. */
  bodyForm(call: UpstreamCall, target: AnthropicTarget): BodyForm | undefined;
  /** The headers of the call that the home wants. */
  headers(call: UpstreamCall, target: AnthropicTarget): Readonly<Record<string, string>>;
  /** As {@link AnswerForm.openFrames}. Absent: streams are the API's own. */
  openFrames?(headers: IncomingHttpHeaders): StreamFraming | undefined;
}

/** The home's name of the model of a call. */
export function nameAt({ models }: AnthropicTarget, { model }: UpstreamCall): string {
  const name = models?.[model];
  if (name === undefined) throw new Error('the home does not serve the model of the call');
  return name;
}

/** A name as a part of a path, as the official SDKs write it. */
export function pathPart(name: string): string {
  return encodeURIComponent(name).replace(/%(?:3A|40)/g, decodeURIComponent);
}

/** The first versions of the API, for which clouds have a name of their own. */
const FIRST_VERSIONS = ['2023-01-01', '2023-06-01'];

/** @param own - The cloud's name of the first version. */
export function versionInBody(
  { version }: AnthropicTarget,
  { headers: { 'anthropic-version': ofClient } }: UpstreamCall,
  own: string,
): string {
  if (version !== undefined) return version;
  return ofClient === undefined || FIRST_VERSIONS.includes(ofClient) ? own : ofClient;
}
