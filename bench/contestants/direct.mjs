/** No proxy: the clients send to the upstream. Added latencies are relative to these requests. */

const KEY = { 'x-api-key': 'benchmark' };

export default {
  title: 'nothing in between',
  isBaseline: true,
  translates: false,
  phases: ['busy', 'steady', 'paced'],
  fidelity: 'bytes',
  async start({ upstreamUrl }) {
    return { port: Number(new URL(upstreamUrl).port), headers: [KEY], stop: async () => {} };
  },
};
