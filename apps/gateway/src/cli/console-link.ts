/** `farthing console-link`: asks the running gateway for a link to its console that works once. */

import { z } from 'zod';
import { relayed } from '../base/errors/refusal.js';
import { ConfigError, readConfig } from '../config/config.js';
import { OperationError } from '../endpoints/operation-error.js';
import { adminAddressOf, adminTokenOf, postToAdmin } from './admin-port.js';

const consoleLink = z.object({ path: z.string(), expires_at: z.string() });

export interface ConsoleLinkReport {
  /** On the machine of the gateway, or at the near end of a tunnel to it. */
  readonly url: string;
  readonly expires_at: string;
}

/** @throws {OperationError} if the gateway refuses or cannot be reached */
export async function makeConsoleLink(): Promise<ConsoleLinkReport> {
  const config = readConfig(process.env);
  const token = adminTokenOf(config);
  if (token === '') throw new ConfigError(['ADMIN_TOKEN: is needed to make a link']);
  const admin = new URL(adminAddressOf(config));
  const made = await postToAdmin(new URL('/admin/console-links', admin), {
    token,
    result: consoleLink,
  });
  if (made.outcome === 'failed') {
    const { status = 503, problem } = made;
    const message = `the gateway at ${admin.host}: ${problem}`;
    throw new OperationError(relayed({ status, type: 'api_error', message }));
  }
  const { path, expires_at } = made.result;
  return { url: `http://127.0.0.1:${admin.port || '80'}${path}`, expires_at };
}

export function printConsoleLink({ url, expires_at }: ConsoleLinkReport): string {
  const { port } = new URL(url);
  return [
    url,
    `It signs in once, until ${expires_at}. From another machine, first open a tunnel:`,
    `  ssh -N -L ${port}:127.0.0.1:${port} <this machine>`,
  ].join('\n');
}
