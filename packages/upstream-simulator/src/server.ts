/** Anthropic's own API. */

import { isAuthorized } from './client-request.js';
import { sendError } from './message/responses.js';
import { NATIVE_WIRE } from './message/wire.js';
import { serveNative } from './native-routes.js';
import type { UpstreamSimulatorOptions } from './options.js';
import { idOf } from './reply.js';
import { isReport, serveReport } from './reports.js';
import { startSimulation } from './simulation.js';
import type { Incoming, Place, Simulation, UpstreamSimulator } from './simulation.js';

const ANTHROPIC: Place = {
  wire: NATIVE_WIRE,
  requestIdHeader: 'request-id',
  requestId: (count, url) => idOf('req', String(count), url),
  refuseLarge({ res }) {
    res.writeHead(413, { 'content-type': 'text/html' }).end('<html>413 Payload Too Large</html>');
  },
  serve,
};

export function startUpstreamSimulator(
  options: UpstreamSimulatorOptions = {},
): Promise<UpstreamSimulator> {
  return startSimulation(ANTHROPIC, options);
}

async function serve(simulation: Simulation, incoming: Incoming): Promise<void> {
  const { options, journal, reportScripts } = simulation;
  const { req, pathname } = incoming;
  if (req.method === 'GET' && isReport(pathname)) {
    await serveReport(incoming, journal.billed(), { options, script: reportScripts.shift() });
  } else if (isAuthorized(req, options.apiKey)) {
    await serveNative(simulation, incoming);
  } else {
    sendError(incoming, { type: 'authentication_error', message: 'invalid x-api-key' });
  }
}
