/** Certificates for one test, made by openssl in a folder of its own. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

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
  /** Valid for so many days, counted from yesterday; negative: over already. */
  readonly days?: number;
}

export class CertificateFolder {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'd2-sidecar-tls-'));
  #count = 0;

  /** An authority of its own. */
  authority(name = 'plant authority'): Pair {
    const pair = this.#pair('ca');
    openssl(
      ...['req', '-x509', ...newKey('ec'), '-nodes', '-subj', `/CN=${name}`, '-days', '30'],
      ...['-keyout', pair.keyFile, '-out', pair.certFile],
      ...['-addext', 'basicConstraints=critical,CA:TRUE', '-addext', 'keyUsage=critical,keyCertSign,cRLSign'],
    );
    return pair;
  }

  /** A certificate that `authority` has signed. */
  signed(authority: Pair, wanted: Wanted): Pair {
    const { name, subject = '', alternatives = 'DNS:localhost,IP:127.0.0.1', usage = 'serverAuth' } = wanted;
    const pair = this.#pair(usage);
    const request = `${pair.certFile}.csr`;
    openssl(
      ...['req', ...newKey(wanted.key ?? 'ec'), '-nodes', '-subj', `/CN=${name}${subject}`],
      ...['-keyout', pair.keyFile, '-out', request],
    );
    const extensions = `${pair.certFile}.ext`;
    writeFileSync(extensions, `extendedKeyUsage=${usage}\nsubjectAltName=${alternatives}\n`);
    openssl(
      ...[
        'x509',
        '-req',
        '-in',
        request,
        '-CA',
        authority.certFile,
        '-CAkey',
        authority.keyFile,
        '-extfile',
        extensions,
      ],
      ...['-days', String(wanted.days ?? 30), '-set_serial', String(1_000 + this.#count), '-out', pair.certFile],
    );
    return pair;
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

  #pair(name: string): Pair {
    this.#count += 1;
    const base = path.join(this.folder, `${name}-${this.#count}`);
    return { certFile: `${base}.pem`, keyFile: `${base}.key` };
  }
}

export function openssl(...parameters: readonly string[]): string {
  return execFileSync('openssl', parameters, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

export function textOf(file: string): string {
  return readFileSync(file, 'latin1');
}

function newKey(kind: 'ec' | 'rsa'): readonly string[] {
  return kind === 'ec' ? ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'] : ['-newkey', 'rsa:2048'];
}
