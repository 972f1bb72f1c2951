/**
 * Makes a self-signed certificate, kept in memory only, for a listener whose files cannot be used. Probes that verify
 * nothing keep working; other clients refuse it, or are told the reason.
 */
import { generateKeyPair, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import type { Clock } from '../base/clock.ts';

const NAME = 'd2-sidecar without its certificate';
const DAY_MS = 86_400_000;
/** Longer than any process runs. */
const VALID_MS = 3_650 * DAY_MS;
/** Random bytes of the serial number, which has to be positive. */
const SERIAL_BYTES = 15;

/** PEM. */
export async function createStandIn(clock: Clock): Promise<{ readonly cert: string; readonly key: string }> {
  // Imported on demand: node-forge is large, and files can be used as a rule.
  const { pki, md } = (await import('node-forge')).default;
  // node-forge signs by RSA only.
  const { publicKey, privateKey: key } = await promisify(generateKeyPair)('rsa', {
    modulusLength: 2_048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const certificate = pki.createCertificate();
  const name = [{ name: 'commonName', value: NAME }];
  const beganMs = clock.epochMs() - DAY_MS;
  certificate.setSubject(name);
  certificate.setIssuer(name);
  certificate.publicKey = pki.publicKeyFromPem(publicKey);
  certificate.serialNumber = `01${randomBytes(SERIAL_BYTES).toString('hex')}`;
  certificate.validity = { notBefore: new Date(beganMs), notAfter: new Date(beganMs + VALID_MS) };
  certificate.sign(pki.privateKeyFromPem(key), md.sha256.create());
  return { cert: pki.certificateToPem(certificate), key };
}
