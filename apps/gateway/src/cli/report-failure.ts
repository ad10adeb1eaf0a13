/** Reports why a command failed, in the names of the options that were typed. */

import type { Command } from 'commander';
import { failureText } from '../process/exit-codes.js';
import { optionNameOf } from './option-names.js';

/** @param command - The command that ran; `undefined` if none did. */
export function reportFailure(error: unknown, command: Command | undefined): void {
  const text = failureText(error);
  const shown = command === undefined ? text : withOptionName(text, command);
  process.stderr.write(`farthing: ${shown}\n`);
}

/**
 * Replaces the field at the start of a message: `balance_usd: must …` becomes `--balance: must …`.
 * The message stays as it is if the command has no option or argument for the field.
 */
function withOptionName(message: string, command: Command): string {
  // A path such as `metadata.plan` begins with the field.
  const [start, field, place = ''] = /^([a-z_]+)(?:\.([^:]*))?: /.exec(message) ?? [];
  if (start === undefined || field === undefined) return message;
  const typed = typedNames(command);
  const name = typed.get(field) ?? typed.get(optionNameOf(field));
  if (name === undefined) return message;
  return `${[name, place].join(' ').trimEnd()}: ${message.slice(start.length)}`;
}

/** The options and arguments of a command as they are typed, by their names. */
function typedNames(command: Command): ReadonlyMap<string, string> {
  const options = command.options.map((option) => option.name());
  const given = command.registeredArguments.map((argument) => argument.name());
  return new Map([
    ...options.map((name) => [name, `--${name}`] as const),
    ...given.map((name) => [name, `<${name}>`] as const),
  ]);
}
