/**
 * The endpoints that the documents describe. Imported inputs are the schemas that the routes use,
 * too. The bodies of exchanges and of Stripe's notifications are described only here.
 */

import { z } from 'zod';
import { changedKey, listQuery, newKey, rotation } from '../customer/keys.js';
import { linkInput } from '../customer/links.js';
import { pageQuery } from '../customer/models.js';
import { statementQuery } from '../customer/statement.js';
import { newTopUp, order, redemption, topUpQuery } from '../customer/top-ups.js';
import { summaryQuery, usageQuery } from '../customer/usage.js';
import * as schema from '../endpoints/schemas.js';
import { sessionInput } from '../operator/console/session-routes.js';
import type { Operation } from '../operator/operations/operation.js';
import { isRepeatable, operations } from '../operator/operations/operations.js';
import type { OperationName } from '../operator/operations/operations.js';
import { operationOutputs } from '../operator/operations/outputs.js';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
/**
 * `bearer`: an API key in `Authorization`. `link`: the same, or a read-only link. `x-api-key`: an
 * API key in `Authorization` or `x-api-key`. `console`: an admin token or the console's cookie.
 * `session`: only that cookie.
 */
export type Credential = 'none' | 'bearer' | 'x-api-key' | 'link' | 'console' | 'session';

export interface Endpoint {
  readonly method: Method;
  /** As Express writes it: `/v1/models/:id`. */
  readonly path: string;
  readonly id: string;
  readonly summary: string;
  readonly credential: Credential;
  /** Headers that are required in addition to the credential. */
  readonly headers?: readonly string[];
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  /** The body of a successful response. `undefined`: it has none. */
  readonly result: z.ZodType | undefined;
  /** Media types of the result other than JSON. */
  readonly alsoAs?: readonly string[];
  /** Whether repeating it with an `Idempotency-Key` is harmless. */
  readonly isRepeatable?: true;
  readonly status?: 204;
}

const messages = z
  .looseObject({
    model: z.string(),
    messages: z.array(z.looseObject({ role: z.string(), content: z.unknown() })),
    stream: z.boolean().optional(),
  })
  .meta({ description: 'other members of the format are described in its own documentation' });
const nativeRequest = messages.extend({ max_tokens: z.int().min(1) });
const responsesRequest = z.looseObject({
  model: z.string(),
  input: z.unknown(),
  stream: z.boolean().optional(),
});
const nativeResponse = z.looseObject({
  id: z.string(),
  type: z.literal('message'),
  role: z.literal('assistant'),
  model: z.string(),
  content: z.array(z.looseObject({ type: z.string() })),
  stop_reason: z.string().nullable(),
  usage: z.looseObject({ input_tokens: z.int(), output_tokens: z.int() }),
});
const chatResponse = z.looseObject({
  id: z.string(),
  object: z.literal('chat.completion'),
  created: z.int(),
  model: z.string(),
  choices: z.array(z.looseObject({ index: z.int(), finish_reason: z.string().nullable() })),
  usage: z.looseObject({
    prompt_tokens: z.int(),
    completion_tokens: z.int(),
    total_tokens: z.int(),
  }),
});
const responsesResponse = z.looseObject({
  id: z.string(),
  object: z.literal('response'),
  status: z.string(),
  output: z.array(z.looseObject({ type: z.string() })),
});
const status = z.strictObject({ status: z.string() });
const EVENT_STREAM = ['text/event-stream'];

const health: readonly Endpoint[] = [
  {
    ...{ method: 'get', path: '/healthz', id: 'isAlive', credential: 'none', result: status },
    summary: 'Whether the process is running',
  },
  {
    ...{ method: 'get', path: '/readyz', id: 'isReady', credential: 'none', result: status },
    summary:
      'Whether the gateway takes requests: 503 only while it stops; degraded: they are refused',
  },
];

