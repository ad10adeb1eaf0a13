/**
 * Headers of the native format: the version and the betas that go upstream, and headers that are
 * refused.
 */

import type { Request } from 'express';
import type { Refusal } from '../base/errors/refusal.js';
import { badRequest } from '../http/refusal.js';

const VERSIONS = ['2023-01-01', '2023-06-01', '2026-10-21'];
const ANY_VERSION = VERSIONS.join(' or ');
/**
 * Headers that choose an account of the upstream. The account belongs to the operator, so these
 * headers are refused.
 */
const ACCOUNT_HEADERS = ['anthropic-workspace-id', 'anthropic-user-profile-id'];

export function checkNativeHeaders(req: Request): Refusal | undefined {
  const version = versionOf(req);
  if (version === undefined) {
    return badRequest(`anthropic-version: the header is required (${ANY_VERSION})`);
  }
  if (!VERSIONS.includes(version)) {
    return badRequest(`anthropic-version: must be ${ANY_VERSION}`);
  }
  const other = req.headers['vendor-version'];
  if (other !== undefined && other !== version) {
    return badRequest('vendor-version: differs from anthropic-version');
  }
  const account = ACCOUNT_HEADERS.find((name) => req.headers[name] !== undefined);
  if (account !== undefined) return badRequest(`${account}: is not supported by this gateway`);
  return undefined;
}

/** The only headers of the client that go upstream: the version and the betas. */
export function nativeHeaders(req: Request): Record<string, string> {
  const beta = req.headers['anthropic-beta'];
  return {
    'anthropic-version': versionOf(req) ?? '',
    ...(beta === undefined ? {} : { 'anthropic-beta': String(beta) }),
  };
}

function versionOf(req: Request): string | undefined {
  const version = req.headers['anthropic-version'] ?? req.headers['vendor-version'];
  return version === undefined ? undefined : String(version);
}
