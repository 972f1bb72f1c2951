/**
 * Identifies the sender of a request by Basic (RFC 7617), `X-API-Key`, the login cookie, or the connection's
 * certificate. Keeps no credential, only hashes with a random key, which the state file has, so that sessions are found
 * again after a restart. It allows testing guesses, so hashes of values that include a password are never saved
 * (`isLasting`).
 */
import { hash, randomBytes } from 'node:crypto';
import { sanitizeText } from '../../base/shown-text.ts';
import type { ApiKeyUser, Config } from '../../config/config.ts';
import { decodeCredential, detached } from '../../protocol/http1/text.ts';
import { BASIC, type CompanionFields, companionsOf, cookieValues, isBasic } from './companions.ts';

/** The fields of a head that identify its sender. Values are latin1, byte for byte as on the wire. */
export type CredentialFields = Omit<CompanionFields, 'target'>;

export interface KnownTokens {
  knows(token: string): boolean;
}

export interface CertificateHolder {
  readonly certificateUser?: string;
  readonly certificateSubject?: string;
}

export interface Identity {
  /** Keyed hash that all requests of one session share: of the user, or of the application key. */
  readonly key: string;
  /** For display: at most 256 characters, no control characters. Null when the request does not contain it. */
  readonly userName: string | null;
}

/** A credential in a request that the server may have accepted for something else (companions.ts). */
export type Claim = Readonly<NonNullable<ReturnType<Credentials['claimOf']>>>;

/** The user name that HTTP states for a Comet message, and what verifies the name. */
export interface StatedName {
  /** Null when the request states no name. */
  readonly userName: string | null;
  /** Token of the credential that states it; undefined for a certificate, or without a credential. */
  readonly credentialToken: string | undefined;
  /** True when a verified client certificate or the server states it. */
  readonly isVerified: boolean;
  /** True when the request has nothing else that the server may accept it for. */
  readonly isAlone: boolean;
}

/** Longest value of `sessions.userField` that is read as a name. */
const MAX_USER_CHARS = 1_024;

/** Longest displayed user name, in UTF-16 code units. */
export const MAX_USER_NAME_CHARS = 256;

export class Credentials {
  // Hashed before the value, in one pass. An HMAC costs three times as much and only protects hashes that others see.
  #secret = randomBytes(SECRET_BYTES).toString('base64url');
  readonly #apiKeyUsers = new Map<string, string>();
  readonly #cookieName: string;
  #apiKeys: readonly ApiKeyUser[];
  /** Name in lower case of the response field in which the server states the user (`sessions.userField`). */
  #userField: string | undefined;

  /** `cookieName`: name of the login cookie, e.g. `JSESSIONID`. */
  constructor(apiKeys: readonly ApiKeyUser[], cookieName: string) {
    this.#cookieName = cookieName;
    this.#apiKeys = apiKeys;
    this.#hashApiKeys();
  }

  /** The key of all hashes, 16 bytes in base64url. For the state file only. */
  get secret(): string {
    return this.#secret;
  }

  /** Takes over the key of the previous process, so that its hashes stay valid. Call it before anything is hashed. */
  adopt(secret: string): void {
    this.#secret = secret;
    this.#hashApiKeys();
  }

  /** Replaces the application keys and their users, and the field of responses. Existing sessions keep their names. */
  reconfigure({ apiKeys, userField }: Pick<Config['sessions'], 'apiKeys' | 'userField'>): void {
    this.#apiKeys = apiKeys;
    this.#userField = userField?.toLowerCase();
    this.#hashApiKeys();
  }

  /** Whether the server states the user in a field of its responses. */
  get readsResponses(): boolean {
    return this.#userField !== undefined;
  }

  userIn(response: CredentialFields): Identity | undefined {
    const value = this.#userField === undefined ? undefined : response.field(this.#userField);
    if (value === undefined || value === '' || value.length > MAX_USER_CHARS) return undefined;
    const user = decodeCredential(Buffer.from(value, 'latin1'));
    return { key: this.#hash('user', user), userName: sanitizeUserName(user) };
  }

  #hashApiKeys(): void {
    this.#apiKeyUsers.clear();
    for (const { user, key } of this.#apiKeys) {
      // On the wire a letter outside ASCII is one byte (latin1) or several (UTF-8); clients send both.
      this.#apiKeyUsers.set(this.#hash('key', key), user);
      this.#apiKeyUsers.set(this.#hash('key', Buffer.from(key, 'utf8').toString('latin1')), user);
    }
  }

