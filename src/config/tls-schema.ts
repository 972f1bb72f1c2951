/** The keys below `listen.tls`, `monitor.tls` and `upstream.tls`, and the rules between them. */
import type { z } from 'zod';
import { authoritiesFile, type Conflict, oneOf, optionalText, pemFile, section, yesOrNo } from './schema-keys.ts';

export function listenerTls(listener: 'listen' | 'monitor') {
  const folder = `/etc/d2-sidecar/${listener}`;
  return section(
    'live',
    'TLS on this port: see [tls.md](tls.md). Without `certFile` it is plain HTTP. Changed files are used within seconds.',
    {
      certFile: pemFile(
        `${folder}/tls.crt`,
        'PEM file: the certificate, then intermediate ones. With it the port speaks TLS.',
      ),
      keyFile: pemFile(`${folder}/tls.key`, 'PEM file of its private key, without a passphrase.'),
      clientCaFile: pemFile(`${folder}/ca.crt`, 'PEM file of the authorities for certificates of clients.'),
      clientAuth: oneOf(
        ['none', 'request', 'require'],
        'none',
        'Whether clients need a certificate: `none`, `request` or `require`.',
      ).meta({ reload: 'restart' }),
    },
  ).meta({ hide: 'value' });
}

export const upstreamTls = section(
  'live',
  'TLS to the application server, where `upstream.url` is `https://`: see [tls.md](tls.md). Changed files are used within seconds.',
  {
    caFile: authoritiesFile('/etc/d2-sidecar/upstream/ca.crt'),
    serverName: optionalText(
      'a host name',
      /^[A-Za-z0-9._-]+$/,
      'smartweb.plant.example',
      'Name in the certificate there, if not that of `upstream.url`.',
    ),
    verify: yesOrNo(
      true,
      'Whether the certificate there is verified. Without, anybody on the network path can read and change everything.',
    ),
    certFile: pemFile(
      '/etc/d2-sidecar/upstream/tls.crt',
      'PEM file with a certificate of the sidecar, if the application server asks for one.',
    ),
    keyFile: pemFile('/etc/d2-sidecar/upstream/tls.key', 'PEM file of its private key, without a passphrase.'),
  },
).meta({ hide: 'value' });

type ParsedListener = z.output<ReturnType<typeof listenerTls>>;

/** Undefined: plain HTTP. */
export function toListenerTls({ certFile, keyFile, clientCaFile, clientAuth }: ParsedListener) {
  if (certFile === undefined || keyFile === undefined) return undefined;
  return { certFile, keyFile, clientCaFile, clientAuth };
}

export function findListenerTlsConflicts(section: string, tls: ParsedListener): readonly Conflict[] {
  const { certFile, clientCaFile, clientAuth } = tls;
  const conflicts = findHalfPair(section, tls);
  const add = (line: string) => conflicts.push({ keys: [section], line: `${section}.${line}` });
  if (certFile === undefined && (clientCaFile !== undefined || clientAuth !== 'none')) {
    const other = clientCaFile === undefined ? 'clientAuth' : 'clientCaFile';
    if (conflicts.length === 0) add(`certFile: missing, expected it beside ${section}.${other}`);
  } else if (clientAuth !== 'none' && clientCaFile === undefined) {
    add(`clientCaFile: missing, expected it for ${section}.clientAuth: ${clientAuth}`);
  } else if (clientAuth === 'none' && clientCaFile !== undefined) {
    add(`clientAuth: got "none", expected request or require beside ${section}.clientCaFile`);
  }
  return conflicts;
}

/** `isSecure`: whether upstream.url is https://; undefined without one. */
export function findUpstreamTlsConflicts(tls: z.output<typeof upstreamTls>, isSecure: boolean | undefined) {
  const { caFile, serverName, verify, certFile, keyFile } = tls;
  const conflicts = findHalfPair('upstream.tls', tls);
  const isWritten = (caFile ?? serverName ?? certFile ?? keyFile) !== undefined || !verify;
  if (isWritten && isSecure === false) {
    const line = 'upstream.tls: set beside an upstream.url without TLS, expected https:// in upstream.url';
    conflicts.push({ keys: ['upstream.url', 'upstream.tls'], line });
  }
  return conflicts;
}

function findHalfPair(section: string, { certFile, keyFile }: { certFile?: unknown; keyFile?: unknown }): Conflict[] {
  if ((certFile === undefined) === (keyFile === undefined)) return [];
  const [missing, other] = certFile === undefined ? ['certFile', 'keyFile'] : ['keyFile', 'certFile'];
  return [{ keys: [section], line: `${section}.${missing}: missing, expected it beside ${section}.${other}` }];
}
