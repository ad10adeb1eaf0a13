/** How a simulated cloud is started. */

import type { UpstreamSimulatorOptions } from '../../options.js';

/** All options but those of Anthropic's own credentials and reports. */
export type CloudOptions = Omit<
  UpstreamSimulatorOptions,
  'apiKey' | 'adminKey' | 'unitsPerToken' | 'models'
> & {
  /** The API's ids of models that exist, but to which the customer has no access. */
  readonly deniedModels?: readonly string[];
};

/** A key that the cloud issued. */
export interface CloudKey {
  readonly key: string;
  /** In milliseconds since the epoch. Default: never. */
  readonly expiresAtMs?: number;
}
