/** A certificate for `localhost` that signs itself, as X.509 in DER (RFC 5280), without tools. */

import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const { length } = body;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), body]);
  return Buffer.concat([Buffer.from([tag, 0x82, length >> 8, length & 0xff]), body]);
}

const [INTEGER, BITS, OCTETS, UTF8, TIME, SEQUENCE, SET] = [
  0x02, 0x03, 0x04, 0x0c, 0x17, 0x30, 0x31,
] as const;
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
const NULL = Buffer.from([0x05, 0x00]);
/** How each kind of key signs by SHA-256. */
const ALGORITHMS = {
  ec: der(SEQUENCE, oid('2a8648ce3d040302')),
  rsa: der(SEQUENCE, oid('2a864886f70d01010b'), NULL),
} as const;
const [COMMON_NAME, BASIC_CONSTRAINTS, ALTERNATIVE_NAME] = [
  oid('550403'),
  oid('551d13'),
  oid('551d11'),
];
const TRUE = Buffer.from([0x01, 0x01, 0xff]);

/** `YYMMDDhhmmssZ` */
const timeOf = (ms: number) =>
  der(TIME, Buffer.from(`${new Date(ms).toISOString().slice(2, 19).replaceAll(/\D/g, '')}Z`));

/** @returns both as PEM */
export function makeCertificate(kind: keyof typeof ALGORITHMS = 'ec'): {
  readonly key: string;
  readonly cert: string;
} {
  const algorithm = ALGORITHMS[kind];
  const { privateKey, publicKey } =
    kind === 'ec'
      ? generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
      : generateKeyPairSync('rsa', { modulusLength: 2048 });
  const localhost = Buffer.from('localhost');
  const name = der(SEQUENCE, der(SET, der(SEQUENCE, COMMON_NAME, der(UTF8, localhost))));
  const extension = (id: Buffer, value: Buffer) => der(SEQUENCE, id, der(OCTETS, value));
  const signed = der(
    SEQUENCE,
    // Version 3.
    der(0xa0, der(INTEGER, Buffer.from([2]))),
    der(INTEGER, Buffer.from([1]), randomBytes(8)),
    algorithm,
    name,
    der(SEQUENCE, timeOf(Date.now() - 3_600_000), timeOf(Date.now() + 86_400_000)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(
      0xa3,
      der(
        SEQUENCE,
        extension(BASIC_CONSTRAINTS, der(SEQUENCE, TRUE)),
        extension(ALTERNATIVE_NAME, der(SEQUENCE, der(0x82, localhost))),
      ),
    ),
  );
  const signature = der(BITS, Buffer.from([0]), sign('sha256', signed, privateKey));
  const text = der(SEQUENCE, signed, algorithm, signature).toString('base64');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${text.replaceAll(/(.{64})/g, '$1\n')}\n-----END CERTIFICATE-----\n`,
  };
}
