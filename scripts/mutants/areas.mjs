/**
 * What is mutated: by area, the sources, the tests that have to notice, and how many places are
 * chosen. The tests run in stages, the quickest first; a mutant that survives one meets the next.
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
        'apps/gateway/test/fair-ceiling',
      ],
    ],
    count: 50,
  },
};
