/** `npm run gateway -- <command>`: the gateway's command line. */

import { runGateway } from './run-gateway.mjs';

runGateway(process.argv.slice(2));
