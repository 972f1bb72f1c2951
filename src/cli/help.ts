export const HELP = `d2-sidecar: a reverse proxy in front of a D2000 application server that measures its calls, sessions and objects.

Usage
  d2-sidecar --upstream http://127.0.0.1:8080/smartWeb [--listen 0.0.0.0:8081] [--monitor 127.0.0.1:9280]
             [--config FILE]
  d2-sidecar alerts test             sends a test message to each receiver and prints what it answered
  d2-sidecar check [--config FILE]   validates, prints the effective configuration without secrets, starts nothing
  d2-sidecar learn [--minutes 5]     serves with the same flags, listens to Comet messages, and prints the channels
                                     that it heard as YAML, with rules to fill in
  d2-sidecar demo                    runs a sample control system with users, and the sidecar in front of it
  d2-sidecar health [--ready]        reports whether a running sidecar is alive, or ready: exit code 0 or 1, for probes
  d2-sidecar drain [--wait 20s]      makes a running sidecar unready and lets clients disconnect; it keeps serving
  d2-sidecar passwd NAME             creates the entry of a user or token with access to the monitoring port
  d2-sidecar print NAME              prints a file of this version: sample (a configuration with all keys), schema (the
                                     JSON schema of it) or licences (of everything that the program contains)
  d2-sidecar report [--out FILE]     prints the state of a running sidecar as one JSON document without secrets
  d2-sidecar summary [--since 7d]    prints what the history on disk says, as text for a mail
  d2-sidecar note TEXT               marks this moment on the page and in the history, e.g. "index added"
  d2-sidecar history backup FILE     copies the history on disk into a new file, while the sidecar runs
  d2-sidecar reload                  makes a running sidecar reload its configuration, as SIGHUP does
  d2-sidecar service ACTION          Windows: install, uninstall or status of the service; install also upgrades it
  d2-sidecar silence TIME [TEXT]     sends no messages for that time, e.g. 2h "index build"; silence off ends it
  d2-sidecar shutdown                stops a running sidecar and waits until it has exited
  d2-sidecar top [--once]            shows running calls, the slowest calls and the verdict, in a terminal
  d2-sidecar threads                 prints a thread dump of the server's JVM: deadlocks and a summary first
  d2-sidecar verdict                 prints what is wrong: server, network, client or sidecar; for Nagios and Zabbix

Flags
  --upstream URL     the application server, http://host[:port][/application]; required, here or in the configuration
  --listen ADDRESS   where clients connect: host:port, :port, [v6]:port or a port; 0 picks a free one  (0.0.0.0:8081)
  --monitor ADDRESS  where statistics are served, in the same forms  (127.0.0.1:9280)
                     off loopback, monitor.auth is required: files written by passwd, or none
  --config FILE      configuration file, YAML or JSON
  -h, --help; -v, --version

Flags of check
  --connect          also tries the upstream: name, connection, TLS, and one GET of the application's path; and
                     the receivers of messages, without a message; exit code 1 if that fails
  --as USER          checks files as that user; for root only, whose default is the user of the installed
                     systemd unit

Flag of learn
  --minutes N        how long to listen, e.g. 5 or 0.5; Ctrl-C ends it early and still prints the result  (5)

Flag of health
  --ready            checks readiness, as /readyz does; without it, liveness, as /livez does
  --monitor ADDRESS  asks this address over HTTP instead of using the control socket

Flags of report
  --out FILE         writes the report into this new file instead of printing it
  --with-users       includes user names and addresses

Flag of summary
  --since TIME       how far it goes back; it is compared with as much time before  (7d)

Flags of health, report, drain, reload, shutdown, threads, top, verdict, summary, note, history, alerts and silence
  --control PATH     control socket of the sidecar
  --pid N            its process id; neither is needed if only one runs
  --config FILE      its configuration file, for control.socket
  --wait TIME        drain only: wait until nothing is open, at most this long (500ms, 20s, 1m)

Flags of passwd
  --role ROLE        metrics (default: no user names, no addresses, no sessions) or sessions
  --token            creates a random token, shown once; without it, a password is read from standard input
  --file F           writes the entry to that file, replacing one of the same name

Every key of the configuration can also be set in the environment: upstream.url is D2_SIDECAR_UPSTREAM_URL,
monitor.port is D2_SIDECAR_MONITOR_PORT, and D2_SIDECAR_CONFIG names the file. A flag overrides the
environment, the environment overrides the file.

Exit codes
  0 stopped on request   64 bad configuration or usage   1 failed to start, no sidecar found, or not healthy
  verdict: 0 fine, quiet or draining   1 clients, network or slow calls   2 server or sidecar   3 no sidecar found

Examples
  d2-sidecar --upstream http://127.0.0.1:8080/smartWeb
  curl http://127.0.0.1:9280/smartWeb/api/rest/v0/admin/metrics/d2
  d2-sidecar check --config sidecar.yaml
  D2_SIDECAR_UPSTREAM_URL=http://app:8080/smartWeb D2_SIDECAR_MONITOR_AUTH=none d2-sidecar --monitor 0.0.0.0:9280
`;
