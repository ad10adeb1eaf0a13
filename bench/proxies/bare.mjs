/**
 * The smallest possible proxy in Node: node:http in, undici out, nothing parsed. Every ratio of the
 * benchmark is relative to this process.
 *
 *   node bench/proxies/bare.mjs <upstream URL> <port>
 */

import { createServer } from 'node:http';
import { Pool } from 'undici';
import { forward } from './forward.mjs';

const [upstreamUrl, port] = process.argv.slice(2);
const pool = new Pool(upstreamUrl, { connections: null });

createServer({ noDelay: true }, (req, res) => {
  const chunks = [];
  req.on('data', (chunk) => chunks.push(chunk));
  req.on('end', () => {
    forward({ pool, path: req.url, body: Buffer.concat(chunks), res });
  });
}).listen(Number(port), '127.0.0.1');
process.on('SIGTERM', () => process.exit());
