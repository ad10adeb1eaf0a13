/** A mail server that keeps each mail that it is sent, and can refuse or hold them. */

import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import type { MailOrigin } from '../../src/observe/notifications/mail-message.js';

export const SENDER = { name: 'Example Ltd', address: 'billing@example.com' };
export const ORIGIN: MailOrigin = { from: SENDER, publicUrl: undefined, operator: undefined };
export const LOGIN = { user: 'gateway@example.com', pass: 'p@ss/word-of-the-mail-server' };

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** By name in lower case. A name that came twice has both values. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly isEncrypted: boolean;
}

export interface MailServer {
  readonly port: number;
  /** For `SMTP_URL`, without a log-in. */
  readonly url: string;
  /** Every mail that arrived whole, accepted or not. */
  readonly received: readonly ReceivedMail[];
  /** How often somebody sent a user name and a password. */
  readonly logins: () => number;
  close(): Promise<void>;
}

export interface MailServerOptions {
  /** The status with which a recipient is refused, if it is. */
  readonly recipient?: (address: string) => number | undefined;
  /** The status with which a mail is refused, if it is. */
  readonly mail?: (mail: ReceivedMail) => number | undefined | Promise<number | undefined>;
  readonly tls?: { readonly key: string; readonly cert: string };
  readonly needsLogin?: boolean;
}

export async function startMailServer({
  recipient = () => undefined,
  mail: judge = () => undefined,
  tls,
  needsLogin = false,
}: MailServerOptions = {}): Promise<MailServer> {
  const received: ReceivedMail[] = [];
  let logins = 0;
  const refusal = (status: number | undefined): Error | null =>
    status === undefined
      ? null
      : Object.assign(new Error('words of the mail server'), { responseCode: status });
  const server = new SMTPServer({
    ...tls,
    disabledCommands: tls === undefined ? ['STARTTLS'] : [],
    // Some tests leave a connection whose mail is never answered.
    closeTimeout: 100,
    // Otherwise each connection first waits for the machine's resolver to look up 127.0.0.1.
    disableReverseLookup: true,
    allowInsecureAuth: true,
    authOptional: !needsLogin,
    onAuth({ username, password }, _session, done) {
      logins += 1;
      if (username === LOGIN.user && password === LOGIN.pass) done(null, { user: username });
      else done(refusal(535));
    },
    onRcptTo({ address }, _session, done) {
      done(refusal(recipient(address)));
    },
    onData(stream, { envelope, secure }, done) {
      let text = '';
      stream.setEncoding('utf8');
      stream.on('data', (chunk: string) => (text += chunk));
      stream.on('end', () => {
        const mail = {
          ...partsOf(text),
          from: envelope.mailFrom === false ? '' : envelope.mailFrom.address,
          to: envelope.rcptTo.map(({ address }) => address),
          isEncrypted: secure,
        };
        received.push(mail);
        void Promise.resolve(judge(mail)).then((status) => {
          done(refusal(status));
        });
      });
    },
  });
  // A sender that is killed breaks off its connection.
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.server.address() as AddressInfo;
  return {
    port,
    url: `smtp://127.0.0.1:${String(port)}`,
    received,
    logins: () => logins,
    close: () =>
      new Promise((resolve) => {
        server.close(resolve);
      }),
  };
}

function partsOf(mail: string): Pick<ReceivedMail, 'headers' | 'text'> {
  const end = mail.indexOf('\r\n\r\n');
  const headers: Record<string, string> = {};
  for (const line of mail
    .slice(0, end)
    .replaceAll(/\r\n[ \t]+/g, ' ')
    .split('\r\n')) {
    const at = line.indexOf(':');
    const name = line.slice(0, at).toLowerCase();
    const value = line.slice(at + 1).trim();
    headers[name] = name in headers ? `${headers[name]!}, ${value}` : value;
  }
  const body = mail.slice(end + 4).replaceAll('\r\n', '\n');
  const isQuoted = headers['content-transfer-encoding'] === 'quoted-printable';
  return { headers, text: isQuoted ? unquoted(body) : body };
}

function unquoted(body: string): string {
  const bytes = body
    .replaceAll(/=\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
