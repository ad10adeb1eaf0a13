/**
 * Claude Platform on AWS: Anthropic's own API behind AWS's door, for one workspace.
 *
 * https://docs.aws.amazon.com/claude-platform/latest/userguide/making-requests.html
 * https://docs.aws.amazon.com/claude-platform/latest/userguide/authentication.html
 */

import { parseRequest } from '../../client-request.js';
import { sendError } from '../../message/responses.js';
import { NATIVE_WIRE } from '../../message/wire.js';
import { serveNative } from '../../native-routes.js';
import { idOf } from '../../reply.js';
import { startSimulation } from '../../simulation.js';
import type { Incoming, Place, Simulation, UpstreamSimulator } from '../../simulation.js';
import { promptTooLong, uuidOf } from '../shared/cloud-answers.js';
import type { CloudOptions } from '../shared/cloud-options.js';
import { isAdmitted } from './access.js';
import type { AwsAccess } from './access.js';

export interface AwsPlatformOptions extends CloudOptions, AwsAccess {
  /** The customer's only workspace. Default: `wrkspc_01simulated`. */
  readonly workspaceId?: string;
}

const SERVICE = 'aws-external-anthropic';

export function startAwsPlatformSimulator(
  options: AwsPlatformOptions = {},
): Promise<UpstreamSimulator> {
  const place: Place = {
    wire: NATIVE_WIRE,
    requestIdHeader: 'request-id',
    requestId: (count, url) => idOf('req', 'aws', String(count), url),
    refuseLarge(to) {
      sendError(to, { type: 'request_too_large', message: 'Request exceeds the maximum size' });
    },
    serve: (simulation, incoming) => serve(simulation, incoming, options),
  };
  return startSimulation(place, options);
}

async function serve(
  simulation: Simulation,
  incoming: Incoming,
  options: AwsPlatformOptions,
): Promise<void> {
  const { req, res, requestId, body, pathname } = incoming;
  const { workspaceId = 'wrkspc_01simulated', deniedModels = [], now = Date.now } = options;
  res.setHeader('x-amzn-requestid', uuidOf(requestId));
  const door = { service: SERVICE, takesApiKeyHeader: true, nowMs: now() };
  if (!(await isAdmitted(incoming, options, door))) return;
  const given = req.headers['anthropic-workspace-id'];
  const request = parseRequest(body);
  const isMessage = pathname === '/v1/messages';
  const tooLong = isMessage ? promptTooLong(request, body.length) : undefined;
  if (given === undefined) {
    const message = 'anthropic-workspace-id: header is required';
    sendError(incoming, { type: 'invalid_request_error', message });
  } else if (given !== workspaceId) {
    const message = `Workspace ${String(given)} was not found.`;
    sendError(incoming, { type: 'not_found_error', message });
  } else if (deniedModels.includes(String(request?.['model']))) {
    sendError(incoming, {
      type: 'not_found_error',
      message: `model: ${String(request?.['model'])}`,
    });
  } else if (tooLong !== undefined) {
    sendError(incoming, { type: 'invalid_request_error', message: tooLong });
  } else {
    await serveNative(simulation, incoming);
  }
}
