/**
 * Bedrock's ids of models.
 *
 * https://docs.aws.amazon.com/bedrock/latest/userguide/inference-profiles-support.html
 */

import { KNOWN_MODELS } from '../../models/known-models.js';
import type { KnownModel } from '../../models/known-model.js';

export interface BedrockModel {
  /** The API's id, in its dated form if there is one. */
  readonly id: string;
  /** Whether a request is routed between regions. */
  readonly isProfile: boolean;
  /** Whether the id has a version. Such models know only Bedrock's own version of the API. */
  readonly isVersioned: boolean;
}

/** The regions of each kind of profile. */
const GEOGRAPHIES: Readonly<Record<string, RegExp>> = {
  global: /./,
  us: /^us-(?!gov)/,
  'us-gov': /^us-gov-/,
  eu: /^eu-/,
  apac: /^ap-/,
  jp: /^ap-northeast-[13]$/,
  au: /^ap-southeast-[24]$/,
};

const ID = /^(?:([a-z-]+)\.)?anthropic\.(claude-[a-z0-9-]+(?::\d+)?)$/;
const PROFILE_ARN = /^arn:aws[a-z-]*:bedrock:([a-z0-9-]+):\d{12}:inference-profile\/(.+)$/;

const MODELS: ReadonlyMap<string, KnownModel> = new Map(
  KNOWN_MODELS.flatMap((model) => bedrockNames(model).map((name) => [name, model])),
);

/** Up to Opus 4.6, ids end with a version; Sonnet 4.6 is the exception. */
function bedrockNames({ id, aliases }: KnownModel): readonly string[] {
  if (aliases.length > 0) return aliases.map((alias) => `${alias}-v1:0`);
  return [id === 'claude-opus-4-6' ? `${id}-v1` : id];
}

/**
 * @param id - As in the address, decoded: of a model, of a profile, or the ARN of a profile.
 * @returns `undefined` if the region has no such model
 */
export function bedrockModel(id: string, region: string): BedrockModel | undefined {
  const [, arnRegion, arnId] = PROFILE_ARN.exec(id) ?? [];
  if (arnRegion !== undefined && arnRegion !== region) return undefined;
  const [, geography, name = ''] = ID.exec(arnId ?? id) ?? [];
  const model = MODELS.get(name);
  const isHere = geography === undefined || GEOGRAPHIES[geography]?.test(region) === true;
  if (model === undefined || !isHere) return undefined;
  return {
    id: model.aliases[0] ?? model.id,
    isProfile: geography !== undefined,
    isVersioned: name !== model.id,
  };
}

/**
 * The model of a request to Bedrock's Messages endpoint, whose ids have no versions.
 *
 * @returns `undefined` if the region has no such model
 */
export function messagesModel(id: string, region: string): string | undefined {
  const [, geography, name = ''] = ID.exec(id) ?? [];
  const model = KNOWN_MODELS.find((known) => known.id === name);
  const isHere = geography === undefined || GEOGRAPHIES[geography]?.test(region) === true;
  return isHere ? model?.id : undefined;
}
