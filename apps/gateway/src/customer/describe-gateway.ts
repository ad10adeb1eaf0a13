/** `GET /`, which people and programs request to see whether the gateway is up. */

import { z } from 'zod';
import { declare } from '../endpoints/endpoint.js';
import type { CustomerParts } from './customer-parts.js';

export const describeGateway = declare(
  {
    method: 'get',
    path: '/',
    id: 'describeGateway',
    summary: 'The base addresses for SDKs; browsers are sent to the dashboard',
    credential: 'none',
    result: z.strictObject({
      name: z.string(),
      base_urls: z.record(z.string(), z.string()),
      top_up_url: z.string().optional(),
      simulated: z.literal(true).optional(),
    }),
  },
  ({ topUpUrl, isSimulated }: Pick<CustomerParts, 'topUpUrl' | 'isSimulated'>) =>
    (req, res) => {
      const base = `${req.protocol}://${req.headers.host ?? 'localhost'}`;
      res.json({
        name: 'Farthing',
        base_urls: { messages: base, chat_completions: `${base}/v1`, responses: `${base}/v1` },
        ...(topUpUrl === undefined ? {} : { top_up_url: topUpUrl }),
        ...(isSimulated ? { simulated: true } : {}),
      });
    },
);
