import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { startGateway } from '../gateway.mjs';

export default {
  title: 'this gateway, embedded',
  isOurs: true,
  translates: true,
  fidelity: 'bytes',
  start(context) {
    const dataDir = mkdtempSync(join(context.scratch, 'data-'));
    return startGateway({ ...context, name: 'gateway-embedded', env: { DATA_DIR: dataDir } });
  },
};
