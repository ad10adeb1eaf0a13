/**
 * Translates `text.format`. A schema becomes a native structured output if the upstream can
 * guarantee it. Otherwise a strict format is refused, and one that is not strict is requested in
 * the system prompt.
 * https://platform.claude.com/docs/en/build-with-claude/structured-outputs
 */

import { type Format, schemaFormat } from '../../chat-client/request/response-format.js';
import { jsonInstruction } from '../../reading/json-instruction.js';
import type { Place } from '../../reading/place.js';
import type { SchemaReader } from '../../reading/strict-schema-reading.js';
import type { TextFormat } from '../response-context.js';

export interface TextDemand extends Format {
  /** The format, in the form in which the response repeats it. */
  readonly repeated: TextFormat;
}

/** Longer names are refused, because the response repeats them. */
const MAX_NAME_LENGTH = 64;

export function translateTextFormat(text: Place | undefined, schemas: SchemaReader): TextDemand {
  const format = text?.object().given('format');
  text?.noteUnread();
  if (!format) return { repeated: { type: 'text' } };
  const type = format.object().at('type');
  switch (type.value) {
    case 'text':
      return { repeated: { type: type.value } };
    case 'json_object':
      return { instruction: jsonInstruction('object: '), repeated: { type: type.value } };
    case 'json_schema':
      return fromSchema(format, schemas);
    default:
      return type.mustBe('text, json_object or json_schema', 'unsupported_value');
  }
}

function fromSchema(format: Place, schemas: SchemaReader): TextDemand {
  const namePlace = format.at('name');
  const name = namePlace.nonEmptyString();
  if (name.length > MAX_NAME_LENGTH) {
    namePlace.refuse(`must have at most ${MAX_NAME_LENGTH} characters`);
  }
  const strict = format.at('strict').boolean(false);
  format.at('description').string('');
  const repeated = { type: 'json_schema', name, schema: {}, strict } as const;
  const demand = schemaFormat(format, schemas);
  format.noteUnread();
  return { ...demand, repeated };
}
