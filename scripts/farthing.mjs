/** `npm run farthing -- <command>`: the gateway's command line, installed and built if needed. */

import { runGateway } from './run-gateway.mjs';
import { ensureBuilt, ensureInstalled } from './setup.mjs';

ensureInstalled();
ensureBuilt();
runGateway(process.argv.slice(2));
