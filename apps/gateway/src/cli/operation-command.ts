/**
 * A command that calls an operation. Its help, arguments and options follow from the operation's
 * summary and input, and its result is printed as text, JSON or CSV.
 */

import { randomUUID } from 'node:crypto';
import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import { z } from 'zod';
import { EXIT } from '../base/errors/failures.js';
import {
  help,
  idempotencyId,
  metadataQuery,
  namesMembers,
  noticeShares,
} from '../endpoints/fields.js';
import { WrongUsageError } from '../endpoints/operation-error.js';
import type { ListName } from '../operator/operations/list-csv.js';
import type { Operation } from '../operator/operations/operation.js';
import { operations, problemOfInput, textFormatOf } from '../operator/operations/operations.js';
import type {
  CallOperation,
  OperationInput,
  OperationName,
  OperationOutput,
} from '../operator/operations/operations.js';
import { operatorZone } from './gateway-settings.js';
import { withOperations } from './operations-access.js';
import { optionNameOf } from './option-names.js';
import {
  integer,
  metadataText,
  names,
  orNone,
  pair,
  runList,
  show,
  withFormats,
  withJson,
  withWide,
} from './output.js';
import type { FormatOptions } from './output.js';
import { rangeOptions, readRange } from './ranges.js';
import type { TypedRange } from './ranges.js';
import { screenOf } from './screen.js';
import type { Screen } from './screen.js';
import { needsZone, point, timeOf } from './when.js';
import type { Now } from './when.js';
import { write } from './whole-csv.js';

type Read = (value: unknown, at: Now) => unknown;

interface Special<Name extends OperationName, Also> {
  /** Values of options that differ from the defaults of the operation. */
  readonly defaults?: Readonly<Record<string, Default>>;
  /** Of the command, for this result; 0 when absent. */
  readonly exitCode?: (result: OperationOutput<Name>) => number;
  /** What a person at a terminal gets besides the result. */
  readonly onTerminal?: (call: CallOperation) => Promise<Also>;
}

/**
 * @param usage - The name of the command, and the members of the input that are arguments:
 * `top-up <account_id> <amount_usd>`. All other members are options.
 */
export function addOperation<Name extends OperationName, Also = never>(
  parent: Command,
  usage: string,
  operation: Name,
  print: (result: OperationOutput<Name>, screen: Screen, also?: Also) => string,
  { defaults = {}, exitCode = () => EXIT.ok, onTerminal }: Special<Name, Also> = {},
): void {
  const { input, output, summary } = operations[operation];
  const isList = output instanceof z.ZodObject && 'data' in output.shape;
  const command = parent.command(usage).description(helpOf(summary));
  const given = command.registeredArguments.map((argument) => argument.name());
  const members = Object.entries<z.ZodType>(input.shape).filter(
    ([member]) => member !== 'format' && !given.includes(member),
  );
  const range = rangeOf(operation);
  const options = members
    .filter(([member]) => range === undefined || !isRangeEnd(member))
    .map(([member, schema]) => ({ member, ...optionOf(member, schema, defaults[member]) }));
  for (const { option } of [...options, ...(range?.options ?? []).map((option) => ({ option }))]) {
    command.addOption(option);
  }
  const asCsv = textFormatOf(operation, { format: 'csv' });
  if (isList) withFormats(command, operation as ListName);
  else withJson(command);
  if (!isList && hasRows(output)) withWide(command);
  if (!isList && asCsv !== undefined) command.option('--csv', 'print CSV');
  command.action(async (...typed: readonly unknown[]) => {
    const values = command.opts<FormatOptions & Readonly<Record<string, unknown>>>();
    const membersIn = (at: Now) =>
      ({
        ...Object.fromEntries(given.map((member, index) => [member, typed[index]])),
        ...Object.fromEntries(
          options.map(({ member, option, read }) => [
            member,
            read(values[option.attributeName()], at),
          ]),
        ),
        ...(range === undefined ? {} : readRange(values as TypedRange, range.needed, at)),
      }) as OperationInput<Name>;
    const now = Date.now();
    // Wrong usage is refused before anything is asked. The zone does not matter for that.
    const problem = problemOfInput(operation, membersIn({ zone: 'UTC', now }));
    if (problem !== undefined) throw new WrongUsageError(problem);
    const times = options.filter(({ isTime }) => isTime).map(({ option }) => option);
    const isZoned = [...times, ...(range?.options ?? [])]
      .map((option) => values[option.attributeName()])
      .some((text) => typeof text === 'string' && needsZone(text));
    const inputOf = async (call: CallOperation) => {
      const needs = isZoned || range?.needed.from === true;
      return membersIn({ zone: needs ? await operatorZone(call) : 'UTC', now });
    };
    if (isList) {
      const list = { name: operation as ListName, inputOf: inputOf as never };
      await runList(values, list, print as never);
      return;
    }
    let also: Also | undefined;
    const shown = (result: OperationOutput<Name>, screen: Screen) => print(result, screen, also);
    const asText = values.csv === true && asCsv !== undefined ? asCsv : undefined;
    const result = await withOperations(async (call) => {
      const found = await call(operation, await inputOf(call));
      const { isTerminal } = screenOf({});
      // What was done must be printed even if this fails: it may be a key that is shown once.
      if (isTerminal && values.json !== true && asText === undefined) {
        also = await onTerminal?.(call).catch(() => undefined);
      }
      return found;
    });
    process.exitCode = exitCode(result);
    if (asText === undefined || values.json === true) show(values, result, shown);
    else await write(asText.write(result));
  });
}

