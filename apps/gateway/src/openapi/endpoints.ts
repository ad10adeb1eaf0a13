/** The endpoints of both ports, in the order of their documents. */

import type { z } from 'zod';
import { dashboardEndpoints, providerEndpoints } from '../customer/customer-endpoints.js';
import type { CustomerParts } from '../customer/customer-parts.js';
import { describeGateway } from '../customer/describe-gateway.js';
import { deleteResponse, getResponse } from '../customer/kept-response.js';
import { getModel, listModels } from '../customer/models.js';
import type { Endpoint, Served } from '../endpoints/endpoint.js';
import { healthEndpoints } from '../endpoints/health.js';
import type { HealthParts } from '../endpoints/health.js';
import type { ExchangeParts } from '../exchange/exchange-parts.js';
import { countTokens, createMessage } from '../exchange/messages.js';
import {
  countInputTokens,
  createChatCompletion,
  createResponse,
} from '../exchange/translated-route.js';
import { linkEndpoints, linkSessionEndpoints } from '../operator/console/link-routes.js';
import { sessionEndpoints } from '../operator/console/session-routes.js';
import type { Operation } from '../operator/operations/operation.js';
import { OPERATION_NAMES, isRepeatable, operations } from '../operator/operations/operations.js';
import type { OperationName } from '../operator/operations/operations.js';
import { openApiEndpoint } from './openapi-route.js';
import type { Port } from './document.js';

/** The endpoints for clients, without those that need a payment provider. */
export const clientEndpoints = [
  // Express compares the paths in this order, so the endpoints of models come first.
  createMessage,
  countTokens,
  createChatCompletion,
  createResponse,
  countInputTokens,
  getResponse,
  deleteResponse,
  listModels,
  getModel,
  ...dashboardEndpoints,
  describeGateway,
  openApiEndpoint('client', () => ENDPOINTS.client),
  ...healthEndpoints,
] as const satisfies readonly Served<ExchangeParts & CustomerParts & HealthParts>[];

/** The endpoints of the admin port that need no operation: anybody may read them. */
export const openAdminEndpoints = [
  openApiEndpoint('admin', () => ENDPOINTS.admin),
  ...healthEndpoints,
] as const satisfies readonly Served<HealthParts>[];

export const ENDPOINTS: Readonly<Record<Port, readonly Endpoint[]>> = {
  client: [...clientEndpoints, ...providerEndpoints],
  admin: [
    ...openAdminEndpoints,
    ...sessionEndpoints,
    ...linkSessionEndpoints,
    ...linkEndpoints,
    ...OPERATION_NAMES.map(operationEndpoint),
  ],
};

function operationEndpoint(name: OperationName): Endpoint {
  const {
    method,
    path,
    input,
    output,
    summary,
    formats = {},
    isAlsoCsv,
  } = operations[name] as Operation<z.ZodType, z.ZodType>;
  const alsoAs: string[] = Object.values(formats).map(({ mediaType }) => mediaType);
  if (isAlsoCsv === true) alsoAs.push('text/csv');
  return {
    method,
    path,
    id: name,
    summary,
    credential: 'console',
    ...(method === 'get' ? { query: input } : { body: input }),
    result: output,
    ...(alsoAs.length === 0 ? {} : { alsoAs }),
    ...(isRepeatable(name) ? { isRepeatable: true } : {}),
  };
}
