/**
 * A command that calls an operation. Its help, arguments and options follow from the operation's
 * summary and input, and its result is printed as text, JSON or CSV.
 */

import { randomUUID } from 'node:crypto';
import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import { EXIT } from '../base/errors/failures.js';
import { z } from 'zod';
import { help, idempotencyId, metadataQuery, noticeShares } from '../endpoints/fields.js';
import type { ListName } from '../operator/operations/list-csv.js';
import { operations } from '../operator/operations/operations.js';
import type {
  CallOperation,
  OperationInput,
  OperationName,
  OperationOutput,
} from '../operator/operations/operations.js';
import { optionNameOf } from './option-names.js';
import {
  integer,
  metadataText,
  names,
  orNone,
  pair,
  run,
  runList,
  time,
  withFormats,
  withJson,
} from './output.js';
import type { FormatOptions } from './output.js';

/**
 * @param usage - The name of the command, and the members of the input that are arguments:
 * `top-up <account_id> <amount_usd>`. All other members are options.
 * @param defaults - Values of options that differ from the defaults of the operation.
 * @param exitCode - Of the command, for this result; 0 when absent.
 */
export function addOperation<Name extends OperationName>(
  parent: Command,
  usage: string,
  operation: Name,
  print: (result: OperationOutput<Name>) => string,
  defaults: Readonly<Record<string, Default>> = {},
  exitCode: (result: OperationOutput<Name>) => number = () => EXIT.ok,
): void {
  const { input, output, summary } = operations[operation];
  const isList = output instanceof z.ZodObject && 'data' in output.shape;
  const command = parent.command(usage).description(helpOf(summary));
  const given = command.registeredArguments.map((argument) => argument.name());
  const options = Object.entries<z.ZodType>(input.shape)
    .filter(([member]) => member !== 'format' && !given.includes(member))
    .map(([member, schema]) => ({ member, ...optionOf(member, schema, defaults[member]) }));
  for (const { option } of options) command.addOption(option);
  if (isList) withFormats(command);
  else withJson(command);
  command.action((...typed: readonly unknown[]) => {
    const values = command.opts<FormatOptions & Readonly<Record<string, unknown>>>();
    const members = {
      ...Object.fromEntries(given.map((member, index) => [member, typed[index]])),
      ...Object.fromEntries(
        options.map(({ member, option, read }) => [member, read(values[option.attributeName()])]),
      ),
      // The operation checks its input.
    } as OperationInput<Name>;
    return isList
      ? runList(values, { name: operation as ListName, input: members as never }, print as never)
      : run(values, withExitCode, print);

    async function withExitCode(call: CallOperation): Promise<OperationOutput<Name>> {
      const result = await call(operation, members);
      process.exitCode = exitCode(result);
      return result;
    }
  });
}

/** The first sentence of a summary, in the style of help. */
function helpOf(summary: string): string {
  const [sentence = ''] = summary.split('. ');
  return sentence.charAt(0).toLowerCase() + sentence.slice(1);
}

type Default = string | number | boolean | readonly string[];

interface InputOption {
  readonly option: Option;
  /** Turns the value of the option into that of the member. */
  readonly read: (value: unknown) => unknown;
}

/** The option for a member of an input. */
function optionOf(member: string, schema: z.ZodType, ownDefault?: Default): InputOption {
  const { inner, isNullable, says, defaultValue } = unwrapped(schema);
  const name = `--${optionNameOf(member)}`;
  const { value, parse, read } = kindOf(member, inner, isNullable);
  const flags = value === undefined ? name : `${name} <${value}>`;
  const option = new Option(flags, textOf(says, inner, value, ownDefault ?? defaultValue));
  if (parse !== undefined) option.argParser<unknown>(parse);
  if (inner === idempotencyId) {
    const isRequired = !schema.isOptional();
    return { option, read: (id) => id ?? (isRequired ? randomUUID() : undefined) };
  }
  option.makeOptionMandatory(!schema.isOptional());
  return { option, read: (given) => read(given ?? ownDefault) };
}

