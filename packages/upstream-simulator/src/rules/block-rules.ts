/** Rules for the blocks of `messages`, and for their cache points. */

import { asArray, asObject, isObject } from '../message/message.js';
import type { JsonObject } from '../message/message.js';
import { messagesOf } from './message-rules.js';
import type { Rule } from './rule.js';

const ID = /^[a-zA-Z0-9_-]+$/;
const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];
const MAX_CACHE_POINTS = 4;

export const blocks: Rule = (request) => {
  for (const message of messagesOf(request)) {
    for (const [at, block] of message.blocks.entries()) {
      const problem = blockProblem(block, `${message.path}.content.${String(at)}`);
      if (problem !== undefined) return problem;
    }
  }
  return undefined;
};

export const uniqueCalls: Rule = (request) => {
  const ids = new Set<string>();
  for (const message of messagesOf(request)) {
    for (const [at, block] of message.blocks.entries()) {
      if (block['type'] !== 'tool_use') continue;
      const id = String(block['id']);
      if (ids.has(id))
        return `${message.path}.content.${String(at)}: \`tool_use\` ids must be unique`;
      ids.add(id);
    }
  }
  return undefined;
};

export const cachePoints: Rule = (request) => {
  const points =
    marksOf(request['tools']) +
    marksOf(request['system']) +
    asArray(request['messages']).reduce<number>(
      (sum, message) => sum + marksOf(asObject(message)['content']),
      isObject(request['cache_control']) ? 1 : 0,
    );
  return points > MAX_CACHE_POINTS
    ? `A maximum of ${String(MAX_CACHE_POINTS)} blocks with cache_control may be provided. Found ${String(points)}.`
    : undefined;
};

function blockProblem(block: JsonObject, path: string): string | undefined {
  switch (block['type']) {
    case 'text':
      return textProblem(block['text'], path);
    case 'tool_use':
      if (!ID.test(String(block['id']))) {
        return `${path}.tool_use.id: String should match pattern '${ID.source}'`;
      }
      return isObject(block['input'])
        ? undefined
        : `${path}.tool_use.input: Input should be a valid dictionary`;
    case 'image': {
      const source = asObject(block['source']);
      return source['type'] === 'base64' ? imageProblem(source, path) : undefined;
    }
    case undefined:
      return `${path}.type: Field required`;
    default:
      return undefined;
  }
}

/** The first characters of an image in Base64, by its format. */
const BEGINNINGS: readonly (readonly [beginning: string, type: string])[] = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
];

function imageProblem(source: JsonObject, path: string): string | undefined {
  const [type, data] = [String(source['media_type']), String(source['data'])];
  if (!IMAGE_TYPES.includes(type)) {
    return `${path}.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'`;
  }
  const found = BEGINNINGS.find(([beginning]) => data.startsWith(beginning))?.[1];
  return found === undefined || found === type
    ? undefined
    : `${path}.image.source.base64: The image was specified using the ${type} media type, but the image appears to be a ${found} image`;
}

function textProblem(text: unknown, path: string): string | undefined {
  if (typeof text !== 'string') return `${path}.text: Field required`;
  if (text === '') return `${path}: messages: text content blocks must be non-empty`;
  return text.trim() === ''
    ? `${path}: messages: text content blocks must contain non-whitespace text`
    : undefined;
}

function marksOf(blocks: unknown): number {
  return asArray(blocks)
    .map(asObject)
    .reduce(
      (sum, block) =>
        sum +
        (isObject(block['cache_control']) ? 1 : 0) +
        (block['type'] === 'tool_result' ? marksOf(block['content']) : 0),
      0,
    );
}
