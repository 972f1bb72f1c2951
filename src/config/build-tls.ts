/** Converts the checked keys of TLS, and checks the rules between them. */
import type { ListenerTls, UpstreamTls } from './config.ts';
import type { Conflict } from './conflict.ts';
import type { ParsedConfig } from './schema.ts';

type ParsedListener = ParsedConfig['listen']['tls'];
type ParsedUpstream = ParsedConfig['upstream']['tls'];

export function buildListenerTls({
  certFile,
  keyFile,
  clientCaFile,
  clientAuth,
}: ParsedListener): ListenerTls | undefined {
  if (certFile === undefined || keyFile === undefined) return undefined;
  return { certFile, keyFile, clientCaFile, clientAuth };
}

export function buildUpstreamTls({ caFile, serverName, verify, certFile, keyFile }: ParsedUpstream): UpstreamTls {
  return { caFile, serverName, verify, certFile, keyFile };
}

export function findTlsConflicts({ listen, monitor, upstream }: ParsedConfig): readonly Conflict[] {
  return [
    ...findListenerConflicts('listen.tls', listen.tls),
    ...findListenerConflicts('monitor.tls', monitor.tls),
    ...findUpstreamConflicts(upstream),
    ...findUnaskedCertificates(monitor),
    ...findSharedNames(monitor),
  ];
}

function findListenerConflicts(section: string, tls: ParsedListener): readonly Conflict[] {
  const { certFile, clientCaFile, clientAuth } = tls;
  const conflicts = findHalfPair(section, tls);
  if (certFile === undefined && (clientCaFile !== undefined || clientAuth !== 'none')) {
    const line = `${section}.certFile: missing, expected it beside ${section}.${clientCaFile === undefined ? 'clientAuth' : 'clientCaFile'}`;
    if (conflicts.length === 0) conflicts.push({ keys: keysOf(section), line });
  } else if (clientAuth !== 'none' && clientCaFile === undefined) {
    const line = `${section}.clientCaFile: missing, expected it for ${section}.clientAuth: ${clientAuth}`;
    conflicts.push({ keys: keysOf(section), line });
  } else if (clientAuth === 'none' && clientCaFile !== undefined) {
    const line = `${section}.clientAuth: got "none", expected request or require beside ${section}.clientCaFile`;
    conflicts.push({ keys: keysOf(section), line });
  }
  return conflicts;
}

function findUpstreamConflicts({ url, tls }: ParsedConfig['upstream']): readonly Conflict[] {
  const { caFile, serverName, verify, certFile, keyFile } = tls;
  const conflicts = findHalfPair('upstream.tls', tls);
  const isWritten = (caFile ?? serverName ?? certFile ?? keyFile) !== undefined || !verify;
  if (isWritten && url !== undefined && !url.isSecure) {
    const line = 'upstream.tls: set beside an upstream.url without TLS, expected https:// in upstream.url';
    conflicts.push({ keys: ['upstream.url', ...keysOf('upstream.tls')], line });
  }
  return conflicts;
}

function findHalfPair(section: string, { certFile, keyFile }: { certFile?: unknown; keyFile?: unknown }): Conflict[] {
  if ((certFile === undefined) === (keyFile === undefined)) return [];
  const [missing, other] = certFile === undefined ? ['certFile', 'keyFile'] : ['keyFile', 'certFile'];
  return [{ keys: keysOf(section), line: `${section}.${missing}: missing, expected it beside ${section}.${other}` }];
}

/** Without a request for certificates, no client can be identified by one. */
function findUnaskedCertificates({ auth, tls }: ParsedConfig['monitor']): readonly Conflict[] {
  if (typeof auth !== 'object' || (auth.certificates ?? []).length === 0 || tls.clientAuth !== 'none') return [];
  const line =
    'monitor.auth.certificates: clients are not asked for certificates, expected monitor.tls.clientAuth: request or require';
  return [{ keys: ['monitor.auth', 'monitor.auth.certificates', ...keysOf('monitor.tls')], line }];
}

function findSharedNames({ auth }: ParsedConfig['monitor']): readonly Conflict[] {
  const names = typeof auth === 'object' ? (auth.certificates ?? []).map(({ name }) => name) : [];
  return names.flatMap((name, index) => {
    const first = names.indexOf(name);
    if (first === index) return [];
    const key = `monitor.auth.certificates[${index}].name`;
    return [{ keys: [key], line: `${key}: the same name as monitor.auth.certificates[${first}], expected another` }];
  });
}

/** All keys of a section, so that a key that is wrong already is not also blamed for its default. */
function keysOf(section: string): readonly string[] {
  const names = ['certFile', 'keyFile', 'caFile', 'clientCaFile', 'clientAuth', 'serverName', 'verify'];
  return [section, ...names.map((name) => `${section}.${name}`)];
}