/** The help of an option. One without a value has no values and no default to name. */
function textOf(
  says: string | undefined,
  schema: z.ZodType,
  value: string | undefined,
  defaultValue: Default | undefined,
): string {
  const choices = schema instanceof z.ZodEnum ? `one of ${schema.options.join(', ')}` : undefined;
  const shown = defaultValue === undefined ? undefined : `default: ${String(defaultValue)}`;
  const facts = [choices, shown].filter((fact) => fact !== undefined).join('; ');
  if (value === undefined || facts === '') return says ?? '';
  return says === undefined ? facts : `${says} (${facts})`;
}

interface Kind {
  /** What the value is called in the help; `undefined` for an option without one. */
  readonly value: string | undefined;
  readonly parse?: (text: string, before: unknown) => unknown;
  readonly read: (value: unknown) => unknown;
}

function kindOf(member: string, schema: z.ZodType, isNullable: boolean): Kind {
  const asIs = (value: unknown) => value;
  const orNull = (value: unknown) => orNone(value as string | undefined);
  const read = isNullable ? orNull : asIs;
  if (schema instanceof z.ZodBoolean) return { value: undefined, read: asIs };
  if (schema instanceof z.ZodNumber) return { value: 'n', parse: integer, read: asIs };
  if (schema instanceof z.ZodRecord) return { value: PAIR, parse: nextPair, read: asIs };
  if (schema instanceof z.ZodArray) {
    return { value: 'ids', read: (value) => names(value as string | undefined) };
  }
  if (schema === noticeShares) {
    return { value: 'percents', read: (value) => percents(value as string | undefined) };
  }
  if (schema === metadataQuery) {
    return { value: PAIR, parse: nextPair, read: (pairs) => metadataText(pairs as never) };
  }
  if (schema instanceof z.ZodEnum && schema.options.includes(optionNameOf(member))) {
    // The option is named after the value that it stands for.
    const chosen = optionNameOf(member);
    return { value: undefined, read: (given) => (given === true ? chosen : undefined) };
  }
  if (schema instanceof z.ZodEnum && !isNullable) {
    return { value: member, parse: oneOf(schema.options), read };
  }
  if (schema instanceof z.ZodPipe && schema.def.in instanceof z.ZodISODateTime) {
    return { value: 'time', parse: time, read };
  }
  if (schema === idempotencyId) return { value: 'id', read };
  return { value: member.endsWith('_usd') ? 'usd' : member, read };
}

/** `50,80,100`, or `none`. */
function percents(text: string | undefined): readonly number[] | undefined {
  if (text === undefined) return undefined;
  return text === 'none' ? [] : text.split(',').map(Number);
}

/** Refused as wrong usage, before anything is asked. */
const oneOf = (values: readonly unknown[]) => (text: string) => {
  if (values.includes(text)) return text;
  throw new InvalidArgumentError(`It must be one of ${values.join(', ')}.`);
};

const PAIR = 'name=value';
const nextPair = (text: string, before: unknown) =>
  pair(text, before as Parameters<typeof pair>[1]);

/** The schema of a value that is given and not `null`, and what the schemas around it say. */
function unwrapped(schema: z.ZodType): {
  readonly inner: z.ZodType;
  readonly isNullable: boolean;
  readonly says: string | undefined;
  readonly defaultValue: Default | undefined;
} {
  const says = help.get(schema)?.says;
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    const rest = unwrapped(schema.unwrap() as z.ZodType);
    const isNullable = rest.isNullable || schema instanceof z.ZodNullable;
    return { ...rest, isNullable, says: says ?? rest.says };
  }
  if (schema instanceof z.ZodDefault) {
    const rest = unwrapped(schema.unwrap() as z.ZodType);
    return { ...rest, says: says ?? rest.says, defaultValue: schema.def.defaultValue as Default };
  }
  return { inner: schema, isNullable: false, says, defaultValue: undefined };
}
