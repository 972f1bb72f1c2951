/** Certificates for one test, in a folder of its own. */
import { createPrivateKey, generateKeyPairSync, type KeyObject, sign, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_kp_clientAuth,
  id_kp_serverAuth,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from '@peculiar/asn1-x509';

export interface Pair {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface Wanted {
  /** Common name of the subject. */
  readonly name: string;
  /** More of the subject, e.g. `/O=plant`. */
  readonly subject?: string;
  /** e.g. `DNS:localhost,IP:127.0.0.1`, which is the default. */
  readonly alternatives?: string;
  readonly usage?: 'serverAuth' | 'clientAuth';
  readonly key?: 'ec' | 'rsa';
  /** Valid for so many days from now; negative: expired. */
  readonly days?: number;
}

const DAY_MS = 24 * 60 * 60 * 1_000;
const VALID_DAYS = 30;
/** Object identifiers of RFC 5758 and RFC 8017: ECDSA and RSA with SHA-256. */
const SIGNATURES: Readonly<Record<string, string>> = { ec: '1.2.840.10045.4.3.2', rsa: '1.2.840.113549.1.1.11' };
/** Object identifiers of X.520. */
const ATTRIBUTES: Readonly<Record<string, string>> = { CN: '2.5.4.3', O: '2.5.4.10', OU: '2.5.4.11' };
const USAGES = { serverAuth: id_kp_serverAuth, clientAuth: id_kp_clientAuth };

interface Content {
  readonly subject: Name;
  readonly issuer: Name;
  readonly days: number;
  readonly publicKey: KeyObject;
  readonly extensions: readonly Extension[];
}

export class CertificateFolder {
  readonly folder: string;
  #count = 0;

  constructor(folder = mkdtempSync(path.join(tmpdir(), 'd2-sidecar-tls-'))) {
    this.folder = folder;
  }

  /** A separate authority. */
  authority(name = 'plant authority'): Pair {
    const { publicKey, privateKey } = generateKey('ec');
    const subject = toName(`/CN=${name}`);
    const extensions = [
      toExtension(id_ce_basicConstraints, new BasicConstraints({ cA: true }), true),
      toExtension(id_ce_keyUsage, new KeyUsage(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign), true),
    ];
    const certificate = this.#sign({ subject, issuer: subject, days: VALID_DAYS, publicKey, extensions }, privateKey);
    return this.#write('ca', certificate, privateKey);
  }

  /** A certificate that `authority` has signed. */
  signed(authority: Pair, wanted: Wanted): Pair {
    const { name, subject = '', alternatives = 'DNS:localhost,IP:127.0.0.1', usage = 'serverAuth' } = wanted;
    const { publicKey, privateKey } = generateKey(wanted.key ?? 'ec');
    const content: Content = {
      subject: toName(`/CN=${name}${subject}`),
      issuer: subjectOf(authority),
      days: wanted.days ?? VALID_DAYS,
      publicKey,
      extensions: [
        toExtension(id_ce_extKeyUsage, new ExtendedKeyUsage([USAGES[usage]])),
        toExtension(id_ce_subjectAltName, new SubjectAlternativeName(alternatives.split(',').map(toGeneralName))),
      ],
    };
    return this.#write(usage, this.#sign(content, createPrivateKey(readFileSync(authority.keyFile))), privateKey);
  }

  /** A file of that text. */
  file(name: string, text: string): string {
    const file = path.join(this.folder, name);
    writeFileSync(file, text, { mode: 0o600 });
    return file;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }

  #sign({ subject, issuer, days, publicKey, extensions }: Content, key: KeyObject): Buffer {
    this.#count += 1;
    const endMs = Date.now() + days * DAY_MS;
    const algorithm = new AlgorithmIdentifier({ algorithm: SIGNATURES[key.asymmetricKeyType ?? ''] ?? '' });
    const content = new TBSCertificate({
      version: Version.v3,
      serialNumber: new Uint8Array([4, this.#count >> 8, this.#count & 0xff]).buffer,
      signature: algorithm,
      issuer,
      subject,
      validity: new Validity({ notBefore: new Date(Math.min(Date.now(), endMs) - DAY_MS), notAfter: new Date(endMs) }),
      subjectPublicKeyInfo: AsnConvert.parse(
        publicKey.export({ type: 'spki', format: 'der' }) as Buffer,
        SubjectPublicKeyInfo,
      ),
      extensions: new Extensions([...extensions]),
    });
    const signature = sign('sha256', Buffer.from(AsnConvert.serialize(content)), key);
    const signatureValue = new Uint8Array(signature).buffer;
    const certificate = new Certificate({ tbsCertificate: content, signatureAlgorithm: algorithm, signatureValue });
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

export function textOf(file: string): string {
  return readFileSync(file, 'latin1');
}

function generateKey(kind: 'ec' | 'rsa') {
  return kind === 'ec'
    ? generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
    : generateKeyPairSync('rsa', { modulusLength: 2_048 });
}

function subjectOf({ certFile }: Pair): Name {
  const { raw } = new X509Certificate(readFileSync(certFile));
  return AsnConvert.parse(raw, Certificate).tbsCertificate.subject;
}

/** A name from e.g. `/CN=plant/O=company`. */
function toName(text: string): Name {
  const parts = text.split('/').slice(1);
  return new Name(
    parts.map((part) => {
      const [kind = '', ...rest] = part.split('=');
      const value = new AttributeValue({ utf8String: rest.join('=') });
      return new RelativeDistinguishedName([new AttributeTypeAndValue({ type: ATTRIBUTES[kind] ?? kind, value })]);
    }),
  );
}

/** A name from e.g. `DNS:localhost` or `IP:127.0.0.1`. */
function toGeneralName(text: string): GeneralName {
  const [, kind = '', value = ''] = /^(\w+):(.*)$/.exec(text.trim()) ?? [];
  return new GeneralName(kind === 'IP' ? { iPAddress: value } : { dNSName: value });
}

function toExtension(extnID: string, value: object, critical = false): Extension {
  return new Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });
}
