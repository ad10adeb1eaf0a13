/** Calls the admin port of a running gateway. */

import { Agent, request } from 'undici';
import type { Dispatcher } from 'undici';
import { z } from 'zod';
import { reasonOf } from '../base/error-code.js';
import type { Config } from '../config/config.js';
import { openDataDir } from '../config/data-dir.js';
import { httpUrl } from '../http/http-url.js';

/** `ADMIN_URL`, or else the address of the gateway that this configuration describes. */
export function adminAddressOf(config: Config): string {
  return config.adminUrl ?? httpUrl(config.adminHost, config.adminPort);
}

/** The token of this configuration; empty if it has none. */
export function adminTokenOf(config: Config): string {
  if (config.adminToken !== undefined) return config.adminToken;
  return config.databaseUrl === undefined ? openDataDir(config.dataDir).secret('admin-token') : '';
}

export type AdminAnswer<Result> =
  | { readonly outcome: 'answered'; readonly result: Result }
  /** The problem is the refusal of the gateway, or why it cannot be reached. */
  | { readonly outcome: 'failed'; readonly status: number | undefined; readonly problem: string };

/** @param connect - How to connect; closed afterwards. */
export async function postToAdmin<Result>(
  url: URL,
  {
    token,
    result,
    connect = new Agent(),
  }: {
    readonly token: string;
    readonly result: z.ZodType<Result>;
    readonly connect?: Dispatcher;
  },
): Promise<AdminAnswer<Result>> {
  try {
    const { statusCode: status, body } = await request(url, {
      method: 'POST',
      dispatcher: connect,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{}',
    });
    const answer: unknown = await body.json();
    const read = result.safeParse(answer);
    if (status === 200 && read.success) return { outcome: 'answered', result: read.data };
    const refusal = z.object({ error: z.object({ message: z.string() }) }).safeParse(answer);
    const problem = refusal.success ? refusal.data.error.message : `status ${String(status)}`;
    return { outcome: 'failed', status, problem };
  } catch (error) {
    return { outcome: 'failed', status: undefined, problem: reasonOf(error) };
  } finally {
    await connect.close();
  }
}
