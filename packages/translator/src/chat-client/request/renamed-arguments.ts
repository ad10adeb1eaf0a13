/**
 * Renames arguments of tools. The upstream accepts fewer names at the root of a tool's schema than
 * clients use: no `$top`, no `filter[id]`, none above 64 characters. The calls of such a tool are
 * returned under the client's names.
 */

import type { Place } from '../../reading/place.js';
import { toArgumentName } from '../../reading/tool-ids.js';
import type { CalledAs } from '../../wire/called-as.js';
import { renameMembers } from '../../wire/member-names.js';
import { objectOf } from '../../wire/raw-json.js';
import type { InputSchema, NativeMessage, ToolInput } from './native-request.js';

interface RenamedSchema {
  readonly schema: InputSchema;
  /** The client's names by the upstream's; undefined if all names stay. */
  readonly members: ReadonlyMap<string, string> | undefined;
}

/** @param place - The schema as the client wrote it, for the note. */
export function renameArguments(schema: InputSchema, place: Place | undefined): RenamedSchema {
  const properties = Object.entries(objectOf(schema['properties']));
  const members = new Map<string, string>();
  for (const [name] of properties) {
    const sent = toArgumentName(name);
    if (sent !== name) members.set(sent, name);
  }
  if (members.size === 0) return { schema, members: undefined };
  place?.note('rewritten', 'names of arguments that the upstream refuses');
  const { required } = schema;
  const renamed = {
    ...schema,
    properties: Object.fromEntries(
      properties.map(([name, value]) => [toArgumentName(name), value]),
    ),
    ...(Array.isArray(required) && {
      required: required.map((name: unknown) =>
        typeof name === 'string' ? toArgumentName(name) : name,
      ),
    }),
  };
  return { schema: renamed, members };
}

/** Gives the arguments of past calls the names that their tools have now. */
export function renamePastArguments(
  messages: readonly NativeMessage[],
  tools: ReadonlyMap<string, CalledAs>,
): void {
  const namesOf = new Map<string, ReadonlyMap<string, string>>();
  for (const [tool, { members }] of tools) {
    if (members) namesOf.set(tool, new Map([...members].map(([sent, name]) => [name, sent])));
  }
  if (namesOf.size === 0) return;
  for (const { role, content } of messages) {
    if (role !== 'assistant') continue;
    for (const block of content) {
      const names = block.type === 'tool_use' && namesOf.get(block.name);
      if (names) block.input = renameInput(block.input, names);
    }
  }
}

function renameInput(input: ToolInput, names: ReadonlyMap<string, string>): ToolInput {
  if ('json' in input) return { json: renameMembers(input.json, names) };
  const members = Object.entries(input.object);
  return {
    object: Object.fromEntries(members.map(([name, value]) => [names.get(name) ?? name, value])),
  };
}
