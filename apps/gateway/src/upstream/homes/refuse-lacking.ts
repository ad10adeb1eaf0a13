/** Refuses by name what a home lacks, before a request is sent. */

import { newRefusal } from '../../base/errors/refusal.js';
import type { Refusal } from '../../base/errors/refusal.js';
import { isHomeFeature } from '../../config/home-lacks.js';
import type { HomeFeature } from '../../config/home-lacks.js';
import type { HomeForm } from '../../config/upstream-target.js';
import type { AskedOf, Upstream } from '../upstream.js';
import { usedFeatures } from './used-features.js';

type Lacks = Pick<HomeForm, 'models' | 'lacks'>;

/** @returns `undefined` if the home can serve every request */
export function refusalForLacks({ models, lacks = [] }: Lacks): Upstream['refusalFor'] {
  const features = lacks.filter(isHomeFeature);
  const counts = !lacks.includes('count_tokens');
  if (models === undefined && counts && features.length === 0) return undefined;
  return (asked) =>
    refusalForModels(models, asked) ??
    (asked.operation === 'count_tokens' && !counts
      ? newRefusal('upstream_lacks_token_counting', { model: asked.model })
      : undefined) ??
    refusalForFeatures(features, asked);
}

function refusalForModels(models: HomeForm['models'], asked: AskedOf): Refusal | undefined {
  if (models === undefined) return undefined;
  const named = asked.models ?? [{ path: 'model', model: asked.model }];
  const missing = named.find(({ model }) => model === undefined || !Object.hasOwn(models, model));
  return (
    missing &&
    newRefusal('upstream_lacks_model', {
      param: missing.path,
      model: missing.model ?? 'a model of its own choice',
    })
  );
}

function refusalForFeatures(features: readonly HomeFeature[], asked: AskedOf): Refusal | undefined {
  if (features.length === 0) return undefined;
  const used = usedFeatures(asked);
  for (const feature of features) {
    const param = used.get(feature);
    if (param !== undefined) return newRefusal('upstream_lacks_feature', { param, feature });
  }
  return undefined;
}
