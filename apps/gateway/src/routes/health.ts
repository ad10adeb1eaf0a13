/**
 * Health checks for load balancers: whether the process runs, and whether it can serve requests.
 */

import type { RequestHandler } from 'express';
import type { Services } from '../services.js';

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
export function readinessRoute(services: {
  readonly store: Pick<Services['store'], 'charging'>;
  readonly activity: Pick<Services['activity'], 'isStopping'>;
}): RequestHandler {
  return (_req, res) => {
    if (services.activity.isStopping) {
      res.status(503).json({ status: 'draining' });
      return;
    }
    res.json({ status: services.store.charging().fault === undefined ? 'ready' : 'degraded' });
  };
}
