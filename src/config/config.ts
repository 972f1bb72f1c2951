/**
 * The effective configuration: parsed once, frozen, with every default filled in. `schema.ts` says how it is written in a
 * file; times there may be `30s` or a number of seconds, here they are milliseconds.
 */
import type { LogLevel } from '../base/logger.ts';

/** One way to read calls out of request lines; see `measure/classify/rules.ts`. */
export interface RestRule {
  /** Upper-case methods that the rule takes, e.g. `['GET', 'POST']`; GET takes HEAD as well. */
  readonly methods: readonly string[];
  /** Path below the REST prefix, with captures: `d2/rpc/{event}/{method}`. A capture takes exactly one segment. */
  readonly path: string;
  /** What a match is; `none` passes it uncounted (to take something out of a later rule). */
  readonly kind: 'rpc' | 'sba' | 'object' | 'session' | 'none';
  /** Name of the call, with captures: `{event}.{method}`. For kind `session`: `login` or `logout`. Empty for `none`. */
  readonly name: string;
}

/** One way to read calls, monitorings and values out of Comet messages; see `measure/classify/comet-rules.ts`. */
export interface CometRule {
  /** Channel with captures: `/d2/object/{name}`. A capture takes exactly one segment. */
  readonly channel: string;
  /**
   * What happens on the channel: a client subscribes or unsubscribes it, a client sends a message to it, or the server
   * delivers one. Undefined: what the action needs (`call`: publish; `value`: delivery), anything for kind `none`.
   */
  readonly when?: 'subscribe' | 'unsubscribe' | 'publish' | 'delivery' | undefined;
  /** What a match is; `none` passes it uncounted (to take something out of a later rule). */
  readonly kind: 'rpc' | 'sba' | 'object' | 'none';
  /** Undefined: `call` for `rpc` and `sba`, which have no other. Kind `object` needs one, `none` has none. */
  readonly action?: 'call' | 'subscribe' | 'unsubscribe' | 'value' | undefined;
  /** Name with captures and JSON Pointers into `data`: `{/eventName}[.{/interfaceName}].{/rpcName}`. Empty for `none`. */
  readonly name: string;
  /** How the answer to a call is found. */
  readonly reply?: CometReply | undefined;
}

