/** Parses the command line, runs one command of cli/ or demo/, and sets the exit code. */
import { setFlagsFromString } from 'node:v8';
import { describeHoles } from './base/advisories.ts';
import { BUILD } from './base/build.ts';
import { ConfigError, isErrno, SidecarError } from './base/errors.ts';
import { LogOutput } from './base/log-output.ts';
import type { Logger } from './base/logger.ts';
import { platform } from './base/platform/platform.ts';
import { describeVersion, readVersion } from './base/version.ts';
import { type Command, parseCommandLine } from './cli/command-line.ts';
import { EXIT_FAILED, EXIT_USAGE, flushOutput, processOutput, terminalOutput } from './cli/output.ts';
import { print } from './cli/print.ts';
import { findDebugger } from './cli/stray-signals.ts';
import type { Config } from './config/config.ts';
import type { Environment } from './config/environment.ts';
import type { ConfigFlags } from './config/load-config.ts';

const FLUSH_MS = 500;

const OPEN_DEBUGGER =
  "Node's debugger is open: every user of this machine can run code in this process; remove --inspect from NODE_OPTIONS";

/** For `serve`. Measured with `npm run bench -- --workload rpc`. */
const V8_FLAGS = [
  // If many objects survive a young collection, V8 creates further ones like them in the old heap. Calls that wait for the
  // server look like that, although they end soon: the processor time of a small call doubled in one of three starts.
  '--no-allocation-site-pretenuring',
  // V8 frees what it needed to compile a function on another thread, too late for the next function to use it. Freed at
  // once, it leaves the process 5 % smaller on Node 26. Node 20 does not know this flag.
  ...(process.version.startsWith('v20.') ? [] : ['--no-maglev-destroy-on-background']),
];

const RUNTIME_HOLES = describeHoles(process.versions.node);

/** `argv` without node and script. Resolves to the exit code: 0 success, 64 bad configuration or usage, 1 failure. */
async function run(argv: readonly string[], env: Environment): Promise<number> {
  try {
    const command = parseCommandLine(argv);
    const carryOut: (command: never, env: Environment) => Promise<number> = COMMANDS[command.kind];
    return await carryOut(command as never, env);
  } catch (error) {
    return reportFailure(error);
  }
}

/** Each command loads only the modules that it needs: `--version` takes 60 ms, and a start does not load the demo. */
const COMMANDS: {
  readonly [Kind in Command['kind']]: (
    command: Extract<Command, { readonly kind: Kind }>,
    env: Environment,
  ) => Promise<number>;
} = {
  help: async () => {
    processOutput.out((await import('./cli/help.ts')).HELP);
    return 0;
  },
  version: async () => {
    processOutput.out(`${describeVersion()}\n`);
    return 0;
  },
  check: async ({ flags, as, connects }, env) => {
    const { check } = await import('./cli/check.ts');
    if (RUNTIME_HOLES !== undefined) processOutput.err(`d2-sidecar: warning: ${RUNTIME_HOLES}\n`);
    return await check({ flags, env }, processOutput, { as, connects, isRoot: platform.userId() === 0 });
  },
  learn: ({ flags, minutes }, env) => startLearning(flags, minutes, env),
  demo: async () => (await import('./demo/demo.ts')).runDemo(),
  health: async (command, env) => (await import('./cli/ask-sidecar.ts')).health(command, env, processOutput),
  drain: async (command, env) => (await import('./cli/drain.ts')).drain(command, env, processOutput),
  reload: async (command, env) => (await import('./cli/ask-sidecar.ts')).reload(command, env, processOutput),
  report: async (command, env) => (await import('./cli/ask-sidecar.ts')).report(command, env, processOutput),
  shutdown: async (command, env) => (await import('./cli/drain.ts')).shutdown(command, env, processOutput),
  threads: async (command, env) => (await import('./cli/ask-sidecar.ts')).threads(command, env, processOutput),
  top: async (command, env) => (await import('./cli/top.ts')).top(command, env, terminalOutput, process),
  verdict: async (command, env) => (await import('./cli/top.ts')).verdict(command, env, processOutput),
  note: async (command, env) => (await import('./cli/ask-sidecar.ts')).note(command, env, processOutput),
  history: async (command, env) => (await import('./cli/ask-sidecar.ts')).backup(command, env, processOutput),
  alerts: async (command, env) => (await import('./cli/ask-sidecar.ts')).testAlerts(command, env, processOutput),
  silence: async (command, env) => (await import('./cli/ask-sidecar.ts')).silence(command, env, processOutput),
  summary: async (command, env) => (await import('./cli/summary.ts')).summary(command, env, processOutput),
  passwd: async (command) => (await import('./cli/passwd.ts')).passwd(command, process.stdin, processOutput),
  print: async ({ name }) => print(name, processOutput),
  service: async (command, env) => (await import('./cli/service.ts')).service(command, env),
  serve: ({ flags }, env) => start(flags, env),
};

