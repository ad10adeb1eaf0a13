import { gatewayOnServers } from '../gateway.mjs';

export default {
  ...gatewayOnServers({
    name: 'gateway-two-workers',
    title: 'this gateway, PostgreSQL and Redis, two workers',
    env: { WORKERS: '2' },
  }),
  onlyWhenNamed: true,
};
