/**
 * Parses the command line into a command. Scripts rely on these commands and flags, so they are a contract. The folder
 * cli/ has the commands and their shared parts; only main.ts and program.ts import it. It must not know how traffic is relayed or
 * measured.
 */
import { parseArgs } from 'node:util';
import { ConfigError } from '../base/errors.ts';
import type { HostPort } from '../config/config.ts';
import { parseDurationMs } from '../config/duration.ts';
import type { Environment } from '../config/environment.ts';
import { HOST_PORT_FORMS, parseHostPort } from '../config/host-port.ts';
import type { ConfigFlags } from '../config/load-config.ts';
import { nearest } from '../config/nearest.ts';
import { isName, isRole, NAME_FORM, ROLES, type Role } from '../monitor/access/reader.ts';
import type { Output } from './output.ts';
import { PRINTED } from './print.ts';

/** What a sidecar starts with, or which running one a command is for (cli/control/find-sidecar.ts). */
export interface Selection extends ConfigFlags {
  readonly control?: string | undefined;
  readonly pid?: number | undefined;
}

const OPTIONS = {
  upstream: { type: 'string' },
  listen: { type: 'string' },
  monitor: { type: 'string' },
  config: { type: 'string' },
  control: { type: 'string' },
  pid: { type: 'string' },
  as: { type: 'string' },
  connect: { type: 'boolean' },
  wait: { type: 'string' },
  ready: { type: 'boolean' },
  once: { type: 'boolean' },
  out: { type: 'string' },
  'with-users': { type: 'boolean' },
  minutes: { type: 'string' },
  since: { type: 'string' },
  role: { type: 'string' },
  file: { type: 'string' },
  token: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
} as const;

type OptionName = keyof typeof OPTIONS;
type Values = {
  readonly [Name in OptionName]?: (typeof OPTIONS)[Name]['type'] extends 'boolean' ? boolean : string;
};

/** How long `learn` listens. The maximum is a week. */
const DEFAULT_MINUTES = '5';
const MAX_MINUTES = 10_080;

const SERVICE_ACTIONS = ['install', 'uninstall', 'status'] as const;

const MAX_NOTE = 200;
const MAX_SILENCE_MS = 30 * 86_400_000;
const MIN_SINCE_MS = 3_600_000;
const TIME_FORMS = {
  wait: 'a time such as 500ms, 20s, 1m or a number of seconds',
  since: 'a time of an hour or more such as 24h, 7d or 30d',
};

/** The role with the fewest rights: more must be requested explicitly. */
const DEFAULT_ROLE: Role = 'metrics';

const SERVE_OPTIONS: readonly OptionName[] = ['upstream', 'listen', 'monitor', 'config'];
const SELECT_OPTIONS: readonly OptionName[] = ['control', 'pid', 'config'];

/** The flags of each command, and what it makes of its own ones. `serve` is the program without a command. */
const COMMANDS = {
  serve: define(SERVE_OPTIONS),
  check: define([...SERVE_OPTIONS, 'as', 'connect'], ({ as, connect }) => ({ as, connects: connect === true })),
  learn: define([...SERVE_OPTIONS, 'minutes'], ({ minutes }) => ({ minutes: parseMinutes(minutes) })),
  demo: define([]),
  health: define([...SELECT_OPTIONS, 'ready', 'monitor'], (values) => ({
    checksReadiness: values.ready === true,
    /** The monitoring port to ask, instead of the control socket. */
    monitor: parseMonitor(values),
  })),
  report: define([...SELECT_OPTIONS, 'out', 'with-users'], (values) => ({
    /** Path of a new file; undefined: the report is printed. */
    file: values.out,
    includesUsers: values['with-users'] === true,
  })),
  drain: define([...SELECT_OPTIONS, 'wait'], ({ wait = '0' }) => ({ waitMs: parseTime('wait', wait, 0) })),
  reload: define(SELECT_OPTIONS),
  shutdown: define(SELECT_OPTIONS),
  threads: define(SELECT_OPTIONS),
  verdict: define(SELECT_OPTIONS),
  note: define(SELECT_OPTIONS, parseNote),
  alerts: define(SELECT_OPTIONS, parseAlerts),
  silence: define(SELECT_OPTIONS, parseSilence),
  history: define(SELECT_OPTIONS, parseHistory),
  summary: define([...SELECT_OPTIONS, 'since'], ({ since = '7d' }) => ({
    sinceMs: parseTime('since', since, MIN_SINCE_MS),
  })),
  top: define([...SELECT_OPTIONS, 'once'], ({ once }) => ({ isOnce: once === true })),
  passwd: define(['role', 'file', 'token'], parsePasswd),
  print: define([], (_, words) => ({ name: oneOf(PRINTED, 'print', words) })),
  service: define(['config'], (_, words) => ({ action: oneOf(SERVICE_ACTIONS, 'service', words) })),
};

