import { fileURLToPath } from 'node:url';
import { freePort } from '../../scripts/free-port.cjs';
import { node } from '../../scripts/setup.mjs';
import { startServer } from '../server.mjs';

const PROXY = fileURLToPath(new URL('../proxies/bare.mjs', import.meta.url));

export default {
  title: 'bare Node proxy',
  does: 'forwards bytes',
  isBaseline: true,
  translates: false,
  fidelity: 'bytes',
  async start({ upstreamUrl, scratch, nodeFlags }) {
    const port = await freePort();
    const args = [...nodeFlags, PROXY, upstreamUrl, String(port)];
    const server = await startServer({ name: 'bare', command: node, args, port, scratch });
    return { ...server, port, headers: [{}] };
  },
};
