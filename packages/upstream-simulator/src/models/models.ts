/** The models that the simulator knows, and the parameters that each refuses. */

import type { KnownModel } from './known-model.js';
import { KNOWN_MODELS } from './known-models.js';
import type { JsonObject } from '../message/message.js';

/** A model that the API lists and that no price table can have, because it has no public price. */
const UNPRICED: KnownModel = {
  ...KNOWN_MODELS.find(({ id }) => id === 'claude-opus-4-7')!,
  id: 'claude-mythos-preview',
  displayName: 'Claude Mythos Preview',
  line: 'mythos',
};

const BY_ID: ReadonlyMap<string, KnownModel> = new Map(
  [...KNOWN_MODELS, UNPRICED].flatMap((model) =>
    [model.id, ...model.aliases].map((id) => [id, model]),
  ),
);

export const MODEL_IDS: readonly string[] = [...BY_ID.keys()];

/** The ids of the models for which the condition is true. */
function modelsThat(condition: (traits: KnownModel['traits']) => boolean): ReadonlySet<string> {
  return new Set(MODEL_IDS.filter((id) => condition(BY_ID.get(id)!.traits)));
}

const WITHOUT_ADAPTIVE = modelsThat(({ thinkingOn }) => thinkingOn === undefined);

/** Models that think unless they are told not to. */
export const THINKING_BY_DEFAULT = modelsThat(({ thinkingOn }) => thinkingOn === 'default');

/** What a model accepts; `undefined` for a model that only the options of the simulator name. */
export function traitsOf(id: string): KnownModel['traits'] | undefined {
  return BY_ID.get(id)?.traits;
}

/** @param id - also of a model that only the options of the simulator name */
export function modelInfo(id: string): JsonObject {
  const model = BY_ID.get(id);
  return {
    id,
    type: 'model',
    display_name: model?.displayName ?? id,
    created_at: model?.createdAt ?? '1970-01-01T00:00:00Z',
    max_input_tokens: model?.contextWindow ?? 1_000_000,
    max_tokens: model?.maxOutputTokens ?? 128_000,
    capabilities: null,
    lifecycle: model?.deprecatedAt === undefined ? 'active' : 'deprecated',
    deprecated_at: model?.deprecatedAt ?? null,
    retires_at: model?.retiresAt ?? null,
    line: model?.line ?? null,
  };
}

/**
 * `usage.inference_geo`. Older models, for which a region cannot be chosen, report `not_available`.
 */
export function inferenceGeo({ model, inference_geo: asked }: JsonObject): string {
  if (WITHOUT_ADAPTIVE.has(String(model))) return 'not_available';
  return typeof asked === 'string' ? asked : 'global';
}