const exchanges: readonly Endpoint[] = [
  {
    ...{ method: 'post', path: '/v1/messages', id: 'createMessage', credential: 'x-api-key' },
    summary: 'A message, in the native format',
    headers: ['anthropic-version'],
    body: nativeRequest,
    result: nativeResponse,
    alsoAs: EVENT_STREAM,
  },
  {
    ...{ method: 'post', path: '/v1/messages/count_tokens', id: 'countTokens' },
    credential: 'x-api-key',
    summary: 'How many input tokens a message has, free of charge',
    headers: ['anthropic-version'],
    body: messages,
    result: z.looseObject({ input_tokens: z.int() }),
  },
  {
    ...{ method: 'post', path: '/v1/chat/completions', id: 'createChatCompletion' },
    credential: 'x-api-key',
    summary: 'A message, in the chat-completions format',
    body: messages,
    result: chatResponse,
    alsoAs: EVENT_STREAM,
  },
  {
    ...{ method: 'post', path: '/v1/responses', id: 'createResponse', credential: 'x-api-key' },
    summary: 'A message, in the format of the Responses API',
    body: responsesRequest,
    result: responsesResponse,
    alsoAs: EVENT_STREAM,
  },
  {
    ...{ method: 'post', path: '/v1/responses/input_tokens', id: 'countInputTokens' },
    credential: 'x-api-key',
    summary: 'How many input tokens a request of the Responses API has, free of charge',
    body: responsesRequest.omit({ stream: true }),
    result: z.looseObject({ object: z.literal('response.input_tokens'), input_tokens: z.int() }),
  },
  {
    ...{ method: 'get', path: '/v1/responses/:response_id', id: 'getResponse' },
    credential: 'x-api-key',
    summary: 'A response that is kept: for RESPONSE_MEMORY_MINUTES after its last use',
    result: responsesResponse,
  },
  {
    ...{ method: 'delete', path: '/v1/responses/:response_id', id: 'deleteResponse' },
    credential: 'x-api-key',
    summary: 'Forgets a response',
    result: z.strictObject({
      id: z.string(),
      object: z.literal('response'),
      deleted: z.literal(true),
    }),
  },
  {
    ...{ method: 'get', path: '/v1/models', id: 'listModels', credential: 'x-api-key' },
    summary: 'The models that the key may use',
    query: pageQuery,
    result: z.union([schema.models, schema.codexModels]),
  },
  {
    ...{ method: 'get', path: '/v1/models/:id', id: 'getModel', credential: 'x-api-key' },
    summary: 'One model',
    result: schema.model,
  },
];

const dashboard: readonly Endpoint[] = [
  {
    ...{ method: 'get', path: '/v1/dashboard/account', id: 'getAccount', credential: 'link' },
    summary: 'Whose key it is, what its account has, and how long that lasts',
    result: schema.accountOverview,
  },
  {
    ...{ method: 'get', path: '/v1/dashboard/balance', id: 'getBalance', credential: 'link' },
    summary: "The balance of the key's account",
    result: schema.balance,
  },
  {
    ...{ method: 'get', path: '/v1/dashboard/usage', id: 'listUsage', credential: 'link' },
    summary: 'Charges of the key, and credits and corrections of its account, newest first',
    query: usageQuery,
    result: schema.listOf(schema.holderEntry).extend({ archived_until: schema.time.nullable() }),
    alsoAs: ['text/csv'],
  },
  {
    ...{ method: 'get', path: '/v1/dashboard/usage/summary', id: 'sumUsage', credential: 'link' },
    summary:
      'Sums of charges. As CSV, the headers x-gateway-from and x-gateway-until state the range',
    query: summaryQuery,
    result: schema.usageSums,
    alsoAs: ['text/csv'],
  },
  {
    ...{ method: 'get', path: '/v1/dashboard/usage/:request_id', id: 'getUsage' },
    credential: 'link',
    summary: 'The charge of one request, by its id or by the id of its message in any format',
    result: schema.usage,
  },
  {
    ...{ method: 'get', path: '/v1/dashboard/prices', id: 'listPrices', credential: 'link' },
    summary: 'The prices of the models that the key may use',
    result: schema.listOf(schema.price),
  },
  {
    ...{ method: 'get', path: '/v1/dashboard/statement', id: 'getStatement', credential: 'link' },
    summary: 'The statement of a month',
    query: statementQuery,
    result: schema.statement,
    alsoAs: ['text/csv', 'text/html'],
  },
  {
    ...{ method: 'post', path: '/v1/dashboard/links', id: 'createLink', credential: 'bearer' },
    summary: 'A link with which others may read the dashboard of a key',
    body: linkInput,
    result: schema.link,
  },
  {
    ...{ method: 'get', path: '/v1/dashboard/keys', id: 'listKeys', credential: 'link' },
    summary: 'The keys of the account, for a key that may manage them',
    query: listQuery,
    result: schema.listOf(schema.holderKey),
  },
  {
    ...{ method: 'post', path: '/v1/dashboard/keys', id: 'createKey', credential: 'bearer' },
    summary: 'A new key of the account',
    body: newKey,
    result: schema.newHolderKey,
    isRepeatable: true,
  },
  {
    ...{ method: 'get', path: '/v1/dashboard/keys/:key_id', id: 'getKey', credential: 'link' },
    summary: 'One key of the account',
    result: schema.holderKey,
  },
  {
    ...{ method: 'patch', path: '/v1/dashboard/keys/:key_id', id: 'updateKey' },
    credential: 'bearer',
    summary: 'Changes a key of the account',
    body: changedKey,
    result: schema.holderKey,
  },
  {
    ...{ method: 'post', path: '/v1/dashboard/keys/:key_id/rotate', id: 'rotateKey' },
    credential: 'bearer',
    summary: 'Gives a key of the account a new credential',
    body: rotation,
    result: schema.rotatedHolderKey,
    isRepeatable: true,
  },
  ...(['suspend', 'resume', 'revoke'] as const).map((act): Endpoint => ({
    ...{ method: 'post', path: `/v1/dashboard/keys/:key_id/${act}`, id: `${act}Key` },
    credential: 'bearer',
    summary: `${act.slice(0, 1).toUpperCase()}${act.slice(1)}s a key of the account`,
    result: schema.holderKey,
  })),
];

