/** `farthing members import`: makes the members of an account those of a file. */

import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { EXIT } from '../../base/errors/failures.js';
import { reasonOf } from '../../base/error-code.js';
import { ConfigError } from '../../config/config.js';
import type { CallOperation } from '../../operator/operations/operations.js';
import { integer, run, withJson } from '../output.js';
import type { OutputOptions } from '../output.js';
import { readAccount } from './account-state.js';
import type { AccountState, Key } from './account-state.js';
import { pathText, readPath } from './group-tree.js';
import { assertDelivery, isDelivered, openDelivery } from './key-delivery.js';
import type { DeliveryOptions, KeyDelivery } from './key-delivery.js';
import { readPeople } from './people-file.js';
import type { Person } from './people-file.js';
import { planEnd, planMembers } from './plan-members.js';
import type { MemberIds } from './plan-members.js';
import { STAGES, STEPS_AT_ONCE, createPlan, planView, printPlan, runSteps } from './steps.js';
import type { PlanBuilder } from './steps.js';

interface ImportOptions extends OutputOptions, DeliveryOptions {
  readonly account: string;
  readonly dryRun?: true;
  readonly endMissing?: true;
  readonly within?: string;
  readonly again?: true;
}

/** Mail servers admit few connections from one client. */
const MAILS_AT_ONCE = 4;
const MOST_PROBLEMS = 20;

const DESCRIPTION = `make the members of an account those of a CSV file

Columns: name and external_id, which says who it is; email; group, a path of names such as
Databases/Team A, which is made where it is missing; meta:<name> for each metadata pair; key: yes,
no, or the name of a key to have. A column that the file lacks is left alone; an empty cell means
none. If a line is wrong, nothing is changed. Who is in the file is created or changed; a second
run changes nothing, and one after an interruption makes the rest.`;

export function addImport(members: Command): void {
  withJson(
    members.command('import').argument('<file>', 'such as people.csv').description(DESCRIPTION),
  )
    .requiredOption('--account <account_id>', 'whose members they are')
    .option('--dry-run', 'only print what would change; exits with 1 if anything would')
    .option('--end-missing', 'end members with an external id that the file does not have')
    .option('--within <group>', 'with --end-missing: only those of this group and below, a path')
    .option('--links <file>', 'write links that show the new keys once into this new file')
    .option('--mail', 'send each member the link to the new key')
    .option('--days <n>', 'how many days a link is valid', integer, 14)
    .option('--again', 'also make new links for keys whose links nobody has opened')
    .option('--keys <file>', 'write the new keys themselves into this new file')
    .action((file: string, options: ImportOptions) =>
      run(options, (call) => importPeople(file, options, call), printImport),
    );
}

async function importPeople(file: string, options: ImportOptions, call: CallOperation) {
  const { people, problems } = readPeople(readText(file));
  if (problems.length > 0) throw unusable(file, problems);
  const account = await readAccount(options.account, call);
  const plan = createPlan();
  const ids = planMembers(people, account, plan);
  if (options.endMissing === true) planMissing(people, account, options.within, plan);
  // The steps need it when they run, and it is opened only if they do.
  const opened: { delivery?: KeyDelivery } = {};
  const keys = planKeys(people, account, ids, { plan, options, delivery: () => opened.delivery });
  if (options.again === true) {
    await planLinksAgain(keys.existing, account, { call, plan, delivery: () => opened.delivery });
  }
  const finished = plan.finish();
  if (finished.problems.length > 0) throw unusable(file, finished.problems);
  const makesKeys = finished.steps.some(({ stage }) => stage === STAGES.keys);
  const isDryRun = options.dryRun === true;
  // A dry run may be asked before it is decided how people get their keys.
  if (makesKeys && !(isDryRun && !isDelivered(options))) await assertDelivery(options, call);
  const view = { ...planView(finished, isDryRun), mailed: 0, mail_problems: NONE };
  if (isDryRun) {
    if (finished.steps.length > 0) process.exitCode = EXIT.refused;
    return view;
  }
  if (makesKeys) opened.delivery = openDelivery(options);
  try {
    await runSteps(finished.steps, call, options.mail ? MAILS_AT_ONCE : STEPS_AT_ONCE);
  } finally {
    opened.delivery?.close();
  }
  const { mailed = 0, problems: notMailed = NONE } = opened.delivery?.report ?? {};
  if (notMailed.length > 0) process.exitCode = EXIT.refused;
  return { ...view, mailed, mail_problems: notMailed };
}

const NONE: readonly string[] = [];

/** @throws {ConfigError} It cannot be read, or is not UTF-8. */
export function readText(file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
  } catch (error) {
    const isText = error instanceof TypeError;
    throw new ConfigError([`${file}: ${isText ? 'is not in UTF-8' : reasonOf(error)}`]);
  }
}

export function unusable(file: string, problems: readonly string[]): ConfigError {
  const more = problems.length - MOST_PROBLEMS;
  const shown = problems.slice(0, MOST_PROBLEMS);
  return new ConfigError(
    more > 0 ? [...shown, `and ${String(more)} more`] : shown,
    `${file} cannot be used, and nothing was changed`,
  );
}