export interface CometReply {
  /** Channel that the answer comes on; undefined: that of the call. */
  readonly channel?: string | undefined;
  /** JSON Pointer to what ties call and answer together, in both messages, e.g. `/data/requestId`; undefined: `/id`. */
  readonly id?: string | undefined;
  /** JSON Pointer into the answer; anything there but null, false and '' means failure. */
  readonly error?: string | undefined;
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

/** Whose client certificate lets him read on the monitoring port. */
export interface CertificateReader {
  /** Common name of its subject, e.g. `prometheus`. */
  readonly name: string;
  readonly role: 'metrics' | 'sessions';
}

/** Who may read on the monitoring port; one of the three at least. access/ says what is in these files. */
export interface AccessFiles {
  /** Path of the file with users and the hashes of their passwords. */
  readonly usersFile: string | undefined;
  /** Path of the file with the hashes of tokens. */
  readonly tokensFile: string | undefined;
  readonly certificates?: readonly CertificateReader[] | undefined;
}

/** TLS on a listener: PEM files. */
export interface ListenerTls {
  /** Certificate of the server, and behind it those that lead to its authority. */
  readonly certFile: string;
  /** Private key of that certificate, without a passphrase. */
  readonly keyFile: string;
  /** Authorities of clients' certificates. */
  readonly clientCaFile: string | undefined;
  /** `request`: a client may present a certificate; `require`: one without is refused. */
  readonly clientAuth: 'none' | 'request' | 'require';
}

/** TLS to the upstream. */
export interface UpstreamTls {
  /** PEM file with the authorities that may have signed the upstream's certificate; undefined: Node's own. */
  readonly caFile: string | undefined;
  /** The name that the certificate must hold, where it is not the host's of the address. */
  readonly serverName: string | undefined;
  /** False: any certificate will do. */
  readonly verify: boolean;
  /** PEM files with a certificate of ours, and its key, for an upstream that asks for one. */
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
}

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

export interface Config {
  readonly listen: HostPort & {
    /** Undefined: plain HTTP. */
    readonly tls?: ListenerTls | undefined;
  };
  readonly upstream: HostPort & {
    /** As shown to people, e.g. `http://127.0.0.1:8080`. */
    readonly origin: string;
    readonly connectTimeoutMs: number;
    /** From the end of the request to the first byte of the response; 0 is no limit, so that long polls may be held. */
    readonly responseTimeoutMs: number;
    /** Undefined: plain HTTP. */
    readonly tls?: UpstreamTls | undefined;
  };
  /** Context paths without slashes at their ends, e.g. `['smartWeb']`; `''` is the root context. At least one. */
  readonly applications: readonly string[];
  /** `auto`: relay what can be relayed; `gateway`: everything through the gateway. */
  readonly dataPath: 'auto' | 'gateway';
  /** What happens to X-Forwarded-For, -Proto and -Host. */
  readonly forwarded: 'append' | 'replace' | 'off';
  readonly monitor: HostPort & {
    /** Undefined: plain HTTP. */
    readonly tls?: ListenerTls | undefined;
    /** `none`: everybody; undefined: the same, on loopback. */
    readonly auth: 'none' | AccessFiles | undefined;
    /** Names in lower case that requests may ask for, besides addresses, localhost and `host`; e.g. `['d2-sidecar.plant']`. */
    readonly hosts: readonly string[];
    readonly readyWithUpstream: boolean;
    readonly maxConnections: number;
    /** 0: any number. */
    readonly maxConnectionsPerAddress: number;
    /** What a request may take to come. */
    readonly headTimeoutMs: number;
    /** How long a connection may be silent. */
    readonly idleTimeoutMs: number;
    readonly maxAnswerBytes: number;
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
    /** Name of the cookie that stands for a login, e.g. `JSESSIONID`. */
    readonly cookie: string;
    /** Where users of Comet log in: the end of the path, without slashes at its ends, and the form's field with the name. */
    readonly formLogin: { readonly path: string; readonly userField: string };
    /** How long a Comet session may be without any connection. */
    readonly cometGoneMs: number;
  };
  readonly rest: {
    /** Path below the application, without slashes at its ends: `api/rest/v0`. */
    readonly prefix: string;
    /** The user's own rules. They are tried before the built-in ones of `measure/classify/rules.ts`; the first match counts. */
    readonly rules: readonly RestRule[];
    /** Whether the built-in rules follow the user's own. */
    readonly defaultRules: boolean;
    /** Paths that only clients on loopback may ask for, e.g. `/manager`. */
    readonly deny: readonly string[];
  };
  readonly comet: {
    /** Whether Comet traffic is read; it passes in any case. */
    readonly enabled: boolean;
    /** Path below the application, without slashes at its ends: `api/cometd`. */
    readonly path: string;
    readonly rules: readonly CometRule[];
    readonly defaultRules: boolean;
    /** JSON Pointers into a handshake: the first text that one leads to is the user's name. */
    readonly userPointers: readonly string[];
    readonly ackWaitMs: number;
    readonly callTimeoutMs: number;
    /** Of one body or message, as sent and without its compression. */
    readonly maxBodyBytes: number;
    readonly maxInflatedBytes: number;
    /** Of one client. */
    readonly maxSubscriptions: number;
    readonly maxPendingCalls: number;
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
  readonly otlp: {
    /** Where `/v1/metrics` and `/v1/traces` are, e.g. `http://127.0.0.1:4318`; undefined: nothing is sent. */
    readonly endpoint: string | undefined;
    /** Where the fields are that go along: a file, or a variable of the environment. */
    readonly headersFile: string | undefined;
    readonly headersEnv: string | undefined;
    /** PEM file; undefined: Node's own authorities. */
    readonly caFile: string | undefined;
    /** Of one request, with its repetitions. */
    readonly timeoutMs: number;
    readonly metrics: { readonly enabled: boolean; readonly intervalMs: number };
    readonly traces: {
      readonly enabled: boolean;
      /** Of calls without a traceparent, 0 to 1. */
      readonly sampleRatio: number;
      /** Only calls that took longer; 0: all. */
      readonly slowerThanMs: number;
    };
  };
  readonly limits: {
    /** Largest head of a request or response, and largest trailer section, in bytes. */
    readonly headBytes: number;
    /** Most fields in the head of a request. */
    readonly fields: number;
    readonly connections: number;
    /** Of one IPv4 address or one /64 of IPv6; 0: no limit. */
    readonly connectionsPerAddress: number;
    /** Requests with the upstream at a time; 0: no limit. */
    readonly inFlight: number;
    /** For all bytes that are kept because of what clients send; see limits/memory-budget.ts. */
    readonly memoryBytes: number;
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
    /** From readiness off to the first connection that is let go. */
    readonly delayMs: number;
    /** Over how long WebSockets are then closed, and held long polls may end by themselves. */
    readonly windowMs: number;
    /** From SIGTERM to the end, whatever is still open. */
    readonly deadlineMs: number;
  };
  readonly state: {
    /** Undefined: nothing outlives a restart. */
    readonly file: string | undefined;
    readonly intervalMs: number;
  };
  readonly control: {
    /** Path of the control socket; undefined: one of its own in a private folder of the temporary directory. */
    readonly socket: string | undefined;
  };
  readonly log: { readonly level: LogLevel };
  readonly accessLog: {
    /** Undefined: there is none. */
    readonly file: string | undefined;
    /** Share of the calls that get a line, 0 to 1. */
    readonly sample: number;
    /** Only calls that took longer; 0: all. */
    readonly slowerThanMs: number;
    /** Errors get a line whatever the two above say. */
    readonly errorsAlways: boolean;
    /** What is no call gets a line, too. */
    readonly others: boolean;
    /** Lines hold names of users and addresses. */
    readonly users: boolean;
    /** Size from which the file is set aside; 0: never. */
    readonly maxBytes: number;
    /** Files set aside that are kept. */
    readonly keep: number;
  };
}
