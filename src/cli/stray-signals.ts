/**
 * Signals that mean nothing to this program. By default, SIGUSR1 opens Node's debugger and the others end the process
 * without a drain, e.g. for a logrotate rule that was written for another server. docs/reliability.md lists all
 * signals. This file imports nothing, since it runs before the program is loaded.
 */

/** V8's profiler (`--cpu-prof`) takes its samples by SIGPROF: a listener would leave it without any. */
const PROFILES = /--(?:cpu-)?prof\b/;

/**
 * Signals of faults (e.g. SIGTRAP) are not among them: V8 raises them to end the process. SIGPIPE and SIGXFSZ are ignored
 * by Node itself. Real-time signals are out of Node's reach.
 */
const ALL_STRAY_SIGNALS = [
  'SIGUSR1',
  'SIGUSR2',
  'SIGALRM',
  'SIGVTALRM',
  'SIGPROF',
  'SIGIO',
  'SIGSTKFLT',
] as const satisfies NodeJS.Signals[];

export const STRAY_SIGNALS = ALL_STRAY_SIGNALS.filter((signal) => signal !== 'SIGPROF' || !hasOption(PROFILES));

/** `--inspect`, `--inspect-brk` and `--inspect-wait`; `--inspect-port` alone opens nothing. */
const OPENS_DEBUGGER = /--inspect(?!-port|-publish)/;

const DEBUGGER_CHECKS = 20;
const DEBUGGER_CHECK_MS = 100;

/** These listeners stay until the process ends: without any, the signal would have its default effect again. */
export function handleStraySignals(): void {
  for (const signal of STRAY_SIGNALS) process.on(signal, () => undefined);
}

/**
 * Closes the debugger if SIGUSR1 opened it before `handleStraySignals`. Node opens it on a thread of its own, once for each
 * of these signals, so that it may open again after it was closed: this checks for two seconds. An option (`--inspect`) may
 * still open it.
 */
export function closeStrayDebugger(): void {
  if (hasOption(OPENS_DEBUGGER)) return;
  openInspector()?.close();
  let checks = 0;
  const timer = setInterval(() => {
    openInspector()?.close();
    checks += 1;
    if (checks === DEBUGGER_CHECKS) clearInterval(timer);
  }, DEBUGGER_CHECK_MS);
  timer.unref();
}

/** The address of the debugger, e.g. `127.0.0.1:9229`, without the id that opens it; undefined if it is closed. */
export function findDebugger(): string | undefined {
  const url = openInspector()?.url();
  return url === undefined ? undefined : new URL(url).host;
}

/** Node's module, if the debugger is open. Node can be built without it. */
function openInspector() {
  const inspector = process.features.inspector ? process.getBuiltinModule('node:inspector') : undefined;
  return inspector?.url() === undefined ? undefined : inspector;
}

function hasOption(pattern: RegExp): boolean {
  return [...process.execArgv, process.env.NODE_OPTIONS ?? ''].some((option) => pattern.test(option));
}
