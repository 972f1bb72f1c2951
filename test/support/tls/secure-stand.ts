/** A sidecar in this process, with TLS as the test configures it, in front of an upstream that answers every request. */
import tls from 'node:tls';
import type { Config, ListenerTlsConfig } from '../../../src/config/config.ts';
import { Sidecar } from '../../../src/sidecar/sidecar.ts';
import { type Answer, portOf, send } from '../net.ts';
import { type LoggedLine, recordingLogger } from '../wire/recording-logger.ts';
import { testConfig } from '../wire/test-config.ts';
import { type Pair, pemOf, textOf } from './certificates.ts';

export interface SecureStand {
  readonly sidecar: Sidecar;
  readonly port: number;
  readonly monitorPort: number;
  readonly logged: readonly LoggedLine[];
  close(): Promise<void>;
}

export function listenerTls(own: Pair, clients: Partial<ListenerTlsConfig> = {}): ListenerTlsConfig {
  return { ...own, clientCaFile: undefined, clientAuth: 'none', ...clients };
}

export async function startSecureStand(config: (base: Config) => Partial<Config>): Promise<SecureStand> {
  const { logger, logged } = recordingLogger();
  const base = testConfig();
  const sidecar = await Sidecar.create({ ...base, ...config(base) }, logger);
  const { listen, monitor } = await sidecar.start();
  return { sidecar, port: portOf(listen), monitorPort: portOf(monitor), logged, close: () => sidecar.stop() };
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

/** An established TLS connection. */
export async function connected(port: number, ca: Pair, more: tls.ConnectionOptions = {}): Promise<tls.TLSSocket> {
  const socket = tls.connect({ host: '127.0.0.1', port, ca: textOf(ca.certFile), ...more });
  socket.on('error', () => undefined);
  await new Promise<void>((resolve, reject) => {
    socket.once('secureConnect', resolve).once('error', reject);
    socket.once('close', () => reject(new Error('closed')));
  });
  return socket;
}
