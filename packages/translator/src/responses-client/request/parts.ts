/** Translates the content of Responses items to native blocks. */

import { finishReading } from '../../chat-client/request/cache-points.js';
import { textBlock } from '../../chat-client/request/content.js';
import { readFile } from '../../chat-client/request/documents.js';
import { imageBlock } from '../../chat-client/request/images.js';
import type {
  DocumentBlock,
  ImageBlock,
  TextBlock,
} from '../../chat-client/request/native-request.js';
import { readCitation } from '../../wire/server-block.js';
import type { Place } from '../../reading/place.js';
import { listOf } from '../../wire/lists.js';
import type { JsonObject } from '../../wire/raw-json.js';

/** The block that each type of part becomes. */
interface PartBlocks {
  input_text: TextBlock;
  output_text: TextBlock;
  text: TextBlock;
  refusal: TextBlock;
  input_image: ImageBlock;
  input_file: DocumentBlock | ImageBlock;
}

export type PartType = keyof PartBlocks;

const READERS: {
  readonly [Type in PartType]: (part: Place) => PartBlocks[Type] | undefined;
} = {
  input_text: (part) => textBlock(part.at('text')),
  output_text: readOutputText,
  text: (part) => textBlock(part.at('text')),
  refusal: (part) => textBlock(part.at('refusal')),
  input_image: readImage,
  input_file: readInputFile,
};

/**
 * The types of parts in system, developer and assistant messages (`TEXT_PARTS`), and in user
 * messages and tool outputs (`INPUT_PARTS`). Both have all types of text, because clients mix them
 * up.
 */
export const TEXT_PARTS = ['input_text', 'output_text', 'text', 'refusal'] as const;
export const INPUT_PARTS = [
  'input_text',
  'input_image',
  'input_file',
  'output_text',
  'text',
] as const;

/** Reads a string, or a list of parts of the given types. */
export function readParts<Type extends PartType>(
  content: Place | undefined,
  types: readonly Type[],
): (PartBlocks[Type] | TextBlock)[] {
  if (!content) return [];
  if (typeof content.value === 'string') return listOf(textBlock(content));
  return content.items((part) => {
    const written = part.object().at('type');
    const type = types.find((known) => known === written.value);
    if (!type) return written.mustBe(types.join(' or '), 'unsupported_value');
    const block: PartBlocks[Type] | undefined = READERS[type](part);
    finishReading(part, block);
    return block;
  }, 'a string or an array');
}

/** The citations as the answer had them. Annotations are a copy of them, for people. */
function readOutputText(part: Place): TextBlock | undefined {
  const block = textBlock(part.at('text'));
  const given = part.given('citations');
  part.at('annotations');
  const citations = given?.items((item) => {
    const citation = readCitation(item.object().value as JsonObject);
    if (!citation) item.note('dropped', 'not a citation of a search');
    return citation;
  });
  if (block && citations?.[0]) block.citations = citations;
  return block;
}

function readImage(part: Place): ImageBlock {
  const url = part.at('image_url');
  refuseStoredFile(part, 'image_url', url.value);
  return imageBlock(url);
}

function readInputFile(part: Place): DocumentBlock | ImageBlock | undefined {
  const url = part.given('file_url');
  const data = part.given('file_data');
  refuseStoredFile(part, 'file_data', data?.value ?? url?.value);
  const name = part.at('filename');
  if (data && url) url.note('ignored', 'file_data is used');
  return readFile(data ?? url ?? part.at('file_data'), name.string(''));
}

/**
 * The client's ids name files in another provider's store. An id of the upstream would name a file
 * of the operator's account.
 */
function refuseStoredFile(part: Place, member: string, sent: unknown): void {
  const id = part.given('file_id');
  if (sent == null) id?.refuse(`send the file as ${member}`, 'unsupported_value');
  id?.note('ignored', `${member} is used`);
}
