/**
 * What the endpoints take and send, as the gateway declares them. The only file of the pages that
 * imports from the gateway, and only types: nothing of its code may get into a bundle.
 */

export type { AdminCalls, ClientCalls, Sent } from '../../../../gateway/src/openapi/calls.js';
export type { PageColumns } from '../../../../gateway/src/endpoints/page-columns.js';
