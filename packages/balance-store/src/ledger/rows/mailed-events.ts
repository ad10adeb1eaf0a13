/** Which events are also sent by mail. The SQL function `is_mailed` has the same rule. */

import { MAILED_EVENT_TYPES } from '../../event.js';
import type { NewEvent } from '../../event.js';

/**
 * A balance or a budget that is used up is one mail, not a second one for the share of 100 %.
 */
export function isMailed({ type, data }: Pick<NewEvent, 'type' | 'data'>): boolean {
  return (
    MAILED_EVENT_TYPES.some((mailed) => mailed === type) &&
    !((type === 'balance.share' || type === 'budget.share') && data['share'] === '100')
  );
}
