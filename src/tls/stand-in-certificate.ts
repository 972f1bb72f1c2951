/**
 * Makes a self-signed certificate, kept in memory only, for a listener whose files cannot be used. Probes that verify
 * nothing keep working; other clients refuse it, or are told the reason. Node cannot create certificates, so this file
 * writes the few fields as DER (RFC 5280 §4.1).
 */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import type { Clock } from '../base/clock.ts';

interface StandIn {
  readonly cert: string;
  readonly key: string;
}

const NAME = 'd2-sidecar without its certificate';
const DAY_MS = 86_400_000;
/** Longer than any process runs, and it ends before UTCTime does (2050). */
const VALID_MS = 3_650 * DAY_MS;
/** Random bytes of the serial number, which has to be positive. */
const SERIAL_BYTES = 15;
const LINE = /.{1,64}/g;

const SEQUENCE = 0x30;
const SET = 0x31;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OID = 0x06;
const UTF8_STRING = 0x0c;
const UTC_TIME = 0x17;
const VERSION = 0xa0;

/** ecdsa-with-SHA256, 1.2.840.10045.4.3.2. */
const ALGORITHM = der(SEQUENCE, der(OID, Buffer.from('2a8648ce3d040302', 'hex')));
/** commonName, 2.5.4.3. */
const COMMON_NAME = der(OID, Buffer.from('550403', 'hex'));

export function createStandIn(clock: Clock): StandIn {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const name = der(SEQUENCE, der(SET, der(SEQUENCE, COMMON_NAME, der(UTF8_STRING, Buffer.from(NAME, 'utf8')))));
  const beganMs = clock.epochMs() - DAY_MS;
  const signed = der(
    SEQUENCE,
    der(VERSION, der(INTEGER, Buffer.from([2]))),
    der(INTEGER, Buffer.concat([Buffer.from([1]), randomBytes(SERIAL_BYTES)])),
    ALGORITHM,
    name,
    der(SEQUENCE, time(beganMs), time(beganMs + VALID_MS)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
  );
  const signature = der(BIT_STRING, Buffer.from([0]), sign('sha256', signed, privateKey));
  const certificate = der(SEQUENCE, signed, ALGORITHM, signature);
  return { cert: toPem(certificate), key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string };
}

/** One DER field. A length below 128 takes one byte, longer ones two or three (X.690 §8.1.3). */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function time(epochMs: number): Buffer {
  const text = new Date(epochMs).toISOString().replace(/[-:T]|\.\d+/g, '');
  return der(UTC_TIME, Buffer.from(text.slice(2), 'latin1'));
}

function toPem(certificate: Buffer): string {
  const lines = certificate.toString('base64').match(LINE) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}
