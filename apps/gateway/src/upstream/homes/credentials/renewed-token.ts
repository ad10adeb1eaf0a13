/**
 * A token, or another credential, that expires. It is kept until shortly before that, and then
 * renewed by one call, whoever waits for it.
 */

export interface IssuedToken<Token> {
  readonly token: Token;
  /** In milliseconds since the epoch; `undefined`: never. */
  readonly expiresAtMs: number | undefined;
}

export interface RenewalOptions<Token> {
  readonly renew: () => Promise<IssuedToken<Token>>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Called once for each reason why there is no new token, until there is one. */
  readonly onProblem: (reason: string) => void;
}

/** There is no credential for a request. The home was not asked. */
export class CredentialError extends Error {
  override readonly name = 'CredentialError';
  /** @param reason - For the operator: it continues "there is no credential: …". */
  readonly reason: string;
  constructor(reason: string) {
    super(`there is no credential: ${reason}`);
    this.reason = reason;
  }
}

/** So long before its end a token is renewed, while requests still use it. */
const EARLY_MS = 300_000;
/** Of a token with a shorter life, a quarter of it. */
const EARLY_SHARE = 0.25;
/** After a failure, requests do not ask again for this time. */
const PAUSE_MS = 1_000;
const DEADLINE_MS = 15_000;
/** A token that is refused so soon was not refused because it is old. */
const YOUNG_MS = 10_000;

export class RenewedToken<Token> {
  readonly #options: RenewalOptions<Token>;
  #kept:
    (IssuedToken<Token> & { readonly renewAtMs: number; readonly sinceMs: number }) | undefined;
  #renewal: Promise<Token> | undefined;
  #failed: { readonly error: CredentialError; readonly atMs: number } | undefined;

  constructor(options: RenewalOptions<Token>) {
    this.#options = options;
  }

  /**
   * @returns a promise only if there is no token that can be used
   * @throws {CredentialError} by the promise
   */
  current(): Token | Promise<Token> {
    const now = this.#options.now();
    const kept = this.#kept;
    if (kept === undefined || (kept.expiresAtMs ?? Infinity) <= now) return this.#renewed();
    if (kept.renewAtMs <= now) {
      // A failure matters only when the token has expired. It is reported already.
      this.#renewed().catch(() => undefined);
    }
    return kept.token;
  }

  /**
   * The home refused a token. It is not used again.
   *
   * @returns whether another one may be accepted
   */
  refused(token: Token): boolean {
    const kept = this.#kept;
    if (kept?.token !== token) return true;
    if (this.#options.now() - kept.sinceMs < YOUNG_MS) return false;
    this.#kept = undefined;
    return true;
  }

  async #renewed(): Promise<Token> {
    if (this.#renewal !== undefined) return this.#renewal;
    const failed = this.#failed;
    if (failed !== undefined && this.#options.now() - failed.atMs < PAUSE_MS) throw failed.error;
    this.#renewal = this.#renew().finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  async #renew(): Promise<Token> {
    const { renew, now, onProblem } = this.#options;
    try {
      const issued = await beforeDeadline(renew());
      const sinceMs = now();
      const lifeMs = (issued.expiresAtMs ?? Infinity) - sinceMs;
      const renewAtMs = sinceMs + lifeMs - Math.min(EARLY_MS, lifeMs * EARLY_SHARE);
      this.#kept = {
        ...issued,
        sinceMs,
        renewAtMs: Number.isNaN(renewAtMs) ? Infinity : renewAtMs,
      };
      this.#failed = undefined;
      return issued.token;
    } catch (error) {
      const found = error instanceof CredentialError ? error : new CredentialError('unknown error');
      if (this.#failed?.error.reason !== found.reason) onProblem(found.reason);
      this.#failed = { error: found, atMs: now() };
      throw found;
    }
  }
}

async function beforeDeadline<Result>(work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new CredentialError(`no answer within ${String(DEADLINE_MS / 1000)} seconds`));
    }, DEADLINE_MS);
  });
  return Promise.race([work, late]).finally(() => {
    clearTimeout(timer);
  });
}
