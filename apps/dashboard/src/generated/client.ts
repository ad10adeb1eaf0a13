/** Written by `npm run openapi`. Do not edit. */

export interface paths {
    readonly "/v1/messages": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** A message, in the native format */
        readonly post: operations["createMessage"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/messages/count_tokens": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** How many input tokens a message has, free of charge */
        readonly post: operations["countTokens"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/chat/completions": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** A message, in the chat-completions format */
        readonly post: operations["createChatCompletion"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/responses": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** A message, in the format of the Responses API */
        readonly post: operations["createResponse"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/responses/input_tokens": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** How many input tokens a request of the Responses API has, free of charge */
        readonly post: operations["countInputTokens"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/responses/{response_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** A response that is kept: for RESPONSE_MEMORY_MINUTES after its last use */
        readonly get: operations["getResponse"];
        readonly put?: never;
        readonly post?: never;
        /** Forgets a response */
        readonly delete: operations["deleteResponse"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/models": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The models that the key may use */
        readonly get: operations["listModels"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/models/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** One model */
        readonly get: operations["getModel"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/dashboard/account": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Whose key it is, what its account has, and how long that lasts */
        readonly get: operations["getAccount"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/dashboard/balance": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The balance of the key's account */
        readonly get: operations["getBalance"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/dashboard/usage": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Charges of the key, and credits and corrections of its account, newest first */
        readonly get: operations["listUsage"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/dashboard/usage/summary": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Sums of charges. As CSV, the headers x-gateway-from and x-gateway-until state the range */
        readonly get: operations["sumUsage"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/dashboard/usage/{request_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The charge of one request, by its id or by the id of its message in any format */
        readonly get: operations["getUsage"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/dashboard/prices": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The prices of the models that the key may use */
        readonly get: operations["listPrices"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/dashboard/statement": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The statement of a month */
        readonly get: operations["getStatement"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/dashboard/links": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** A link with which others may read the dashboard of a key */
        readonly post: operations["createLink"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/dashboard/keys": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The keys of the account, for a key that may manage them */
        readonly get: operations["listKeys"];
        readonly put?: never;
        /** A new key of the account */
        readonly post: operations["createKey"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/dashboard/keys/{key_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** One key of the account */
        readonly get: operations["getKey"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        /** Changes a key of the account */
        readonly patch: operations["updateKey"];
        readonly trace?: never;
    };
    readonly "/v1/dashboard/keys/{key_id}/rotate": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Gives a key of the account a new credential */
        readonly post: operations["rotateKey"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/dashboard/keys/{key_id}/suspend": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Suspends a key of the account */
        readonly post: operations["suspendKey"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/dashboard/keys/{key_id}/resume": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Resumes a key of the account */
        readonly post: operations["resumeKey"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/dashboard/keys/{key_id}/revoke": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Revokes a key of the account */
        readonly post: operations["revokeKey"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/dashboard/promo-codes": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Exchanges a code for credit */
        readonly post: operations["redeemPromoCode"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The base addresses for SDKs; browsers are sent to the dashboard */
        readonly get: operations["describeGateway"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
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
    readonly "/v1/dashboard/top-ups": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Payments for the account, newest first */
        readonly get: operations["listTopUps"];
        readonly put?: never;
        /** Starts a payment for the account of the key */
        readonly post: operations["startTopUp"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/dashboard/top-ups/{payment_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** One payment */
        readonly get: operations["getTopUp"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/dashboard/top-ups/{payment_id}/receipt": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The address of the provider's receipt of a payment */
        readonly get: operations["getReceipt"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/v1/dashboard/auto-top-up": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** The automatic top-up of the account, and whether it is on */
        readonly get: operations["getAutoTopUp"];
        /** Turns on or changes the automatic top-up of the account */
        readonly put: operations["orderAutoTopUp"];
        readonly post?: never;
        /** Turns off the automatic top-up of the account */
        readonly delete: operations["cancelAutoTopUp"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/webhooks/stripe": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Receives Stripe's notifications about payments */
        readonly post: operations["takeStripeNotification"];
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
        readonly AccountOverview: {
            /** @constant */
            readonly object: "account_overview";
            /** @description contact: an address of mail, or one that begins with https:// or http:// */
            readonly operator: {
                readonly name: string;
                readonly contact: string | null;
            } | null;
            readonly account_name: string;
            readonly balance_usd: components["schemas"]["Usd"];
            /** @description other keys spend the same balance */
            readonly is_shared: boolean;
            /** @description the key may read the charges of all keys, and the statement */
            readonly may_see_account: boolean;
            readonly key: {
                readonly id: string;
                readonly name: string;
                readonly hint: string;
                /** @enum {string} */
                readonly scope: "use" | "manage";
                readonly is_active: boolean;
                readonly expires_at: components["schemas"]["Time"] | null;
                readonly last_charged_at: components["schemas"]["Time"] | null;
            };
            /** @description the unspent part of each credit that expires, the next one first */
            readonly expiring: readonly {
                readonly remaining_usd: components["schemas"]["Usd"];
                readonly expires_at: components["schemas"]["Time"];
            }[];
            /** @description what all keys of the account spent in these days, today included */
            readonly pace: {
                readonly days: number;
                readonly spent_usd: components["schemas"]["Usd"];
                readonly spent_by_key_usd: components["schemas"]["Usd"];
            };
            /** @description when the balance is used up at this pace, without credit that expires before it can be spent; null if nothing was spent */
            readonly lasts_until: components["schemas"]["Time"] | null;
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
        readonly Balance: {
            /** @constant */
            readonly object: "balance";
            readonly balance_usd: number;
            readonly expires_at: components["schemas"]["Time"] | null;
            readonly is_active: boolean;
            readonly last_synced_at: components["schemas"]["Time"];
        };
        /** @description the models, as Codex reads them */
        readonly CodexModels: {
            readonly models: readonly ({
                readonly slug: string;
                readonly display_name: string;
                readonly context_window: number;
            } & {
                readonly [key: string]: unknown;
            })[];
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
        readonly HolderKey: {
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
            /** @description what the operator set: keys with the scope manage may make it stricter, but not looser */
            readonly operator_bounds: {
                /** @description only the operator can resume the key */
                readonly suspended: boolean;
                readonly cap_day_usd: components["schemas"]["Usd"] | null;
                readonly cap_week_usd: components["schemas"]["Usd"] | null;
                readonly cap_month_usd: components["schemas"]["Usd"] | null;
                readonly cap_total_usd: components["schemas"]["Usd"] | null;
                readonly concurrency: number | null;
                readonly burst: number | null;
                readonly requests_per_minute: number | null;
                readonly expires_at: components["schemas"]["Time"] | null;
                readonly models: readonly string[] | null;
            } | null;
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
        readonly Model: {
            readonly id: string;
            /** @constant */
            readonly object: "model";
            /** @constant */
            readonly type: "model";
            readonly display_name: string;
            readonly created: number;
            readonly created_at: components["schemas"]["Time"];
            readonly owned_by: string;
            readonly rate_in: string;
            readonly rate_out: string;
        } & {
            readonly [key: string]: unknown;
        };
        readonly Models: {
            /** @constant */
            readonly object: "list";
            readonly data: readonly components["schemas"]["Model"][];
            readonly has_more: boolean;
            readonly first_id: string | null;
            readonly last_id: string | null;
        };
        /** @description api_key: shown only once */
        readonly NewHolderKey: {
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
            /** @description what the operator set: keys with the scope manage may make it stricter, but not looser */
            readonly operator_bounds: {
                /** @description only the operator can resume the key */
                readonly suspended: boolean;
                readonly cap_day_usd: components["schemas"]["Usd"] | null;
                readonly cap_week_usd: components["schemas"]["Usd"] | null;
                readonly cap_month_usd: components["schemas"]["Usd"] | null;
                readonly cap_total_usd: components["schemas"]["Usd"] | null;
                readonly concurrency: number | null;
                readonly burst: number | null;
                readonly requests_per_minute: number | null;
                readonly expires_at: components["schemas"]["Time"] | null;
                readonly models: readonly string[] | null;
            } | null;
            readonly api_key: string | null;
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
        readonly Price: {
            /** @constant */
            readonly object: "price";
            readonly model: string;
            readonly display_name: string;
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
            readonly is_deprecated: boolean;
            readonly max_input_tokens: number;
            readonly max_output_tokens: number;
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
        /** @description USD per million tokens */
        readonly Rates: {
            readonly input: components["schemas"]["Usd"];
            readonly output: components["schemas"]["Usd"];
            readonly cache_read: components["schemas"]["Usd"];
            readonly cache_write_5m: components["schemas"]["Usd"];
            readonly cache_write_1h: components["schemas"]["Usd"];
        };
        readonly Receipt: {
            /** @constant */
            readonly object: "receipt";
            readonly payment_id: string;
            readonly url: string;
        };
        readonly Redemption: {
            /** @constant */
            readonly object: "redemption";
            readonly amount_usd: components["schemas"]["Usd"];
            readonly balance_usd: components["schemas"]["Usd"];
            readonly credit_expires_at: components["schemas"]["Time"] | null;
            readonly replayed: boolean;
        };
        /** @description api_key: null if this rotation was done before */
        readonly RotatedHolderKey: {
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
            /** @description what the operator set: keys with the scope manage may make it stricter, but not looser */
            readonly operator_bounds: {
                /** @description only the operator can resume the key */
                readonly suspended: boolean;
                readonly cap_day_usd: components["schemas"]["Usd"] | null;
                readonly cap_week_usd: components["schemas"]["Usd"] | null;
                readonly cap_month_usd: components["schemas"]["Usd"] | null;
                readonly cap_total_usd: components["schemas"]["Usd"] | null;
                readonly concurrency: number | null;
                readonly burst: number | null;
                readonly requests_per_minute: number | null;
                readonly expires_at: components["schemas"]["Time"] | null;
                readonly models: readonly string[] | null;
            } | null;
            readonly replayed: boolean;
            readonly api_key: string | null;
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
        readonly Usage: {
            /** @constant */
            readonly object: "usage";
            /** @constant */
            readonly kind: "charge";
            readonly request_id: string;
            readonly key_id: string;
            readonly created_at: components["schemas"]["Time"];
            readonly charge_usd: components["schemas"]["Usd"];
            readonly balance_after_usd: components["schemas"]["Usd"];
            readonly written_off_usd: components["schemas"]["Usd"];
            readonly model: string;
            readonly endpoint: string;
            readonly streamed: boolean;
            readonly upstream_id: string | null;
            readonly usage: components["schemas"]["Tokens"];
            readonly rates: components["schemas"]["Rates"];
            readonly pricing?: components["schemas"]["Pricing"];
        };
        readonly UsageSum: {
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
        };
        /**
         * @description USD, exact to 14 decimals
         * @example 12.5
         */
        readonly Usd: string;
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
    readonly createMessage: {
        readonly parameters: {
            readonly query?: never;
            readonly header: {
                readonly "anthropic-version": string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly model: string;
                    readonly messages: readonly ({
                        readonly role: string;
                        readonly content: unknown;
                    } & {
                        readonly [key: string]: unknown;
                    })[];
                    readonly stream?: boolean;
                    readonly max_tokens: number;
                } & {
                    readonly [key: string]: unknown;
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
                    readonly "application/json": {
                        readonly id: string;
                        /** @constant */
                        readonly type: "message";
                        /** @constant */
                        readonly role: "assistant";
                        readonly model: string;
                        readonly content: readonly ({
                            readonly type: string;
                        } & {
                            readonly [key: string]: unknown;
                        })[];
                        readonly stop_reason: string | null;
                        readonly usage: {
                            readonly input_tokens: number;
                            readonly output_tokens: number;
                        } & {
                            readonly [key: string]: unknown;
                        };
                    } & {
                        readonly [key: string]: unknown;
                    };
                    readonly "text/event-stream": string;
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly countTokens: {
        readonly parameters: {
            readonly query?: never;
            readonly header: {
                readonly "anthropic-version": string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly model: string;
                    readonly messages: readonly ({
                        readonly role: string;
                        readonly content: unknown;
                    } & {
                        readonly [key: string]: unknown;
                    })[];
                    readonly stream?: boolean;
                } & {
                    readonly [key: string]: unknown;
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
                    readonly "application/json": {
                        readonly input_tokens: number;
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
    readonly createChatCompletion: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly model: string;
                    readonly messages: readonly ({
                        readonly role: string;
                        readonly content: unknown;
                    } & {
                        readonly [key: string]: unknown;
                    })[];
                    readonly stream?: boolean;
                } & {
                    readonly [key: string]: unknown;
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
                    readonly "application/json": {
                        readonly id: string;
                        /** @constant */
                        readonly object: "chat.completion";
                        readonly created: number;
                        readonly model: string;
                        readonly choices: readonly ({
                            readonly index: number;
                            readonly finish_reason: string | null;
                        } & {
                            readonly [key: string]: unknown;
                        })[];
                        readonly usage: {
                            readonly prompt_tokens: number;
                            readonly completion_tokens: number;
                            readonly total_tokens: number;
                        } & {
                            readonly [key: string]: unknown;
                        };
                    } & {
                        readonly [key: string]: unknown;
                    };
                    readonly "text/event-stream": string;
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly createResponse: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly model: string;
                    readonly input: unknown;
                    readonly stream?: boolean;
                } & {
                    readonly [key: string]: unknown;
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
                    readonly "application/json": {
                        readonly id: string;
                        /** @constant */
                        readonly object: "response";
                        readonly status: string;
                        readonly output: readonly ({
                            readonly type: string;
                        } & {
                            readonly [key: string]: unknown;
                        })[];
                    } & {
                        readonly [key: string]: unknown;
                    };
                    readonly "text/event-stream": string;
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly countInputTokens: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly model: string;
                    readonly input: unknown;
                } & {
                    readonly [key: string]: unknown;
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
                    readonly "application/json": {
                        /** @constant */
                        readonly object: "response.input_tokens";
                        readonly input_tokens: number;
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
    readonly getResponse: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly response_id: string;
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
                    readonly "application/json": {
                        readonly id: string;
                        /** @constant */
                        readonly object: "response";
                        readonly status: string;
                        readonly output: readonly ({
                            readonly type: string;
                        } & {
                            readonly [key: string]: unknown;
                        })[];
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
    readonly deleteResponse: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly response_id: string;
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
                    readonly "application/json": {
                        readonly id: string;
                        /** @constant */
                        readonly object: "response";
                        /** @constant */
                        readonly deleted: true;
                    };
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly listModels: {
        readonly parameters: {
            readonly query?: {
                readonly limit?: number;
                readonly after_id?: string;
                readonly before_id?: string;
                readonly lifecycle?: readonly ("active" | "deprecated" | "retired")[];
                readonly client_version?: string;
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
                    readonly "application/json": components["schemas"]["Models"] | components["schemas"]["CodexModels"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly getModel: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: string;
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
                    readonly "application/json": components["schemas"]["Model"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly getAccount: {
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
                    readonly "application/json": components["schemas"]["AccountOverview"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly getBalance: {
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
                    readonly "application/json": components["schemas"]["Balance"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly listUsage: {
        readonly parameters: {
            readonly query?: {
                readonly day?: string;
                readonly from?: string;
                readonly until?: string;
                readonly model?: string;
                readonly of?: "key" | "account";
                readonly kind?: "charge" | "credit" | "all";
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
                        readonly data: readonly (components["schemas"]["Usage"] | components["schemas"]["Credit"])[];
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
    readonly sumUsage: {
        readonly parameters: {
            readonly query?: {
                readonly by?: string;
                readonly from?: string;
                readonly until?: string;
                readonly model?: string;
                readonly of?: "key" | "account";
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
                        readonly data: readonly components["schemas"]["UsageSum"][];
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
    readonly getUsage: {
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
                    readonly "application/json": components["schemas"]["Usage"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly listPrices: {
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
                        readonly data: readonly components["schemas"]["Price"][];
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
    readonly getStatement: {
        readonly parameters: {
            readonly query: {
                readonly month: string;
                readonly format?: "json" | "csv" | "html";
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
    readonly createLink: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": {
                    readonly key_id?: string;
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
    readonly listKeys: {
        readonly parameters: {
            readonly query?: {
                readonly limit?: number;
                readonly after?: string;
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
                        readonly data: readonly components["schemas"]["HolderKey"][];
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
                    readonly models?: readonly string[] | null;
                    readonly cap_day_usd?: string | null;
                    readonly cap_week_usd?: string | null;
                    readonly cap_month_usd?: string | null;
                    readonly cap_total_usd?: string | null;
                    readonly concurrency?: number;
                    readonly burst?: number;
                    readonly requests_per_minute?: number;
                    readonly metadata?: {
                        readonly [key: string]: string;
                    };
                    /** Format: date-time */
                    readonly expires_at?: string;
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
                    readonly "application/json": components["schemas"]["NewHolderKey"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly getKey: {
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
                    readonly "application/json": components["schemas"]["HolderKey"];
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
                    readonly models?: readonly string[] | null;
                    readonly cap_day_usd?: string | null;
                    readonly cap_week_usd?: string | null;
                    readonly cap_month_usd?: string | null;
                    readonly cap_total_usd?: string | null;
                    readonly concurrency?: number;
                    readonly burst?: number;
                    readonly requests_per_minute?: number;
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
                    readonly "application/json": components["schemas"]["HolderKey"];
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
                    readonly "application/json": components["schemas"]["RotatedHolderKey"];
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
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["HolderKey"];
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
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["HolderKey"];
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
        readonly requestBody?: never;
        readonly responses: {
            /** @description Done */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["HolderKey"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly redeemPromoCode: {
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
                    readonly "application/json": components["schemas"]["Redemption"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly describeGateway: {
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
                        readonly name: string;
                        readonly base_urls: {
                            readonly [key: string]: string;
                        };
                        readonly top_up_url?: string;
                        /** @constant */
                        readonly simulated?: true;
                    };
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
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
    readonly listTopUps: {
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
                        readonly data: readonly components["schemas"]["Payment"][];
                        readonly has_more: boolean;
                        readonly next_cursor: string | null;
                        readonly min_usd: components["schemas"]["Usd"];
                        readonly max_usd: components["schemas"]["Usd"];
                    };
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly startTopUp: {
        readonly parameters: {
            readonly query?: never;
            readonly header: {
                readonly "Idempotency-Key": string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
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
                    readonly "application/json": components["schemas"]["Payment"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly getTopUp: {
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
                    readonly "application/json": components["schemas"]["Payment"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly getReceipt: {
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
                    readonly "application/json": components["schemas"]["Receipt"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly getAutoTopUp: {
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
                    readonly "application/json": components["schemas"]["AutoTopUp"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly orderAutoTopUp: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly threshold_usd: string;
                    readonly amount_usd?: string;
                    readonly target_usd?: string;
                    readonly max_per_day: number;
                    readonly max_per_month_usd: string;
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
                    readonly "application/json": {
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
                        /** @description where to save a payment method */
                        readonly setup_url: string | null;
                    };
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
                    readonly "application/json": components["schemas"]["AutoTopUp"];
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
    readonly takeStripeNotification: {
        readonly parameters: {
            readonly query?: never;
            readonly header: {
                readonly "stripe-signature": string;
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": {
                    readonly id: string;
                    readonly type: string;
                } & {
                    readonly [key: string]: unknown;
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
                    readonly "application/json": {
                        /** @constant */
                        readonly received: true;
                    };
                };
            };
            readonly 429: components["responses"]["Limited"];
            readonly "4XX": components["responses"]["Refused"];
            readonly "5XX": components["responses"]["Failed"];
        };
    };
}
