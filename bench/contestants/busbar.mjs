/**
 * Busbar, a gateway in Rust, with one provider: no keys, limits or charges. It runs only where the
 * variable BUSBAR names its program, which no registry of packages has.
 */

import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../scripts/free-port.cjs';
import { MODEL } from '../prompts.mjs';
import { startServer } from '../server.mjs';

const { BUSBAR } = process.env;
const PROVIDER = 'upstream';
/** More than a workload has in flight. */
const MAX_CONCURRENT = 10_000;

export default {
  title: 'Busbar',
  does: 'routes and translates; no keys, limits or charges',
  translates: true,
  /** It writes `model` in front of the other members of a response. */
  fidelity: 'meaning',
  missing: () =>
    BUSBAR === undefined ? 'the variable BUSBAR does not name its program' : undefined,
  version: () =>
    /\d+\.\d+\.\d+/.exec(execFileSync(BUSBAR ?? '', ['--version'], { encoding: 'utf8' }))?.[0],
  /** Native requests name the model in the path. */
  pathOf: ({ format, path }) => (format === 'native' ? `/${MODEL}${path}` : path),
  async start({ upstreamUrl, scratch }) {
    const port = await freePort();
    const dir = join(scratch, 'busbar');
    mkdirSync(dir, { recursive: true });
    const write = (name, content) => {
      // JSON is YAML too.
      writeFileSync(join(dir, name), JSON.stringify(content));
      return join(dir, name);
    };
    const server = await startServer({
      name: 'busbar',
      command: BUSBAR ?? '',
      args: [],
      env: {
        BUSBAR_CONFIG: write('config.yaml', {
          listen: `127.0.0.1:${port}`,
          auth: { chain: [] },
          providers: { [PROVIDER]: { api_key: { env: 'UPSTREAM_KEY' } } },
          models: { [MODEL]: { provider: PROVIDER, max_concurrent: MAX_CONCURRENT } },
        }),
        BUSBAR_PROVIDERS: write('providers.yaml', {
          [PROVIDER]: { protocol: 'anthropic', base_url: upstreamUrl },
        }),
        UPSTREAM_KEY: 'benchmark',
        RUST_LOG: 'error',
      },
      port,
      scratch,
    });
    return { ...server, port, headers: [{}] };
  },
};
