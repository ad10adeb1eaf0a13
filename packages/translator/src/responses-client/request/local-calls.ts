/**
 * Translates the items of tools that the client runs itself: the calls to the input of the function
 * that stands for the tool, and their outputs to text.
 */

import { readArguments } from '../../chat-client/request/calls-and-results.js';
import type { ToolInput } from '../../chat-client/request/native-request.js';
import type { Place } from '../../reading/place.js';
import { MAX_TOOL_NAME, toAllowedToken } from '../../reading/tool-ids.js';
import { fits, isLocalType, LOCAL_TOOLS, type LocalToolType } from '../../wire/local-tools.js';
import { isJsonObject, objectOf, objectsOf, stringOf } from '../../wire/raw-json.js';
import { namespacedName } from './tool-names.js';

/** The type of the tool that a call item calls; undefined for other items. */
export function calledType(itemType: unknown): LocalToolType | undefined {
  const type = /^(.+)_call$/.exec(stringOf(itemType))?.[1];
  return isLocalType(type) ? type : undefined;
}

/**
 * The input as the model wrote it, in the order of the schema. A call item has null and `{}` where
 * the model wrote nothing, so these are left out.
 */
export function readLocalInput(item: Place, type: LocalToolType): ToolInput {
  const { member, properties } = LOCAL_TOOLS[type];
  const place = item.at(member);
  for (const name of ['environment', 'execution']) item.at(name);
  if (type === 'tool_search') {
    return isJsonObject(place.value) ? { object: place.value } : readArguments(place);
  }
  // The only type of an `action` is `exec`.
  place.object().at('type');
  const input: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(properties)) {
    const given = place.given(name);
    if (!given) continue;
    const { value } = given;
    if (!fits(property, value)) {
      given.mustBe(property.enum?.join(' or ') ?? `as the schema of ${type} has it`);
    }
    if (!isJsonObject(value) || Object.keys(value).length > 0) input[name] = value;
  }
  place.noteUnread();
  return { json: JSON.stringify(input) };
}

/** The output of shell commands as text. */
export function readShellOutput(output: Place): string {
  const texts = output.items((part) => {
    const stdout = part.object().at('stdout').string('');
    const stderr = part.at('stderr').string('');
    const { type, exit_code: code } = objectOf(part.at('outcome').value);
    const outcome = type === 'timeout' ? 'timed out' : `exit code ${Number(code ?? 0)}`;
    part.noteUnread();
    return [stdout, stderr && `stderr:\n${stderr}`, outcome].filter(Boolean).join('\n');
  });
  return texts.join('\n\n');
}

/** Says which tools a search found, by the names that they have upstream. */
export function describeFound(tools: Place): string {
  const names = tools.items((tool) => {
    const { name, tools: inner } = objectOf(tool.value);
    const own = stringOf(name);
    if (!inner) return [toAllowedToken(own, MAX_TOOL_NAME)];
    return objectsOf(inner).map((held) => namespacedName(own, stringOf(held['name'])));
  });
  return names.length === 0 ? 'No tools were found.' : `Found: ${names.flat().join(', ')}`;
}
