/**
 * Health checks for load balancers: whether the process runs, and whether it can serve requests.
 */

import type { RequestHandler } from 'express';
import { StoreUnavailableError } from '@gateway/balance-store';
import type { Services } from '../services.js';

export function livenessRoute(): RequestHandler {
  return (_req, res) => {
    res.json({ status: 'ok' });
  };
}

export function readinessRoute(services: {
  readonly store: Pick<Services['store'], 'ping'>;
  readonly activity: Pick<Services['activity'], 'isStopping'>;
}): RequestHandler {
  return async (_req, res) => {
    if (services.activity.isStopping) {
      res.status(503).json({ status: 'draining' });
      return;
    }
    try {
      await services.store.ping();
      res.json({ status: 'ready' });
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      res.status(503).json({ status: 'ledger unavailable' });
    }
  };
}
