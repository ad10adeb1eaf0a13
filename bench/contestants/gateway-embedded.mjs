import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { startGateway } from '../gateway.mjs';

export default {
  title: 'this gateway, embedded',
  does: 'checks 200 keys and their limits; charges each response exactly, with the charge on disk before its last bytes leave; logs, metrics, audit chain',
  isOurs: true,
  translates: true,
  fidelity: 'bytes',
  start(context) {
    const dataDir = mkdtempSync(join(context.scratch, 'data-'));
    return startGateway({ ...context, name: 'gateway-embedded', env: { DATA_DIR: dataDir } });
  },
};
