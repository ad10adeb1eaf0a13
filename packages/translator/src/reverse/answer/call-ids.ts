import { MAX_CALL_ID, toAllowedToken } from '../../reading/tool-ids.js';
import { stringOf } from '../../wire/raw-json.js';

/**
 * Gives each call of one message an id. The upstream's own id stays unchanged, so that the upstream
 * recognizes it in the next request. A missing id is made from the message's id and the position of
 * the call. A repeated id gets `_2`, `_3`, ..., because clients match results by it.
 */
export function createCallIds(messageId: string): (wanted: unknown) => string {
  const used = new Set<string>();
  return function allocate(wanted) {
    const base =
      stringOf(wanted) || toAllowedToken(`toolu_${messageId}_${String(used.size)}`, MAX_CALL_ID);
    let id = base;
    for (let suffix = 2; used.has(id); suffix += 1) id = `${base}_${String(suffix)}`;
    used.add(id);
    return id;
  };
}
