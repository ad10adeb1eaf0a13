/**
 * What is mutated: by area, the sources, the tests that have to notice, and how many places are
 * chosen. The tests run in stages, the quickest first; a mutant that survives one meets the next.
 * Each stage is a list of Jest's arguments. None starts PostgreSQL or Redis.
 */

export const AREAS = {
  billing: {
    sources: ['packages/billing/src'],
    except: undefined,
    stages: [['packages/billing/test']],
    count: 50,
  },
  limits: {
    sources: ['packages/rate-limiter/src'],
    except: /\/(redis|testing)\//u,
    stages: [
      [
        'packages/rate-limiter/test/(expiring-map|gcra|local|memory|sliding-log)',
        'apps/gateway/test/upstream/fair-ceiling',
      ],
    ],
    count: 50,
  },
  settlement: {
    sources: [
      ...namesIn('packages/balance-store/src/embedded/sqlite', [
        'add-to-sum',
        'books',
        'budgets',
        'charge-rows',
        'holds',
        'money',
        'settle',
        'usage-fold',
      ]),
      ...namesIn('packages/balance-store/src/ledger', [
        'base/batches',
        'charging/committer',
        'queries/monthly-books',
        'rules/balance-events',
        'rules/budgets',
        'rules/caps',
        'rules/notice-shares',
        'store/hold-keeper',
      ]),
    ],
    except: undefined,
    stages: [
      ['packages/balance-store/test/.*/(batches|committer)'],
      ['packages/balance-store/test/both/model', '-t', 'embedded'],
      [
        'packages/balance-store/test/embedded/embedded',
        '-t',
        'contract (budgets|caps|close|events|holds|quarantine|settle|sums of usage)',
      ],
      ['apps/gateway/test/ledger/books', '-t', 'on the embedded ledger'],
    ],
    count: 40,
  },
  admission: {
    sources: namesIn('apps/gateway/src/exchange', [
      'admission',
      'authentication',
      'credentials',
      'exchange',
      'hold-charge',
      'lower-limit-header',
      'prepare-body',
      'preparation/charge-bound',
      'preparation/lowerable-limit',
    ]),
    except: undefined,
    stages: [
      ['apps/gateway/test/.*/(admission|charge-bound|credentials|named-models)\\.'],
      ['apps/gateway/test/.*/(admission-order|keys-and-money|refusals)'],
      ['apps/gateway/test/exchange/overdraft'],
      ['apps/gateway/test/exchange/lowered-limits', '-t', 'embedded|a lowered limit'],
      [
        'apps/gateway/test/.*/(kept-responses|preserved-thinking|read-links|tracing|upstream-accounts)\\.',
      ],
    ],
    count: 30,
  },
  relay: {
    sources: [
      'apps/gateway/src/exchange/relay',
      ...namesIn('apps/gateway/src/ledger', [
        'charges-of-response',
        'delivery',
        'fold-outcomes',
        'price-usage',
      ]),
    ],
    except: undefined,
    stages: [
      ['apps/gateway/test/.*/(named-models|settle-charge|usage-details|write-text)'],
      ['apps/gateway/test/.*/(aborted-requests|fidelity)'],
      ['apps/gateway/test/exchange/relay-faults'],
      ['apps/gateway/test/ledger/margin', '-t', 'embedded'],
      ['apps/gateway/test/exchange/list-prices'],
    ],
    count: 30,
  },
  translation: {
    sources: ['packages/translator/src'],
    except: /\/mapping\/|\/known-models\./u,
    stages: [
      ['packages/translator/test/[^/]+/[^/]*(vectors|replay|request|response|stream|usage|errors)'],
      ['packages/translator/test/[^/]+/[^/]*$'],
    ],
    count: 30,
  },
};

function namesIn(folder, names) {
  return names.map((name) => `${folder}/${name}.ts`);
}
