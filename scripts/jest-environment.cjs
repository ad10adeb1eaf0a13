/**
 * The environment of the tests: Node's own globals, without a context of V8 for each file. Each
 * access to a global costs a call in such a context, objects of Node are not instances of its
 * `Error`, and each file compiles all modules again.
 *
 * What a file has changed of the globals, of `process` and of its environment is put back after it.
 */

const process = require('node:process');
const { LegacyFakeTimers, ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');

module.exports = class {
  /** @type {typeof globalThis | null} */
  global = globalThis;
  moduleMocker = new ModuleMocker(globalThis);

  constructor({ projectConfig }) {
    this.restore = [
      restoreProperties(globalThis),
      restoreProperties(process),
      restoreListeners(),
      restoreVariables(),
    ];
    this.fakeTimers = new LegacyFakeTimers({
      config: projectConfig,
      global: globalThis,
      moduleMocker: this.moduleMocker,
      timerConfig: { idToRef: (id) => id, refToId: (timer) => timer },
    });
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  async setup() {}

  async teardown() {
    this.fakeTimers.dispose();
    this.fakeTimersModern.dispose();
    for (const restore of this.restore) restore();
    this.global = null;
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  /** Only asked for whether there is one: `jest-runtime.cjs` compiles in the context of Node. */
  getVmContext() {
    return globalThis;
  }
};

/**
 * The fields in which `process` keeps its listeners. With an earlier count of them, it would forget
 * listeners that it still has: Node's own and Jest's.
 */
const OF_LISTENERS = ['_events', '_eventsCount'];

/** @param {object} object */
const namesOf = (object) =>
  Reflect.ownKeys(object).filter((name) => !OF_LISTENERS.includes(String(name)));

/** @param {object} object */
function restoreProperties(object) {
  const before = Object.getOwnPropertyDescriptors(object);
  return () => {
    for (const name of namesOf(object)) {
      if (!Object.hasOwn(before, name)) Reflect.deleteProperty(object, name);
    }
    for (const name of namesOf(before)) {
      const then = /** @type {Record<string | symbol, PropertyDescriptor>} */ (before)[name];
      const now = Object.getOwnPropertyDescriptor(object, name);
      if (then && (then.value !== now?.value || then.get !== now?.get)) {
        Object.defineProperty(object, name, then);
      }
    }
  };
}

function restoreListeners() {
  const before = new Map(process.eventNames().map((event) => [event, process.rawListeners(event)]));
  return () => {
    for (const event of process.eventNames()) {
      const known = before.get(event) ?? [];
      for (const listener of process.rawListeners(event)) {
        if (!known.includes(listener))
          process.removeListener(event, /** @type {() => void} */ (listener));
      }
    }
  };
}

function restoreVariables() {
  const before = { ...process.env };
  return () => {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    for (const [name, value] of Object.entries(before)) {
      if (process.env[name] !== value) process.env[name] = value;
    }
  };
}
