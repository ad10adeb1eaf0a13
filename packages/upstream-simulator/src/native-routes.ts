/** The routes of Anthropic's own API, which some clouds serve too. */

import { apiVersionOf, parseRequest } from './client-request.js';
import { sendError, sendJson } from './message/responses.js';
import { modelInfo } from './models/models.js';
import { serveCount, serveMessage } from './serve-message.js';
import type { Incoming, Simulation } from './simulation.js';

/** Answers a request whose credential was accepted. */
export async function serveNative(simulation: Simulation, incoming: Incoming): Promise<void> {
  const { req, body, pathname } = incoming;
  const asked = { ...incoming, request: parseRequest(body), api: apiVersionOf(req) };
  if (req.method === 'GET' && pathname.startsWith('/v1/models')) {
    serveModels(simulation.models, incoming);
  } else if (req.method === 'POST' && pathname === '/v1/messages') {
    await serveMessage(simulation, asked);
  } else if (req.method === 'POST' && pathname === '/v1/messages/count_tokens') {
    serveCount(simulation, asked);
  } else {
    sendError(incoming, { type: 'not_found_error', message: 'Not found' });
  }
}

function serveModels(models: ReadonlySet<string>, incoming: Incoming): void {
  const id = decodeURIComponent(incoming.pathname.slice('/v1/models/'.length));
  if (id === '') {
    const data = [...models].map(modelInfo);
    const ids = { first_id: data[0]?.['id'] ?? null, last_id: data.at(-1)?.['id'] ?? null };
    sendJson(incoming, 200, { data, has_more: false, ...ids });
  } else if (models.has(id)) {
    sendJson(incoming, 200, modelInfo(id));
  } else {
    sendError(incoming, { type: 'not_found_error', message: `model: ${id}` });
  }
}
