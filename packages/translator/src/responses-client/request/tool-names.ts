/**
 * The names that tools have upstream. A tool in a namespace is called by both names joined, and
 * calls are returned under the client's own names.
 */

import type { Place } from '../../reading/place.js';
import { MAX_TOOL_NAME, toAllowedToken } from '../../reading/tool-ids.js';

/** The upstream's name of a tool in a namespace. */
export function namespacedName(namespace: string, name: string): string {
  return toAllowedToken(`${namespace}__${name}`, MAX_TOOL_NAME);
}

/**
 * The name under which the tool of a past call is sent upstream. It only has to be readable for the
 * model, so one that the upstream would refuse is rewritten.
 */
export function calledName(call: Place): string {
  const place = call.at('name');
  const name = place.nonEmptyString();
  const namespace = call.at('namespace').string('');
  if (namespace !== '') return namespacedName(namespace, name);
  const sent = toAllowedToken(name, MAX_TOOL_NAME);
  if (sent !== name) place.note('rewritten', `sent as ${sent}`);
  return sent;
}
