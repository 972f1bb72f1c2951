/**
 * The effective configuration: parsed once, frozen, with every default filled in. `schema.ts` says how it is written in a
 * file; times there may be `30s` or a number of seconds, here they are milliseconds.
 */
import type { LogLevel } from '../logger.ts';

/** One way to read calls out of request lines; see `classify/rules.ts`. */
export interface RestRule {
  /** Upper-case methods that the rule takes, e.g. `['GET', 'POST']`. */
  readonly methods: readonly string[];
  /** Path below the REST prefix, with captures: `d2/rpc/{event}/{method}`. A capture takes exactly one segment. */
  readonly path: string;
  /** What a match is; `none` passes it uncounted (to take something out of a later rule). */
  readonly kind: 'rpc' | 'sba' | 'object' | 'session' | 'none';
  /** Name of the call, with captures: `{event}.{method}`. For kind `session`: `login` or `logout`. Empty for `none`. */
  readonly name: string;
}

/** A user known by the application key that his programs send as `X-API-Key`. */
export interface ApiKeyUser {
  readonly user: string;
  readonly key: string;
}

export interface MaxNames {
  readonly rpc: number;
  readonly sba: number;
  readonly object: number;
}

export type JvmHttpKind = 'tomcat-jmxproxy' | 'tomcat-status' | 'jolokia' | 'prometheus' | 'wildfly';

/** A source of the JVM's condition that is read over HTTP. */
export interface JvmHttpSource {
  readonly kind: JvmHttpKind;
  /** The one address that is ever asked, without credentials, e.g. `http://127.0.0.1:8080/manager`. */
  readonly url: string;
  readonly username: string | undefined;
  /** Where the password is: in a file, or in an environment variable. */
  readonly passwordFile: string | undefined;
  readonly passwordEnv: string | undefined;
  /** The name that the server's certificate must hold, where it is not the address's. */
  readonly serverName: string | undefined;
  /** PEM file with the authorities that may have signed the server's certificate; undefined: Node's own. */
  readonly caFile: string | undefined;
}

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

export interface Config {
  readonly listen: HostPort;
  readonly upstream: HostPort & {
    /** As shown to people, e.g. `http://127.0.0.1:8080`. */
    readonly origin: string;
    readonly connectTimeoutMs: number;
    /** From the end of the request to the first byte of the response; 0 is no limit, so that long polls may be held. */
    readonly responseTimeoutMs: number;
  };
  /** Context paths without slashes at their ends, e.g. `['smartWeb']`; `''` is the root context. At least one. */
  readonly applications: readonly string[];
  /** `auto`: relay what can be relayed; `gateway`: everything through the gateway. */
  readonly dataPath: 'auto' | 'gateway';
  /** What happens to X-Forwarded-For, -Proto and -Host. */
  readonly forwarded: 'append' | 'replace' | 'off';
  readonly monitor: HostPort & {
    readonly auth: 'none' | undefined;
    readonly readyWithUpstream: boolean;
  };
  readonly metrics: {
    readonly windowMs: number;
    readonly durationUnit: 'seconds' | 'milliseconds';
    readonly maxNames: MaxNames;
    readonly maxNamesPerSession: number;
  };
  readonly sessions: {
    readonly idleMs: number;
    readonly max: number;
    readonly apiKeys: readonly ApiKeyUser[];
  };
  readonly rest: {
    /** Path below the application, without slashes at its ends: `api/rest/v0`. */
    readonly prefix: string;
    /** The user's own rules. They are tried before the built-in ones of `classify/rules.ts`; the first match counts. */
    readonly rules: readonly RestRule[];
    /** Whether the built-in rules follow the user's own. */
    readonly defaultRules: boolean;
  };
  readonly jvm: {
    /** `auto`: the HTTP source where one is configured, else hsperfdata with the attach socket over it. */
    readonly source: 'auto' | 'hsperfdata' | 'http' | 'none';
    /** From the end of one reading to the beginning of the next. */
    readonly intervalMs: number;
    /** What one reading may take. */
    readonly timeoutMs: number;
    /** Age from which the last reading is no longer shown. */
    readonly staleAfterMs: number;
    /** Whether an attach socket may be asked for where there is none, which takes a signal to the JVM. */
    readonly attach: boolean;
    /** Which JVM, where more than one could be meant: its process id, or the name of its user. */
    readonly pid: number | undefined;
    readonly user: string | undefined;
    readonly http: JvmHttpSource | undefined;
  };
  readonly limits: {
    /** Largest head of a request or response, and largest trailer section, in bytes. */
    readonly headBytes: number;
    readonly connections: number;
  };
  readonly timeouts: {
    /** From the first byte of a head to its end. */
    readonly headMs: number;
    /** How long a client's connection may be silent between two exchanges. */
    readonly idleMs: number;
    /** How long a client that has closed its sending side may still wait for its answer. */
    readonly halfClosedMs: number;
  };
  readonly stop: {
    /** How long running exchanges may take to end after SIGTERM. */
    readonly deadlineMs: number;
  };
  readonly control: {
    /** Path of the control socket; undefined: one of its own in a private folder of the temporary directory. */
    readonly socket: string | undefined;
  };
  readonly log: { readonly level: LogLevel };
}
