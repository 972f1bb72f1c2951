/**
 * The effective configuration: parsed once, frozen, all defaults filled in. `schema.ts` defines how it is written in a
 * file; times there are `30s` or a number of seconds, here they are milliseconds.
 */
import type { LogLevel } from '../base/logger.ts';

/** A rule that reads calls out of request lines; see `measure/classify/rules.ts`. */
export interface RestRule {
  /** Upper-case methods that the rule takes, e.g. `['GET', 'POST']`; GET takes HEAD as well. */
  readonly methods: readonly string[];
  /** Path below the REST prefix, with captures: `d2/rpc/{event}/{method}`. A capture takes exactly one segment. */
  readonly path: string;
  /** `none` passes a match uncounted, to exclude it from a later rule. */
  readonly kind: 'rpc' | 'sba' | 'object' | 'session' | 'none';
  /** Name of the call, with captures: `{event}.{method}`. For kind `session`: `login` or `logout`. Empty for `none`. */
  readonly name: string;
}

/** A rule that reads calls, monitorings and values out of Comet messages; see `measure/classify/comet-rules.ts`. */
export interface CometRule {
  /** Channel with captures: `/d2/object/{name}`. A capture takes exactly one segment. */
  readonly channel: string;
  /**
   * The event on the channel: a client subscribes or unsubscribes it, a client sends a message to it, or the server
   * delivers one. Undefined: what the action needs (`call`: publish; `value`: delivery), any event for kind `none`.
   */
  readonly when?: 'subscribe' | 'unsubscribe' | 'publish' | 'delivery' | undefined;
  /** `none` passes a match uncounted, to exclude it from a later rule. */
  readonly kind: 'rpc' | 'sba' | 'object' | 'none';
  /** Undefined: `call` for `rpc` and `sba`, which have no other. Kind `object` needs one, `none` has none. */
  readonly action?: 'call' | 'subscribe' | 'unsubscribe' | 'value' | undefined;
  /** Name with captures and JSON Pointers into `data`: `{/eventName}[.{/interfaceName}].{/rpcName}`; empty for `none` */
  readonly name: string;
  readonly reply?: CometReply | undefined;
}

export interface CometReply {
  /** Channel of the answer; undefined: the channel of the call. */
  readonly channel?: string | undefined;
  /** JSON Pointer to the id that call and answer share, e.g. `/data/requestId`; undefined: `/id`. */
  readonly id?: string | undefined;
  /** JSON Pointer into the answer; any value there but null, false and '' means failure. */
  readonly error?: string | undefined;
}

/** A user, identified by the application key that programs send as `X-API-Key`. */
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

export interface JvmHttpSource {
  readonly kind: JvmHttpKind;
  /** The only address that is ever asked, without credentials, e.g. `http://127.0.0.1:8080/manager`. */
  readonly url: string;
  readonly username: string | undefined;
  /** The file or environment variable that holds the password. */
  readonly passwordFile: string | undefined;
  readonly passwordEnv: string | undefined;
  /** The name in the server's certificate, if it differs from the address. */
  readonly serverName: string | undefined;
  /** PEM file with the authorities that may have signed the server's certificate; undefined: Node's own. */
  readonly caFile: string | undefined;
}

/** A client whose certificate gives access to the monitoring port. */
export interface CertificateReader {
  /** Common name of its subject, e.g. `prometheus`. */
  readonly name: string;
  readonly role: 'metrics' | 'sessions';
}

/** Access to the monitoring port: at least one of the three. monitor/access/ defines the contents of the files. */
export interface AccessFiles {
  readonly usersFile: string | undefined;
  readonly tokensFile: string | undefined;
  readonly certificates?: readonly CertificateReader[] | undefined;
}

export interface ListenerTls {
  /** Certificate of the server, followed by those that lead to its authority. */
  readonly certFile: string;
  /** Its private key, without a passphrase. */
  readonly keyFile: string;
  readonly clientCaFile: string | undefined;
  /** `request`: a client may present a certificate; `require`: a client without one is refused. */
  readonly clientAuth: 'none' | 'request' | 'require';
}

