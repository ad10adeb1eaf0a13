/** Reports why a command failed, in the names of the options that were typed. */

import type { Command } from 'commander';
import { failureText } from '../process/exit-codes.js';

/** @param command - The command that ran; `undefined` if none did. */
export function reportFailure(error: unknown, command: Command | undefined): void {
  const text = failureText(error);
  const shown = command === undefined ? text : withOptionName(text, command);
  process.stderr.write(`gateway: ${shown}\n`);
}

/** Other names that options and arguments have for a field of an operation. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  account_id: ['account', 'from_account_id'],
  key_id: ['key'],
  cursor: ['after'],
  amount_usd: ['usd'],
  credit_source: ['promotional'],
  grace_seconds: ['grace'],
  max_redemptions: ['times'],
  idempotency_key: ['id'],
  top_up_id: ['id'],
  adjustment_id: ['id'],
  transfer_id: ['id'],
  request_id: ['id'],
  refund_id: ['id'],
};

/**
 * Replaces the field at the start of a message: `balance_usd: must …` becomes `--balance: must …`.
 * The message stays as it is if the command has no option or argument for the field.
 */
function withOptionName(message: string, command: Command): string {
  // A path such as `metadata.plan` begins with the field.
  const [start, field, place = ''] = /^([a-z_]+)(?:\.([^:]*))?: /.exec(message) ?? [];
  if (start === undefined || field === undefined) return message;
  const typed = typedNames(command);
  const name = [field, field.replace(/_usd$/, ''), ...(OTHER_NAMES[field] ?? [])]
    .map((known) => typed.get(known))
    .find((known) => known !== undefined);
  if (name === undefined) return message;
  return `${[name, place].join(' ').trimEnd()}: ${message.slice(start.length)}`;
}

/** The options and arguments of a command as they are typed, by their names in snake case. */
function typedNames(command: Command): ReadonlyMap<string, string> {
  const options = command.options.map(({ long }) => long ?? '');
  const given = command.registeredArguments.map((argument) => argument.name());
  return new Map([
    ...options.map((long) => [long.slice(2).replaceAll('-', '_'), long] as const),
    ...given.map((name) => [name, `<${name}>`] as const),
  ]);
}