function planMissing(
  people: readonly Person[],
  account: AccountState,
  within: string | undefined,
  plan: PlanBuilder,
): void {
  const group = within === undefined ? undefined : readPath(within);
  if (group !== undefined && !('path' in group && account.groups.get(group.path) !== undefined)) {
    throw new ConfigError([`--within: the account has no group ${within ?? ''}`]);
  }
  const top = group !== undefined && 'path' in group ? pathText(group.path) : undefined;
  const named = new Set(people.map(({ externalId }) => externalId));
  for (const [externalId, member] of account.members) {
    if (named.has(externalId) || member.state === 'ended') continue;
    const path = member.group_id === null ? '' : account.groups.pathOf(member.group_id);
    if (top === undefined || path === top || path.startsWith(`${top}/`)) planEnd(member, plan);
  }
}

interface ExistingKey {
  readonly key: Key;
  readonly person: Person;
}

/** @returns the keys that people have already */
function planKeys(
  people: readonly Person[],
  account: AccountState,
  ids: MemberIds,
  {
    plan,
    options,
    delivery,
  }: {
    readonly plan: PlanBuilder;
    readonly options: DeliveryOptions;
    readonly delivery: () => KeyDelivery | undefined;
  },
): { readonly existing: readonly ExistingKey[] } {
  const isByLink = options.links !== undefined || options.mail === true;
  const metadata = isByLink ? { metadata: SHOWN_BY_LINK } : {};
  const keysOf = new Map<string | null, Key[]>();
  for (const key of account.keys) {
    keysOf.set(key.member_id, [...(keysOf.get(key.member_id) ?? []), key]);
  }
  const existing: ExistingKey[] = [];
  for (const person of people) {
    const { key: wanted, externalId, name } = person;
    if (wanted === undefined) continue;
    const memberId = account.members.get(externalId)?.id;
    const keys = memberId === undefined ? [] : (keysOf.get(memberId) ?? []);
    const same = keys.filter((key) => wanted === true || key.name === wanted);
    if (same.length > 0) {
      plan.leave('keys');
      existing.push(...same.map((key) => ({ key, person })));
      continue;
    }
    const keyName = wanted === true ? name : wanted;
    plan.add({
      stage: STAGES.keys,
      does: 'create',
      what: `key “${keyName}” of ${externalId}`,
      differences: [],
      isShared: options.mail !== true,
      async run(call) {
        const of = { account_id: account.id(), member_id: ids.idOf(externalId) };
        const { id, api_key } = await call('createKey', { ...of, ...metadata, name: keyName });
        const made = { ...receiverOf(person, account), keyId: id };
        await delivery()?.take({ ...made, credential: api_key ?? undefined }, call);
      },
    });
  }
  return { existing };
}

/** The address in the file, or that of the ledger if the file has no column for it. */
function receiverOf({ externalId, name, email }: Person, account: AccountState) {
  const known = account.members.get(externalId)?.email ?? null;
  return { externalId, name, email: email === undefined ? known : email };
}

/** Also says so of a key whose link was not made, because the run stopped in between. */
const SHOWN_BY_LINK = { shown_by: 'link' } as const;

/** Keys that were made to be shown by a link, and have the credential that nobody has seen. */
async function planLinksAgain(
  existing: readonly ExistingKey[],
  account: AccountState,
  {
    call,
    plan,
    delivery,
  }: {
    readonly call: CallOperation;
    readonly plan: PlanBuilder;
    readonly delivery: () => KeyDelivery | undefined;
  },
): Promise<void> {
  for (const { key, person } of existing) {
    if (!(await isUnopened(key, call))) continue;
    plan.add({
      stage: STAGES.keys,
      does: 'create',
      what: `link to the key “${key.name}” of ${person.externalId}, which nobody has opened`,
      differences: [],
      async run() {
        const made = { ...receiverOf(person, account), keyId: key.id };
        await delivery()?.take({ ...made, credential: undefined }, call);
      },
    });
  }
}

/** Its first credential was never seen, and opening a link would have replaced it. */
async function isUnopened(
  { id: key_id, metadata, last_charged_at }: Key,
  call: CallOperation,
): Promise<boolean> {
  if (metadata['shown_by'] !== SHOWN_BY_LINK.shown_by || last_charged_at !== null) return false;
  const { data } = await call('listTrail', { key_id, limit: 1_000 });
  return data.every(({ action }) => action !== 'key.rotate');
}

function printImport(view: Awaited<ReturnType<typeof importPeople>>): string {
  const { mailed, mail_problems } = view;
  return [
    printPlan(view),
    ...(mailed === 0 ? [] : [`${String(mailed)} links sent by mail.`]),
    ...mail_problems.map((problem) => `Not sent by mail: ${problem}`),
    ...(mail_problems.length === 0 ? [] : ['Correct the addresses, and run it with --again.']),
  ].join('\n');
}
