import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
  /** Both in one file, as haproxy wants them. */
  readonly bothFile: string;
}

/** Makes a self-signed certificate with an RSA key of 2048 bits in `folder`. */
export function makeCertificate(folder: string): CertificateFiles {
  const [certFile, keyFile, bothFile] = ['cert.pem', 'key.pem', 'both.pem'].map((name) => path.join(folder, name)) as [
    string,
    string,
    string,
  ];
  const options = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=plant.example', '-days', '2'];
  execFileSync('openssl', ['req', ...options, '-keyout', keyFile, '-out', certFile], { stdio: 'ignore' });
  writeFileSync(bothFile, `${readFileSync(certFile, 'utf8')}${readFileSync(keyFile, 'utf8')}`);
  return { certFile, keyFile, bothFile };
}
