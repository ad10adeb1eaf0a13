/** No contestant at all: what the upstream and the clients can do. Latencies are told against it. */

export default {
  title: 'nothing in between',
  isYardstick: true,
  translates: false,
  phases: ['busy', 'paced'],
  fidelity: 'bytes',
  async start({ upstreamUrl }) {
    return { port: Number(new URL(upstreamUrl).port), headers: {}, stop: async () => {} };
  },
};
