/**
 * Opens tracing if it is configured. Otherwise neither OpenTelemetry nor the code that uses it is
 * loaded (docs/decisions/0034).
 */

import type { TracingConfig } from '../../config/tracing-config.js';
import type { Tracing, TracingParts } from './tracing.js';

/** @param config - `undefined`: tracing is off. */
export async function openTracing(
  config: TracingConfig | undefined,
  parts: TracingParts,
): Promise<Tracing | undefined> {
  if (config === undefined) return undefined;
  const { startTracing } = await import('./start-tracing.js');
  return startTracing(config, parts);
}
