/** Ids of calls within one answer. */

import { toAllowedToken } from '../../reading/tool-ids.js';
import { stringOf } from '../../wire/raw-json.js';

/**
 * Gives each call of one message an id: the upstream's own, unchanged, so that it knows it again in
 * the next request. A missing one is made from the message and the call's place; one that the message
 * has already gets `_2`, `_3`, ..., because results are matched by it.
 */
export function createCallIds(messageId: string): (wanted: unknown) => string {
  const used = new Set<string>();
  return function allocate(wanted) {
    const base = stringOf(wanted) || toAllowedToken(`toolu_${messageId}_${String(used.size)}`);
    let id = base;
    for (let suffix = 2; used.has(id); suffix += 1) id = `${base}_${String(suffix)}`;
    used.add(id);
    return id;
  };
}
