/** The keys below `listen.tls`, `monitor.tls` and `upstream.tls`, and the rules between them. */
import type { z } from 'zod';
import * as key from './schema-keys.ts';

function keyStore(folder: string) {
  return {
    pfxFile: key.pemFile(`${folder}/tls.pfx`, 'PKCS #12 file instead of `certFile` and `keyFile`.'),
    passphraseFile: key.pemFile(`${folder}/passphrase`, 'File with the passphrase, in its first line.'),
  };
}

export function listenerTls(listener: 'listen' | 'monitor') {
  const folder = `/etc/d2-sidecar/${listener}`;
  return key
    .section('live', 'TLS on this port: see [tls.md](tls.md). Without a certificate it is plain HTTP.', {
      certFile: key.pemFile(`${folder}/tls.crt`, 'PEM file: the certificate, then intermediate ones.'),
      keyFile: key.pemFile(`${folder}/tls.key`, 'PEM file of its private key.'),
      ...keyStore(folder),
      clientCaFile: key.pemFile(`${folder}/ca.crt`, 'PEM file of the authorities of clients.'),
      clientAuth: key
        .oneOf(
          ['none', 'request', 'require'],
          'none',
          'Whether clients need a certificate: `none`, `request` or `require`.',
        )
        .meta({ reload: 'restart' }),
    })
    .meta({ hide: 'value' });
}

export const upstreamTls = key
  .section('live', 'TLS to the application server, if `upstream.url` is `https://`: see [tls.md](tls.md).', {
    caFile: key.authoritiesFile('/etc/d2-sidecar/upstream/ca.crt'),
    serverName: key.serverName('smartweb.plant.example', '`upstream.url`'),
    verify: key.yesOrNo(
      true,
      'Whether its certificate is verified. If not, anyone on the path can read and change everything.',
    ),
    certFile: key.pemFile(
      '/etc/d2-sidecar/upstream/tls.crt',
      'PEM file with a certificate of the sidecar, if the server asks for one.',
    ),
    keyFile: key.pemFile('/etc/d2-sidecar/upstream/tls.key', 'PEM file of its private key.'),
    ...keyStore('/etc/d2-sidecar/upstream'),
  })
  .meta({ hide: 'value' });

type ParsedListener = z.output<ReturnType<typeof listenerTls>>;
type OwnFiles = Pick<ParsedListener, 'certFile' | 'keyFile' | 'pfxFile' | 'passphraseFile'>;

/** Whether a certificate of the sidecar is configured. */
export function hasOwnCertificate({ certFile, pfxFile }: OwnFiles): boolean {
  return (certFile ?? pfxFile) !== undefined;
}

/** Undefined: plain HTTP. */
export function selectListenerTls(tls: ParsedListener): ParsedListener | undefined {
  return hasOwnCertificate(tls) ? tls : undefined;
}

export function findListenerTlsConflicts(section: string, tls: ParsedListener): readonly key.Conflict[] {
  const { clientCaFile, clientAuth } = tls;
  const conflicts = findOwnConflicts(section, tls);
  const add = (line: string) => conflicts.push({ keys: [section], line: `${section}.${line}` });
  if (!hasOwnCertificate(tls) && (clientCaFile !== undefined || clientAuth !== 'none')) {
    const other = clientCaFile === undefined ? 'clientAuth' : 'clientCaFile';
    if (conflicts.length === 0) add(`certFile: missing, required with ${section}.${other}`);
  } else if (clientAuth !== 'none' && clientCaFile === undefined) {
    add(`clientCaFile: missing, required with ${section}.clientAuth: ${clientAuth}`);
  } else if (clientAuth === 'none' && clientCaFile !== undefined) {
    add(`clientAuth: got "none", expected request or require with ${section}.clientCaFile`);
  }
  return conflicts;
}

/** `isSecure`: whether upstream.url is https://; undefined without one. */
export function findUpstreamTlsConflicts(tls: z.output<typeof upstreamTls>, isSecure: boolean | undefined) {
  const { caFile, serverName, verify, certFile, keyFile, pfxFile } = tls;
  const conflicts = findOwnConflicts('upstream.tls', tls);
  const isWritten = (caFile ?? serverName ?? certFile ?? keyFile ?? pfxFile) !== undefined || !verify;
  if (isWritten && isSecure === false) {
    const line = 'upstream.tls: has no effect without TLS, expected https:// in upstream.url';
    conflicts.push({ keys: ['upstream.url', 'upstream.tls'], line });
  }
  return conflicts;
}

function findOwnConflicts(section: string, { certFile, keyFile, pfxFile, passphraseFile }: OwnFiles): key.Conflict[] {
  const createConflict = (line: string) => [{ keys: [section], line: `${section}.${line}` }];
  const pem = certFile ?? keyFile;
  if (pfxFile !== undefined && pem !== undefined) {
    const other = certFile === undefined ? 'keyFile' : 'certFile';
    return createConflict(`pfxFile: cannot be combined with ${section}.${other}`);
  }
  if (passphraseFile !== undefined && pfxFile === undefined && keyFile === undefined) {
    return createConflict('passphraseFile: has no effect alone, expected it with pfxFile or keyFile');
  }
  if ((certFile === undefined) === (keyFile === undefined)) return [];
  const [missing, other] = certFile === undefined ? ['certFile', 'keyFile'] : ['keyFile', 'certFile'];
  return createConflict(`${missing}: missing, required with ${section}.${other}`);
}