export interface UpstreamTls {
  /** PEM file with the authorities that may have signed the upstream's certificate; undefined: Node's own. */
  readonly caFile: string | undefined;
  /** The name in the certificate, if it differs from the host. */
  readonly serverName: string | undefined;
  /** False: any certificate is accepted. */
  readonly verify: boolean;
  /** PEM files with our certificate and its key, for an upstream that asks for one. */
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
    /** For people, e.g. `http://127.0.0.1:8080`. */
    readonly origin: string;
    readonly connectTimeoutMs: number;
    /** From the end of the request to the first byte of the response; 0: no limit, so that long polls may be held. */
    readonly responseTimeoutMs: number;
    /** Undefined: plain HTTP. */
    readonly tls?: UpstreamTls | undefined;
  };
  /** Context paths without outer slashes, e.g. `['smartWeb']`; `''` is the root context. At least one. */
  readonly applications: readonly string[];
  /** `auto`: relay whatever can be relayed; `gateway`: everything through the gateway. */
  readonly dataPath: 'auto' | 'gateway';
  /** Handling of X-Forwarded-For, -Proto and -Host. */
  readonly forwarded: 'append' | 'replace' | 'off';
  readonly monitor: HostPort & {
    readonly tls?: ListenerTls | undefined;
    /** `none`: everybody may read. Undefined: the same, allowed on loopback only. */
    readonly auth: 'none' | AccessFiles | undefined;
    /**
     * Lower-case host names that requests may have, besides addresses, localhost and `host`: `['d2-sidecar.plant']`.
     */
    readonly hosts: readonly string[];
    readonly readyWithUpstream: boolean;
    readonly maxConnections: number;
    /** 0: no limit. */
    readonly maxConnectionsPerAddress: number;
    /** Longest time for a request to arrive. */
    readonly headTimeoutMs: number;
    /** Longest silence on a connection. */
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
    /** Name of the cookie that identifies a login, e.g. `JSESSIONID`. */
    readonly cookie: string;
    /** The login of Comet users: the end of its path, without outer slashes, and the form field with the name. */
    readonly formLogin: { readonly path: string; readonly userField: string };
    /** How long a Comet session may be without any connection. */
    readonly cometGoneMs: number;
  };
  readonly rest: {
    /** Path below the application, without outer slashes: `api/rest/v0`. */
    readonly prefix: string;
    /** The configured rules, tried before the built-in ones of `measure/classify/rules.ts`; the first match counts. */
    readonly rules: readonly RestRule[];
    readonly defaultRules: boolean;
    /** Paths that only clients on loopback may request, e.g. `/manager`. */
    readonly deny: readonly string[];
  };
  readonly comet: {
    /** Whether Comet traffic is read; it is passed on in any case. */
    readonly enabled: boolean;
    /** Path below the application, without outer slashes: `api/cometd`. */
    readonly path: string;
    readonly rules: readonly CometRule[];
    readonly defaultRules: boolean;
    /** JSON Pointers into a handshake; the first one that leads to a text gives the user's name. */
    readonly userPointers: readonly string[];
    readonly ackWaitMs: number;
    readonly callTimeoutMs: number;
    /** Limit of one body or message, as sent; `maxInflatedBytes` is the limit after decompression. */
    readonly maxBodyBytes: number;
    readonly maxInflatedBytes: number;
    /** Limits of one client. */
    readonly maxSubscriptions: number;
    readonly maxPendingCalls: number;
  };
  readonly jvm: {
    /** `auto`: the HTTP source if one is configured, else hsperfdata with the attach socket over it. */
    readonly source: 'auto' | 'hsperfdata' | 'http' | 'none';
    /** From the end of one reading to the beginning of the next. */
    readonly intervalMs: number;
    readonly timeoutMs: number;
    /** Age from which the last reading is no longer shown. */
    readonly staleAfterMs: number;
    /** Whether to make a JVM without an attach socket open one, which takes a signal to the JVM. */
    readonly attach: boolean;
    /** Selects one of several JVMs: by process id, or by the name of its user. */
    readonly pid: number | undefined;
    readonly user: string | undefined;
    readonly http: JvmHttpSource | undefined;
  };
  readonly otlp: {
    /** Base of `/v1/metrics` and `/v1/traces`, e.g. `http://127.0.0.1:4318`; undefined: nothing is sent. */
    readonly endpoint: string | undefined;
    readonly headersFile: string | undefined;
    readonly headersEnv: string | undefined;
    /** PEM file; undefined: Node's own authorities. */
    readonly caFile: string | undefined;
    /** For one request, retries included. */
    readonly timeoutMs: number;
    readonly metrics: { readonly enabled: boolean; readonly intervalMs: number };
    readonly traces: {
      readonly enabled: boolean;
      /** Share of the calls without a traceparent, 0 to 1. */
      readonly sampleRatio: number;
      /** Only calls that took longer; 0: all. */
      readonly slowerThanMs: number;
    };
  };
  readonly limits: {
    /** Largest head of a request or response, and largest trailer section, in bytes. */
    readonly headBytes: number;
    readonly fields: number;
    readonly connections: number;
    /** For one IPv4 address or one /64 of IPv6; 0: no limit. */
    readonly connectionsPerAddress: number;
    /** Concurrent requests to the upstream; 0: no limit. */
    readonly inFlight: number;
    /** For all bytes that are kept because of what clients send; see limits/memory-budget.ts. */
    readonly memoryBytes: number;
  };
  readonly timeouts: {
    /** From the first byte of a head to its end. */
    readonly headMs: number;
    /** Longest silence of a client's connection between two exchanges. */
    readonly idleMs: number;
    /** How long a client that has closed its sending side may still wait for its answer. */
    readonly halfClosedMs: number;
  };
  readonly stop: {
    /** From readiness off to the first connection that is closed. */
    readonly delayMs: number;
    /** The time over which WebSockets are then closed, and in which held long polls may end by themselves. */
    readonly windowMs: number;
    /** From SIGTERM to the end, whatever is still open. */
    readonly deadlineMs: number;
  };
  readonly state: {
    /** Undefined: nothing survives a restart. */
    readonly file: string | undefined;
    readonly intervalMs: number;
  };
  readonly control: {
    /** Path of the control socket; undefined: one in a private folder of the temporary directory. */
    readonly socket: string | undefined;
  };
  readonly log: { readonly level: LogLevel };
  readonly accessLog: {
    /** Undefined: no access log. */
    readonly file: string | undefined;
    /** Share of the calls that get a line, 0 to 1. */
    readonly sample: number;
    /** Only calls that took longer; 0: all. */
    readonly slowerThanMs: number;
    /** Errors get a line regardless of `sample` and `slowerThanMs`. */
    readonly errorsAlways: boolean;
    /** Exchanges that are not calls get a line, too. */
    readonly others: boolean;
    readonly users: boolean;
    /** Size at which the file is rotated; 0: never. */
    readonly maxBytes: number;
    readonly keep: number;
  };
}