async function start(flags: ConfigFlags, env: Environment): Promise<number> {
  for (const flag of V8_FLAGS) setFlagsFromString(flag);
  // Until `serve` handles it: a reload during the start has nothing to do, and must not end the process.
  for (const signal of platform.reloadSignals) process.on(signal, () => undefined);
  // Load the configuration first, so that a bad one is reported before anything slow happens.
  const { loadConfig } = await import('./config/load-config.ts');
  const { takeGivenSockets } = await import('./cli/given-sockets.ts');
  const sockets = takeGivenSockets(env);
  const load = () => loadConfig({ flags, env, sockets });
  const { config, parsed, warnings } = await load();
  const { createLogger, standardOutput } = await import('./base/logger.ts');
  const output = standardOutput();
  const logger = createLogger(config.log.level, output);
  const announce = () => {
    logger.info({ version: readVersion(), build: BUILD, node: process.version }, 'starting');
    warn(logger, warnings);
    const debuggerAddress = findDebugger();
    if (debuggerAddress !== undefined) logger.warn({ listen: debuggerAddress }, OPEN_DEBUGGER);
  };
  const { serve } = await import('./cli/serve.ts');
  const { Sidecar } = await import('./sidecar/sidecar.ts');
  const { Reloader } = await import('./sidecar/reload.ts');
  ignoreLateSignals();
  try {
    return await serve({
      ...{ config, logger, announce, signals: process, sockets },
      manager: env.NOTIFY_SOCKET
        ? (await import('./cli/service-manager.ts')).findServiceManager(env, logger)
        : undefined,
      createSidecar: (...parts) => Sidecar.create(...parts),
      createReloader: (sidecar, onApplied) => {
        const apply = (applied: Config) => {
          logger.level = applied.log.level;
          onApplied(applied);
        };
        return new Reloader({ running: parsed, load, reloadable: sidecar, logger, onApplied: apply });
      },
    });
  } catch (error) {
    if (error instanceof SidecarError) logger.error({ code: error.code }, error.message);
    throw error;
  } finally {
    // Give a slow reader of the log time for the last lines.
    await output.flush(FLUSH_MS);
  }
}

function warn(logger: Logger, warnings: readonly string[]): void {
  for (const warning of RUNTIME_HOLES === undefined ? warnings : [RUNTIME_HOLES, ...warnings]) logger.warn(warning);
}

/**
 * Keeps listening to signals after `serve` or `learn` has ended. A late signal must not change the exit code of a
 * process that is ending anyway, nor cut off the last lines of its log.
 */
function ignoreLateSignals(): void {
  for (const signal of platform.stopSignals) process.on(signal, () => undefined);
}

async function startLearning(flags: ConfigFlags, minutes: number, env: Environment): Promise<number> {
  const { loadConfig } = await import('./config/load-config.ts');
  const { config, warnings } = await loadConfig({ flags, env });
  const { createLogger, standardError } = await import('./base/logger.ts');
  // Standard output is for the document that learn prints.
  const logger = createLogger(config.log.level, standardError());
  warn(logger, warnings);
  const { learn } = await import('./cli/learn.ts');
  const { systemClock } = await import('./base/clock.ts');
  const { Sidecar } = await import('./sidecar/sidecar.ts');
  ignoreLateSignals();
  return await learn({
    config,
    minutes,
    logger,
    clock: systemClock,
    signals: process,
    output: processOutput,
    createSidecar: (survey) => Sidecar.create(config, logger, systemClock, survey),
  });
}