/** All but the last are served only if payments are configured. */
const payments: readonly Endpoint[] = [
  {
    ...{ method: 'get', path: '/v1/dashboard/top-ups', id: 'listTopUps', credential: 'bearer' },
    summary: 'Payments for the account, newest first',
    query: topUpQuery,
    result: schema.payments,
  },
  {
    ...{ method: 'post', path: '/v1/dashboard/top-ups', id: 'startTopUp', credential: 'bearer' },
    summary: 'Starts a payment for the account of the key',
    headers: ['Idempotency-Key'],
    body: newTopUp,
    result: schema.payment,
  },
  {
    ...{ method: 'get', path: '/v1/dashboard/top-ups/:payment_id', id: 'getTopUp' },
    credential: 'bearer',
    summary: 'One payment',
    result: schema.payment,
  },
  {
    ...{ method: 'get', path: '/v1/dashboard/top-ups/:payment_id/receipt', id: 'getReceipt' },
    credential: 'bearer',
    summary: "The address of the provider's receipt of a payment",
    result: schema.receipt,
  },
  {
    ...{ method: 'get', path: '/v1/dashboard/auto-top-up', id: 'getAutoTopUp' },
    credential: 'bearer',
    summary: 'The automatic top-up of the account, and whether it is on',
    result: schema.autoTopUp,
  },
  {
    ...{ method: 'put', path: '/v1/dashboard/auto-top-up', id: 'orderAutoTopUp' },
    credential: 'bearer',
    summary: 'Turns on or changes the automatic top-up of the account',
    body: order,
    result: schema.orderedAutoTopUp,
  },
  {
    ...{ method: 'delete', path: '/v1/dashboard/auto-top-up', id: 'cancelAutoTopUp' },
    credential: 'bearer',
    summary: 'Turns off the automatic top-up of the account',
    result: schema.autoTopUp,
  },
  {
    ...{ method: 'post', path: '/webhooks/stripe', id: 'takeStripeNotification' },
    credential: 'none',
    summary: "Receives Stripe's notifications about payments",
    headers: ['stripe-signature'],
    body: z.looseObject({ id: z.string(), type: z.string() }),
    result: z.strictObject({ received: z.literal(true) }),
  },
  {
    ...{ method: 'post', path: '/v1/dashboard/promo-codes', id: 'redeemPromoCode' },
    credential: 'bearer',
    summary: 'Exchanges a code for credit',
    body: redemption,
    result: schema.redemption,
  },
];

const gatewayInfo: Endpoint = {
  ...{ method: 'get', path: '/', id: 'describeGateway', credential: 'none' },
  summary: 'The base addresses for SDKs; browsers are sent to the dashboard',
  result: z.strictObject({
    name: z.string(),
    base_urls: z.record(z.string(), z.string()),
    top_up_url: z.string().optional(),
  }),
};

const thisDocument: Endpoint = {
  ...{ method: 'get', path: '/openapi.json', id: 'getOpenApi', credential: 'none' },
  summary: 'This document',
  result: z.looseObject({ openapi: z.string() }),
};

const settings: readonly Endpoint[] = [
  {
    ...{ method: 'get', path: '/admin/settings', id: 'showSettings', credential: 'console' },
    summary: 'The version of the settings in force, and the changes that need a restart',
    result: schema.settings,
  },
  {
    ...{ method: 'post', path: '/admin/reload', id: 'reloadSettings', credential: 'console' },
    summary: 'Reads prices, models, upstream keys and tokens again',
    result: schema.settings,
  },
];

const session: readonly Endpoint[] = [
  {
    ...{ method: 'get', path: '/console/session', id: 'showSession', credential: 'session' },
    summary: 'Who is logged in to the console',
    result: schema.consoleSession,
  },
  {
    ...{ method: 'post', path: '/console/session', id: 'logIn', credential: 'none' },
    summary: 'Exchanges an admin token for a cookie',
    body: sessionInput,
    result: schema.consoleSession,
  },
  {
    ...{ method: 'delete', path: '/console/session', id: 'logOut', credential: 'none' },
    summary: 'Removes the cookie',
    result: undefined,
    status: 204,
  },
];

