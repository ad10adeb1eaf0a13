/** Rules for `temperature`, `top_p` and `top_k`. */

import { asObject } from '../message/message.js';
import type { JsonObject } from '../message/message.js';
import type { Rule } from './rule.js';

/** Newer models accept `temperature: 1` alone, their default, and no other sampling. */
export const modelSampling: Rule = (request, { traits }) => {
  const [first, ...others] = givenIn(request);
  if (first === undefined || traits?.sampling !== 'refused') return undefined;
  const isDefault = others.length === 0 && request['temperature'] === 1;
  return isDefault ? undefined : `\`${first}\` is deprecated for this model.`;
};

export const samplingRange: Rule = ({ temperature, top_p: topP }) => {
  if (temperature !== undefined && topP !== undefined) {
    return '`temperature` and `top_p` cannot both be specified for this model.';
  }
  for (const [name, value] of Object.entries({ temperature, top_p: topP })) {
    if (value !== undefined && !(typeof value === 'number' && value >= 0 && value <= 1)) {
      return `${name}: range: 0..1`;
    }
  }
  return undefined;
};

/** Thinking leaves no other temperature than 1. */
export const thinkingSampling: Rule = ({ temperature, thinking }) => {
  const isThinking = ['adaptive', 'enabled'].includes(String(asObject(thinking)['type']));
  return isThinking && temperature !== undefined && temperature !== 1
    ? '`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.'
    : undefined;
};

function givenIn(request: JsonObject): readonly string[] {
  return ['temperature', 'top_p', 'top_k'].filter((name) => request[name] !== undefined);
}
