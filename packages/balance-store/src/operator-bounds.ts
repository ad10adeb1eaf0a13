/**
 * What operators decided about a key, which its holder may tighten, but neither undo nor exceed. It
 * is kept in a document of the key, which exists only if an operator decided something.
 */

import type { DocumentData } from './document.js';
import { CAP_PERIODS } from './key.js';
import type { CapPeriod, KeyChange, KeyLimits } from './key.js';
import { areNetworksWithin } from './network.js';
import { numericFromUnits, unitsFromNumeric } from './numeric.js';

/** The kind of the documents. The id of each is that of its key. */
export const OPERATOR_BOUNDS = 'operator_bounds';

/** What operators decided about a key. */
export interface OperatorBounds {
  /** Whether an operator suspended the key. */
  readonly isSuspended: boolean;
  /** In units of 10^-14 USD. A period without a cap of an operator is absent. */
  readonly caps: Partial<Readonly<Record<CapPeriod, bigint>>>;
  /** Limits that an operator changed. Those of the creation are not among them. */
  readonly limits: Partial<KeyLimits>;
  /** The latest expiry; `null` if an operator set none. */
  readonly expiresAt: Date | null;
  /** The models that it may have; `null` if an operator set none. */
  readonly models: readonly string[] | null;
  /** The networks that it may have; `null` if an operator set none. */
  readonly allowedNetworks: readonly string[] | null;
}

/** A decision of an operator that a change of a holder would undo or exceed. */
export type BoundField =
  'state' | 'models' | 'allowedNetworks' | 'expiresAt' | keyof KeyLimits | `cap_${CapPeriod}`;

export const NO_BOUNDS: OperatorBounds = {
  isSuspended: false,
  caps: {},
  limits: {},
  expiresAt: null,
  models: null,
  allowedNetworks: null,
};

interface Stored {
  readonly is_suspended: boolean;
  readonly caps: Partial<Readonly<Record<CapPeriod, string>>>;
  readonly limits: Partial<KeyLimits>;
  readonly expires_at: string | null;
  readonly models: readonly string[] | null;
  /** Absent without any, as in documents of earlier versions. */
  readonly allowed_networks?: readonly string[];
}

/**
 * Reads the bounds of a key.
 *
 * @param data - Of a document of the kind {@link OPERATOR_BOUNDS}.
 */
export function operatorBoundsOf(data: DocumentData): OperatorBounds {
  const { is_suspended, caps, limits, expires_at, models, ...later } = data as unknown as Stored;
  return {
    isSuspended: is_suspended,
    caps: Object.fromEntries(
      Object.entries(caps).map(([period, cap]) => [period, unitsFromNumeric(cap)]),
    ),
    limits,
    expiresAt: expires_at === null ? null : new Date(expires_at),
    models,
    allowedNetworks: later.allowed_networks ?? null,
  };
}

export function dataOfBounds({
  isSuspended,
  caps,
  limits,
  expiresAt,
  models,
  allowedNetworks,
}: OperatorBounds): DocumentData {
  const stored: Stored = {
    is_suspended: isSuspended,
    caps: Object.fromEntries(
      Object.entries(caps).map(([period, cap]) => [period, numericFromUnits(cap)]),
    ),
    limits,
    expires_at: expiresAt?.toISOString() ?? null,
    models,
    ...(allowedNetworks === null ? {} : { allowed_networks: allowedNetworks }),
  };
  return { ...stored };
}

type Bounded = {
  readonly [Field in 'limits' | 'caps' | 'expiresAt' | 'models' | 'allowedNetworks']?:
    KeyChange[Field] | undefined;
};

/** The bounds after an operator has changed a key. `null` in a change removes a bound. */
export function boundsAfter(bounds: OperatorBounds, change: Bounded): OperatorBounds {
  const { limits, expiresAt = bounds.expiresAt, models = bounds.models } = change;
  const { allowedNetworks = bounds.allowedNetworks } = change;
  const caps = { ...bounds.caps };
  for (const period of CAP_PERIODS) {
    const cap = change.caps?.[period];
    if (cap === null) delete caps[period];
    else if (cap !== undefined) caps[period] = cap;
  }
  const within = { ...bounds.limits, ...limits };
  return { ...bounds, caps, limits: within, expiresAt, models, allowedNetworks };
}

/** @returns the first field with which a holder would exceed the bounds; `undefined` if none */
export function exceededBound(bounds: OperatorBounds, change: Bounded): BoundField | undefined {
  for (const period of CAP_PERIODS) {
    const [most, cap] = [bounds.caps[period], change.caps?.[period]];
    if (most === undefined || cap === undefined) continue;
    if (cap === null || cap > most) return `cap_${period}`;
  }
  for (const name of ['concurrency', 'burst', 'requestsPerMinute'] as const) {
    const [most, limit] = [bounds.limits[name], change.limits?.[name]];
    if (most !== undefined && limit !== undefined && limit > most) return name;
  }
  const { expiresAt, models } = bounds;
  if (expiresAt !== null && change.expiresAt !== undefined) {
    if (change.expiresAt === null || change.expiresAt > expiresAt) return 'expiresAt';
  }
  if (models !== null && change.models !== undefined) {
    if (change.models?.every((model) => models.includes(model)) !== true) return 'models';
  }
  const { allowedNetworks: networks } = change;
  if (bounds.allowedNetworks !== null && networks !== undefined) {
    if (networks === null || !areNetworksWithin(networks, bounds.allowedNetworks)) {
      return 'allowedNetworks';
    }
  }
  return undefined;
}
