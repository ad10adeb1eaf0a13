/** Settings of the gateway that commands need: this environment's, or those at `ADMIN_URL`. */

import { readConfig } from '../config/config.js';
import { httpUrl } from '../http/http-url.js';
import type { CallOperation } from '../operator/operations/operations.js';

/** The zone in which days and months begin: `BOOKS_TIME_ZONE`. */
export async function operatorZone(call: CallOperation): Promise<string> {
  const { adminUrl, customer } = readConfig(process.env);
  if (adminUrl === undefined) return customer.booksZone;
  return (await remoteSetting(call, 'BOOKS_TIME_ZONE')) ?? customer.booksZone;
}

/** The address that clients use, without `/v1`; `undefined` if it is not known. */
export async function clientAddress(call: CallOperation): Promise<string | undefined> {
  const { publicUrl, adminUrl, host, port } = readConfig(process.env);
  if (publicUrl !== undefined) return publicUrl;
  return adminUrl === undefined ? httpUrl(host, port) : remoteSetting(call, 'PUBLIC_URL');
}

async function remoteSetting(call: CallOperation, setting: string): Promise<string | undefined> {
  const { variables } = await call('showSettings', {});
  const text = variables.find(({ name }) => name === setting)?.value ?? '';
  return text === '' ? undefined : text;
}
