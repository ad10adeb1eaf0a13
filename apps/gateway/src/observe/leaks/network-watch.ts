/**
 * Writes the event `key.new_network` when a key's request comes from a network that it never used:
 * one IPv4 /24 or IPv6 /48, once for each. Only a keyed hash of it is stored, never an address.
 *
 * Nothing is reported of the day after the first request of a key that was looked at, nor of a key
 * that is used from very many networks. A request only adds its address to a list in memory, if it
 * is not known there.
 */

import { createHmac } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import type { Logger } from 'pino';
import { reasonOf } from '../../base/error-code.js';
import { DAY_MS } from '../../base/times.js';
import type { Config } from '../../config/config.js';
import { announceLeak, changeHabits, readHabits } from './key-habits.js';
import type { Habits, HabitStore, Leak, WatchedKey } from './key-habits.js';

interface WatchParts {
  readonly store: HabitStore;
  /** `LEAK_EVENTS`; `off`: there is no watch. */
  readonly mode: Config['leakEvents'];
  /** The secret that credentials are hashed with. */
  readonly pepper: string;
  readonly log: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export interface NetworkWatch {
  /**
   * Call it for each request of a key.
   *
   * @param address - As the socket or a trusted proxy names the client.
   */
  seen(key: WatchedKey, address: string | undefined): void;
  /** Looks now at what was seen. Resolves when the events are written. */
  look(): Promise<void>;
  stop(): Promise<void>;
}

const PERIOD_MS = 5_000;
/** Beyond that, everything is forgotten and looked up again. An entry takes about 200 bytes. */
const MAX_REMEMBERED = 50_000;
/** What waits to be looked up. What does not fit is taken by a later request. */
const MAX_WAITING = 10_000;
/** A key that is used from more has no usual ones. The document of a key is at most 64 KiB. */
const MAX_NETWORKS = 500;
const PURPOSE = 'gateway networks of keys, version 1';

interface Waiting {
  readonly key: WatchedKey;
  readonly prefix: string;
  /** In `remembered`. */
  readonly id: string;
}

export function startNetworkWatch(parts: WatchParts): NetworkWatch | undefined {
  const { store, mode, log, now } = parts;
  if (mode === 'off') return undefined;
  const announce = (leak: Leak) => announceLeak(leak, mode, store);
  const { hashOf, secret } = hashing(parts.pepper);
  /** Keys with their addresses, in memory only. */
  const remembered = new Set<string>();
  const waiting = new Map<string, Waiting>();
  let running = Promise.resolve();

  async function look(): Promise<void> {
    for (const [waitingId, { key, prefix, id }] of waiting) {
      waiting.delete(waitingId);
      try {
        await lookAt(key, hashOf(key, prefix));
      } catch (error) {
        // The next request tries again.
        remembered.delete(id);
        log.warn({ reason: reasonOf(error) }, 'the network of a key cannot be looked up');
      }
    }
  }

  async function lookAt(key: WatchedKey, hash: string): Promise<void> {
    const before = currentOf(await readHabits(key, store), secret);
    if (before.networks.includes(hash) || before.networks.length >= MAX_NETWORKS) return;
    if (before.since !== undefined && now() - Date.parse(before.since) >= DAY_MS) {
      await announce({ type: 'key.new_network', key, what: hash, data: {} });
    }
    await changeHabits(key, store, (habits) => {
      const { since = new Date(now()).toISOString(), networks } = currentOf(habits, secret);
      if (networks.includes(hash)) return undefined;
      return { ...habits, since, secret, networks: [...networks, hash] };
    });
  }

  const lookNext = (): Promise<void> => (running = running.then(look));
  const timer = setInterval(() => {
    if (waiting.size > 0) void lookNext();
  }, PERIOD_MS).unref();
  return {
    seen(key, address) {
      const id = `${key.id} ${address ?? ''}`;
      if (remembered.has(id) || waiting.size >= MAX_WAITING) return;
      if (remembered.size >= MAX_REMEMBERED) remembered.clear();
      remembered.add(id);
      const prefix = prefixOf(address);
      if (prefix !== undefined) waiting.set(`${key.id} ${prefix}`, { key, prefix, id });
    },
    look: lookNext,
    async stop() {
      clearInterval(timer);
      await lookNext();
    },
  };
}

/** @returns `undefined` for what is not an address */
function prefixOf(address: string | undefined): string | undefined {
  if (address === undefined || !ipaddr.isValid(address)) return undefined;
  const client = ipaddr.process(address);
  return client instanceof ipaddr.IPv4
    ? client.octets.slice(0, 3).join('.')
    : client.parts.slice(0, 3).join(':');
}

/** With the id of the key, so that the same network has another hash for each key. */
function hashing(pepper: string) {
  const own = createHmac('sha256', pepper).update(PURPOSE).digest();
  const signed = (text: string) =>
    createHmac('sha256', own).update(text).digest('base64url').slice(0, 22);
  return {
    hashOf: ({ id }: WatchedKey, prefix: string) => signed(`${id} ${prefix}`),
    secret: signed(''),
  };
}

/** Networks that were hashed with another secret cannot be compared: the key is learned anew. */
function currentOf({ since, secret, networks = [] }: Habits, current: string) {
  return secret === current ? { since, networks } : { since: undefined, networks: [] };
}
