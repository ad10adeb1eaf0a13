/** Rules for the members of the root: which exist, and which are required. */

import { KNOWN_MEMBERS } from '../models/known-names.js';
import type { Rule } from './rule.js';

const MEMBERS = new Set(KNOWN_MEMBERS);
/** Members that exist only with a beta, and that the types of the provider's SDK do not have. */
const BETA_MEMBERS = new Map([['safeguards', 'dangerous-tool-use-2026-09-03']]);

export const modelMember: Rule = (_request, { model }) =>
  model === '' ? 'model: Field required' : undefined;

export const knownMembers: Rule = (request, { betas }) => {
  const isKnown = (name: string): boolean =>
    MEMBERS.has(name) || betas.includes(String(BETA_MEMBERS.get(name)));
  const unknown = Object.keys(request).find((name) => !isKnown(name));
  return unknown === undefined ? undefined : `${unknown}: Extra inputs are not permitted`;
};

export const maxTokens: Rule = ({ max_tokens: limit }, { endpoint }) => {
  if (endpoint === 'count_tokens') return undefined;
  if (limit === undefined) return 'max_tokens: Field required';
  return Number.isInteger(limit) && Number(limit) >= 0
    ? undefined
    : 'max_tokens: Input should be a valid integer';
};

/** A model that the API does not have. */
export const knownModel: Rule = (_request, { model, models }) =>
  model === '' || models.has(model)
    ? undefined
    : { type: 'not_found_error', message: `model: ${model}` };
