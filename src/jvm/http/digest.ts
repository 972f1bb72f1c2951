/** HTTP Digest (RFC 7616): parses a challenge and answers it, with MD5 or SHA-256 and `qop=auth`. */
import { createHash } from 'node:crypto';
import type { Credentials } from './server-credentials.ts';

export interface DigestChallenge {
  readonly algorithm: 'MD5' | 'SHA-256';
  readonly realm: string;
  readonly nonce: string;
  readonly opaque: string | undefined;
  /** The nonce has expired; the server did not check the password. */
  readonly isStale: boolean;
}

export interface DigestRequest {
  readonly method: 'GET' | 'POST';
  /** As in the request line, query included. */
  readonly target: string;
  /** How often this nonce has been used, including this time. */
  readonly nonceCount: number;
  readonly cnonce: string;
}

const HASHES = { MD5: 'md5', 'SHA-256': 'sha256' } as const;
const MAX_FIELD_CHARS = 8192;
const MAX_CHALLENGES = 16;

/**
 * The strongest usable challenge in the `WWW-Authenticate` fields, each of which may contain several (RFC 9110
 * §11.6.1). Undefined if none has a nonce, `qop=auth` and one of the two algorithms.
 */
export function selectChallenge(fields: readonly string[]): DigestChallenge | undefined {
  const usable = fields
    .flatMap(splitChallenges)
    .slice(0, MAX_CHALLENGES)
    .map(parseDigestChallenge)
    .filter((challenge) => challenge !== undefined);
  return usable.find(({ algorithm }) => algorithm === 'SHA-256') ?? usable[0];
}

/** The value of `Authorization` (RFC 7616 §3.4). */
export function answerChallenge(
  challenge: DigestChallenge,
  { username, password }: Credentials,
  { method, target, nonceCount, cnonce }: DigestRequest,
): string {
  const { algorithm, realm, nonce, opaque } = challenge;
  const hash = (text: string) => createHash(HASHES[algorithm]).update(text, 'utf8').digest('hex');
  const nc = nonceCount.toString(16).padStart(8, '0');
  const secret = hash(`${username}:${realm}:${password}`);
  const response = hash(`${secret}:${nonce}:${nc}:${cnonce}:auth:${hash(`${method}:${target}`)}`);
  const parameters = [
    formatUserName(username),
    `realm=${quote(realm)}`,
    `uri=${quote(target)}`,
    `algorithm=${algorithm}`,
    `nonce=${quote(nonce)}`,
    `nc=${nc}`,
    `cnonce=${quote(cnonce)}`,
    'qop=auth',
    `response=${quote(response)}`,
    ...(opaque === undefined ? [] : [`opaque=${quote(opaque)}`]),
  ];
  return `Digest ${parameters.join(', ')}`;
}

interface Challenge {
  readonly scheme: string;
  readonly parameters: ReadonlyMap<string, string>;
}

function parseDigestChallenge({ scheme, parameters }: Challenge): DigestChallenge | undefined {
  const nonce = parameters.get('nonce');
  const algorithm = (parameters.get('algorithm') ?? 'MD5').toUpperCase();
  const qop = (parameters.get('qop') ?? '').toLowerCase().split(/[\s,]+/);
  if (scheme !== 'digest' || nonce === undefined || !qop.includes('auth')) return undefined;
  if (algorithm !== 'MD5' && algorithm !== 'SHA-256') return undefined;
  return {
    algorithm,
    nonce,
    realm: parameters.get('realm') ?? '',
    opaque: parameters.get('opaque'),
    isStale: parameters.get('stale')?.toLowerCase() === 'true',
  };
}

/** `Digest a="1", b=2, Basic realm="x"` is two challenges: a token without `=` after it starts a new one. */
function splitChallenges(field: string): Challenge[] {
  const challenges: { scheme: string; parameters: Map<string, string> }[] = [];
  const item = /([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?:[ \t]*=[ \t]*("(?:[^"\\]|\\.)*"|[^\s,"]*))?[\s,]*/gy;
  for (const [, token = '', value] of field.trimStart().slice(0, MAX_FIELD_CHARS).matchAll(item)) {
    if (value === undefined) challenges.push({ scheme: token.toLowerCase(), parameters: new Map() });
    else challenges.at(-1)?.parameters.set(token.toLowerCase(), unquote(value));
  }
  return challenges;
}

function unquote(value: string): string {
  return value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value;
}

function quote(value: string): string {
  return `"${value.replace(/[\\"]/g, '\\$&')}"`;
}

/** A non-ASCII name has no quoted form (RFC 7616 §3.4, RFC 8187 §3.2). */
function formatUserName(username: string): string {
  if (/^[\x20-\x7e]*$/.test(username)) return `username=${quote(username)}`;
  const encoded = encodeURIComponent(username).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`);
  return `username*=UTF-8''${encoded}`;
}
