/** `SMTP_URL` and `MAIL_FROM`: the server that sends notices by mail, and their sender. */

import { z } from 'zod';
import { isMailAddress } from '../base/mail-address.js';

export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /** Whether the connection begins with TLS. Otherwise STARTTLS begins it. */
  readonly isTls: boolean;
  /** With it, nothing is sent without TLS. */
  readonly login: { readonly user: string; readonly pass: string } | undefined;
}

export interface MailSender {
  /** Empty for an address alone. */
  readonly name: string;
  readonly address: string;
}

/** The ports for submission (RFC 6409, RFC 8314). */
const PORTS = { 'smtp:': 587, 'smtps:': 465 } as const;

const SMTP_FORM = 'must be smtp://user:password@host:port or smtps://…, percent-encoded';

/** A secret, so problems repeat nothing of it. */
export const smtpUrl = z.string().transform((given, context): SmtpServer => {
  const server = serverOf(given);
  if (server !== undefined) return server;
  context.addIssue(SMTP_FORM);
  return z.NEVER;
});

function serverOf(given: string): SmtpServer | undefined {
  if (!URL.canParse(given)) return undefined;
  const { protocol, hostname, port, username, password, pathname, search, hash } = new URL(given);
  const isOnlyServer = ['', '/'].includes(pathname) && search === '' && hash === '';
  const isWholeLogin = (username === '') === (password === '');
  if (protocol !== 'smtp:' && protocol !== 'smtps:') return undefined;
  if (hostname === '' || !isOnlyServer || !isWholeLogin) return undefined;
  try {
    const login = { user: decodeURIComponent(username), pass: decodeURIComponent(password) };
    return {
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port === '' ? PORTS[protocol] : Number(port),
      isTls: protocol === 'smtps:',
      login: username === '' ? undefined : login,
    };
  } catch {
    // A percent sign that encodes nothing.
    return undefined;
  }
}

/** `Example Ltd <billing@example.com>`; a name has no character that ends it in a header. */
const SENDER_FORM = /^(?:([^<>"\\@,;:\p{Cc}]{1,100}?) ?<([^<>]+)>|([^<>\s]+))$/u;

export const mailSender = z.string().transform((given, context): MailSender => {
  const [, name = '', named, alone] = SENDER_FORM.exec(given.trim()) ?? [];
  const address = named ?? alone ?? '';
  if (isMailAddress(address)) return { name: name.trim(), address };
  context.addIssue(
    'must be an address, or a name and an address: Example Ltd <billing@example.com>',
  );
  return z.NEVER;
});
