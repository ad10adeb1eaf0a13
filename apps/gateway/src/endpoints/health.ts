/** The endpoints of health, for load balancers: whether the process runs, and whether it serves. */

import { z } from 'zod';
import type { Activity } from '../base/activity.js';
import type { RequestLedger } from '../ledger/open-store.js';
import type { Served } from './endpoint.js';

export interface HealthParts {
  readonly store: Pick<RequestLedger, 'charging'>;
  readonly activity: Pick<Activity, 'isStopping'>;
}

const status = z.strictObject({ status: z.string() });

export const healthEndpoints: readonly Served<HealthParts>[] = [
  {
    method: 'get',
    path: '/healthz',
    id: 'isAlive',
    summary: 'Whether the process is running',
    credential: 'none',
    result: status,
    serve: () => (_req, res) => {
      res.json({ status: 'ok' });
    },
  },
  {
    method: 'get',
    path: '/readyz',
    id: 'isReady',
    summary:
      'Whether the gateway takes requests: 503 only while it stops; degraded: they are refused',
    credential: 'none',
    result: status,
    /**
     * The only 503 is that of a replica that stops. While the ledger cannot record charges, every
     * replica is `degraded`. It still takes requests, because its own refusals tell clients more
     * than those of a balancer without replicas would (decision 0048).
     */
    serve: (parts) => (_req, res) => {
      if (parts.activity.isStopping) {
        res.status(503).json({ status: 'draining' });
        return;
      }
      res.json({ status: parts.store.charging().fault === undefined ? 'ready' : 'degraded' });
    },
  },
];
