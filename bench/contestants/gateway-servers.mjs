import { gatewayOnServers } from '../gateway.mjs';

export default gatewayOnServers({
  name: 'gateway-servers',
  title: 'this gateway, PostgreSQL and Redis',
});
