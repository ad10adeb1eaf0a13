/**
 * Documents: small records that the parts of a gateway keep beside the ledger, such as the state of
 * a payment. They are neither money nor part of the hash chain.
 */

import type { Actor } from './account.js';
import type { AUDITED_KINDS } from './generated/audited.js';

/**
 * The kind of the documents of promotional codes. They grant money, so the trail must record each
 * of their writes, with one of `PROMO_CODE_ACTIONS`. An audit compares them with the trail.
 */
export const PROMO_CODE = 'promo_code';
export const PROMO_CODE_ACTIONS = ['promo_code.create', 'promo_code.redeem'] as const;

/**
 * The document of the settings that operators changed, a text for each. They decide what all pay,
 * so the trail must record each of its writes, with one of `SETTINGS_ACTIONS` and, under the
 * name of each changed setting, the text `before` and `after`; `null` for none. An audit compares
 * the document with the trail.
 */
export const SETTINGS = { kind: 'settings', id: 'changed' } as const;
export const SETTINGS_ACTIONS = ['settings.change'] as const;

/**
 * The kind of the documents with what keys used before, by which unusual requests are noticed. The
 * id of each is that of its key. Erasing an account empties those of its keys.
 */
export const KEY_HABITS = 'key_habits';

/** Each kind has a line in `prisma/schema.prisma`, which says why an audit compares it, or not. */
export type DocumentKind = keyof typeof AUDITED_KINDS;

/** JSON: texts, booleans, null, safe integers, and lists and objects of them. */
export type DocumentData = Readonly<Record<string, unknown>>;

export interface StoredDocument {
  /** Its number in the order of creation, over all kinds. */
  readonly seq: bigint;
  readonly kind: string;
  /** Unique among the documents of its kind. */
  readonly id: string;
  /** Empty for a document of the gateway as a whole. The account need not exist. */
  readonly accountId: string;
  /** 1 when it is created; each change adds 1. */
  readonly version: number;
  readonly data: DocumentData;
  /** In units of 10^-14 USD: see {@link DocumentFilter.isDue}. */
  readonly balanceBelow: bigint | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface DocumentWrite {
  readonly kind: DocumentKind;
  readonly id: string;
  /** For an existing document, this must be the account with which it was created. */
  readonly accountId: string;
  /** The version that was read; 0 to create the document. */
  readonly version: number;
  readonly data: DocumentData;
  readonly balanceBelow?: bigint | null | undefined;
  /**
   * Also adds this entry to the trail, in the same transaction. Its details also name a document
   * of the kind {@link PROMO_CODE}, with a digest of it.
   */
  readonly trail?:
    | {
        readonly action: string;
        readonly by: Actor;
        readonly details: Readonly<Record<string, unknown>>;
      }
    | undefined;
}

export type DocumentOutcome =
  | { readonly outcome: 'written'; readonly version: number }
  /** The document has another version by now, or exists already. Nothing was changed. */
  | { readonly outcome: 'conflict' };

export interface DocumentFilter {
  readonly kind: string;
  readonly accountId?: string | undefined;
  /** Only those whose account has a balance below the document's `balanceBelow`. */
  readonly isDue?: boolean | undefined;
  /** The number of the last document of the previous page. */
  readonly before?: bigint | undefined;
  readonly limit: number;
}
