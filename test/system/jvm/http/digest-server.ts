/** A server that lets nobody in but by Digest, and takes it by the letter of RFC 7616. Knows nothing of src/. */
import { createHash, randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { type ScriptedServer, type SeenRequest, startScripted } from '../../../support/jvm/http/scripted-server.ts';

export interface DigestServerOptions {
  /** Of the challenges, in their order. Default `['MD5']`. */
  readonly algorithms?: readonly ('MD5' | 'SHA-256')[];
  readonly username: string;
  readonly password: string;
  /** How often a nonce may be used; default without end. */
  readonly usesOfNonce?: number;
  readonly answer: string;
}

export interface DigestServer extends ScriptedServer {
  /** `challenged`, `stale`, `refused` or `accepted <algorithm> <nc>`, one for each request. */
  readonly outcomes: readonly string[];
  setPassword(password: string): void;
  /** As a restart does; with `silently`, the challenge after it does not say `stale`. */
  forgetNonces(silently: boolean): void;
}

interface Nonce {
  count: number;
  readonly cnonces: Set<string>;
}

const REALM = 'ManagementRealm, "quoted"';
const HASH = { MD5: 'md5', 'SHA-256': 'sha256' } as const;

export async function startDigestServer(options: DigestServerOptions): Promise<DigestServer> {
  const { algorithms = ['MD5'], username, usesOfNonce = Number.POSITIVE_INFINITY, answer } = options;
  const nonces = new Map<string, Nonce>();
  const outcomes: string[] = [];
  const opaque = randomBytes(6).toString('base64');
  let { password } = options;
  let saysStale = true;

  const challenge = (response: ServerResponse, outcome: string, isStale: boolean) => {
    outcomes.push(outcome);
    const nonce = randomBytes(18).toString('base64');
    nonces.set(nonce, { count: 0, cnonces: new Set() });
    const challenges = algorithms.map(
      (algorithm) =>
        `Digest realm="${REALM.replaceAll('"', '\\"')}", nonce="${nonce}", opaque="${opaque}", algorithm=${algorithm}, qop="auth-int, auth"${isStale ? ', stale=true' : ''}`,
    );
    // Another scheme before it, in the same field: RFC 9110 §11.6.1.
    response.writeHead(401, { 'www-authenticate': `Negotiate, Newauth realm="a, b", ${challenges.join(', ')}` });
    response.end('<html>who are you?</html>');
  };

  const check = (request: SeenRequest, response: ServerResponse) => {
    const fields = parse(request.headers.authorization ?? '');
    if (fields === undefined) return challenge(response, 'challenged', false);
    const { algorithm, nc = '', cnonce = '', uri } = fields;
    const nonce = nonces.get(fields.nonce ?? '');
    if (nonce === undefined || nonce.count >= usesOfNonce) return challenge(response, 'stale', saysStale);
    const isNext =
      Number.parseInt(nc, 16) === nonce.count + 1 && /^[0-9a-f]{8}$/.test(nc) && !nonce.cnonces.has(cnonce);
    const isEchoed = fields.opaque === opaque && fields.realm === REALM && fields.qop === 'auth' && uri === request.url;
    if (algorithm !== 'MD5' && algorithm !== 'SHA-256') return challenge(response, 'refused', false);
    const hash = (text: string) => createHash(HASH[algorithm]).update(text).digest('hex');
    const a1 = hash([username, REALM, password].join(':'));
    const a2 = hash([request.method, request.url].join(':'));
    const expected = hash([a1, fields.nonce, nc, cnonce, 'auth', a2].join(':'));
    if (!isNext || !isEchoed || cnonce.length < 8 || fields.response !== expected || fields.username !== username)
      return challenge(response, 'refused', false);
    nonce.count += 1;
    nonce.cnonces.add(cnonce);
    outcomes.push(`accepted ${algorithm} ${nonce.count}`);
    response.end(answer);
  };

  const server = await startScripted(check);
  return {
    ...server,
    outcomes,
    setPassword: (next) => {
      password = next;
    },
    forgetNonces: (silently) => {
      nonces.clear();
      saysStale = !silently;
    },
  };
}

/** The parameters of `Digest a="1", b=2`; `undefined` for anything else, and for a repeated one. */
function parse(authorization: string): Record<string, string> | undefined {
  if (!authorization.startsWith('Digest ')) return undefined;
  const fields: Record<string, string> = {};
  for (const [, key = '', quoted, token] of authorization.matchAll(/([a-z]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))/g)) {
    if (key in fields) return undefined;
    fields[key] = quoted?.replace(/\\(.)/g, '$1') ?? token ?? '';
  }
  return fields;
}