type CommandName = keyof typeof COMMANDS;

const TAKE_WORDS: readonly CommandName[] = ['passwd', 'print', 'service', 'note', 'history', 'alerts', 'silence'];

/** The arguments of a command, e.g. `FlagsOf<'report'>`. */
export type FlagsOf<Name extends CommandName> = { readonly flags: Selection } & Readonly<
  ReturnType<(typeof COMMANDS)[Name]['parse']>
>;

/** Carries out a command, and resolves to its exit code. If it asks a running sidecar, it throws like `askSidecar`. */
export type Run<Name extends CommandName> = (
  command: FlagsOf<Name>,
  env: Environment,
  output: Output,
) => Promise<number>;

export type Command =
  | { readonly kind: 'help' | 'version' }
  | { [Name in CommandName]: { readonly kind: Name } & FlagsOf<Name> }[CommandName];

function define<T = object>(
  options: readonly OptionName[],
  parse: (values: Values, words: readonly string[]) => T = () => ({}) as T,
) {
  return { options, parse };
}

/** `argv` without node and script. Throws ConfigError for anything that the help does not list. */
export function parseCommandLine(argv: readonly string[]): Command {
  const parsed = parseArgs({ args: [...argv], options: OPTIONS, strict: false, allowPositionals: true, tokens: true });
  const flags = parsed.tokens.filter((token) => token.kind === 'option');
  for (const { name, rawName } of flags) if (!Object.hasOwn(OPTIONS, name)) throw describeUnknownFlag(name, rawName);
  const values = parsed.values as Values;
  const [word, ...rest] = parsed.positionals;
  if (values.help || (!values.version && word === 'help' && rest.length === 0)) return { kind: 'help' };
  if (values.version) return { kind: 'version' };
  const kind = word === undefined ? 'serve' : findCommand(word);
  checkFlags(flags as readonly FlagToken[], kind);
  if (kind === undefined) throw new ConfigError(describeUnknown(word ?? ''));
  if (rest.length > 0 && !TAKE_WORDS.includes(kind))
    throw new ConfigError(`${kind}: unexpected argument ${quote(rest[0] ?? '')}, expected flags only`);
  return { kind, flags: select(values), ...COMMANDS[kind].parse(values, rest) } as Command;
}

function describeUnknownFlag(name: string, written: string): ConfigError {
  const near = nearest(name, Object.keys(OPTIONS));
  const hint = near === undefined ? '--help lists them all' : `did you mean --${near}?`;
  return new ConfigError(`${quote(written)}: unknown flag, ${hint}`);
}

