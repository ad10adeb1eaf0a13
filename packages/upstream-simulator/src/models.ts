/** The models that the simulator knows, and the parameters that each refuses. */

import type { JsonObject } from './message.js';
import type { ValidationRules } from './validate.js';

const CREATED_AT = '2026-01-01T00:00:00Z';

export const MODEL_IDS: readonly string[] = [
  'claude-fable-5-2',
  'claude-mythos-5-2',
  'claude-haiku-5-5',
  'claude-sonnet-5-5',
  'claude-fable-5-1',
  'claude-opus-5-5',
  'claude-mythos-5-1',
  'claude-sonnet-5',
  'claude-fable-5',
  'claude-mythos-5',
  'claude-opus-5',
  'claude-opus-4-8',
  'claude-opus-4-7',
  'claude-mythos-preview',
  'claude-opus-4-6',
  'claude-sonnet-4-6',
  'claude-haiku-4-5',
  'claude-haiku-4-5-20251001',
  'claude-opus-4-5',
  'claude-opus-4-5-20251101',
  'claude-sonnet-4-5',
  'claude-sonnet-4-5-20250929',
];

const WITH_SAMPLING = new Set(MODEL_IDS.filter((id) => /-(4-5|4-6)(-\d{8})?$/.test(id)));
const GENERATION_4_5 = new Set(MODEL_IDS.filter((id) => /-4-5(-\d{8})?$/.test(id)));

export const MODEL_RULES: ValidationRules = {
  withoutSampling: without(WITH_SAMPLING),
  withoutForcedTools: new Set([
    'claude-fable-5-1',
    'claude-mythos-5-1',
    'claude-fable-5-2',
    'claude-mythos-5-2',
    'claude-opus-5-5',
    'claude-sonnet-5-5',
  ]),
  withoutPrefill: without(GENERATION_4_5),
  withoutAdaptive: GENERATION_4_5,
  withoutSystemMessages: new Set(MODEL_IDS.filter((id) => /-4-[567](-\d{8})?$|preview/.test(id))),
};

export function modelInfo(id: string): JsonObject {
  return {
    id,
    type: 'model',
    display_name: id.replace(/-/g, ' '),
    created_at: CREATED_AT,
    max_input_tokens: 1_000_000,
    max_tokens: 128_000,
    capabilities: null,
    lifecycle: 'active',
    deprecated_at: null,
    retires_at: null,
    line: null,
  };
}

/**
 * `usage.inference_geo`. Older models, for which a region cannot be chosen, report `not_available`.
 */
export function inferenceGeo({ model, inference_geo: asked }: JsonObject): string {
  if (GENERATION_4_5.has(String(model))) return 'not_available';
  return typeof asked === 'string' ? asked : 'global';
}

function without(accepting: ReadonlySet<string>): ReadonlySet<string> {
  return new Set(MODEL_IDS.filter((id) => !accepting.has(id)));
}
