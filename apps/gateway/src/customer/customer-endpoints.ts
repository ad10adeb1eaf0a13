/** The endpoints for the holder of a key, in the order of the document. */

import { getAccount } from './account.js';
import { getBalance } from './balance.js';
import { getBreakdown } from './breakdown.js';
import { openKeyLink } from './key-link.js';
import { keyEndpoints } from './keys.js';
import { createLink } from './links.js';
import { noticeEndpoints } from './notices.js';
import { listPrices } from './prices.js';
import { listRequests, sumRequests } from './requests.js';
import { sessionEndpoints } from './session.js';
import { spenderEndpoints } from './spenders.js';
import { getStatement } from './statement.js';
import { takeStripeNotification } from './stripe-endpoint.js';
import { paymentEndpoints, redeemPromoCodeEndpoint } from './top-ups.js';
import { getUsage, listUsage, sumUsage } from './usage.js';

export const dashboardEndpoints = [
  ...sessionEndpoints,
  getAccount,
  getBalance,
  listUsage,
  sumUsage,
  getUsage,
  getBreakdown,
  listRequests,
  sumRequests,
  listPrices,
  getStatement,
  createLink,
  openKeyLink,
  ...keyEndpoints,
  ...spenderEndpoints,
  ...noticeEndpoints,
  redeemPromoCodeEndpoint,
] as const;

/** Served only if a provider is configured. */
export const providerEndpoints = [...paymentEndpoints, takeStripeNotification] as const;
