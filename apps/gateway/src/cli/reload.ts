/**
 * `farthing reload`: makes running gateways read their settings again. An address whose name stands
 * for several machines, such as that of a headless service, reaches each of them.
 */

import { lookup } from 'node:dns/promises';
import type { LookupAddress } from 'node:dns';
import { Agent } from 'undici';
import { z } from 'zod';
import { EXIT } from '../base/errors/failures.js';
import { reasonOf } from '../base/error-code.js';
import { ConfigError, readConfig } from '../config/config.js';
import { adminAddressOf, adminTokenOf, postToAdmin } from './admin-port.js';
import type { AdminAnswer } from './admin-port.js';

const settingsReport = z.object({
  version: z.string(),
  loaded_at: z.string(),
  workers: z.array(z.object({ worker: z.number(), version: z.string() })),
  needs_restart: z.array(z.string()),
});

export type ReplicaReload =
  | ({ readonly replica: string; readonly outcome: 'loaded' } & z.infer<typeof settingsReport>)
  | { readonly replica: string; readonly outcome: 'failed'; readonly problem: string };

/**
 * @param urls - Admin addresses. If there are none, `ADMIN_URL` is used, or else the address of the
 * gateway that this configuration describes.
 * @returns the answer of each replica. Sets the exit code to 1 unless all of them then have the
 * same version of the settings.
 */
export async function reloadReplicas(urls: readonly string[]): Promise<readonly ReplicaReload[]> {
  const config = readConfig(process.env);
  const addresses = (urls.length === 0 ? [adminAddressOf(config)] : urls).map(parseAddress);
  const tokens = [adminTokenOf(config), config.previousAdminToken].filter(
    (token) => token !== undefined,
  );
  const behind = await Promise.all(addresses.map((url) => reloadReplicasBehind(url, tokens)));
  const reloads = behind.flat();
  const versions = new Set(
    reloads.flatMap((each) =>
      each.outcome === 'failed'
        ? [each.replica]
        : [each.version, ...each.workers.map(({ version }) => version)],
    ),
  );
  if (versions.size !== 1 || reloads.some(({ outcome }) => outcome === 'failed')) {
    process.exitCode = EXIT.refused;
  }
  return reloads;
}

export function printReloads(reloads: readonly ReplicaReload[]): string {
  return reloads
    .flatMap((each) => {
      if (each.outcome === 'failed') return [`${each.replica}: ${each.problem}`];
      const late = each.workers.filter(({ version }) => version !== each.version);
      return [
        `${each.replica}: version ${each.version}, in force since ${each.loaded_at}`,
        ...late.map(({ worker, version }) => `  worker ${String(worker)} still has ${version}`),
        ...(each.needs_restart.length === 0
          ? []
          : [`  changed, but needs a restart: ${each.needs_restart.join(', ')}`]),
      ];
    })
    .join('\n');
}

function parseAddress(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new ConfigError([`${address}: is not an address such as http://10.0.0.1:8081`]);
}

interface Replica {
  readonly name: string;
  readonly url: URL;
  readonly address: LookupAddress;
}

async function reloadReplicasBehind(
  url: URL,
  tokens: readonly string[],
): Promise<readonly ReplicaReload[]> {
  let found: readonly LookupAddress[];
  try {
    found = await lookup(url.hostname.replace(/^\[|\]$/g, ''), { all: true });
  } catch (error) {
    return [{ replica: url.host, outcome: 'failed', problem: reasonOf(error) }];
  }
  const replicas = found.map((address) => ({
    name: found.length === 1 ? url.host : `${url.host} (${address.address})`,
    url,
    address,
  }));
  return Promise.all(replicas.map((replica) => reload(replica, tokens)));
}

/** @param tokens - The one of this configuration, and the one before it, if it names one. */
async function reload(replica: Replica, tokens: readonly string[]): Promise<ReplicaReload> {
  let report = await ask(replica, tokens[0] ?? '');
  for (const previous of tokens.slice(1)) {
    // The file already has a new ADMIN_TOKEN, which the gateway learns by this very call.
    if (report.outcome !== 'failed' || report.status !== 401) break;
    report = await ask(replica, previous);
  }
  return report.outcome === 'failed'
    ? { replica: replica.name, outcome: 'failed', problem: report.problem }
    : { replica: replica.name, outcome: 'loaded', ...report.result };
}

function ask(
  { url, address }: Replica,
  token: string,
): Promise<AdminAnswer<z.infer<typeof settingsReport>>> {
  const connect = new Agent({
    connect: {
      lookup: (_name, _options, done) => {
        done(null, [address]);
      },
    },
  });
  return postToAdmin(new URL('/admin/reload', url), { token, result: settingsReport, connect });
}
