/**
 * A skeleton of a gateway on Express: routes, parses the body, forwards the bytes. The cost of a
 * gateway beyond this skeleton is the cost of its features.
 *
 *   node bench/proxies/express.mjs <upstream URL> <port>
 */

import { createRequire } from 'node:module';
import { Pool } from 'undici';
import { forward } from './forward.mjs';

// Loads the gateway's Express, so that both run the same version.
const fromGateway = createRequire(new URL('../../apps/gateway/package.json', import.meta.url));
const express = fromGateway('express');

const [upstreamUrl, port] = process.argv.slice(2);
const pool = new Pool(upstreamUrl, { connections: null });

const app = express();
app.disable('x-powered-by');
app.post('/v1/messages', express.raw({ type: 'application/json', limit: '32mb' }), (req, res) => {
  const { model } = JSON.parse(req.body.toString());
  if (typeof model !== 'string') {
    res.status(400).end();
    return;
  }
  forward({ pool, path: req.url, body: req.body, res });
});
app.listen(Number(port), '127.0.0.1');
process.on('SIGTERM', () => process.exit());
