/**
 * `npm run bench`: the cost of this gateway, compared with other proxies in the same run.
 *
 *   npm run bench                                      everything; writes docs/performance.md
 *   npm run bench -- --quick                           a few short rounds, to check that it works
 *   npm run bench -- --only native-json-1k,open-1000   some workloads
 *   npm run bench -- --contestants bare,gateway-servers --rounds 9
 *   npm run bench -- --only native-paced-300 --streams 800
 *   npm run bench -- --units                           the cost per request, by process
 *   npm run bench -- --replicas                        charges per second by processes and keys
 *   npm run bench -- --usage                           sums of usage over a month
 *   npm run bench -- --requests 10000000                the record of requests at this size
 *   npm run bench -- --members 10000                   an account with so many members
 *   npm run bench -- --against ../before             a request's cost, with another checkout's
 *   npm run bench -- --against REQUEST_RECORD_DAYS=0   the same, with another setting's
 *   npm run bench -- --against ../before --ledger servers --only native-json-1k-8
 *   npm run bench -- --budgets none            four levels of budgets with holds, with no budgets
 *   npm run bench -- --profile gateway-servers --work native-stream-300
 */

import { compareWith } from './against.mjs';
import { guardCost } from './cost-guard.mjs';
import { readOptions } from './options.mjs';
import { profile } from './profile.mjs';
import { measureMembers } from './members.mjs';
import { measureReplicas } from './replicas.mjs';
import { measureRequests } from './request-record.mjs';
import { loadContestants, openSession } from './session.mjs';
import { runWorks } from './run-works.mjs';
import { measureUnitCosts } from './unit-costs.mjs';
import { measureUsage } from './usage-month.mjs';

const contestants = await loadContestants();
const options = readOptions(contestants);
const session = await openSession();
try {
  process.exitCode = await run();
} finally {
  await session.close();
}

/** @returns the exit code */
function run() {
  if (options.isReplicas) return measureReplicas(session);
  if (options.isUsage) return measureUsage(session);
  if (options.requests) return measureRequests(session, options.requests);
  if (options.members) return measureMembers(session, options.members);
  if (options.against !== undefined) return compareWith(session, options.against);
  if (options.isUnits) return measureUnitCosts(session, contestants);
  if (options.guard !== undefined) return guardCost(session, options.guard);
  if (options.profile !== undefined) return profile(session, options.profile);
  return runWorks(session, options);
}
