import type { Config } from '../config/config.js';
import { readUpstreams } from '../config/upstreams-file.js';
import type { UpstreamTarget } from '../config/upstream-target.js';

/** @returns the upstream that a configuration names; `undefined`: the bundled simulator */
export function upstreamTarget(config: Config): UpstreamTarget | undefined {
  return config.upstreamsPath === undefined
    ? config.upstream
    : { accounts: readUpstreams(config.upstreamsPath) };
}
