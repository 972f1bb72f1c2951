/** What a test with TLS configures, and clients with TLS. */
import tls from 'node:tls';
import { afterAll } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import type { ListenerTlsConfig, UpstreamTlsConfig } from '../../../src/config/config.ts';
import { createTlsMaterial, readTlsFiles, type TlsFiles } from '../../../src/tls/tls-files.ts';
import { type Answer, send } from '../net.ts';
import { CertificateFolder, type Pair, pemOf, textOf } from './certificates.ts';

/** Certificates of one file of tests, or of one block. */
export function useCertificates(): CertificateFolder {
  const folder = new CertificateFolder();
  afterAll(() => folder.remove());
  return folder;
}

export function listenerTls(own: Pair, clients: Partial<ListenerTlsConfig> = {}): ListenerTlsConfig {
  return { ...own, clientCaFile: undefined, clientAuth: 'none', ...clients };
}

/** Verifies the upstream by `authority`, and has no certificate for it. */
export function upstreamTls(authority: Pair, more: Partial<UpstreamTlsConfig> = {}): UpstreamTlsConfig {
  const none = { certFile: undefined, keyFile: undefined, serverName: undefined };
  return { ...none, caFile: authority.certFile, verify: true, ...more };
}

/** The files of a listener, as `check`, the start and a reload read them. */
export async function loadTls(files: Partial<TlsFiles>) {
  const wanted: TlsFiles = { section: 'listen.tls', caKey: 'clientCaFile', ...files };
  return createTlsMaterial(wanted, await readTlsFiles(wanted), systemClock);
}

/** One GET on a new connection, with TLS where an authority is given. */
export function get(
  port: number,
  path: string,
  client: { readonly ca?: Pair; readonly own?: Pair | undefined; readonly headers?: Record<string, string> } = {},
): Promise<Answer> {
  const { ca, own, headers = {} } = client;
  const secure = ca && { protocol: 'https:', ca: textOf(ca.certFile) };
  return send(port, path, { headers, ...secure, ...(own && pemOf(own)) });
}

export async function connected(port: number, ca: Pair, more: tls.ConnectionOptions = {}): Promise<tls.TLSSocket> {
  const socket = tls.connect({ host: '127.0.0.1', port, ca: textOf(ca.certFile), ...more });
  socket.on('error', () => undefined);
  await new Promise<void>((resolve, reject) => {
    socket.once('secureConnect', resolve).once('error', reject);
    socket.once('close', () => reject(new Error('closed')));
  });
  return socket;
}
