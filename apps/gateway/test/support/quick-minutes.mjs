/** Loaded into a gateway: what it does each minute, it does five times a second. */

const { setInterval: everyMs } = globalThis;
globalThis.setInterval = (work, ms, ...args) => everyMs(work, ms === 60_000 ? 200 : ms, ...args);
