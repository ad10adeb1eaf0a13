/**
 * LiteLLM's proxy with one worker, a master key and no database. It runs only if `--contestants`
 * names it, because installing it takes minutes and 740 MB.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../scripts/free-port.cjs';
import { findPythonPeer } from '../peers.mjs';
import { MODEL } from '../prompts.mjs';
import { startServer } from '../server.mjs';

const PACKAGE = 'litellm';
const KEY = 'sk-benchmark';
/** Loading its modules takes up to this long on a slow machine. */
const PATIENCE_MS = 180_000;

export default {
  title: 'LiteLLM proxy',
  does: 'routes and translates; checks one master key; without its database no limits or charges',
  translates: true,
  fidelity: 'meaning',
  onlyWhenNamed: true,
  /** It answers some 70 requests a second on two cores. */
  maxPerSecond: 50,
  version: () => findPythonPeer(PACKAGE).version,
  async start({ upstreamUrl, scratch }) {
    const { bin } = findPythonPeer(PACKAGE);
    const port = await freePort();
    const config = join(scratch, 'litellm.yaml');
    writeFileSync(config, configOf(upstreamUrl));
    const server = await startServer({
      name: 'litellm',
      command: join(bin, 'litellm'),
      args: `--config ${config} --host 127.0.0.1 --port ${port}`.split(' '),
      env: {
        LITELLM_MASTER_KEY: KEY,
        // Otherwise LiteLLM downloads its list of prices.
        LITELLM_LOCAL_MODEL_COST_MAP: 'True',
        HOME: scratch,
      },
      port,
      scratch,
      patienceMs: PATIENCE_MS,
    });
    return { ...server, port, headers: [{ authorization: `Bearer ${KEY}` }] };
  },
};

function configOf(upstreamUrl) {
  return JSON.stringify({
    model_list: [
      {
        model_name: MODEL,
        litellm_params: {
          model: `anthropic/${MODEL}`,
          api_base: upstreamUrl,
          api_key: 'benchmark',
        },
      },
    ],
    litellm_settings: { drop_params: true, telemetry: false },
  });
}