/** The first sentence of a summary, in the style of help. */
function helpOf(summary: string): string {
  const [sentence = ''] = summary.split('. ');
  return sentence.charAt(0).toLowerCase() + sentence.slice(1);
}

type Default = string | number | boolean | readonly string[];

/** The options of the range of a report; `undefined` for an operation that has none. */
function rangeOf(operation: OperationName) {
  const { input, method } = operations[operation] as Operation<z.ZodObject, z.ZodType>;
  const { from, until } = input.shape as Partial<Record<string, z.ZodType>>;
  // The times of what is created are no range of a report.
  const isReport = method === 'get' || operation === 'reconcilePayments';
  if (from === undefined || until === undefined || !isReport) return undefined;
  const needed = { from: !from.isOptional(), until: !until.isOptional() };
  const says = { from: unwrapped(from).says, until: unwrapped(until).says };
  return { needed, options: rangeOptions(needed, says) };
}

const isRangeEnd = (member: string): boolean => member === 'from' || member === 'until';

/** Whether a result has lists of objects, which are printed as tables. */
function hasRows(schema: unknown): boolean {
  if (schema instanceof z.ZodArray) return schema.element instanceof z.ZodObject;
  if (schema instanceof z.ZodObject) return Object.values(schema.shape).some(hasRows);
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodExactOptional) {
    return hasRows(schema.unwrap());
  }
  return false;
}

interface InputOption {
  readonly option: Option;
  /** Turns the value of the option into that of the member. */
  readonly read: Read;
  readonly isTime: boolean;
}

/** The option for a member of an input. */
function optionOf(member: string, schema: z.ZodType, ownDefault?: Default): InputOption {
  const { inner, isNullable, says, defaultValue } = unwrapped(schema);
  const name = `--${optionNameOf(member)}`;
  const hasDefault = defaultValue !== undefined;
  const { value, parse, read, isTime = false } = kindOf(member, inner, { isNullable, hasDefault });
  const flags = value === undefined ? name : `${name} <${value}>`;
  const option = new Option(flags, textOf(says, inner, value, ownDefault ?? defaultValue));
  if (parse !== undefined) option.argParser<unknown>(parse);
  if (inner === idempotencyId) {
    const isRequired = !schema.isOptional();
    return { option, isTime, read: (id) => id ?? (isRequired ? randomUUID() : undefined) };
  }
  option.makeOptionMandatory(!schema.isOptional());
  return { option, isTime, read: (given, at) => read(given ?? ownDefault, at) };
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
  readonly read: Read;
  readonly isTime?: boolean;
}

function kindOf(
  member: string,
  schema: z.ZodType,
  { isNullable, hasDefault }: { readonly isNullable: boolean; readonly hasDefault: boolean },
): Kind {
  const asIs = (value: unknown) => value;
  const orNull = (value: unknown) => orNone(value as string | undefined);
  const read = isNullable ? orNull : asIs;
  if (schema instanceof z.ZodBoolean) {
    // False unless it is typed.
    if (hasDefault) return { value: undefined, read: asIs };
    const answers = isNullable ? ['yes', 'no', 'none'] : ['yes', 'no'];
    return { value: 'yes-or-no', parse: oneOf(answers), read: yesOrNo };
  }
  if (schema instanceof z.ZodNumber) return { value: 'n', parse: integer, read: asIs };
  if (schema instanceof z.ZodRecord) return { value: PAIR, parse: nextPair, read: asIs };
  if (schema instanceof z.ZodArray) {
    return { value: 'ids', read: (value) => names(value as string | undefined) };
  }
  if (schema === noticeShares) {
    return { value: 'percents', read: (value) => percents(value as string | undefined) };
  }
  if (schema === namesMembers) {
    return { value: 'what', read: (value) => naming(value as string | undefined) };
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
    return {
      value: 'when',
      parse: (text) => (isNullable && text === 'none' ? text : point(text)),
      read(text, at) {
        if (typeof text !== 'string') return text;
        return isNullable && text === 'none' ? null : timeOf(text, at).toISOString();
      },
      isTime: true,
    };
  }
  if (schema === idempotencyId) return { value: 'id', read };
  return { value: member.endsWith('_usd') ? 'usd' : member, read };
}

/** `yes`, `no` or `none`. */
function yesOrNo(answer: unknown): boolean | null | undefined {
  if (answer === undefined) return undefined;
  return answer === 'none' ? null : answer === 'yes';
}

/** `50,80,100`, or `none`. */
function percents(text: string | undefined): readonly number[] | undefined {
  if (text === undefined) return undefined;
  return text === 'none' ? [] : text.split(',').map(Number);
}

/** `refuse`, `create`, `create:grp_…` or `none`. */
function naming(text: string | undefined): object | null | undefined {
  if (text === undefined || text === 'none') return orNone(text) as null | undefined;
  const [unknown, ...group] = text.split(':');
  return { unknown, ...(group.length === 0 ? {} : { group_id: group.join(':') }) };
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
