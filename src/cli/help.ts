/** The text of `--help`. docs/configuration.md has the details. */
export const HELP = `d2-sidecar: a reverse proxy in front of a D2000 application server that measures its calls, sessions and objects.

Usage
  d2-sidecar --upstream http://127.0.0.1:8080/smartWeb [--listen 0.0.0.0:8081] [--monitor 127.0.0.1:9280]
             [--config FILE]
  d2-sidecar check [--config FILE]   validates, prints the effective configuration without secrets, starts nothing
  d2-sidecar learn [--minutes 5]     takes the same flags and passes traffic on as well; listens to Comet messages,
                                     and prints as YAML what it heard, and rules to fill in
  d2-sidecar demo                    a sample control system, users on it, and the sidecar in front
  d2-sidecar health [--ready]        whether a running sidecar lives, or is ready: exit code 0 or 1, for probes
  d2-sidecar drain [--wait 20s]      a running sidecar turns not ready and lets its clients go; it keeps on serving
  d2-sidecar passwd NAME             the line of a user, or of a token, who may read on the monitoring port
  d2-sidecar report [--out FILE]     how a running sidecar is, as one JSON document without secrets, for a ticket
  d2-sidecar reload                  a running sidecar reads its configuration again, as on SIGHUP
  d2-sidecar shutdown                stops a running sidecar and waits until it has gone

Flags
  --upstream URL     the application server, http://host[:port][/application]; required, here or in the configuration
  --listen ADDRESS   where clients connect: host:port, :port, [v6]:port or a port; 0 takes a free one  (0.0.0.0:8081)
  --monitor ADDRESS  where statistics are read, in the same forms  (127.0.0.1:9280)
                     not on loopback: monitor.auth has to be set, to files that passwd writes or to none
  --config FILE      configuration file, YAML or JSON
  -h, --help; -v, --version

Flag of check
  --as USER          looks at files as that user, which only root can; default for root: the user of the installed
                     systemd unit

Flag of learn
  --minutes N        how long to listen, e.g. 5 or 0.5; Ctrl-C ends it earlier and prints all the same  (5)

Flag of health
  --ready            whether it is ready, as /readyz says it; without, whether it lives, as /livez does
  --monitor ADDRESS  asks there over HTTP, instead of the control socket

Flags of report
  --out FILE         a new file to write it into; without, it is printed
  --with-users       with names of users and addresses, which are left out otherwise

Flags of health, report, drain, reload and shutdown
  --control PATH     control socket of the sidecar that is meant
  --pid N            its process id; neither is needed where only one runs
  --config FILE      its configuration file, for control.socket
  --wait TIME        drain only: wait until nothing is open, at most this long (500ms, 20s, 1m)

Flags of passwd
  --role ROLE        metrics (the default: no names of users, no addresses, no sessions) or sessions
  --token            a random token, shown once, instead of a password, which is read from standard input
  --file F           puts the line into that file, in place of the one of the same name

Every key of the configuration can be set in the environment as well: upstream.url is D2_SIDECAR_UPSTREAM_URL,
monitor.port is D2_SIDECAR_MONITOR_PORT, and D2_SIDECAR_CONFIG names the file. A flag wins over the environment,
the environment over the file.

Exit codes
  0 stopped as asked   64 bad configuration or usage   1 failed to start, no sidecar found, or not healthy

Examples
  d2-sidecar --upstream http://127.0.0.1:8080/smartWeb
  curl http://127.0.0.1:9280/smartWeb/api/rest/v0/admin/metrics/d2
  d2-sidecar check --config sidecar.yaml
  D2_SIDECAR_UPSTREAM_URL=http://app:8080/smartWeb D2_SIDECAR_MONITOR_AUTH=none d2-sidecar --monitor 0.0.0.0:9280
`;
