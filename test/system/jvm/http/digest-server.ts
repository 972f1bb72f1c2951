/** A server that lets nobody in but by Digest, and takes it by the letter of RFC 7616. Knows nothing of src/. */
import { createHash, randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { startScripted } from '../../../support/jvm/http/scripted-server.ts';

export interface DigestServerOptions {
  /** Of the challenges, in their order. */
  readonly algorithms?: readonly ('MD5' | 'SHA-256')[];
  readonly username: string;
  readonly password: string;
  /** How often a nonce may be used; default without end. */
  readonly usesOfNonce?: number;
  readonly answer: string;
}

const REALM = 'ManagementRealm, "quoted"';

export async function startDigestServer(options: DigestServerOptions) {
  const { algorithms = ['MD5'], username, usesOfNonce = Number.POSITIVE_INFINITY, answer } = options;
  const opaque = randomBytes(6).toString('base64');
  /** What each nonce has been used with. */
  const nonces = new Map<string, string[]>();
  /** `challenged`, `stale`, `refused` or `accepted <algorithm> <nc>`, one for each request. */
  const outcomes: string[] = [];
  /** Can be changed, as by an administrator. With `saysStale` false, a challenge after a restart does not say so. */
  const state = { password: options.password, saysStale: true };

  const challenge = (response: ServerResponse, outcome: string, isStale = false) => {
    outcomes.push(outcome);
    const nonce = randomBytes(18).toString('base64');
    nonces.set(nonce, []);
    const parameters = `realm="${REALM.replaceAll('"', '\\"')}", nonce="${nonce}", opaque="${opaque}", qop="auth-int, auth"`;
    const stale = isStale ? ', stale=true' : '';
    const challenges = algorithms.map((algorithm) => `Digest ${parameters}, algorithm=${algorithm}${stale}`);
    // Another scheme before it, in the same field: RFC 9110 §11.6.1.
    response.writeHead(401, { 'www-authenticate': `Negotiate, Newauth realm="a, b", ${challenges.join(', ')}` });
    response.end('<html>who are you?</html>');
  };

  const server = await startScripted((request, response) => {
    const fields = parse(request.headers.authorization ?? '');
    if (fields === undefined) return challenge(response, 'challenged');
    const { algorithm = '', nc = '', cnonce = '', nonce = '', uri } = fields;
    const used = nonces.get(nonce);
    if (used === undefined || used.length >= usesOfNonce) return challenge(response, 'stale', state.saysStale);
    const name = algorithm === 'SHA-256' ? 'sha256' : 'md5';
    const hash = (...words: (string | undefined)[]) => createHash(name).update(words.join(':')).digest('hex');
    const a2 = hash(request.method, request.url);
    const expected = hash(hash(username, REALM, state.password), nonce, nc, cnonce, 'auth', a2);
    const isNext = nc === (used.length + 1).toString(16).padStart(8, '0') && !used.includes(cnonce);
    const isEchoed = fields.opaque === opaque && fields.realm === REALM && fields.qop === 'auth' && uri === request.url;
    const isOffered = algorithms.some((offered) => offered === algorithm);
    const isRight = isOffered && fields.username === username && fields.response === expected;
    if (!isNext || !isEchoed || !isRight || cnonce.length < 8) return challenge(response, 'refused');
    used.push(cnonce);
    outcomes.push(`accepted ${algorithm} ${used.length}`);
    response.end(answer);
  });
  return { ...server, outcomes, nonces, state };
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
