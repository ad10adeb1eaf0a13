import { openBatchCounter } from '../batches.mjs';
import { startGateway } from '../gateway.mjs';

export default {
  title: 'this gateway, PostgreSQL and Redis',
  isOurs: true,
  translates: true,
  fidelity: 'bytes',
  needsServers: true,
  async start(context) {
    const { databaseUrl, redisUrl, pids } = context.servers;
    const gateway = await startGateway({
      ...context,
      name: 'gateway-servers',
      env: {
        DATABASE_URL: databaseUrl,
        REDIS_URL: redisUrl,
        KEY_PEPPER: 'benchmark-pepper-benchmark-pepper',
      },
    });
    const batches = await openBatchCounter(databaseUrl, gateway.keyId);
    return {
      ...gateway,
      serverPids: pids,
      settlements: batches.read,
      async stop() {
        await gateway.stop();
        await batches.close();
      },
    };
  },
};