  /**
   * Equal for equal credentials, right or wrong: 44 characters, or 64 if it includes a password. Basic, readable or
   * not, wins over an application key, that over the login cookie, and that over the certificate of the connection.
   */
  tokenOf(fields: CredentialFields, holder: CertificateHolder = {}, sessions?: KnownTokens): string | undefined {
    const authorization = fields.field('authorization');
    if (isBasic(authorization)) return this.#hash('basic', authorization);
    const apiKey = fields.field('x-api-key');
    if (apiKey !== undefined && apiKey !== '') return this.#hash('key', apiKey);
    const { certificateSubject } = holder;
    return (
      this.cookieTokenOf(fields, sessions) ?? (certificateSubject && this.#hash('certificate', certificateSubject))
    );
  }

  /** The token of the first login cookie that has a session, else of the first: Tomcat takes the first that is valid. */
  cookieTokenOf(fields: CredentialFields, sessions?: KnownTokens): string | undefined {
    const tokens = cookieValues(fields.fields('cookie'), this.#cookieName).map((value) => this.#hash('cookie', value));
    if (tokens.length < 2) return tokens[0];
    return tokens.find((token) => sessions?.knows(token)) ?? tokens[0];
  }

  /** The token of the login cookie that a response sets last; undefined when it sets none. */
  setCookieTokenOf(setCookies: readonly string[]): string | undefined {
    const pairs = setCookies.map((setCookie) => setCookie.split(';', 1)[0] ?? '');
    const value = cookieValues(pairs, this.#cookieName).at(-1);
    return value === undefined ? undefined : this.#hash('cookie', value);
  }

  clientTokenOf(clientId: string): string {
    return this.#hash('client', clientId);
  }

  /**
   * The user or application key that selects the session of an accepted request; undefined if it names nobody. Never
   * throws. `holder` is used when the request itself names nobody.
   */
  identify(fields: CredentialFields, holder: CertificateHolder = {}): Identity | undefined {
    const authorization = fields.field('authorization');
    if (isBasic(authorization)) {
      const user = parseBasicUser(authorization);
      return user === undefined ? undefined : { key: this.#hash('user', user), userName: sanitizeUserName(user) };
    }
    const apiKey = fields.field('x-api-key');
    if (apiKey !== undefined && apiKey !== '') {
      const key = this.#hash('key', apiKey);
      return { key, userName: this.#apiKeyUsers.get(key) ?? null };
    }
    const { certificateUser, certificateSubject } = holder;
    if (certificateUser === undefined || certificateSubject === undefined) return undefined;
    // The whole subject: common names are unique only if the CA ensures it.
    return { key: this.#hash('certificate', certificateSubject), userName: sanitizeUserName(certificateUser) };
  }

  /** The claim of an accepted request. Undefined when it names nobody, and for a credential alone, which is verified. */
  claimOf(request: CompanionFields) {
    const companions = hasCredential(request) ? companionsOf(request, this.#cookieName) : undefined;
    if (companions === undefined) return undefined;
    const identity = this.identify(request);
    const credentialToken = this.tokenOf(request);
    if (identity === undefined || credentialToken === undefined) return undefined;
    const { logins, apiKeys, authorizations } = companions;
    const companionsText = [...logins, '', ...apiKeys, '', ...authorizations].join('\n');
    return {
      ...{ identity, credentialToken },
      /** Keyed hash that all requests of one claim share: of the user or application key, and of its companions. */
      key: this.#hash(authorizations.length > 0 ? 'claim-token' : 'claim', `${identity.key}\n${companionsText}`),
      /** Keyed hash of the credential together with its companions: neither alone leads to the session. */
      token: this.#hash('claim-token', `${credentialToken}\n${companionsText}`),
      /** Keyed hashes of the logins that came with it. */
      logins: logins.map((login) => this.#hash('login', login)),
    };
  }

  /** For Comet, where messages inside the request may state a name as well. */
  statedNameOf(request: CompanionFields, holder: CertificateHolder): StatedName {
    const isNamedByField = hasCredential(request);
    const identity = this.identify(request, holder);
    return {
      userName: identity?.userName ?? null,
      credentialToken: isNamedByField ? this.tokenOf(request) : undefined,
      isVerified: identity !== undefined && !isNamedByField,
      isAlone: companionsOf(request, this.#cookieName) === undefined,
    };
  }

  /** As `statedNameOf`, from the user that the server states in a response; undefined without one. */
  statedBy(response: CredentialFields): StatedName | undefined {
    const user = this.userIn(response);
    return user && { userName: user.userName, credentialToken: undefined, isVerified: true, isAlone: true };
  }

  /**
   * `kind` prevents a user whose name equals a key from sharing that key's session. Hashes that may include a password
   * are longer than the others, so that `isLasting` recognises them.
   */
  #hash(kind: HashKind, value: string): string {
    const text = `${this.#secret}${kind}:${value}`;
    // Hexadecimal is Node's default: naming it would take longer.
    return kind === 'basic' || kind === 'claim-token' ? hash('sha256', text) : hash('sha256', text, 'base64');
  }
}

type HashKind = 'basic' | 'certificate' | 'claim' | 'claim-token' | 'client' | 'cookie' | 'key' | 'login' | 'user';

/** Whether the request has Basic or an application key, right or wrong. */
function hasCredential(fields: CredentialFields): boolean {
  if (isBasic(fields.field('authorization'))) return true;
  const apiKey = fields.field('x-api-key');
  return apiKey !== undefined && apiKey !== '';
}

/**
 * Whether the state file may have the token: it has the hash key, and passwords can be guessed. A session without such
 * a token is found again by its user, with the next call that the server accepts.
 */
export function isLasting(token: string): boolean {
  return token.length === LASTING_TOKEN_CHARS;
}

/** Length of a 32-byte hash in base64; in hex it has 64 characters. */
const LASTING_TOKEN_CHARS = 44;
const SECRET_BYTES = 16;

/** The user-id before the first colon; a password may hold colons, a user-id may not (RFC 7617 §2). */
function parseBasicUser(authorization: string): string | undefined {
  const base64 = authorization.slice(BASIC.length).trim();
  if (!BASE64.test(base64)) return undefined;
  const bytes = Buffer.from(base64, 'base64');
  const colonAt = bytes.indexOf(COLON);
  return colonAt < 0 ? undefined : decodeCredential(bytes.subarray(0, colonAt));
}

/** A user name for display: at most 256 characters; control and other invisible characters are replaced. */
export function sanitizeUserName(user: string): string {
  // A slice would keep a name of up to 40 kB alive.
  const text = user.length > MAX_USER_NAME_CHARS ? detached(user.slice(0, MAX_USER_NAME_CHARS)) : user;
  return sanitizeText(text).replace(HALF_CHARACTER, '');
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const COLON = 0x3a;
/** A surrogate that was cut off from its pair at the end. */
const HALF_CHARACTER = /[\ud800-\udbff]$/;
