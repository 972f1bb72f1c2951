/** Every default, as a person would write it in a file. Times have a unit in the text, counts and bytes in the name. */
export const DEFAULT_LISTEN_HOST = '0.0.0.0';
export const DEFAULT_LISTEN_PORT = 8081;

/** For a URL without a port (RFC 9110 sections 4.2.1 and 4.2.2). */
export const DEFAULT_UPSTREAM_PORT = 80;
export const DEFAULT_UPSTREAM_TLS_PORT = 443;
export const DEFAULT_VERIFY_UPSTREAM = true;
export const DEFAULT_CLIENT_AUTH = 'none';
export const DEFAULT_CONNECT_TIMEOUT = '5s';
/** No limit: a long poll is silent for as long as the server holds it. */
export const DEFAULT_RESPONSE_TIMEOUT = 0;

export const DEFAULT_DATA_PATH = 'auto';
export const DEFAULT_FORWARDED = 'append';

/** `127.0.0.1`, not `localhost`, which may mean `::1` first. */
export const DEFAULT_MONITOR_HOST = '127.0.0.1';
export const DEFAULT_MONITOR_PORT = 9280;
export const DEFAULT_READY_WITH_UPSTREAM = false;
export const DEFAULT_MONITOR_MAX_CONNECTIONS = 1_000;
/** A browser opens six connections, Prometheus one or two; the rest is for a proxy, which has one address. */
export const DEFAULT_MONITOR_MAX_CONNECTIONS_PER_ADDRESS = 100;
/** A request there is one small head; a client that needs longer occupies a connection for nothing. */
export const DEFAULT_MONITOR_HEAD_TIMEOUT = '10s';
/** Longer than the time between two scrapes, which is rarely more than a minute. */
export const DEFAULT_MONITOR_IDLE_TIMEOUT = '75s';
export const DEFAULT_MONITOR_MAX_ANSWER_BYTES = 67_108_864;

export const DEFAULT_METRICS_WINDOW = '5m';
export const DEFAULT_DURATION_UNIT = 'seconds';
export const DEFAULT_MAX_RPC_NAMES = 2_000;
export const DEFAULT_MAX_SBA_NAMES = 2_000;
export const DEFAULT_MAX_OBJECT_NAMES = 10_000;
export const DEFAULT_MAX_NAMES_PER_SESSION = 200;

export const DEFAULT_SESSION_IDLE = '30m';
export const DEFAULT_MAX_SESSIONS = 10_000;

/** The cookie of Tomcat and WildFly. */
export const DEFAULT_SESSION_COOKIE = 'JSESSIONID';
/** The names of the servlet specification (Jakarta Servlet 6, section 13.6.3). */
export const DEFAULT_FORM_LOGIN_PATH = 'j_security_check';
export const DEFAULT_FORM_LOGIN_USER_FIELD = 'j_username';
export const DEFAULT_COMET_GONE = '5m';

export const DEFAULT_REST_PREFIX = 'api/rest/v0';
export const DEFAULT_USE_DEFAULT_RULES = true;

export const DEFAULT_COMET_ENABLED = true;
export const DEFAULT_COMET_PATH = 'api/cometd';
export const DEFAULT_COMET_USER_POINTERS: readonly string[] = [
  '/ext/authentication/user',
  '/ext/authentication/userName',
  '/ext/authentication/username',
  '/ext/authentication/login',
];
export const DEFAULT_COMET_ACK_WAIT = '30s';
export const DEFAULT_COMET_CALL_TIMEOUT = '10m';
export const DEFAULT_COMET_MAX_BODY_BYTES = 1_048_576;
export const DEFAULT_COMET_MAX_INFLATED_BYTES = 1_048_576;
export const DEFAULT_COMET_MAX_SUBSCRIPTIONS = 10_000;
export const DEFAULT_COMET_MAX_PENDING_CALLS = 1_000;

export const DEFAULT_JVM_SOURCE = 'auto';
export const DEFAULT_JVM_INTERVAL = '5s';
export const DEFAULT_JVM_TIMEOUT = '2s';
export const DEFAULT_JVM_STALE_AFTER = '15s';
/** Off: no process gets a signal unasked. */
export const DEFAULT_JVM_ATTACH = false;

export const DEFAULT_OTLP_METRICS = true;
/** The default of OpenTelemetry's own readers. */
export const DEFAULT_OTLP_INTERVAL = '60s';
export const DEFAULT_OTLP_TIMEOUT = '10s';
/** Spans take space at the receiver for each call. */
export const DEFAULT_OTLP_TRACES = false;
/** The sampling decision of a caller is followed; sampling of its own has to be configured. */
export const DEFAULT_OTLP_SAMPLE_RATIO = 0;
export const DEFAULT_OTLP_SLOWER_THAN = 0;

/** Single sign-on cookies exceed Node's own 16 KiB. */
export const DEFAULT_HEAD_BYTES = 65_536;
/** The limit of newer nginx; application servers allow far fewer (Tomcat 100). */
export const DEFAULT_FIELDS = 1_000;
export const DEFAULT_CONNECTIONS = 10_000;
/** Off: behind a reverse proxy all clients share its address. */
export const DEFAULT_CONNECTIONS_PER_ADDRESS = 0;
/** Off: a held long poll is a request in flight, and only the operator knows how many there are. */
export const DEFAULT_IN_FLIGHT = 0;
/** Within the 512 MiB of our manifests this leaves room for 10,000 connections. */
export const DEFAULT_MEMORY_BYTES = 67_108_864;

export const DEFAULT_HEAD_TIMEOUT = '60s';
export const DEFAULT_IDLE_TIMEOUT = '5m';
export const DEFAULT_HALF_CLOSED_TIMEOUT = '5m';

/** How much a crash may lose. */
export const DEFAULT_STATE_INTERVAL = '10s';

/** The time that others usually need to notice that a Pod is not ready. For slower ones, a preStop drains longer. */
export const DEFAULT_STOP_DELAY = '2s';
/** Together with the delay, less than the 10 s that `docker stop` waits. */
export const DEFAULT_STOP_WINDOW = '5s';
/** Less than the 30 s that Kubernetes grants after SIGTERM. */
export const DEFAULT_STOP_DEADLINE = '25s';

export const DEFAULT_LOG_LEVEL = 'info';

export const DEFAULT_ACCESS_LOG_SAMPLE = 1;
export const DEFAULT_ACCESS_LOG_SLOWER_THAN = 0;
export const DEFAULT_ACCESS_LOG_ERRORS_ALWAYS = true;
export const DEFAULT_ACCESS_LOG_OTHERS = false;
export const DEFAULT_ACCESS_LOG_USERS = true;
/** Half a gigabyte, the kept files included: an unattended log must not fill a disk. */
export const DEFAULT_ACCESS_LOG_MAX_BYTES = 104_857_600;
export const DEFAULT_ACCESS_LOG_KEEP = 4;
