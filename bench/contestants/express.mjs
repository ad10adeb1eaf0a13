import { fileURLToPath } from 'node:url';
import { freePort } from '../../scripts/free-port.cjs';
import { node } from '../../scripts/setup.mjs';
import { startServer } from '../server.mjs';

const PROXY = fileURLToPath(new URL('../proxies/express.mjs', import.meta.url));

export default {
  title: 'Express skeleton',
  does: 'routes, parses the body, forwards bytes',
  /** In the other workloads it behaves like the bare proxy. */
  phases: ['busy'],
  translates: false,
  fidelity: 'bytes',
  async start({ upstreamUrl, scratch, nodeFlags }) {
    const port = await freePort();
    const args = [...nodeFlags, PROXY, upstreamUrl, String(port)];
    const server = await startServer({ name: 'express', command: node, args, port, scratch });
    return { ...server, port, headers: [{}] };
  },
};
