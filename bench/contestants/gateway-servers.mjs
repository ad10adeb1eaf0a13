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
    return { ...gateway, serverPids: pids };
  },
};
