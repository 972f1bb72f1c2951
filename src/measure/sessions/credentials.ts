/**
 * Who sends a request: HTTP Basic (RFC 7617), an application key in `X-API-Key`, the cookie of a login, or the certificate that the
 * connection was made with.
 *
 * Nothing here keeps a credential. What is compared and kept is a keyed hash, whose key is random and dies with the process,
 * so that neither a dump of the tables nor a guess at a password can be checked against anything. With a state file, the key
 * is in that file, so that a session is found again after a restart; hashes of what holds a password never are (`isLasting`).
 */
import { hash, randomBytes } from 'node:crypto';
import { toShownText } from '../../base/shown-text.ts';
import type { ApiKeyUser } from '../../config/config.ts';
import { BASIC, type CompanionFields, type Companions, companionsOf, isBasic } from './companions.ts';

/** The part of a request's head that tells who sends it. Values are latin1, byte for byte as on the wire. */
export interface CredentialFields {
  field(name: string): string | undefined;
}

/** The part of a connection that tells who is at its other end: a certificate that has been verified, if there is one. */
export interface CertificateHolder {
  readonly certificateUser?: string;
  readonly certificateSubject?: string;
}

export interface Identity {
  /** Keyed hash of what all requests of one session share: the user, or the application key. */
  readonly key: string;
  /** For people: at most 256 characters, no control characters. Null where the wire does not tell it. */
  readonly userName: string | null;
}

/** A credential beside something else that the server may have accepted the request for. */
export interface Claim {
  readonly identity: Identity;
  /** Keyed hash of what all requests of one claim share: the user or application key, and what came beside it. */
  readonly key: string;
  /** Keyed hash of the credential together with what came beside it: neither alone leads to it. */
  readonly token: string;
  /** Token of the credential alone, as `tokenOf` gives it. */
  readonly credential: string;
  /** Keyed hashes of the logins beside it; see `Companions.logins`. */
  readonly logins: readonly string[];
}

/** The name that the HTTP request of a Comet message states, and what it is worth. */
export interface StatedName {
  /** Null where nothing, or nothing with a name, is stated. */
  readonly userName: string | null;
  /** Token of the credential that states it; undefined for a certificate, or without a credential. */
  readonly credential: string | undefined;
  /** By a certificate, which has been verified. */
  readonly isVerified: boolean;
  /** The request brings nothing else that the server may accept it for. */
  readonly isAlone: boolean;
}

/** Longest user name that is shown, in UTF-16 units. */
export const MAX_USER_NAME_CHARS = 256;

export class Credentials {
  // Before the value, in one pass: an HMAC costs three times as much, and what it adds guards hashes that others see.
  #secret = randomBytes(SECRET_BYTES).toString('base64');
  readonly #apiKeyUsers = new Map<string, string>();
  readonly #cookieName: string;
  #apiKeys: readonly ApiKeyUser[];

  /** `cookieName`: of the cookie that names a login, e.g. `JSESSIONID`. */
  constructor(apiKeys: readonly ApiKeyUser[], cookieName: string) {
    this.#cookieName = cookieName;
    this.#apiKeys = apiKeys;
    this.#hashApiKeys();
  }

  /** The key of all hashes, 16 bytes. For the state file only. */
  get secret(): Buffer {
    return Buffer.from(this.#secret, 'base64');
  }

  /** Goes on with the key of the process before, so that its hashes hold. Only before anything has been hashed. */
  adopt(secret: Buffer): void {
    this.#secret = secret.toString('base64');
    this.#hashApiKeys();
  }

  /** Other users from now on. Sessions that there are keep the names that they have. */
  nameApiKeys(apiKeys: readonly ApiKeyUser[]): void {
    this.#apiKeys = apiKeys;
    this.#hashApiKeys();
  }

  #hashApiKeys(): void {
    this.#apiKeyUsers.clear();
    for (const { user, key } of this.#apiKeys) {
      // On the wire a letter outside ASCII is one byte (latin1) or several (UTF-8); clients do both.
      this.#apiKeyUsers.set(this.#hash('key', key), user);
      this.#apiKeyUsers.set(this.#hash('key', Buffer.from(key, 'utf8').toString('latin1')), user);
    }
  }