const SUMMARIES: Readonly<Record<OperationName, string>> = {
  createKey: 'Creates a key, in a new account or in an existing one',
  listKeys: 'Keys, in the requested order',
  showKey: 'One key',
  findKey: 'The key of a credential',
  updateKey: 'Changes a key',
  rotateKey: 'Gives a key a new credential',
  suspendKey: 'Stops a key until it is resumed',
  resumeKey: 'Lifts a suspension',
  revokeKey: 'Stops a key for good',
  createLink: 'A read-only link to the dashboard of a key',
  topUp: 'Credits the account of a key, once per top_up_id',
  topUpAccount: 'Credits an account, once per top_up_id',
  createAccount: 'A new account without keys',
  listAccounts: 'Accounts, in the requested order',
  showAccount: 'One account, with the unspent part of each credit',
  updateAccount: 'Changes an account',
  adjustBalance: 'Corrects a balance by an entry, once per adjustment_id',
  transfer: 'Moves money to another account, once per transfer_id',
  suspendAccount: 'Stops all keys of an account, also new ones, until it is resumed',
  resumeAccount: 'Resumes a suspended account; each key is again what it was',
  eraseAccount: 'Erases the names, external ids, metadata and notes of an account',
  showStatement: 'The statement of a month',
  showBooks: 'The books of a month: credits, adjustments and charges of each account and in all',
  listLedger: 'Entries of the ledger, newest first',
  showEntry: 'One entry of the ledger, by its id; a charge also by the id of its message',
  listUsage:
    'Sums of charges. As CSV, the headers x-gateway-from and x-gateway-until state the range',
  auditLedger: 'Audits the ledger, and answers when the audit is done',
  compareWitness: 'Compares the ledger with usage that clients received',
  rechargeUsages: 'Books charges that the ledger lost, each of them once',
  listHolds: 'Money that is set aside for requests',
  listEvents: 'Events, oldest first unless order is newest',
  listTrail: 'The trail: who changed what, newest first',
  startAudit: 'Starts an audit, or returns the one that is running',
  listAudits: 'Audits since the gateway started, newest first',
  showAudit: 'One audit: its progress, or its report',
  showRequest:
    'One request: its charge or its hold, its key and its account. By its id, or by the id of its message as any format shows it',
  showToday: 'Spend, balances and requests at a glance',
  listPayments: 'Payments, newest first',
  listUnbookedPayments:
    'Payments, refunds and disputes that the provider reported and the ledger could not book. Those that were booked or paid back since are left out',
  reconcilePayments:
    "Compares the provider's payments with the ledger; with `apply`, books what is missing",
  reconcileProvider:
    "Compares the ledger with the provider's usage and cost reports, by day and model",
  showPayment: 'One payment, with its refundable and its unspent part',
  startPayment: 'Starts a payment for an account: a link to send to the customer',
  refundPayment: 'Pays back a payment, or a part of it',
  showAutoTopUp: "The customer's order to charge a saved method when the balance is low",
  cancelAutoTopUp: 'Cancels the auto top-up of an account and forgets the saved method',
  createPromoCode: 'A code that customers exchange for credit',
  listPromoCodes: 'Promotional codes, newest first',
  listModels: 'The price table',
  compareModels: 'The differences between the price table and the models that the upstream offers',
};

function operationEndpoint(name: OperationName): Endpoint {
  const {
    method,
    path,
    input,
    formats = {},
    isAlsoCsv,
  } = operations[name] as Operation<z.ZodType, unknown>;
  const alsoAs: string[] = Object.values(formats).map(({ mediaType }) => mediaType);
  if (isAlsoCsv === true) alsoAs.push('text/csv');
  return {
    method: method === 'GET' ? 'get' : method === 'POST' ? 'post' : 'patch',
    path,
    id: name,
    summary: SUMMARIES[name],
    credential: 'console',
    ...(method === 'GET' ? { query: input } : { body: input }),
    result: operationOutputs[name],
    ...(alsoAs.length === 0 ? {} : { alsoAs }),
    ...(isRepeatable(name) ? { isRepeatable: true } : {}),
  };
}

export const clientEndpoints: readonly Endpoint[] = [
  ...[gatewayInfo, thisDocument, ...health, ...exchanges, ...dashboard, ...payments],
];

export const adminEndpoints: readonly Endpoint[] = [
  ...[thisDocument, ...health, ...session, ...settings],
  ...(Object.keys(operations) as OperationName[]).map(operationEndpoint),
];
