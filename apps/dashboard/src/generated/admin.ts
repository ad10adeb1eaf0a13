/** Written by `npm run openapi`. Do not edit. */

export interface paths {
    readonly "/openapi.json": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** This document */
        readonly get: operations["getOpenApi"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/healthz": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Whether the process is running */
        readonly get: operations["isAlive"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/readyz": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Whether the gateway takes requests: 503 only while it stops; degraded: they are refused */
        readonly get: operations["isReady"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/console/session": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Who is logged in to the console */
        readonly get: operations["showSession"];
        readonly put?: never;
        /** Exchanges an admin token for a cookie */
        readonly post: operations["logIn"];
        /** Removes the cookie */
        readonly delete: operations["logOut"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/settings": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The version of the settings in force, and the changes that need a restart */
        readonly get: operations["showSettings"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/reload": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Reads prices, models, upstream keys and tokens again */
        readonly post: operations["reloadSettings"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/keys": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Keys, in the requested order */
        readonly get: operations["listKeys"];
        readonly put?: never;
        /** Creates a key, in a new account or in an existing one */
        readonly post: operations["createKey"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/keys/{key_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** One key */
        readonly get: operations["showKey"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        /** Changes a key */
        readonly patch: operations["updateKey"];
        readonly trace?: never;
    };
    readonly "/admin/keys/find": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** The key of a credential */
        readonly post: operations["findKey"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/keys/{key_id}/rotate": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Gives a key a new credential */
        readonly post: operations["rotateKey"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/keys/{key_id}/suspend": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Stops a key until it is resumed */
        readonly post: operations["suspendKey"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/keys/{key_id}/resume": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Lifts a suspension */
        readonly post: operations["resumeKey"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/keys/{key_id}/revoke": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Stops a key for good */
        readonly post: operations["revokeKey"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/keys/{key_id}/links": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** A read-only link to the dashboard of a key */
        readonly post: operations["createLink"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/keys/{key_id}/top-ups": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Credits the account of a key, once per top_up_id */
        readonly post: operations["topUp"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/accounts/{account_id}/top-ups": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Credits an account, once per top_up_id */
        readonly post: operations["topUpAccount"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/accounts": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Accounts, in the requested order */
        readonly get: operations["listAccounts"];
        readonly put?: never;
        /** A new account without keys */
        readonly post: operations["createAccount"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/accounts/{account_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** One account, with the unspent part of each credit */
        readonly get: operations["showAccount"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        /** Changes an account */
        readonly patch: operations["updateAccount"];
        readonly trace?: never;
    };
    readonly "/admin/accounts/{account_id}/adjustments": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Corrects a balance by an entry, once per adjustment_id */
        readonly post: operations["adjustBalance"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/accounts/{account_id}/transfers": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Moves money to another account, once per transfer_id */
        readonly post: operations["transfer"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/accounts/{account_id}/suspend": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Stops all keys of an account, also new ones, until it is resumed */
        readonly post: operations["suspendAccount"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/accounts/{account_id}/resume": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Resumes a suspended account; each key is again what it was */
        readonly post: operations["resumeAccount"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/accounts/{account_id}/erase": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Erases the names, external ids, metadata and notes of an account */
        readonly post: operations["eraseAccount"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/accounts/{account_id}/statement": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The statement of a month */
        readonly get: operations["showStatement"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/ledger": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Entries of the ledger, newest first */
        readonly get: operations["listLedger"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/ledger/{entry_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** One entry of the ledger, by its id; a charge also by the id of its message */
        readonly get: operations["showEntry"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/usage": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Sums of charges. As CSV, the headers x-gateway-from and x-gateway-until state the range */
        readonly get: operations["listUsage"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/ledger/audit": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Audits the ledger, and answers when the audit is done */
        readonly get: operations["auditLedger"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/ledger/witness": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Compares the ledger with usage that clients received */
        readonly post: operations["compareWitness"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/ledger/recharge": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Books charges that the ledger lost, each of them once */
        readonly post: operations["rechargeUsages"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/holds": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Money that is set aside for requests */
        readonly get: operations["listHolds"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/events": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Events, oldest first unless order is newest */
        readonly get: operations["listEvents"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/trail": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The trail: who changed what, newest first */
        readonly get: operations["listTrail"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/ledger/audits": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Audits since the gateway started, newest first */
        readonly get: operations["listAudits"];
        readonly put?: never;
        /** Starts an audit, or returns the one that is running */
        readonly post: operations["startAudit"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/ledger/audits/{audit_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** One audit: its progress, or its report */
        readonly get: operations["showAudit"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/requests/{request_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** One request: its charge or its hold, its key and its account. By its id, or by the id of its message as any format shows it */
        readonly get: operations["showRequest"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/today": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Spend, balances and requests at a glance */
        readonly get: operations["showToday"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/books": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The books of a month: credits, adjustments and charges of each account and in all */
        readonly get: operations["showBooks"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/payments": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Payments, newest first */
        readonly get: operations["listPayments"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/payments/unbooked": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Payments, refunds and disputes that the provider reported and the ledger could not book. Those that were booked or paid back since are left out */
        readonly get: operations["listUnbookedPayments"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/payments/reconcile": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Compares the provider's payments with the ledger; with `apply`, books what is missing */
        readonly post: operations["reconcilePayments"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/payments/{payment_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** One payment, with its refundable and its unspent part */
        readonly get: operations["showPayment"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/accounts/{account_id}/payments": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Starts a payment for an account: a link to send to the customer */
        readonly post: operations["startPayment"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/payments/{payment_id}/refunds": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Pays back a payment, or a part of it */
        readonly post: operations["refundPayment"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/accounts/{account_id}/auto-top-up": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The customer's order to charge a saved method when the balance is low */
        readonly get: operations["showAutoTopUp"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/accounts/{account_id}/auto-top-up/cancel": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Cancels the auto top-up of an account and forgets the saved method */
        readonly post: operations["cancelAutoTopUp"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/promo-codes": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Promotional codes, newest first */
        readonly get: operations["listPromoCodes"];
        readonly put?: never;
        /** A code that customers exchange for credit */
        readonly post: operations["createPromoCode"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/models": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The price table */
        readonly get: operations["listModels"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/models/upstream": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The differences between the price table and the models that the upstream offers */
        readonly get: operations["compareModels"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/reconciliation": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Compares the ledger with the provider's usage and cost reports, by day and model */
        readonly get: operations["reconcileProvider"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        readonly Account: {
            /** @constant */
            readonly object: "account";
            readonly id: string;
            readonly name: string;
            readonly external_id: string | null;
            readonly metadata: {
                readonly [key: string]: string;
            };
            /**
             * @description suspended: none of its keys works, also those that are created meanwhile
             * @enum {string}
             */
            readonly state: "active" | "suspended";
            readonly balance_usd: components["schemas"]["Usd"];
            readonly low_balance_usd: components["schemas"]["Usd"] | null;
            readonly spent_usd: components["schemas"]["Usd"];
            readonly credited_usd: components["schemas"]["Usd"];
            readonly adjusted_usd: components["schemas"]["Usd"];
            readonly expired_usd: components["schemas"]["Usd"];
            readonly written_off_usd: components["schemas"]["Usd"];
            readonly usable_keys: number;
            readonly created_at: components["schemas"]["Time"];
            readonly last_charged_at: components["schemas"]["Time"] | null;
        };
        readonly AccountWithCredits: {
            /** @constant */
            readonly object: "account";
            readonly id: string;
            readonly name: string;
            readonly external_id: string | null;
            readonly metadata: {
                readonly [key: string]: string;
            };
            /**
             * @description suspended: none of its keys works, also those that are created meanwhile
             * @enum {string}
             */
            readonly state: "active" | "suspended";
            readonly balance_usd: components["schemas"]["Usd"];
            readonly low_balance_usd: components["schemas"]["Usd"] | null;
            readonly spent_usd: components["schemas"]["Usd"];
            readonly credited_usd: components["schemas"]["Usd"];
            readonly adjusted_usd: components["schemas"]["Usd"];
            readonly expired_usd: components["schemas"]["Usd"];
            readonly written_off_usd: components["schemas"]["Usd"];
            readonly usable_keys: number;
            readonly created_at: components["schemas"]["Time"];
            readonly last_charged_at: components["schemas"]["Time"] | null;
            readonly unspent: {
                readonly lots: readonly {
                    readonly entry_id: string;
                    /** @enum {string} */
                    readonly source: "paid" | "promotional";
                    readonly expires_at: components["schemas"]["Time"] | null;
                    readonly remaining_usd: components["schemas"]["Usd"];
                }[];
                readonly other_usd: components["schemas"]["Usd"];
            };
        };
        readonly Adjustment: {
            /** @constant */
            readonly object: "adjustment";
            readonly adjustment_id: string;
            readonly account_id: string;
            readonly amount_usd: components["schemas"]["Usd"];
            /** @enum {string} */
            readonly reason: "refund" | "chargeback" | "correction" | "goodwill" | "write_off";
            readonly replayed: boolean;
            readonly balance_usd: components["schemas"]["Usd"];
            readonly active_keys: number;
        };
        readonly Audit: {
            /** @constant */
            readonly object: "audit";
            readonly is_sound: boolean;
            readonly accounts: number;
            readonly keys: number;
            readonly entries: number;
            readonly archived: number;
            readonly credited_usd: components["schemas"]["Usd"];
            readonly adjusted_usd: components["schemas"]["Usd"];
            readonly expired_usd: components["schemas"]["Usd"];
            readonly charged_usd: components["schemas"]["Usd"];
            readonly written_off_usd: components["schemas"]["Usd"];
            readonly balances_usd: components["schemas"]["Usd"];
            readonly gap_usd: components["schemas"]["Usd"];
            readonly sealed: number;
            readonly trail: number;
            readonly sealed_trail: number;
            readonly head: string | null;
            readonly orphaned_holds: number;
            readonly quarantined: number;
            readonly conflicts: number;
            readonly differences: readonly {
                /** @enum {string} */
                readonly check: "amount" | "sequence" | "running_balance" | "balance" | "account_totals" | "key_totals" | "total" | "expiry" | "credit_left" | "usage" | "archive" | "cap_window" | "rights" | "seal" | "block";
                readonly account_id: string | null;
                readonly key_id: string | null;
                readonly entry_id: string | null;
                readonly expected: string;
                readonly found: string;
            }[];
        };
        readonly AuditJob: {
            /** @constant */
            readonly object: "audit_job";
            readonly id: string;
            /** @enum {string} */
            readonly state: "running" | "done" | "failed";
            readonly started_at: components["schemas"]["Time"];
            readonly finished_at: components["schemas"]["Time"] | null;
            readonly entries: number;
            readonly expected_entries: number;
            readonly report: components["schemas"]["Audit"] | null;
            readonly reason: string | null;
        };
        readonly AutoTopUp: {
            /** @constant */
            readonly object: "auto_top_up";
            /** @enum {string} */
            readonly state: "off" | "needs_method" | "on" | "stopped";
            readonly threshold_usd: components["schemas"]["Usd"] | null;
            readonly amount_usd: components["schemas"]["Usd"] | null;
            /** @description the balance up to which each charge pays */
            readonly target_usd: components["schemas"]["Usd"] | null;
            readonly max_per_day: number | null;
            readonly max_per_month_usd: components["schemas"]["Usd"] | null;
            readonly stopped_code: string | null;
        };
        readonly BookingEntry: {
            /** @constant */
            readonly object: "ledger_entry";
            readonly id: string;
            readonly account_id: string;
            readonly seq: string;
            readonly amount_usd: components["schemas"]["Usd"];
            readonly balance_after_usd: components["schemas"]["Usd"];
            readonly created_at: components["schemas"]["Time"];
            /** @enum {string} */
            readonly kind: "top_up" | "adjustment" | "expiry";
            readonly source: ("paid" | "promotional") | null;
            readonly reason: ("refund" | "chargeback" | "correction" | "goodwill" | "write_off" | "transfer") | null;
            readonly reference: string | null;
            readonly expires_at: components["schemas"]["Time"] | null;
            readonly actor: string;
            readonly note: string | null;
        };
        readonly Books: {
            /** @constant */
            readonly object: "books";
            readonly month: string;
            readonly from: components["schemas"]["Time"];
            readonly until: components["schemas"]["Time"];
            readonly total: {
                readonly opening_balance_usd: components["schemas"]["Usd"];
                readonly paid_usd: components["schemas"]["Usd"];
                readonly promotional_usd: components["schemas"]["Usd"];
                readonly adjusted_usd: {
                    readonly refund: components["schemas"]["Usd"];
                    readonly chargeback: components["schemas"]["Usd"];
                    readonly correction: components["schemas"]["Usd"];
                    readonly goodwill: components["schemas"]["Usd"];
                    readonly write_off: components["schemas"]["Usd"];
                    readonly transfer: components["schemas"]["Usd"];
                };
                readonly expired_usd: components["schemas"]["Usd"];
                readonly charged_usd: components["schemas"]["Usd"];
                readonly closing_balance_usd: components["schemas"]["Usd"];
                readonly written_off_usd: components["schemas"]["Usd"];
            };
            readonly data: readonly {
                readonly account_id: string;
                readonly name: string;
                readonly external_id: string | null;
                readonly opening_balance_usd: components["schemas"]["Usd"];
                readonly paid_usd: components["schemas"]["Usd"];
                readonly promotional_usd: components["schemas"]["Usd"];
                readonly adjusted_usd: {
                    readonly refund: components["schemas"]["Usd"];
                    readonly chargeback: components["schemas"]["Usd"];
                    readonly correction: components["schemas"]["Usd"];
                    readonly goodwill: components["schemas"]["Usd"];
                    readonly write_off: components["schemas"]["Usd"];
                    readonly transfer: components["schemas"]["Usd"];
                };
                readonly expired_usd: components["schemas"]["Usd"];
                readonly charged_usd: components["schemas"]["Usd"];
                readonly closing_balance_usd: components["schemas"]["Usd"];
                readonly written_off_usd: components["schemas"]["Usd"];
            }[];
            readonly has_more: boolean;
            readonly next_cursor: string | null;
        };
        readonly ChargeEntry: {
            /** @constant */
            readonly object: "ledger_entry";
            readonly id: string;
            readonly account_id: string;
            readonly seq: string;
            readonly amount_usd: components["schemas"]["Usd"];
            readonly balance_after_usd: components["schemas"]["Usd"];
            readonly created_at: components["schemas"]["Time"];
            /** @constant */
            readonly kind: "charge";
            readonly key_id: string;
            readonly written_off_usd: components["schemas"]["Usd"];
            readonly model: string;
            readonly endpoint: string;
            readonly streamed: boolean;
            readonly upstream_id: string | null;
            readonly usage: components["schemas"]["Tokens"];
            readonly rates: components["schemas"]["Rates"];
            readonly pricing?: components["schemas"]["Pricing"];
            /** @description what it cost the operator, by COSTS */
            readonly cost_usd?: components["schemas"]["Usd"];
            /** @description what was charged, minus the cost */
            readonly margin_usd?: components["schemas"]["Usd"];
            readonly upstream_account: string | null;
            readonly over_cap_usd: components["schemas"]["Usd"];
            readonly remarks: string | null;
        };
        readonly ConsoleSession: {
            /** @constant */
            readonly object: "console_session";
            readonly name: string;
            /** @enum {string} */
            readonly right: "all" | "credit" | "read";
            readonly may: readonly ("read" | "credit" | "change")[];
            readonly idle_expires_at: components["schemas"]["Time"];
            readonly expires_at: components["schemas"]["Time"];
            readonly simulated: boolean;
        };
        readonly CostedUsageSum: {
            /** @constant */
            readonly object: "usage_sum";
            readonly day?: string;
            readonly hour?: string;
            readonly model?: string;
            readonly account_id?: string;
            readonly key_id?: string;
            readonly endpoint?: string;
            readonly upstream_account?: string | null;
            readonly requests: number;
            readonly input_tokens: number;
            readonly output_tokens: number;
            readonly cache_read_input_tokens: number;
            readonly cache_creation_input_tokens: number;
            readonly cache_creation_1h_input_tokens: number;
            readonly charged_usd: components["schemas"]["Usd"];
            readonly written_off_usd: components["schemas"]["Usd"];
            /** @description what it cost the operator, by COSTS */
            readonly cost_usd?: components["schemas"]["Usd"];
            /** @description what was charged, minus the cost */
            readonly margin_usd?: components["schemas"]["Usd"];
            /** @description present if only some have a cost; there is no margin then */
            readonly requests_without_cost?: number;
        };
        readonly Credit: {
            /** @constant */
            readonly object: "credit";
            readonly id: string;
            readonly created_at: components["schemas"]["Time"];
            readonly amount_usd: components["schemas"]["Usd"];
            readonly balance_after_usd: components["schemas"]["Usd"];
            /** @enum {string} */
            readonly kind: "top_up" | "adjustment" | "expiry";
            readonly source: ("paid" | "promotional") | null;
            readonly reason: ("refund" | "chargeback" | "correction" | "goodwill" | "write_off" | "transfer") | null;
            readonly reference: string | null;
            readonly expires_at: components["schemas"]["Time"] | null;
        };
        readonly Error: {
            readonly error: {
                readonly type: string;
                readonly message: string;
                readonly param?: string | null;
                readonly code?: string | null;
            } & {
                readonly [key: string]: unknown;
            };
        } & {
            readonly [key: string]: unknown;
        };
        readonly Event: {
            /** @constant */
            readonly object: "event";
            readonly seq: string;
            readonly id: string;
            /** @enum {string} */
            readonly type: "account.suspended" | "account.resumed" | "balance.low" | "balance.exhausted" | "balance.adjusted" | "cap.reached" | "credit.added" | "credit.expired" | "key.rotated" | "key.suspended" | "key.resumed" | "key.revoked" | "key.expiring" | "payment.succeeded" | "payment.failed" | "payment.unbooked" | "refund.created" | "dispute.opened" | "dispute.closed" | "auto_top_up.failed" | "upstream.refused" | "ledger.unsound" | "model.retiring" | "model.retired" | "model.sold_below_cost";
            readonly account_id: string | null;
            readonly key_id: string | null;
            readonly data: {
                readonly [key: string]: string | null;
            };
            readonly created_at: components["schemas"]["Time"];
            readonly attempts: number;
            readonly delivered_at: components["schemas"]["Time"] | null;
            readonly last_error: string | null;
        };
        readonly FirstCredit: {
            readonly amount_usd: components["schemas"]["Usd"];
            /** @enum {string} */
            readonly source: "paid" | "promotional";
            readonly expires_at: components["schemas"]["Time"] | null;
        };
        readonly Hold: {
            /** @constant */
            readonly object: "hold";
            readonly request_id: string;
            readonly account_id: string;
            readonly key_id: string;
            readonly amount_usd: components["schemas"]["Usd"];
            readonly created_at: components["schemas"]["Time"];
            readonly orphaned_at: components["schemas"]["Time"] | null;
        };
        readonly Key: {
            /** @constant */
            readonly object: "api_key";
            readonly id: string;
            readonly account_id: string;
            readonly name: string;
            readonly metadata: {
                readonly [key: string]: string;
            };
            /** @description the first and last characters of its credential */
            readonly hint: string;
            /** @enum {string} */
            readonly state: "active" | "suspended" | "revoked";
            /**
             * @description whether the key works, and if not, why: a suspended account and a used-up balance count too
             * @enum {string}
             */
            readonly standing: "active" | "exhausted" | "suspended" | "revoked" | "expired";
            /** @description whether its standing is active; a cap that is used up does not change this */
            readonly is_active: boolean;
            /** @enum {string} */
            readonly scope: "use" | "manage";
            /** @description null: all */
            readonly models: readonly string[] | null;
            readonly balance_usd: components["schemas"]["Usd"];
            readonly spent_usd: components["schemas"]["Usd"];
            readonly credited_usd: components["schemas"]["Usd"];
            readonly written_off_usd: components["schemas"]["Usd"];
            readonly limits: {
                readonly concurrency: number;
                readonly burst: number;
                readonly requests_per_minute: number;
            };
            readonly caps: {
                readonly day: {
                    readonly cap_usd: components["schemas"]["Usd"] | null;
                    readonly used_usd: components["schemas"]["Usd"];
                };
                readonly week: {
                    readonly cap_usd: components["schemas"]["Usd"] | null;
                    readonly used_usd: components["schemas"]["Usd"];
                };
                readonly month: {
                    readonly cap_usd: components["schemas"]["Usd"] | null;
                    readonly used_usd: components["schemas"]["Usd"];
                };
                readonly total: {
                    readonly cap_usd: components["schemas"]["Usd"] | null;
                    readonly used_usd: components["schemas"]["Usd"];
                };
            };
            readonly expires_at: components["schemas"]["Time"] | null;
            readonly previous_credential_until: components["schemas"]["Time"] | null;
            readonly created_at: components["schemas"]["Time"];
            readonly last_charged_at: components["schemas"]["Time"] | null;
            readonly external_id: string | null;
        };
        readonly Link: {
            /** @constant */
            readonly object: "link";
            readonly key_id: string;
            readonly link: string;
            /** @description below the address that clients use */
            readonly path: string;
            readonly expires_at: components["schemas"]["Time"];
        };
        readonly ModelComparison: {
            /** @constant */
            readonly object: "model_comparison";
            readonly offered: readonly string[];
            readonly gone: readonly string[];
            readonly missing: readonly components["schemas"]["PriceEntry"][];
        };
        readonly NewAccount: {
            /** @constant */
            readonly object: "account";
            readonly id: string;
            readonly name: string;
            readonly external_id: string | null;
            readonly metadata: {
                readonly [key: string]: string;
            };
            /**
             * @description suspended: none of its keys works, also those that are created meanwhile
             * @enum {string}
             */
            readonly state: "active" | "suspended";
            readonly balance_usd: components["schemas"]["Usd"];
            readonly low_balance_usd: components["schemas"]["Usd"] | null;
            readonly spent_usd: components["schemas"]["Usd"];
            readonly credited_usd: components["schemas"]["Usd"];
            readonly adjusted_usd: components["schemas"]["Usd"];
            readonly expired_usd: components["schemas"]["Usd"];
            readonly written_off_usd: components["schemas"]["Usd"];
            readonly usable_keys: number;
            readonly created_at: components["schemas"]["Time"];
            readonly last_charged_at: components["schemas"]["Time"] | null;
            readonly first_credit: components["schemas"]["FirstCredit"] | null;
            readonly replayed: boolean;
        };
        readonly NewKey: {
            /** @constant */
            readonly object: "api_key";
            readonly id: string;
            readonly account_id: string;
            readonly name: string;
            readonly metadata: {
                readonly [key: string]: string;
            };
            /** @description the first and last characters of its credential */
            readonly hint: string;
            /** @enum {string} */
            readonly state: "active" | "suspended" | "revoked";
            /**
             * @description whether the key works, and if not, why: a suspended account and a used-up balance count too
             * @enum {string}
             */
            readonly standing: "active" | "exhausted" | "suspended" | "revoked" | "expired";
            /** @description whether its standing is active; a cap that is used up does not change this */
            readonly is_active: boolean;
            /** @enum {string} */
            readonly scope: "use" | "manage";
            /** @description null: all */
            readonly models: readonly string[] | null;
            readonly balance_usd: components["schemas"]["Usd"];
            readonly spent_usd: components["schemas"]["Usd"];
            readonly credited_usd: components["schemas"]["Usd"];
            readonly written_off_usd: components["schemas"]["Usd"];
            readonly limits: {
                readonly concurrency: number;
                readonly burst: number;
                readonly requests_per_minute: number;
            };
            readonly caps: {
                readonly day: {
                    readonly cap_usd: components["schemas"]["Usd"] | null;
                    readonly used_usd: components["schemas"]["Usd"];
                };
                readonly week: {
                    readonly cap_usd: components["schemas"]["Usd"] | null;
                    readonly used_usd: components["schemas"]["Usd"];
                };
                readonly month: {
                    readonly cap_usd: components["schemas"]["Usd"] | null;
                    readonly used_usd: components["schemas"]["Usd"];
                };
                readonly total: {
                    readonly cap_usd: components["schemas"]["Usd"] | null;
                    readonly used_usd: components["schemas"]["Usd"];
                };
            };
            readonly expires_at: components["schemas"]["Time"] | null;
            readonly previous_credential_until: components["schemas"]["Time"] | null;
            readonly created_at: components["schemas"]["Time"];
            readonly last_charged_at: components["schemas"]["Time"] | null;
            readonly external_id: string | null;
            readonly account: components["schemas"]["Account"];
            readonly first_credit: components["schemas"]["FirstCredit"] | null;
            readonly replayed: boolean;
            readonly api_key: string | null;
            readonly message?: string;
        };
        readonly OfferedModel: {
            /** @constant */
            readonly object: "model";
            readonly id: string;
            readonly display_name: string;
            readonly rate_in: string;
            readonly rate_out: string;
            readonly rates: components["schemas"]["Rates"];
            /** @description the rates that apply to long prompts or in these circumstances */
            readonly special_rates?: readonly {
                readonly above_prompt_tokens?: number;
                readonly speed?: string;
                readonly service_tier?: string;
                readonly inference_geo?: string;
                readonly rates: components["schemas"]["Rates"];
            }[];
            /** @description per unit of what `usage.server_tool_use` counts */
            readonly fees_usd?: {
                readonly [key: string]: components["schemas"]["Usd"];
            };
            /** @description the next scheduled change of these rates */
            readonly next_change: {
                readonly effective_from: components["schemas"]["Time"];
                readonly rates: components["schemas"]["Rates"];
            } | null;
            readonly is_deprecated: boolean;
            readonly retires_at: components["schemas"]["Time"] | null;
            readonly max_output_tokens: number;
            readonly context_window: number;
        };
        readonly Payment: {
            /** @constant */
            readonly object: "payment";
            readonly id: string;
            readonly account_id: string;
            readonly amount_usd: components["schemas"]["Usd"];
            /** @enum {string} */
            readonly state: "open" | "pending" | "paid" | "failed" | "expired";
            /** @enum {string} */
            readonly by: "key" | "operator" | "auto_top_up";
            /** @description where to pay, while that is possible */
            readonly url: string | null;
            readonly url_expires_at: components["schemas"]["Time"] | null;
            /** @description the provider's id, once it is paid */
            readonly reference: string | null;
            readonly failure_code: string | null;
            readonly created_at: components["schemas"]["Time"];
            readonly updated_at: components["schemas"]["Time"];
        };
        readonly PaymentMoney: {
            /** @constant */
            readonly object: "payment";
            readonly id: string;
            readonly account_id: string;
            readonly amount_usd: components["schemas"]["Usd"];
            /** @enum {string} */
            readonly state: "open" | "pending" | "paid" | "failed" | "expired";
            /** @enum {string} */
            readonly by: "key" | "operator" | "auto_top_up";
            /** @description where to pay, while that is possible */
            readonly url: string | null;
            readonly url_expires_at: components["schemas"]["Time"] | null;
            /** @description the provider's id, once it is paid */
            readonly reference: string | null;
            readonly failure_code: string | null;
            readonly created_at: components["schemas"]["Time"];
            readonly updated_at: components["schemas"]["Time"];
            readonly started_by: string;
            readonly credited_usd: components["schemas"]["Usd"];
            readonly taken_back_usd: components["schemas"]["Usd"];
            readonly refundable_usd: components["schemas"]["Usd"];
            readonly unspent_usd: components["schemas"]["Usd"];
        };
        /** @description an entry for the price table, once each null is replaced */
        readonly PriceEntry: {
            readonly id: string;
            readonly display_name: string;
            readonly created_at?: string;
            readonly rate_in: null;
            readonly rate_out: null;
            readonly max_output_tokens: number | null;
            readonly context_window: number | null;
            readonly traits: {
                readonly sampling: string | null;
                readonly forced_tool_choice: string | null;
                readonly effort: readonly string[] | null;
                readonly thinking_off: string | null;
                readonly thinking_on: string | null;
                readonly system_messages: string | null;
                readonly structured_outputs: string | null;
                readonly binds_thinking: boolean | null;
            };
        };
        /** @description absent if the charge is tokens at the usual rates */
        readonly Pricing: {
            /** @description the circumstances that decided the rates: above_prompt_tokens, speed, service_tier, inference_geo */
            readonly terms: {
                readonly [key: string]: string;
            };
            readonly fees: readonly {
                readonly what: string;
                readonly units: number;
                readonly unit_usd: components["schemas"]["Usd"];
                readonly amount_usd: components["schemas"]["Usd"];
            }[];
        };
        readonly PromoCode: {
            /** @constant */
            readonly object: "promo_code";
            readonly code: string;
            readonly amount_usd: components["schemas"]["Usd"];
            readonly expires_at: components["schemas"]["Time"] | null;
            readonly credit_expires_at: components["schemas"]["Time"] | null;
            readonly max_redemptions: number;
            readonly redemptions: number;
            readonly created_at: components["schemas"]["Time"];
        };
        readonly ProviderReconciliation: {
            /** @constant */
            readonly object: "provider_reconciliation";
            /**
             * Format: date
             * @description UTC
             */
            readonly from: string;
            /**
             * Format: date
             * @description UTC
             */
            readonly until: string;
            /** @description the upstream accounts of this bill, with upstream; otherwise all charges */
            readonly upstreams: readonly string[] | null;
            readonly tolerance_usd: components["schemas"]["Usd"];
            readonly is_within_tolerance: boolean;
            readonly compared: number;
            readonly provider_usd: components["schemas"]["Usd"];
            readonly ledger_usd: components["schemas"]["Usd"];
            readonly difference_usd: components["schemas"]["Usd"];
            readonly differences: readonly {
                /**
                 * Format: date
                 * @description UTC
                 */
                readonly day: string;
                readonly model: string | null;
                readonly difference_usd: components["schemas"]["Usd"];
                readonly items: readonly {
                    /** @description a class of tokens, written_off, or another cost of the provider */
                    readonly item: string;
                    readonly provider_tokens: number | null;
                    readonly ledger_tokens: number | null;
                    readonly provider_usd: components["schemas"]["Usd"];
                    readonly ledger_usd: components["schemas"]["Usd"];
                    readonly difference_usd: components["schemas"]["Usd"] | null;
                }[];
                /** @description requests that may explain the difference */
                readonly requests: readonly {
                    /** @enum {string} */
                    readonly cause: "in_flight_at_midnight" | "written_off" | "set_aside" | "hold_open" | "not_charged" | "not_in_ledger" | "other_counts";
                    readonly request_id: string;
                    readonly key_id: string;
                    readonly at: components["schemas"]["Time"];
                    readonly detail: string;
                }[];
                readonly has_more: boolean;
            }[];
        };
        /** @description USD per million tokens */
        readonly Rates: {
            readonly input: components["schemas"]["Usd"];
            readonly output: components["schemas"]["Usd"];
            readonly cache_read: components["schemas"]["Usd"];
            readonly cache_write_5m: components["schemas"]["Usd"];
            readonly cache_write_1h: components["schemas"]["Usd"];
        };
        readonly Recharge: {
            /** @constant */
            readonly object: "recharge";
            readonly booked: number;
            readonly charged_usd: components["schemas"]["Usd"];
            readonly already_charged: number;
            readonly refused: readonly {
                readonly request_id: string;
                readonly reason: string;
            }[];
        };
        readonly Reconciliation: {
            /** @constant */
            readonly object: "reconciliation";
            readonly compared: number;
            readonly missing: readonly {
                /** @enum {string} */
                readonly fact: "paid" | "pending" | "failed" | "expired" | "method_saved" | "refund" | "dispute";
                readonly id: string;
                readonly reference: string;
                readonly account_id: string | null;
                readonly amount_cents: number;
                readonly currency: string;
                /** @enum {string} */
                readonly outcome: "booked" | "known" | "noted" | "foreign" | "unbooked" | "missing";
            }[];
        };
        readonly Refund: {
            /** @constant */
            readonly object: "refund";
            readonly id: string;
            readonly amount_usd: components["schemas"]["Usd"];
            readonly payment: components["schemas"]["PaymentMoney"];
        };
        readonly Request: {
            /** @constant */
            readonly object: "request";
            readonly request_id: string;
            /** @enum {string} */
            readonly state: "charged" | "in_flight" | "orphaned";
            readonly entry: (components["schemas"]["ChargeEntry"] | components["schemas"]["BookingEntry"]) | null;
            readonly lines: readonly components["schemas"]["TokenLine"][];
            readonly list_price_usd: components["schemas"]["Usd"] | null;
            readonly hold: components["schemas"]["Hold"] | null;
            readonly key: components["schemas"]["Key"];
            readonly account: components["schemas"]["Account"] | null;
        };
        /** @description api_key: null if this rotation was done before */
        readonly RotatedKey: {
            /** @constant */
            readonly object: "api_key";
            readonly id: string;
            readonly account_id: string;
            readonly name: string;
            readonly metadata: {
                readonly [key: string]: string;
            };
            /** @description the first and last characters of its credential */
            readonly hint: string;
            /** @enum {string} */
            readonly state: "active" | "suspended" | "revoked";
            /**
             * @description whether the key works, and if not, why: a suspended account and a used-up balance count too
             * @enum {string}
             */
            readonly standing: "active" | "exhausted" | "suspended" | "revoked" | "expired";
            /** @description whether its standing is active; a cap that is used up does not change this */
            readonly is_active: boolean;
            /** @enum {string} */
            readonly scope: "use" | "manage";
            /** @description null: all */
            readonly models: readonly string[] | null;
            readonly balance_usd: components["schemas"]["Usd"];
            readonly spent_usd: components["schemas"]["Usd"];
            readonly credited_usd: components["schemas"]["Usd"];
            readonly written_off_usd: components["schemas"]["Usd"];
            readonly limits: {
                readonly concurrency: number;
                readonly burst: number;
                readonly requests_per_minute: number;
            };
            readonly caps: {
                readonly day: {
                    readonly cap_usd: components["schemas"]["Usd"] | null;
                    readonly used_usd: components["schemas"]["Usd"];
                };
                readonly week: {
                    readonly cap_usd: components["schemas"]["Usd"] | null;
                    readonly used_usd: components["schemas"]["Usd"];
                };
                readonly month: {
                    readonly cap_usd: components["schemas"]["Usd"] | null;
                    readonly used_usd: components["schemas"]["Usd"];
                };
                readonly total: {
                    readonly cap_usd: components["schemas"]["Usd"] | null;
                    readonly used_usd: components["schemas"]["Usd"];
                };
            };
            readonly expires_at: components["schemas"]["Time"] | null;
            readonly previous_credential_until: components["schemas"]["Time"] | null;
            readonly created_at: components["schemas"]["Time"];
            readonly last_charged_at: components["schemas"]["Time"] | null;
            readonly external_id: string | null;
            readonly replayed: boolean;
            readonly api_key: string | null;
        };
        readonly Settings: {
            /** @constant */
            readonly object: "settings";
            readonly version: string;
            readonly loaded_at: components["schemas"]["Time"];
            readonly workers: readonly {
                readonly worker: number;
                readonly version: string;
            }[];
            readonly needs_restart: readonly string[];
        };
        readonly Spend: {
            readonly requests: number;
            readonly charged_usd: components["schemas"]["Usd"];
            readonly written_off_usd: components["schemas"]["Usd"];
            readonly by_model: readonly {
                readonly model: string;
                readonly requests: number;
                readonly charged_usd: components["schemas"]["Usd"];
                readonly written_off_usd: components["schemas"]["Usd"];
            }[];
        };
        readonly Statement: {
            /** @constant */
            readonly object: "statement";
            readonly number: string;
            readonly account_id: string;
            readonly account_name: string;
            readonly issuer: {
                readonly name: string;
                readonly contact: string | null;
            } | null;
            readonly month: string;
            readonly from: components["schemas"]["Time"];
            readonly until: components["schemas"]["Time"];
            readonly opening_balance_usd: components["schemas"]["Usd"];
            readonly bookings: readonly components["schemas"]["Credit"][];
            readonly charges: readonly {
                readonly day: string;
                readonly model: string;
                readonly requests: number;
                readonly lines: readonly components["schemas"]["TokenLine"][];
                readonly fees_usd?: components["schemas"]["Usd"];
                readonly written_off_usd: components["schemas"]["Usd"];
                readonly amount_usd: components["schemas"]["Usd"];
            }[];
            readonly booked_usd: components["schemas"]["Usd"];
            readonly charged_usd: components["schemas"]["Usd"];
            readonly closing_balance_usd: components["schemas"]["Usd"];
            readonly by_model: readonly {
                readonly model: string;
                readonly requests: number;
                readonly amount_usd: components["schemas"]["Usd"];
            }[];
            readonly by_key: readonly {
                readonly key_id: string;
                readonly name: string;
                readonly requests: number;
                readonly amount_usd: components["schemas"]["Usd"];
            }[];
            /** @description oldest first; the last is the sum of all others */
            readonly lines: readonly {
                readonly line: string;
                readonly date: string;
                readonly description: string;
                readonly text: string;
                readonly requests?: number;
                readonly tokens?: number;
                readonly rate_usd_per_million?: components["schemas"]["Usd"];
                readonly amount_usd: components["schemas"]["Usd"];
            }[];
        };
        /**
         * Format: date-time
         * @description UTC
         */
        readonly Time: string;
        readonly Today: {
            /** @constant */
            readonly object: "today";
            readonly day: string;
            readonly spend: {
                readonly today: components["schemas"]["Spend"];
                readonly last_7_days: components["schemas"]["Spend"];
                readonly last_30_days: components["schemas"]["Spend"];
            };
            /** @description whether a receiver of events is configured */
            readonly sends_events: boolean;
            readonly ledger: {
                readonly accounts: number;
                readonly keys: {
                    readonly active: number;
                    readonly exhausted: number;
                    readonly suspended: number;
                    readonly revoked: number;
                    readonly expired: number;
                };
                readonly unspent_usd: components["schemas"]["Usd"];
                readonly overdrawn_usd: components["schemas"]["Usd"];
                readonly expired_usd: components["schemas"]["Usd"];
                readonly written_off_usd: components["schemas"]["Usd"];
                readonly quarantined: number;
                readonly conflicts: number;
                readonly orphaned_holds: number;
                readonly undelivered_events: number;
                readonly last_seal_at: components["schemas"]["Time"] | null;
            };
            /** @description traffic of the replica that answers */
            readonly gateway: {
                readonly since: components["schemas"]["Time"];
                readonly requests: readonly {
                    readonly status: string;
                    readonly requests: number;
                }[];
                readonly unbilled: readonly {
                    readonly reason: string;
                    readonly responses: number;
                }[];
                readonly first_byte_ms: {
                    readonly p50: number | null;
                    readonly p95: number | null;
                };
                readonly upstream: {
                    readonly responses: readonly {
                        readonly status: string;
                        readonly responses: number;
                    }[];
                    readonly account_refused: number;
                };
            } | null;
        };
        /** @description tokens x rate = amount */
        readonly TokenLine: {
            /** @enum {string} */
            readonly class: "input" | "output" | "cache_read" | "cache_write_5m" | "cache_write_1h";
            readonly tokens: number;
            readonly rate_usd_per_million: components["schemas"]["Usd"];
            readonly amount_usd: components["schemas"]["Usd"];
        };
        readonly Tokens: {
            readonly input_tokens: number;
            readonly output_tokens: number;
            readonly cache_read_input_tokens: number;
            readonly cache_creation_input_tokens: number;
            readonly cache_creation_1h_input_tokens: number;
        };
        readonly TopUp: {
            /** @constant */
            readonly object: "top_up";
            readonly top_up_id: string;
            readonly account_id: string;
            readonly key_id: string | null;
            readonly amount_usd: components["schemas"]["Usd"];
            /** @enum {string} */
            readonly source: "paid" | "promotional";
            readonly expires_at: components["schemas"]["Time"] | null;
            readonly replayed: boolean;
            readonly balance_usd: components["schemas"]["Usd"];
            readonly is_active: boolean;
            readonly active_keys: number;
        };
        readonly TrailEntry: {
            /** @constant */
            readonly object: "trail_entry";
            readonly seq: string;
            readonly created_at: components["schemas"]["Time"];
            readonly actor: string;
            readonly address: string | null;
            readonly action: string;
            readonly account_id: string | null;
            readonly key_id: string | null;
            readonly details: {
                readonly [key: string]: unknown;
            };
            readonly personal: {
                readonly [key: string]: unknown;
            } | string | null;
        };
        readonly Transfer: {
            /** @constant */
            readonly object: "transfer";
            readonly transfer_id: string;
            readonly account_id: string;
            readonly to_account_id: string;
            readonly amount_usd: components["schemas"]["Usd"];
            readonly replayed: boolean;
            readonly balance_usd: components["schemas"]["Usd"];
            readonly to_balance_usd: components["schemas"]["Usd"];
        };
        readonly UnbookedPayment: {
            /** @constant */
            readonly object: "unbooked_payment";
            readonly id: string;
            readonly account_id: string | null;
            readonly fact: string;
            readonly reason: string;
            readonly payment_id: string | null;
            readonly reference: string;
            readonly amount_cents: number;
            readonly currency: string;
            readonly created_at: components["schemas"]["Time"];
        };
        /**
         * @description USD, exact to 14 decimals
         * @example 12.5
         */
        readonly Usd: string;
        readonly WitnessComparison: {
            /** @constant */
            readonly object: "witness_comparison";
            readonly compared: number;
            readonly archived_until: components["schemas"]["Time"] | null;
            readonly differences: readonly {
                readonly request_id: string;
                readonly expected: string;
                readonly found: string;
            }[];
        };
    };
    responses: {
        /** @description The request is refused; nothing was changed or charged */
        readonly Refused: {
            headers: {
                readonly [name: string]: unknown;
            };
            content: {
                readonly "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Too many requests; nothing was charged */
        readonly Limited: {
            headers: {
                /** @description Seconds to wait */
                readonly "Retry-After": number;
                readonly [name: string]: unknown;
            };
            content: {
                readonly "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The gateway, its ledger or the upstream failed */
        readonly Failed: {
            headers: {
                readonly [name: string]: unknown;
            };
            content: {
                readonly "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    readonly getOpenApi: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly openapi: string;
                    } & {
                        readonly [key: string]: unknown;
                    };
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly isAlive: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly status: string;
                    };
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly isReady: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly status: string;
                    };
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly showSession: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ConsoleSession"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly logIn: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly token: string;
                };
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ConsoleSession"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly logOut: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 204: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content?: never;
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly showSettings: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Settings"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly reloadSettings: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Settings"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly listKeys: {
        readonly parameters: {
            readonly query?: {
                readonly limit?: number;
                readonly order?: "newest" | "spent" | "balance" | "last_charged";
                readonly after?: string;
                readonly account_id?: string;
                readonly name?: string;
                readonly external_id?: string;
                readonly metadata?: string;
                readonly pepper?: "previous";
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        /** @constant */
                        readonly object: "list";
                        readonly data: readonly components["schemas"]["Key"][];
                        readonly has_more: boolean;
                        readonly next_cursor: string | null;
                    };
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly createKey: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description Repeating the request with the same value changes nothing */
                readonly "Idempotency-Key"?: string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly name: string;
                    /** @enum {string} */
                    readonly scope?: "use" | "manage";
                    readonly models?: readonly string[] | null;
                    readonly cap_day_usd?: string | null;
                    readonly cap_week_usd?: string | null;
                    readonly cap_month_usd?: string | null;
                    readonly cap_total_usd?: string | null;
                    readonly concurrency?: number;
                    readonly burst?: number;
                    readonly requests_per_minute?: number;
                    readonly external_id?: string;
                    readonly metadata?: {
                        readonly [key: string]: string;
                    };
                    /** Format: date-time */
                    readonly expires_at?: string;
                    readonly account_id?: string;
                    readonly account_external_id?: string;
                    readonly account_metadata?: {
                        readonly [key: string]: string;
                    };
                    readonly low_balance_usd?: string;
                    readonly balance_usd?: string;
                    /**
                     * @default paid
                     * @enum {string}
                     */
                    readonly credit_source?: "paid" | "promotional";
                    /** Format: date-time */
                    readonly credit_expires_at?: string;
                    readonly idempotency_key?: string;
                };
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["NewKey"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly showKey: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly key_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Key"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly updateKey: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly key_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": {
                    readonly name?: string;
                    /** @enum {string} */
                    readonly scope?: "use" | "manage";
                    readonly models?: readonly string[] | null;
                    readonly cap_day_usd?: string | null;
                    readonly cap_week_usd?: string | null;
                    readonly cap_month_usd?: string | null;
                    readonly cap_total_usd?: string | null;
                    readonly concurrency?: number;
                    readonly burst?: number;
                    readonly requests_per_minute?: number;
                    readonly external_id?: string | null;
                    readonly metadata?: {
                        readonly [key: string]: string;
                    };
                    readonly expires_at?: string | null;
                };
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Key"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly findKey: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly api_key: string;
                };
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Key"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly rotateKey: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description Repeating the request with the same value changes nothing */
                readonly "Idempotency-Key"?: string;
            };
            readonly path: {
                readonly key_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": {
                    /** @default 0 */
                    readonly grace_seconds?: number;
                    readonly idempotency_key?: string;
                };
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["RotatedKey"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly suspendKey: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly key_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": Record<string, never>;
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Key"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly resumeKey: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly key_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": Record<string, never>;
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Key"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly revokeKey: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly key_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": Record<string, never>;
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Key"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly createLink: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly key_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": {
                    /** @default 2592000 */
                    readonly expires_in_seconds?: number;
                };
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Link"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly topUp: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly key_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly top_up_id: string;
                    readonly amount_usd: string;
                    /**
                     * @default paid
                     * @enum {string}
                     */
                    readonly source?: "paid" | "promotional";
                    /** Format: date-time */
                    readonly expires_at?: string;
                    readonly note?: string;
                    readonly reference?: string;
                };
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["TopUp"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly topUpAccount: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly account_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly top_up_id: string;
                    readonly amount_usd: string;
                    /**
                     * @default paid
                     * @enum {string}
                     */
                    readonly source?: "paid" | "promotional";
                    /** Format: date-time */
                    readonly expires_at?: string;
                    readonly note?: string;
                    readonly reference?: string;
                };
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["TopUp"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly listAccounts: {
        readonly parameters: {
            readonly query?: {
                readonly limit?: number;
                readonly order?: "newest" | "spent" | "balance" | "last_charged";
                readonly after?: string;
                readonly name?: string;
                readonly external_id?: string;
                readonly metadata?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        /** @constant */
                        readonly object: "list";
                        readonly data: readonly components["schemas"]["Account"][];
                        readonly has_more: boolean;
                        readonly next_cursor: string | null;
                    };
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly createAccount: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description Repeating the request with the same value changes nothing */
                readonly "Idempotency-Key"?: string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly name: string;
                    readonly external_id?: string;
                    readonly metadata?: {
                        readonly [key: string]: string;
                    };
                    readonly low_balance_usd?: string;
                    readonly balance_usd?: string;
                    /**
                     * @default paid
                     * @enum {string}
                     */
                    readonly credit_source?: "paid" | "promotional";
                    /** Format: date-time */
                    readonly credit_expires_at?: string;
                    readonly idempotency_key?: string;
                };
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["NewAccount"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly showAccount: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly account_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["AccountWithCredits"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly updateAccount: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly account_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": {
                    readonly name?: string;
                    readonly external_id?: string | null;
                    readonly metadata?: {
                        readonly [key: string]: string;
                    };
                    readonly low_balance_usd?: string | null;
                };
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Account"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly adjustBalance: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly account_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly adjustment_id: string;
                    readonly amount_usd: string;
                    /** @enum {string} */
                    readonly reason: "refund" | "chargeback" | "correction" | "goodwill" | "write_off";
                    readonly note?: string;
                    readonly reference?: string;
                };
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Adjustment"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly transfer: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly account_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly to_account_id: string;
                    readonly transfer_id: string;
                    readonly amount_usd: string;
                    readonly note?: string;
                };
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Transfer"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly suspendAccount: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly account_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": Record<string, never>;
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Account"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly resumeAccount: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly account_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": Record<string, never>;
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Account"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly eraseAccount: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly account_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": Record<string, never>;
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Account"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly showStatement: {
        readonly parameters: {
            readonly query: {
                readonly month: string;
                readonly format?: "json" | "csv" | "html";
            };
            readonly header?: never;
            readonly path: {
                readonly account_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Statement"];
                    readonly "text/csv": string;
                    readonly "text/html": string;
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly listLedger: {
        readonly parameters: {
            readonly query?: {
                readonly account_id?: string;
                readonly key_id?: string;
                readonly kind?: "charge" | "top_up" | "adjustment" | "expiry";
                readonly model?: string;
                readonly from?: string;
                readonly until?: string;
                readonly limit?: number;
                readonly cursor?: string;
                readonly format?: "json" | "csv";
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        /** @constant */
                        readonly object: "list";
                        readonly data: readonly (components["schemas"]["ChargeEntry"] | components["schemas"]["BookingEntry"])[];
                        readonly has_more: boolean;
                        readonly next_cursor: string | null;
                        readonly archived_until: components["schemas"]["Time"] | null;
                    };
                    readonly "text/csv": string;
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly showEntry: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly entry_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ChargeEntry"] | components["schemas"]["BookingEntry"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly listUsage: {
        readonly parameters: {
            readonly query: {
                readonly by?: string;
                readonly from: string;
                readonly until?: string;
                readonly account_id?: string;
                readonly key_id?: string;
                readonly model?: string;
                readonly sort?: "charged" | "requests" | "tokens";
                readonly top?: number;
                readonly format?: "json" | "csv";
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        /** @constant */
                        readonly object: "list";
                        readonly data: readonly components["schemas"]["CostedUsageSum"][];
                        readonly has_more: boolean;
                        readonly next_cursor: string | null;
                        readonly from: components["schemas"]["Time"];
                        /** @description not included */
                        readonly until: components["schemas"]["Time"];
                    };
                    readonly "text/csv": string;
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly auditLedger: {
        readonly parameters: {
            readonly query?: {
                readonly anchor?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Audit"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly compareWitness: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly usages: readonly {
                        readonly request_id: string;
                        readonly input_tokens: number;
                        readonly output_tokens: number;
                        readonly cache_read_input_tokens: number;
                        readonly cache_creation_input_tokens: number;
                        readonly charge_usd?: string;
                    }[];
                };
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["WitnessComparison"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly rechargeUsages: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly charges: readonly {
                        readonly request_id: string & (unknown & unknown);
                        readonly key_id: string;
                        readonly model: string;
                        readonly input_tokens: number;
                        readonly output_tokens: number;
                        readonly cache_read_input_tokens: number;
                        readonly cache_creation_input_tokens: number;
                        /** @default 0 */
                        readonly cache_creation_1h_input_tokens?: number;
                        /** Format: date-time */
                        readonly at?: string;
                        /**
                         * @default messages
                         * @enum {string}
                         */
                        readonly endpoint?: "messages" | "chat.completions" | "responses";
                        /** @default false */
                        readonly streamed?: boolean;
                        readonly upstream_account?: string;
                        readonly pricing?: {
                            readonly terms: {
                                readonly speed?: string;
                                readonly service_tier?: string;
                                readonly inference_geo?: string;
                            };
                            readonly fees: readonly {
                                readonly what: string;
                                readonly units: number;
                            }[];
                        };
                        readonly charge_usd?: string;
                        readonly written_off_usd?: string;
                    }[];
                };
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Recharge"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly listHolds: {
        readonly parameters: {
            readonly query?: {
                readonly state?: "live" | "orphaned";
                readonly limit?: number;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        /** @constant */
                        readonly object: "list";
                        readonly data: readonly components["schemas"]["Hold"][];
                        readonly has_more: boolean;
                        readonly next_cursor: string | null;
                    };
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly listEvents: {
        readonly parameters: {
            readonly query?: {
                readonly state?: "pending" | "delivered" | "undelivered";
                readonly account_id?: string;
                readonly type?: "account.suspended" | "account.resumed" | "balance.low" | "balance.exhausted" | "balance.adjusted" | "cap.reached" | "credit.added" | "credit.expired" | "key.rotated" | "key.suspended" | "key.resumed" | "key.revoked" | "key.expiring" | "payment.succeeded" | "payment.failed" | "payment.unbooked" | "refund.created" | "dispute.opened" | "dispute.closed" | "auto_top_up.failed" | "upstream.refused" | "ledger.unsound" | "model.retiring" | "model.retired" | "model.sold_below_cost";
                readonly order?: "oldest" | "newest";
                readonly limit?: number;
                readonly cursor?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        /** @constant */
                        readonly object: "list";
                        readonly data: readonly components["schemas"]["Event"][];
                        readonly has_more: boolean;
                        readonly next_cursor: string | null;
                    };
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly listTrail: {
        readonly parameters: {
            readonly query?: {
                readonly account_id?: string;
                readonly key_id?: string;
                readonly limit?: number;
                readonly cursor?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        /** @constant */
                        readonly object: "list";
                        readonly data: readonly components["schemas"]["TrailEntry"][];
                        readonly has_more: boolean;
                        readonly next_cursor: string | null;
                    };
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly listAudits: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        /** @constant */
                        readonly object: "list";
                        readonly data: readonly components["schemas"]["AuditJob"][];
                        readonly has_more: boolean;
                        readonly next_cursor: string | null;
                    };
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly startAudit: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": {
                    readonly anchor?: string;
                };
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["AuditJob"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly showAudit: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly audit_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["AuditJob"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly showRequest: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly request_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Request"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly showToday: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Today"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly showBooks: {
        readonly parameters: {
            readonly query: {
                readonly month: string;
                readonly limit?: number;
                readonly cursor?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Books"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly listPayments: {
        readonly parameters: {
            readonly query?: {
                readonly account_id?: string;
                readonly limit?: number;
                readonly cursor?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        /** @constant */
                        readonly object: "list";
                        readonly data: readonly components["schemas"]["Payment"][];
                        readonly has_more: boolean;
                        readonly next_cursor: string | null;
                    };
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly listUnbookedPayments: {
        readonly parameters: {
            readonly query?: {
                readonly limit?: number;
                readonly cursor?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        /** @constant */
                        readonly object: "list";
                        readonly data: readonly components["schemas"]["UnbookedPayment"][];
                        readonly has_more: boolean;
                        readonly next_cursor: string | null;
                    };
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly reconcilePayments: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    /**
                     * Format: date-time
                     * @description the beginning, which is included
                     */
                    readonly from: string;
                    /**
                     * Format: date-time
                     * @description the end, which is not included
                     */
                    readonly until: string;
                    /** @default false */
                    readonly apply?: boolean;
                };
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Reconciliation"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly showPayment: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly payment_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["PaymentMoney"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly startPayment: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly account_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly amount_usd: string;
                    readonly request_id: string;
                };
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Payment"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly refundPayment: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly payment_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly refund_id: string;
                    readonly amount_usd: string;
                };
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Refund"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly showAutoTopUp: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly account_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["AutoTopUp"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly cancelAutoTopUp: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly account_id: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": Record<string, never>;
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["AutoTopUp"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly listPromoCodes: {
        readonly parameters: {
            readonly query?: {
                readonly limit?: number;
                readonly cursor?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        /** @constant */
                        readonly object: "list";
                        readonly data: readonly components["schemas"]["PromoCode"][];
                        readonly has_more: boolean;
                        readonly next_cursor: string | null;
                    };
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly createPromoCode: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly code: string;
                    readonly amount_usd: string;
                    readonly max_redemptions: number;
                    /** Format: date-time */
                    readonly expires_at?: string;
                    /** Format: date-time */
                    readonly credit_expires_at?: string;
                };
            };
        };
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["PromoCode"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly listModels: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        /** @constant */
                        readonly object: "list";
                        readonly data: readonly components["schemas"]["OfferedModel"][];
                        readonly has_more: boolean;
                        readonly next_cursor: string | null;
                    };
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly compareModels: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ModelComparison"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly reconcileProvider: {
        readonly parameters: {
            readonly query: {
                readonly from: string;
                readonly until: string;
                readonly tolerance_usd?: string;
                readonly upstream?: string;
            };
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ProviderReconciliation"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
}
