/** Keeps certificates and keys of watched files up to date; a reload may name others. Only for new connections. */

import { generateKeyPair, randomBytes } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { promisify } from 'node:util';
import { type Clock, MS_PER_S, NS_PER_S } from '../base/clock.ts';
import { SidecarError } from '../base/errors.ts';
import { FileWatch, type FileWatchNumbers } from '../base/file-watch.ts';
import type { Logger } from '../base/logger.ts';
import { gauge, type MetricDescription, ofEach, type Parts } from '../base/metric-description.ts';
import { LastResult } from './authorities.ts';
import { TLS_POLICY } from './policy.ts';
import {
  contentOf,
  createTlsMaterial,
  type OpenedFiles,
  readTlsFiles,
  type TlsFiles,
  type TlsMaterial,
} from './tls-files.ts';

export interface WatchedTlsParts {
  readonly logger: Logger;
  readonly clock: Clock;
}

export interface WatchedTlsNumbers extends FileWatchNumbers {
  /** When our own certificate expires, in milliseconds since 1970; undefined without one. */
  readonly notAfterEpochMs: number | undefined;
}

const WARN_INTERVAL_NS = 86_400 * NS_PER_S;

const CHANGED = {
  applied: 'certificate files have changed: new connections use them',
  unusable: 'changed certificate files cannot be used: the old ones stay',
};
const STANDING_IN = {
  applied: 'certificate files can be used now: new connections use them',
  unusable:
    'certificate files cannot be used: the port has a self-signed certificate and refuses all requests until they can be used; ' +
    'clients are still served',
};

export class WatchedTls extends FileWatch {
  readonly #clock: Clock;
  /** Gets the options of each new set of files; new connections should use them. */
  onReplaced: ((options: TlsMaterial['options']) => void) | undefined;
  #files: TlsFiles;
  /** In use now. */
  material: TlsMaterial;
  /** Why the stand-in certificate is used; undefined when the files are used. */
  trouble: SidecarError | undefined;
  #warnedNs = Number.NEGATIVE_INFINITY;
  readonly #opened: OpenedFiles;

  /** Throws StartError (D2S_ERR_TLS_FILE) or ConfigError. Warnings go to the log. */
  static async open(files: TlsFiles, parts: WatchedTlsParts): Promise<WatchedTls> {
    const opened: OpenedFiles = new LastResult();
    const material = await createTlsMaterial(files, await readTlsFiles(files, opened), parts.clock);
    return new WatchedTls(files, material, opened, parts);
  }

  /** Like `open`, but if the files cannot be used, a stand-in certificate serves until they can; see `trouble`. */
  static async openOrStandIn(files: TlsFiles, parts: WatchedTlsParts): Promise<WatchedTls> {
    try {
      return await WatchedTls.open(files, parts);
    } catch (error) {
      if (!(error instanceof SidecarError)) throw error;
      const { cert, key } = await createStandIn(parts.clock);
      // Verifies no client certificate: its only authority is the stand-in certificate itself.
      const options = { ...TLS_POLICY, cert, key, ca: cert };
      const secureContext = createSecureContext(options);
      const material = { content: undefined, options, secureContext, certificate: undefined, warnings: [] };
      const standIn = { ...material, warnOfTime: () => undefined };
      const watched = new WatchedTls(files, standIn, new LastResult(), parts);
      watched.trouble = error;
      parts.logger.error({ section: files.section, code: error.code, reason: error.message }, STANDING_IN.unusable);
      watched.startWithError(error.message);
      return watched;
    }
  }

  private constructor(files: TlsFiles, material: TlsMaterial, opened: OpenedFiles, parts: WatchedTlsParts) {
    super(files.section, parts.logger);
    this.#files = files;
    this.#clock = parts.clock;
    this.material = material;
    this.#opened = opened;
    this.#warn();
  }

  override get numbers(): WatchedTlsNumbers {
    return { ...super.numbers, notAfterEpochMs: this.material.certificate?.notAfterEpochMs };
  }

  /** Reads `files` without changing anything; the function that it returns switches to them. Throws like `open`. */
  async prepareReload(files: TlsFiles): Promise<() => void> {
    const loaded = await this.#load(files);
    return () => {
      this.#files = files;
      this.#apply(loaded);
    };
  }

  /** Builds nothing from files that have not changed. */
  async #load(files: TlsFiles): Promise<TlsMaterial> {
    const texts = await readTlsFiles(files, this.#opened);
    if (contentOf(texts) === this.material.content) return this.material;
    return await createTlsMaterial(files, texts, this.#clock);
  }

  protected override get messages() {
    return this.trouble === undefined ? CHANGED : STANDING_IN;
  }

  protected override async readChange(): Promise<(() => void) | undefined> {
    const files = this.#files;
    if (this.#clock.nowNs() - this.#warnedNs >= WARN_INTERVAL_NS) this.#warnOfTime();
    try {
      const loaded = await this.#load(files);
      // A reload may have named other files meanwhile.
      if (loaded === this.material || files !== this.#files) return undefined;
      return () => this.#apply(loaded);
    } catch (error) {
      // `trouble` reports the newest reason.
      if (this.trouble !== undefined && files === this.#files && error instanceof SidecarError) this.trouble = error;
      throw error;
    }
  }

  #apply(loaded: TlsMaterial): void {
    if (loaded.content === this.material.content) return;
    this.onReplaced?.(loaded.options);
    this.material = loaded;
    this.trouble = undefined;
    this.countReplaced();
    this.#warn();
  }

  #warn(): void {
    for (const warning of this.material.warnings) this.logger.warn(warning);
    this.#warnOfTime();
  }

  #warnOfTime(): void {
    this.#warnedNs = this.#clock.nowNs();
    const warning = this.material.warnOfTime();
    if (warning !== undefined) this.logger.warn(warning);
  }
}

/** By section, e.g. `listen.tls`; undefined without TLS. */
export const CERTIFICATE_METRICS: readonly MetricDescription<Parts<{ readonly numbers: WatchedTlsNumbers }>>[] = [
  gauge(
    'd2_sidecar_tls_certificate_expiry_timestamp_seconds',
    "Expiry of the sidecar's certificate in use.",
    ofEach(({ numbers: { notAfterEpochMs } }) => notAfterEpochMs && notAfterEpochMs / MS_PER_S),
    'section',
  ),
];

const NAME = 'd2-sidecar without its certificate';
const DAY_MS = 86_400_000;
/** Longer than any process runs. */
const VALID_MS = 3_650 * DAY_MS;
/** Random bytes of the serial number, which has to be positive. */
const SERIAL_BYTES = 15;

/**
 * A self-signed certificate in PEM, kept in memory only, for a listener whose files cannot be used. Probes that verify
 * nothing keep working; other clients refuse it, or are told the reason.
 */
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