  /**
   * A token equal for equal credentials, 44 characters, or 64 for a password's; undefined without credentials. Says nothing of their being right.
   * Basic wins over an application key, even when it cannot be read, both win over the cookie of a login, and that over the
   * certificate of the connection. About 1 µs.
   */
  tokenOf(fields: CredentialFields, holder: CertificateHolder = {}): string | undefined {
    const authorization = fields.field('authorization');
    if (isBasic(authorization)) return this.#hash('basic', authorization);
    const apiKey = fields.field('x-api-key');
    if (apiKey !== undefined && apiKey !== '') return this.#hash('key', apiKey);
    const { certificateSubject } = holder;
    return this.cookieTokenOf(fields) ?? (certificateSubject && this.#hash('certificate', certificateSubject));
  }

  /** The token of the login's cookie, as `tokenOf` gives it; undefined without one. */
  cookieTokenOf(fields: CredentialFields): string | undefined {
    const cookies = fields.field('cookie');
    const value = cookies === undefined ? undefined : toCookieValue(cookies, this.#cookieName);
    return value === undefined || value === '' ? undefined : this.#hash('cookie', value);
  }

  /** The token of the login's cookie as a response sets it, among its `Set-Cookie` fields; undefined when it does not. */
  setCookieTokenOf(setCookies: readonly string[]): string | undefined {
    for (const setCookie of setCookies) {
      const end = setCookie.indexOf(';');
      const value = toCookieValue(end < 0 ? setCookie : setCookie.slice(0, end), this.#cookieName);
      if (value !== undefined && value !== '') return this.#hash('cookie', value);
    }
    return undefined;
  }

  /** A token for a Bayeux `clientId`. */
  clientTokenOf(clientId: string): string {
    return this.#hash('client', clientId);
  }

  /**
   * Whose session these credentials share in; undefined when they name nobody: no Basic, no base64, no colon. Never throws.
   * To be asked only once the server has accepted them. `holder`: who is named where the request itself names nobody.
   */
  identify(fields: CredentialFields, holder: CertificateHolder = {}): Identity | undefined {
    const authorization = fields.field('authorization');
    if (isBasic(authorization)) {
      const user = toBasicUser(authorization);
      return user === undefined ? undefined : { key: this.#hash('user', user), userName: toShownName(user) };
    }
    const apiKey = fields.field('x-api-key');
    if (apiKey === undefined || apiKey === '') return this.#identifyHolder(holder);
    const key = this.#hash('key', apiKey);
    return { key, userName: this.#apiKeyUsers.get(key) ?? null };
  }

  /**
   * The claim that an accepted request makes; undefined where its credential stands alone, so that being accepted proves it, or
   * names nobody. A cookie and a certificate make no claims.
   */
  claimOf(request: CompanionFields): Claim | undefined {
    const companions = this.#companionsOf(request);
    if (companions === undefined) return undefined;
    const identity = this.identify(request);
    const credential = this.tokenOf(request);
    if (identity === undefined || credential === undefined) return undefined;
    const { logins, apiKeys, authorizations } = companions;
    const beside = [...logins, '', ...apiKeys, '', ...authorizations].join('\n');
    return {
      ...{ identity, credential },
      key: this.#hash(authorizations.length > 0 ? 'claim-token' : 'claim', `${identity.key}\n${beside}`),
      token: this.#hash('claim-token', `${credential}\n${beside}`),
      logins: logins.map((login) => this.#hash('login', login)),
    };
  }

  /** For Comet, where what is sent inside a request may state a name as well. */
  statedNameOf(request: CompanionFields, holder: CertificateHolder): StatedName {
    const isNamedByField = hasCredential(request);
    const identity = this.identify(request, holder);
    return {
      userName: identity?.userName ?? null,
      credential: isNamedByField ? this.tokenOf(request) : undefined,
      isVerified: identity !== undefined && !isNamedByField,
      isAlone: companionsOf(request, this.#cookieName) === undefined,
    };
  }

  #companionsOf(request: CompanionFields): Companions | undefined {
    return hasCredential(request) ? companionsOf(request, this.#cookieName) : undefined;
  }

  /** By the whole subject: common names are only unique where an authority sees to it. */
  #identifyHolder({ certificateUser, certificateSubject }: CertificateHolder): Identity | undefined {
    if (certificateUser === undefined || certificateSubject === undefined) return undefined;
    return { key: this.#hash('certificate', certificateSubject), userName: toShownName(certificateUser) };
  }

  /** `kind` keeps a user called like a key from sharing its session. */
  #hash(kind: HashKind, value: string): string {
    return hash('sha256', `${this.#secret}${kind}:${value}`, HOLDS_PASSWORD.has(kind) ? 'hex' : 'base64');
  }
}

type HashKind = 'basic' | 'certificate' | 'claim' | 'claim-token' | 'client' | 'cookie' | 'key' | 'login' | 'user';

/** Of what a password may be part of: longer than the others, so that `isLasting` knows them. */
const HOLDS_PASSWORD: ReadonlySet<HashKind> = new Set<HashKind>(['basic', 'claim-token']);

/** Basic or an application key, right or wrong. */
function hasCredential(fields: CredentialFields): boolean {
  if (isBasic(fields.field('authorization'))) return true;
  const apiKey = fields.field('x-api-key');
  return apiKey !== undefined && apiKey !== '';
}

/**
 * Whether a token may be written to the state file, which has the key: not what a password is part of, since passwords can
 * be guessed. Its session is found again by its user, with the next call that the server accepts.
 */
export function isLasting(token: string): boolean {
  return token.length === LASTING_TOKEN_CHARS;
}

/** Of a hash with 32 bytes in base64; in hex it has 64. */
const LASTING_TOKEN_CHARS = 44;
export const SECRET_BYTES = 16;

/** The user-id before the first colon; a password may hold colons, a user-id may not (RFC 7617 §2). */
function toBasicUser(authorization: string): string | undefined {
  const base64 = authorization.slice(BASIC.length).trim();
  if (!BASE64.test(base64)) return undefined;
  const bytes = Buffer.from(base64, 'base64');
  const colonAt = bytes.indexOf(COLON);
  return colonAt < 0 ? undefined : decodeUser(bytes.subarray(0, colonAt));
}

/** The scheme does not say the charset: UTF-8 is what servers ask for (RFC 7617 §2.1), latin1 what old clients send. */
function decodeUser(bytes: Buffer): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    return bytes.toString('latin1');
  }
}

/** The value of the first cookie of that name in `a=1; name=value`; names are compared as they are (RFC 6265 §5.4). */
function toCookieValue(cookies: string, name: string): string | undefined {
  let at = 0;
  while (at < cookies.length) {
    const semicolon = cookies.indexOf(';', at);
    const end = semicolon < 0 ? cookies.length : semicolon;
    while (cookies.charCodeAt(at) === SPACE) at += 1;
    if (cookies.startsWith(name, at) && cookies.charCodeAt(at + name.length) === EQUALS) {
      return cookies.slice(at + name.length + 1, end).trim();
    }
    at = end + 1;
  }
  return undefined;
}

/** A user's name as it may be shown: at most 256 characters, without control characters and other invisible ones. */
export function toShownName(user: string): string {
  return toShownText(user.slice(0, MAX_USER_NAME_CHARS)).replace(HALF_CHARACTER, '');
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const COLON = 0x3a;
const SPACE = 0x20;
const EQUALS = 0x3d;
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** A surrogate pair cut in two at the end. */
const HALF_CHARACTER = /[\ud800-\udbff]$/;
