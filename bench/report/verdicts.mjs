/** Compares the figures with the budgets. Workloads that the run left out have no verdict. */

import {
  chatEventBudget,
  firstByteBudget,
  latencyBudget,
  memoryBudget,
  processBudgets,
  ratioBudgets,
  settlingBudgets,
} from '../budgets.mjs';

/** @returns rows of `what`, `budget`, `measured`, and `isMet`. */
export function verdictsOf(results, contestant) {
  const row = (work, name = contestant) =>
    results.works.find((entry) => entry.name === work)?.rows.find((r) => r.contestant === name);
  return [
    ...ratios(),
    ...chatEvents(),
    ...latencies(),
    ...firstBytes(),
    ...memory(),
    ...processMemory(),
    ...settling(),
  ];

  function ratios() {
    return ratioBudgets.flatMap(({ work, times }) => {
      const measured = row(work)?.ratio?.median;
      if (measured === undefined) return [];
      const { title } = results.works.find((entry) => entry.name === work);
      const what = `${title}: CPU time`;
      return verdict({ what, budget: times, measured, text: (x) => `${x.toFixed(1)} × bare` });
    });
  }

  function chatEvents() {
    const { work, events, usPerEvent: budget } = chatEventBudget;
    const chat = row(work)?.wholeCpuUs;
    const bare = row(work, 'bare')?.wholeCpuUs;
    if (chat === undefined || bare === undefined) return [];
    const measured = (chat.median - bare.median) / events;
    const what = `chat stream, ${events} events: CPU time per event above bare`;
    return verdict({ what, budget, measured, text: (us) => `${us.toFixed(2)} µs` });
  }

  function latencies() {
    const { work, addedP50Ms: budget } = latencyBudget;
    const measured = row(work)?.latency?.lastByteMs?.addedP50;
    if (measured === undefined) return [];
    return verdict({ what: 'added at 50 requests a second, p50', budget, measured, text: ofMs });
  }

  function firstBytes() {
    const { work, aboveBareMs: budget } = firstByteBudget;
    const own = row(work)?.latency?.firstByteMs?.p50;
    const bare = row(work, 'bare')?.latency?.firstByteMs?.p50;
    if (own === undefined || bare === undefined) return [];
    const what = 'first byte of a stream after that of the bare proxy, p50';
    return verdict({ what, budget, measured: own - bare, text: ofMs });
  }

  function memory() {
    const { work, kbPerStream: budget } = memoryBudget;
    const bytes = row(work)?.bytesPerStream;
    if (bytes === undefined) return [];
    const text = (kb) => `${kb.toFixed(0)} KB`;
    return verdict({ what: 'memory per open stream', budget, measured: bytes.median / 1024, text });
  }

  function processMemory() {
    const budgets = processBudgets[contestant];
    const { idle, afterwards } = results.memory;
    if (budgets === undefined || idle[contestant] === undefined) return [];
    const of = (what, budget, bytes) =>
      verdict({ what, budget, measured: bytes / 2 ** 20, text: (mb) => `${mb.toFixed(0)} MB` });
    return [
      ...of('memory of the process, idle', budgets.idleMb, idle[contestant]),
      ...of('memory of the process, after the run', budgets.afterwardsMb, afterwards[contestant]),
    ];
  }

  function settling() {
    const { store, perSecond: budget } = settlingBudgets[contestant];
    const reached = results.settling.find(({ title }) => title === store)?.perSecond.median;
    if (reached === undefined) return [];
    const text = (count) => Math.round(count).toLocaleString('en-US');
    const what = `charges per second to one key, ${store}, at least`;
    return [{ what, budget: text(budget), measured: text(reached), isMet: reached >= budget }];
  }
}

function verdict({ what, budget, measured, text }) {
  return [{ what, budget: text(budget), measured: text(measured), isMet: measured <= budget }];
}

function ofMs(ms) {
  return `${ms.toFixed(2)} ms`;
}
