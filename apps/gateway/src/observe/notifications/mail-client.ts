/** Sends mail by SMTP, with nodemailer: one connection for each mail, because notices are rare. */

import { createTransport } from 'nodemailer';
import type { MailSender, SmtpServer } from '../../config/mail-config.js';
import type { SendOutcome } from './delivery-target.js';
import type { Mail } from './mail-message.js';

export interface MailClient {
  readonly timeoutMs: number;
  send(to: string, mail: Mail, signal: AbortSignal): Promise<SendOutcome>;
  /**
   * Connects and logs in, without sending anything.
   *
   * @returns why mail cannot be sent; `undefined` if it can
   */
  verify(): Promise<string | undefined>;
}

/** Some servers let strangers wait. It ends well before the deliverer's lease. */
const SEND_TIMEOUT_MS = 25_000;

export interface MailTransport {
  readonly server: SmtpServer;
  readonly from: MailSender;
  /** Certificates of authorities that are trusted in place of the usual ones, in PEM. */
  readonly ca?: string;
  readonly timeoutMs?: number;
}

export function createMailClient({
  server,
  from,
  ca,
  timeoutMs = SEND_TIMEOUT_MS,
}: MailTransport): MailClient {
  const { host, port, isTls, login } = server;
  const transport = createTransport({
    host,
    port,
    secure: isTls,
    // Otherwise somebody between the two could hide STARTTLS and read the password.
    requireTLS: login !== undefined,
    auth: login,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(ca === undefined ? {} : { tls: { ca } }),
  });
  return {
    timeoutMs,
    async send(to, mail, signal) {
      const timeout = AbortSignal.timeout(timeoutMs);
      try {
        await transport.sendMail({
          ...mail,
          from,
          to: { name: '', address: to },
          // By RFC 3834: no automatic reply to it.
          headers: { 'Auto-Submitted': 'auto-generated', 'X-Mailer': 'Farthing' },
          signal: AbortSignal.any([timeout, signal]),
        });
        return { outcome: 'delivered' };
      } catch (error) {
        if (signal.aborted) return { outcome: 'stopped' };
        if (timeout.aborted) {
          const reason = `the mail server needed more than ${String(timeoutMs / 1000)} s`;
          return { outcome: 'failed', reason };
        }
        const failure = { outcome: 'failed', reason: reasonOf(error) } as const;
        return isRefusedRecipient(error) ? { ...failure, isFinal: true } : failure;
      }
    },
    async verify() {
      try {
        await transport.verify();
        return undefined;
      } catch (error) {
        return reasonOf(error);
      }
    },
  };
}

interface SmtpFailure {
  readonly code: unknown;
  /** The status of the server's response, and the command that it answers. */
  readonly responseCode: unknown;
  readonly command: unknown;
}

const failureOf = (error: unknown) => (error ?? {}) as Partial<SmtpFailure>;

/** A word of the command, which may have the recipient's address after it. */
const COMMANDS = ['RCPT TO', 'MAIL FROM', 'AUTH', 'STARTTLS', 'DATA', 'EHLO', 'HELO', 'CONN'];

/** Repeats nothing of the server's text, which may have the recipient's address. */
function reasonOf(error: unknown): string {
  const { code, responseCode, command } = failureOf(error);
  const name = COMMANDS.find((known) => String(command).startsWith(known));
  const at = name === undefined ? '' : ` to ${name}`;
  if (typeof responseCode === 'number') {
    return `the mail server responded with ${String(responseCode)}${at}`;
  }
  return `no valid response from the mail server${at}: ${typeof code === 'string' ? code : 'unknown error'}`;
}

/** Other refusals, such as one of the log-in, may end when the operator mends a setting. */
function isRefusedRecipient(error: unknown): boolean {
  const { responseCode, command } = failureOf(error);
  return command === 'RCPT TO' && typeof responseCode === 'number' && responseCode >= 500;
}
