/**
 * Portkey's open gateway, in TypeScript on Hono: routing without keys, limits or billing of its
 * own.
 */

import { freePort } from '../../scripts/free-port.cjs';
import { node } from '../../scripts/setup.mjs';
import { findPeer } from '../peers.mjs';
import { startServer } from '../server.mjs';

const PACKAGE = '@portkey-ai/gateway';
/** Makes Portkey exit by itself on a signal, because otherwise Node writes no profile. */
const EXIT_ON_SIGTERM = 'data:text/javascript,process.on("SIGTERM",()=>process.exit())';

export default {
  title: 'Portkey gateway',
  does: 'routes and translates; no keys, limits or charges of its own',
  translates: true,
  fidelity: 'meaning',
  version: () => findPeer(PACKAGE).version,
  async start({ upstreamUrl, scratch, nodeFlags }) {
    const { dir } = findPeer(PACKAGE);
    const port = await freePort();
    const server = await startServer({
      name: 'portkey',
      command: node,
      args: [
        ...nodeFlags,
        '--import',
        EXIT_ON_SIGTERM,
        `${dir}/build/start-server.js`,
        `--port=${port}`,
        '--headless',
      ],
      env: { NODE_ENV: 'production' },
      port,
      scratch,
    });
    const headers = {
      authorization: 'Bearer benchmark',
      'x-portkey-provider': 'anthropic',
      'x-portkey-custom-host': `${upstreamUrl}/v1`,
    };
    return { ...server, port, headers: [headers] };
  },
};
