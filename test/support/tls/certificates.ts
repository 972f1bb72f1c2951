/** Certificates for one test, in a folder of its own. */
import { createPrivateKey, generateKeyPairSync, type KeyObject, sign, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import * as asn from '@peculiar/asn1-x509';

export interface Pair {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface Wanted {
  readonly name: string;
  /** More of the subject, e.g. `/O=plant`. */
  readonly subject?: string;
  /** e.g. `DNS:localhost,IP:127.0.0.1`, which is the default. */
  readonly alternatives?: string;
  readonly usage?: 'serverAuth' | 'clientAuth';
  readonly key?: 'ec' | 'rsa';
  /** Valid for so many days from now; negative: expired. */
  readonly days?: number;
  /** Valid from so many days after now; without it, since yesterday. */
  readonly fromDays?: number;
}

const DAY_MS = 24 * 60 * 60 * 1_000;
const VALID_DAYS = 30;
/** Object identifiers of RFC 5758 and RFC 8017: ECDSA and RSA with SHA-256. */
const SIGNATURES: Readonly<Record<string, string>> = { ec: '1.2.840.10045.4.3.2', rsa: '1.2.840.113549.1.1.11' };
/** Object identifiers of X.520. */
const ATTRIBUTES: Readonly<Record<string, string>> = { CN: '2.5.4.3', O: '2.5.4.10', OU: '2.5.4.11' };
const USAGES = { serverAuth: asn.id_kp_serverAuth, clientAuth: asn.id_kp_clientAuth };

interface Content extends Pick<Wanted, 'days' | 'fromDays'> {
  readonly subject: asn.Name;
  readonly issuer: asn.Name;
  readonly publicKey: KeyObject;
  readonly extensions: asn.Extension[];
}

export class CertificateFolder {
  readonly folder: string;
  #count = 0;

  constructor(folder = mkdtempSync(path.join(tmpdir(), 'd2-sidecar-tls-'))) {
    this.folder = folder;
  }

  /** A separate authority, or one below `by`. */
  authority(name = 'plant authority', by?: Pair): Pair {
    const { publicKey, privateKey } = generateKey('ec');
    const subject = toName(`/CN=${name}`);
    const usage = new asn.KeyUsage(asn.KeyUsageFlags.keyCertSign | asn.KeyUsageFlags.cRLSign);
    const extensions = [
      toExtension(asn.id_ce_basicConstraints, new asn.BasicConstraints({ cA: true }), true),
      toExtension(asn.id_ce_keyUsage, usage, true),
    ];
    const [issuer, key] = by === undefined ? [subject, privateKey] : [subjectOf(by), keyOf(by)];
    return this.#write('ca', this.#sign({ subject, issuer, publicKey, extensions }, key), privateKey);
  }

  /** A certificate that no authority has signed. */
  selfSigned(wanted: Wanted): Pair {
    return this.signed(undefined, wanted);
  }

  /** A certificate that `authority` has signed; undefined: itself. */
  signed(authority: Pair | undefined, wanted: Wanted): Pair {
    const { name, subject = '', alternatives = 'DNS:localhost,IP:127.0.0.1', usage = 'serverAuth' } = wanted;
    const { publicKey, privateKey } = generateKey(wanted.key ?? 'ec');
    const own = toName(`/CN=${name}${subject}`);
    const names = new asn.SubjectAlternativeName(alternatives.split(',').map(toGeneralName));
    const extensions = [
      toExtension(asn.id_ce_extKeyUsage, new asn.ExtendedKeyUsage([USAGES[usage]])),
      toExtension(asn.id_ce_subjectAltName, names),
    ];
    const [issuer, key] = authority === undefined ? [own, privateKey] : [subjectOf(authority), keyOf(authority)];
    return this.#write(usage, this.#sign({ ...wanted, subject: own, issuer, publicKey, extensions }, key), privateKey);
  }

  file(name: string, text: string): string {
    const file = path.join(this.folder, name);
    writeFileSync(file, text, { mode: 0o600 });
    return file;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  #sign({ subject, issuer, days = VALID_DAYS, fromDays, publicKey, extensions }: Content, key: KeyObject): Buffer {
    this.#count += 1;
    const endMs = Date.now() + days * DAY_MS;
    const beginMs = fromDays === undefined ? Math.min(Date.now(), endMs) - DAY_MS : Date.now() + fromDays * DAY_MS;
    const notBefore = new Date(beginMs);
    const signature = new asn.AlgorithmIdentifier({ algorithm: SIGNATURES[key.asymmetricKeyType ?? ''] ?? '' });
    const spki = publicKey.export({ type: 'spki', format: 'der' });
    const tbsCertificate = new asn.TBSCertificate({
      version: asn.Version.v3,
      serialNumber: new Uint8Array([4, this.#count >> 8, this.#count & 0xff]).buffer,
      signature,
      issuer,
      subject,
      validity: new asn.Validity({ notBefore, notAfter: new Date(endMs) }),
      subjectPublicKeyInfo: AsnConvert.parse(spki, asn.SubjectPublicKeyInfo),
      extensions: new asn.Extensions(extensions),
    });
    const signatureValue = sign('sha256', Buffer.from(AsnConvert.serialize(tbsCertificate)), key);
    const certificate = new asn.Certificate({
      tbsCertificate,
      signatureAlgorithm: signature,
      signatureValue: new Uint8Array(signatureValue).buffer,
    });
    return Buffer.from(AsnConvert.serialize(certificate));
  }

  #write(name: string, certificate: Buffer, key: KeyObject): Pair {
    const base = `${name}-${this.#count}`;
    return {
      certFile: this.file(`${base}.pem`, new X509Certificate(certificate).toString()),
      keyFile: this.file(`${base}.key`, key.export({ type: 'pkcs8', format: 'pem' }) as string),
    };
  }
}

function subjectOf({ certFile }: Pair): asn.Name {
  return AsnConvert.parse(new X509Certificate(readFileSync(certFile)).raw, asn.Certificate).tbsCertificate.subject;
}

function keyOf({ keyFile }: Pair): KeyObject {
  return createPrivateKey(readFileSync(keyFile));
}

export function textOf(file: string): string {
  return readFileSync(file, 'latin1');
}

/** The contents of both files, as the options of `node:tls` name them. */
export function pemOf({ certFile, keyFile }: Pair): { cert: string; key: string } {
  return { cert: textOf(certFile), key: textOf(keyFile) };
}

function generateKey(kind: 'ec' | 'rsa') {
  return kind === 'ec'
    ? generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
    : generateKeyPairSync('rsa', { modulusLength: 2_048 });
}

/** A name from e.g. `/CN=plant/O=company`. */
function toName(text: string): asn.Name {
  const attributes = [...text.matchAll(/\/([^=]+)=([^/]*)/g)].map(([, kind = '', utf8String = '']) => {
    const value = new asn.AttributeValue({ utf8String });
    return new asn.AttributeTypeAndValue({ type: ATTRIBUTES[kind] ?? kind, value });
  });
  return new asn.Name(attributes.map((attribute) => new asn.RelativeDistinguishedName([attribute])));
}

/** A name from e.g. `DNS:localhost` or `IP:127.0.0.1`. */
function toGeneralName(text: string): asn.GeneralName {
  const [kind, value = ''] = text.split(':');
  return new asn.GeneralName(kind === 'IP' ? { iPAddress: value } : { dNSName: value });
}

function toExtension(extnID: string, value: object, critical = false): asn.Extension {
  return new asn.Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });
}
