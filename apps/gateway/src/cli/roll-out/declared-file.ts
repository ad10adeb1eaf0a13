/**
 * The file of `farthing apply`: accounts, groups, members, keys and budgets by names that people
 * choose, not by ids. What is absent is not declared, and stays as it is.
 */

import { z } from 'zod';
import { BUDGET_PERIODS, BUDGET_SCOPES } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { reasonOf } from '../../base/error-code.js';
import { changedSettings } from '../../endpoints/account-settings.js';
import {
  contact,
  externalId,
  holderRules,
  name,
  noticeEmail,
  noticeShares,
  time,
  timeZone,
  unsignedAmountUsd,
} from '../../endpoints/fields.js';
import { line } from '../../endpoints/storable.js';
import { readPath } from './group-tree.js';

const MOST = 50_000;

/** Pairs that are not named stay; `null` removes one. */
const metadata = z.record(line.min(1).max(100), line.max(1_000).nullable());

const path = z.string().transform((text, context) => {
  const read = readPath(text);
  if ('path' in read) return read.path;
  context.addIssue(read.problem);
  return z.NEVER;
});

/** The external id of an account of the file or of the ledger, or the id of one of the ledger. */
const ofAccount = line.min(1).max(200);
const state = z.enum(['active', 'ended']);
const listOf = <Item extends z.ZodType>(item: Item) => z.array(item).max(MOST).default([]);

export const declaredFile = z.strictObject({
  account: ofAccount.optional(),
  prices: z.union([z.string().min(1), z.record(z.string(), z.unknown())]).optional(),
  accounts: listOf(
    z.strictObject({
      external_id: externalId,
      name: name.optional(),
      metadata: metadata.optional(),
      ...changedSettings,
    }),
  ),
  groups: listOf(
    z.strictObject({
      account: ofAccount.optional(),
      path,
      external_id: externalId.nullable().optional(),
      metadata: metadata.optional(),
    }),
  ),
  members: listOf(
    z.strictObject({
      account: ofAccount.optional(),
      external_id: externalId,
      name: name.optional(),
      email: noticeEmail.nullable().optional(),
      group: path.nullable().optional(),
      metadata: metadata.optional(),
      state: state.optional(),
    }),
  ),
  keys: listOf(
    z.strictObject({
      account: ofAccount.optional(),
      external_id: externalId,
      name: name.optional(),
      member: externalId.nullable().optional(),
      metadata: metadata.optional(),
      ...holderRules,
      expires_at: time.nullable().optional(),
      state: state.optional(),
    }),
  ),
  budgets: listOf(
    z.strictObject({
      account: ofAccount.optional(),
      name,
      scope: z.enum(BUDGET_SCOPES).optional(),
      /** A path of a group, an external id of a member or a key, or the text of a tag or a run. */
      subject: line.min(1).max(2_000).optional(),
      within_group: path.optional(),
      amount_usd: unsignedAmountUsd.optional(),
      period: z.enum(BUDGET_PERIODS).optional(),
      time_zone: timeZone.optional(),
      from: time.optional(),
      until: time.optional(),
      action: z.enum(['refuse', 'notify']).optional(),
      shares: noticeShares.optional(),
      contact: contact.nullable().optional(),
      /** The name of a budget with the scope reserve; `null`: none pays after this one. */
      then: name.nullable().optional(),
      state: state.optional(),
    }),
  ),
});

export type Declared = z.output<typeof declaredFile>;

/** An item of a list of the file, with its place there, such as `budgets[2]`. */
export interface Placed<Item> {
  readonly item: Item;
  readonly at: string;
}

/** @returns the problems with their places, such as `budgets[2].amount_usd` */
export function readDeclared(
  text: string,
): { readonly declared: Declared } | { readonly problems: readonly string[] } {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return { problems: [`is not JSON: ${reasonOf(error)}`] };
  }
  const parsed = declaredFile.safeParse(json);
  if (parsed.success) return { declared: parsed.data };
  return {
    problems: parsed.error.issues.flatMap((issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => `${placeOf([...issue.path, key])}: is not known`)
        : [`${placeOf(issue.path)}: ${issue.message}`],
    ),
  };
}

function placeOf(path: readonly PropertyKey[]): string {
  const place = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`));
  return place.join('').replace(/^\./, '') || 'the file';
}

/** Values as operations take and show them: amounts and times as texts. */
export function asSent(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([field, value]) =>
      value === undefined ? [] : [[field, sent(value)]],
    ),
  );
}

function sent(value: unknown): unknown {
  if (typeof value === 'bigint') return formatUsd(value);
  return value instanceof Date ? value.toISOString() : value;
}