function reportFailure(error: unknown): number {
  // Exit code 64 (configuration) takes precedence over 1 (file).
  if (error instanceof AggregateError) return Math.max(...error.errors.map(reportFailure));
  if (!(error instanceof SidecarError)) {
    // A bug in this program: print where it was thrown.
    processOutput.err(`d2-sidecar: ended by an unexpected error: ${describeError(error)}\n`);
    return EXIT_FAILED;
  }
  if (!(error instanceof ConfigError)) {
    processOutput.err(`d2-sidecar: ${error.code}: ${error.message}\n`);
    if (isErrno(error.cause, 'EACCES')) processOutput.err(`${platform.accessAdvice()}\n`);
    return EXIT_FAILED;
  }
  const lines = error.message.split('\n').map((line) => `d2-sidecar: ${line}\n`);
  processOutput.err(lines.join(''));
  processOutput.err(`${error.advice}\n`);
  return EXIT_USAGE;
}

export async function runProgram(): Promise<never> {
  reportCrashes();
  const exitCode = await run(process.argv.slice(2), process.env);
  await flushOutput();
  process.exit(exitCode);
}

const STANDARD_ERROR = 2;

const NAME = /^[A-Za-z][A-Za-z0-9]{0,63}$/;
const CODE = /^[A-Z][A-Z0-9_]{0,63}$/;
/** A line of `Error.stack`: function, file, line and column, in V8's format. */
const FRAME =
  /^ {4}at (?:[\w$.#<>[\] -]{1,200} \()?(?:(?:file:|node:|\/|[A-Z]:\\)[^\s()]{1,400}:\d+:\d+|<anonymous>|index \d+)\)?$/;

const MAX_FRAMES = 20;
const MAX_WARNING_FRAMES = 3;
const MAX_CAUSES = 3;

/**
 * `TypeError ERR_X, caused by SyntaxError`, then lines of the stack. The message and the other members of an unexpected
 * error are never shown: parsers put their input into them, and that may be a client's password.
 */
function describeError(thrown: unknown, maxFrames = MAX_FRAMES): string {
  return [describeKinds(thrown), ...parseFrames(thrown).slice(0, maxFrames)].join('\n');
}

/** From now on, prints unhandled errors and warnings without their messages. An error ends the process with code 1. */
function reportCrashes(): void {
  // A pipe that is full or closed must not keep the process from ending, and a warning must not end it.
  const output = new LogOutput(STANDARD_ERROR, () => process.stderr);
  process.on('uncaughtException', (thrown: unknown) => {
    output.write(`d2-sidecar: ended by an unexpected error: ${describeError(thrown)}\n`);
    process.exit(EXIT_FAILED);
  });
  // Node's own listener prints messages: a deprecated call may be shown with the URL that it was given.
  process.removeAllListeners('warning');
  process.on('warning', (warning) => {
    output.write(`d2-sidecar: warning: ${describeError(warning, MAX_WARNING_FRAMES)}\n`);
  });
}

function describeKinds(thrown: unknown): string {
  const kinds: string[] = [];
  for (let one = thrown; kinds.length <= MAX_CAUSES; one = one.cause) {
    if (!(one instanceof Error)) {
      if (kinds.length === 0) kinds.push(`a value of the type ${typeof one}`);
      break;
    }
    const name = NAME.test(one.name) ? one.name : 'Error';
    const code = 'code' in one && typeof one.code === 'string' && CODE.test(one.code) ? ` ${one.code}` : '';
    kinds.push(`${name}${code}`);
  }
  return kinds.join(', caused by ');
}

function parseFrames(thrown: unknown): string[] {
  if (!(thrown instanceof Error) || typeof thrown.stack !== 'string') return [];
  const { message, stack } = thrown;
  // The message comes before the frames, and may have lines that look like frames.
  const messageAt = stack.indexOf(message);
  const frames = messageAt < 0 ? stack : stack.slice(messageAt + message.length);
  return frames.split('\n').filter((line) => FRAME.test(line));
}