interface FlagToken {
  readonly name: OptionName;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

/** `kind`: undefined for a command that is unknown. */
function checkFlags(flags: readonly FlagToken[], kind: CommandName | undefined): void {
  const seen = new Set<OptionName>();
  for (const { name, value, inlineValue } of flags) {
    if (kind !== undefined && !COMMANDS[kind].options.includes(name)) throw new ConfigError(describeStray(name, kind));
    if (OPTIONS[name].type === 'boolean') {
      if (value !== undefined) throw new ConfigError(`--${name}: takes no value`);
      continue;
    }
    // Without this check, --listen --monitor :1 would listen on "--monitor".
    if (value === undefined || value === '' || (value.startsWith('-') && inlineValue !== true)) {
      throw new ConfigError(`--${name}: missing value`);
    }
    if (seen.has(name)) throw new ConfigError(`--${name}: given twice, expected once`);
    seen.add(name);
  }
}

function describeStray(flag: OptionName, kind: CommandName): string {
  const describe = (command: string) => (command === 'serve' ? 'd2-sidecar without a command' : command);
  const owners = Object.entries(COMMANDS).filter(([, { options }]) => options.includes(flag));
  const list = owners.map(([owner]) => describe(owner)).join(', ');
  return `--${flag}: not a flag of ${describe(kind)}; it belongs to ${list}`;
}

/** Never repeats a word in a message: a superfluous one may be the password. */
function parsePasswd({ role = DEFAULT_ROLE, token, file }: Values, words: readonly string[]) {
  const [name, ...rest] = words;
  if (name === undefined || rest.length > 0 || !isName(name)) {
    throw new ConfigError(`passwd: expected ${NAME_FORM}, and nothing else; the password comes from standard input`);
  }
  if (!isRole(role)) throw new ConfigError(`--role: got ${quote(role)}, expected ${ROLES.join(' or ')}`);
  // Without `file`, the line is printed.
  return { name, role, isToken: token === true, file };
}

function parseNote(_: Values, words: readonly string[]) {
  const text = words.join(' ').trim();
  if (text.length > 0 && text.length <= MAX_NOTE) return { text };
  throw new ConfigError(`note: got ${text.length} characters, expected a text of 1 to ${MAX_NOTE}, e.g. "index added"`);
}

function parseAlerts(_: Values, words: readonly string[]) {
  if (words.join(' ') === 'test') return {};
  throw new ConfigError('alerts: expected "alerts test"');
}

/** 0 ms: the silence ends. */
function parseSilence(_: Values, [time = '', ...words]: readonly string[]) {
  const text = words.join(' ').trim();
  if (time === 'off' && text === '') return { ms: 0, text };
  const ms = parseDurationMs(time) ?? 0;
  if (ms > 0 && ms <= MAX_SILENCE_MS && text.length <= MAX_NOTE) return { ms, text };
  throw new ConfigError(
    `silence: expected a time of at most 30d and a text of at most ${MAX_NOTE} characters, e.g. 2h "index build", or off`,
  );
}

function parseHistory(_: Values, [word, file, ...rest]: readonly string[]) {
  if (word === 'backup' && file !== undefined && rest.length === 0) return { file };
  throw new ConfigError('history: expected "history backup FILE", with the path of a new file');
}

function oneOf<Word extends string>(known: readonly Word[], command: string, words: readonly string[]): Word {
  const text = words.join(' ');
  const found = known.find((one) => one === text);
  if (found !== undefined) return found;
  throw new ConfigError(`${command}: got ${quote(text)}, expected one of ${known.join(', ')}`);
}

function select({ upstream, listen, monitor, config, control, pid }: Values): Selection {
  if (control !== undefined && pid !== undefined)
    throw new ConfigError('--control and --pid: got both, expected one of them');
  return { upstream, listen, monitor, config, control, pid: pid === undefined ? undefined : parsePid(pid) };
}

function parseMonitor({ monitor, control, pid, config }: Values): HostPort | undefined {
  if (monitor === undefined) return undefined;
  if ((control ?? pid ?? config) !== undefined)
    throw new ConfigError('--monitor: cannot be combined with --control, --pid or --config');
  const address = parseHostPort(monitor);
  if (address === undefined) throw new ConfigError(`--monitor: got ${quote(monitor)}, expected ${HOST_PORT_FORMS}`);
  return { host: '127.0.0.1', ...address };
}

function findCommand(word: string): CommandName | undefined {
  return word !== 'serve' && Object.hasOwn(COMMANDS, word) ? (word as CommandName) : undefined;
}

function describeUnknown(word: string): string {
  const known = Object.keys(COMMANDS).filter((name) => name !== 'serve');
  const near = nearest(word, known);
  const hint = near === undefined ? `expected one of ${known.join(', ')}, or flags only` : `did you mean ${near}?`;
  return `${quote(word)}: unknown command, ${hint}`;
}

function parsePid(text: string): number {
  if (/^[1-9]\d{0,9}$/.test(text)) return Number(text);
  throw new ConfigError(
    `--pid: got ${quote(text)}, expected the process id of a running sidecar, a whole number from 1`,
  );
}

function parseTime(flag: 'wait' | 'since', text: string, minMs: number): number {
  const ms = parseDurationMs(text);
  if (ms !== undefined && ms >= minMs) return ms;
  throw new ConfigError(`--${flag}: got ${quote(text)}, expected ${TIME_FORMS[flag]}`);
}

function parseMinutes(text = DEFAULT_MINUTES): number {
  const minutes = /^\d{1,5}(?:\.\d{1,3})?$/.test(text) ? Number(text) : 0;
  if (minutes > 0 && minutes <= MAX_MINUTES) return minutes;
  throw new ConfigError(`--minutes: got ${quote(text)}, expected a number such as 5 or 0.5, of at most ${MAX_MINUTES}`);
}

/** The typed text on one line, without the part of an address that may be a password. */
function quote(text: string): string {
  return JSON.stringify(text.replace(/^.*@/s, '[hidden]@').slice(0, 80));
}
