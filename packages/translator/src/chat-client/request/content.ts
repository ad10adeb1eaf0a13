/** Translates the `content` of a chat message to native blocks. */

import type { Place } from '../../reading/place.js';
import { listOf } from '../../wire/lists.js';
import { stringOf } from '../../wire/raw-json.js';
import { finishReading } from './cache-points.js';
import { fileBlock } from './documents.js';
import { imageBlock } from './images.js';
import type { Block, DocumentBlock, ImageBlock, TextBlock } from './native-request.js';

/** The block that each type of part becomes. */
interface PartBlocks {
  text: TextBlock;
  refusal: TextBlock;
  image_url: ImageBlock;
  file: DocumentBlock | ImageBlock;
}

export type PartType = keyof PartBlocks;

/** The value of a part is in the member that is named like its type. */
const READERS: {
  readonly [Type in PartType]: (value: Place) => PartBlocks[Type] | undefined;
} = { text: textBlock, refusal: textBlock, image_url: imageBlock, file: fileBlock };

/** The types of parts that a message may hold, by its role. */
export const USER_PARTS = ['text', 'image_url', 'file'] as const;
export const ASSISTANT_PARTS = ['text', 'refusal'] as const;
export const SYSTEM_PARTS = ['text'] as const;

/**
 * Text needs a character that is neither white space nor a control character. The upstream strips
 * some characters that `\s` does not match, and refuses text that is then empty.
 */
const HAS_TEXT = /[^\s\p{Cc}]/u;

export function hasText(text: string): boolean {
  return HAS_TEXT.test(text);
}

/** Reads a part of a type that is not in the list. @returns false if it is not known here either */
export type ReadOther = (part: Place, type: unknown) => boolean;

export interface PartReaders {
  readonly readOther?: ReadOther | undefined;
  /** Reads further members of a part of a type in the list. */
  readonly readMembers?: ((part: Place, block: Block | undefined) => void) | undefined;
}

/** Reads a string, or a list of parts of the given types. */
export function contentBlocks<Type extends PartType>(
  content: Place | undefined,
  types: readonly Type[],
  { readOther, readMembers }: PartReaders = {},
): (PartBlocks[Type] | TextBlock)[] {
  if (!content) return [];
  if (typeof content.value === 'string') return listOf(textBlock(content));
  return content.items((part) => {
    const written = part.object().at('type');
    const type = types.find((known) => known === written.value);
    if (!type) {
      if (readOther?.(part, written.value)) return undefined;
      const isForResponses = /^(in|out)put_/.test(stringOf(written.value));
      const elsewhere = isForResponses ? ' (the others belong to /v1/responses)' : '';
      return written.mustBe(types.join(' or ') + elsewhere, 'unsupported_value');
    }
    const block = READERS[type](part.at(type));
    readMembers?.(part, block);
    finishReading(part, block);
    return block;
  }, 'a string or an array');
}

/**
 * A text block; undefined for text that is empty or has only white space and control characters,
 * which the upstream refuses.
 */
export function textBlock(place: Place): TextBlock | undefined {
  const text = place.string();
  if (hasText(text)) return { type: 'text', text };
  if (text !== '') place.note('dropped', 'white space only');
  return undefined;
}
