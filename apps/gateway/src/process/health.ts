/**
 * Health checks for load balancers: whether the process runs, and whether it can serve requests.
 */

import type { RequestHandler } from 'express';
import type { Activity } from '../base/activity.js';
import type { RequestLedger } from '../ledger/open-store.js';

export function livenessRoute(): RequestHandler {
  return (_req, res) => {
    res.json({ status: 'ok' });
  };
}

/**
 * The only 503 is that of a replica that stops. While the ledger cannot record charges, every
 * replica is `degraded`. It still takes requests, because its own refusals tell clients more than
 * those of a balancer without replicas would (decision 0049).
 */
export function readinessRoute(parts: {
  readonly store: Pick<RequestLedger, 'charging'>;
  readonly activity: Pick<Activity, 'isStopping'>;
}): RequestHandler {
  return (_req, res) => {
    if (parts.activity.isStopping) {
      res.status(503).json({ status: 'draining' });
      return;
    }
    res.json({ status: parts.store.charging().fault === undefined ? 'ready' : 'degraded' });
  };
}
