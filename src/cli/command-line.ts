/**
 * Parses the command line into a command. Scripts rely on these commands and flags, so they are a contract. The folder
 * cli/ has the commands and their shared parts; only main.ts and program.ts import it. It must not know how traffic is relayed or
 * measured.
 */
import { parseArgs } from 'node:util';
import { ConfigError } from '../base/errors.ts';
import type { HostPort } from '../config/config.ts';
import { toDurationMs } from '../config/duration.ts';
import { HOST_PORT_FORMS, parseHostPort } from '../config/host-port.ts';
import type { ConfigFlags } from '../config/load-config.ts';
import { nearest } from '../config/nearest.ts';
import { isName, isRole, NAME_FORM, ROLES, type Role } from '../monitor/access/reader.ts';

/** Selects the running sidecar that a command is for; see cli/control/find-sidecar.ts. */
export interface SidecarSelection extends ConfigFlags {
  readonly control?: string;
  readonly pid?: number;
}

export type Command =
  | { readonly kind: 'help' | 'version' | 'demo' }
  | { readonly kind: 'serve'; readonly flags: ConfigFlags }
  | { readonly kind: 'check'; readonly flags: ConfigFlags; readonly as: string | undefined; readonly connects: boolean }
  | { readonly kind: 'learn'; readonly flags: ConfigFlags; readonly minutes: number }
  | { readonly kind: 'drain'; readonly flags: SidecarSelection; readonly waitMs: number }
  | { readonly kind: 'reload'; readonly flags: SidecarSelection }
  | { readonly kind: 'shutdown'; readonly flags: SidecarSelection }
  | { readonly kind: 'threads'; readonly flags: SidecarSelection }
  | { readonly kind: 'verdict'; readonly flags: SidecarSelection }
  | { readonly kind: 'top'; readonly flags: SidecarSelection; readonly isOnce: boolean }
  | {
      readonly kind: 'health';
      readonly selection: SidecarSelection;
      readonly checksReadiness: boolean;
      /** The monitoring port to ask, instead of the control socket. */
      readonly monitor: HostPort | undefined;
    }
  | {
      readonly kind: 'report';
      readonly flags: SidecarSelection;
      /** Path of a new file; undefined: the report is printed. */
      readonly file: string | undefined;
      readonly includesUsers: boolean;
    }
  | {
      readonly kind: 'passwd';
      readonly name: string;
      readonly role: Role;
      readonly isToken: boolean;
      /** The file that gets the line; undefined: the line is printed. */
      readonly file: string | undefined;
    };

/** The arguments of a command, e.g. `FlagsOf<'report'>`. */
export type FlagsOf<Kind extends Command['kind']> = Omit<Extract<Command, { readonly kind: Kind }>, 'kind'>;

type CommandName = Exclude<Command['kind'], 'help' | 'version'>;

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
  role: { type: 'string' },
  file: { type: 'string' },
  token: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
} as const;

type OptionName = keyof typeof OPTIONS;

const SERVE_OPTIONS: readonly OptionName[] = ['upstream', 'listen', 'monitor', 'config'];

const OPTIONS_OF: Readonly<Record<CommandName, readonly OptionName[]>> = {
  serve: SERVE_OPTIONS,
  check: [...SERVE_OPTIONS, 'as', 'connect'],
  learn: [...SERVE_OPTIONS, 'minutes'],
  demo: [],
  health: ['ready', 'control', 'pid', 'config', 'monitor'],
  report: ['out', 'with-users', 'control', 'pid', 'config'],
  drain: ['control', 'pid', 'config', 'wait'],
  reload: ['control', 'pid', 'config'],
  shutdown: ['control', 'pid', 'config'],
  threads: ['control', 'pid', 'config'],
  verdict: ['control', 'pid', 'config'],
  top: ['once', 'control', 'pid', 'config'],
  passwd: ['role', 'file', 'token'],
};

/** How long `learn` listens. The maximum is a week. */
const DEFAULT_MINUTES = 5;
const MAX_MINUTES = 10_080;

/** The role with the fewest rights: more must be requested explicitly. */
const DEFAULT_ROLE: Role = 'metrics';

/** `argv` without node and script. Throws ConfigError for anything that the help does not list. */
export function parseCommandLine(argv: readonly string[]): Command {
  const { words, values, wantsHelp, wantsVersion } = readTokens(argv);
  if (wantsHelp) return { kind: 'help' };
  if (wantsVersion) return { kind: 'version' };
  const [word, ...rest] = words;
  if (word === 'help' && rest.length === 0) return { kind: 'help' };
  const name = word === undefined ? 'serve' : toCommandName(word);
  if (rest.length > 0 && name !== 'passwd')
    throw new ConfigError(`${name}: unexpected argument ${quote(rest[0] ?? '')}, expected flags only`);
  const allowed = OPTIONS_OF[name];
  const stray = [...values.keys()].find((option) => !allowed.includes(option));
  if (stray !== undefined) {
    const owners = Object.entries(OPTIONS_OF).filter(([, options]) => options.includes(stray));
    throw new ConfigError(
      `--${stray}: not a flag of ${name === 'serve' ? 'd2-sidecar without a command' : name}; it belongs to ${owners
        .map(([owner]) => (owner === 'serve' ? 'd2-sidecar without a command' : owner))
        .join(', ')}`,
    );
  }
  return name === 'passwd' ? toPasswd(rest, values) : toCommand(name, values);
}

/** Never repeats a word in a message: a superfluous one may be the password. */
function toPasswd(words: readonly string[], values: ReadonlyMap<OptionName, string>): Command {
  const [name, ...rest] = words;
  if (name === undefined || rest.length > 0 || !isName(name)) {
    throw new ConfigError(`passwd: expected ${NAME_FORM}, and nothing else; the password comes from standard input`);
  }
  const role = values.get('role') ?? DEFAULT_ROLE;
  if (!isRole(role)) throw new ConfigError(`--role: got ${quote(role)}, expected ${ROLES.join(' or ')}`);
  return { kind: 'passwd', name, role, isToken: values.has('token'), file: values.get('file') };
}

function toCommand(name: Exclude<CommandName, 'passwd'>, values: ReadonlyMap<OptionName, string>): Command {
  const flags = Object.fromEntries(
    SERVE_OPTIONS.flatMap((option) => (values.has(option) ? [[option, values.get(option)]] : [])),
  );
  if (name === 'demo') return { kind: 'demo' };
  if (name === 'serve') return { kind: name, flags };
  if (name === 'check') return { kind: name, flags, as: values.get('as'), connects: values.has('connect') };
  if (name === 'health') return toHealth(values);
  if (name === 'learn') return { kind: name, flags, minutes: toMinutes(values.get('minutes')) };
  const selection = toSidecarSelection(values);
  if (name === 'reload' || name === 'shutdown' || name === 'threads' || name === 'verdict')
    return { kind: name, flags: selection };
  if (name === 'top') return { kind: name, flags: selection, isOnce: values.has('once') };
  if (name === 'report')
    return { kind: name, flags: selection, file: values.get('out'), includesUsers: values.has('with-users') };
  return { kind: 'drain', flags: selection, waitMs: toWaitMs(values.get('wait') ?? '0') };
}

function toSidecarSelection(values: ReadonlyMap<OptionName, string>): SidecarSelection {
  const [control, pid, config] = [values.get('control'), values.get('pid'), values.get('config')];
  if (control !== undefined && pid !== undefined)
    throw new ConfigError('--control and --pid: got both, expected one of them');
  return {
    ...(config === undefined ? {} : { config }),
    ...(control === undefined ? {} : { control }),
    ...(pid === undefined ? {} : { pid: toPid(pid) }),
  };
}

function toHealth(values: ReadonlyMap<OptionName, string>): Command {
  const selection = toSidecarSelection(values);
  const text = values.get('monitor');
  const health = { kind: 'health', selection, checksReadiness: values.has('ready') } as const;
  if (text === undefined) return { ...health, monitor: undefined };
  if (Object.keys(selection).length > 0)
    throw new ConfigError('--monitor: cannot be combined with --control, --pid or --config');
  const address = parseHostPort(text);
  if (address === undefined) throw new ConfigError(`--monitor: got ${quote(text)}, expected ${HOST_PORT_FORMS}`);
  const { host = '127.0.0.1', port } = address;
  return { ...health, monitor: { host, port } };
}

function readTokens(argv: readonly string[]) {
  const { tokens } = parseArgs({
    args: [...argv],
    options: OPTIONS,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const words: string[] = [];
  const values = new Map<OptionName, string>();
  let wantsHelp = false;
  let wantsVersion = false;
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value);
    if (token.kind !== 'option') continue;
    const { name, value, inlineValue, rawName } = token;
    if (!isOptionName(name)) {
      const near = nearest(name, Object.keys(OPTIONS));
      throw new ConfigError(
        `${quote(rawName)}: unknown flag${near === undefined ? ', --help lists them all' : `, did you mean --${near}?`}`,
      );
    }
    if (OPTIONS[name].type === 'boolean') {
      if (value !== undefined) throw new ConfigError(`--${name}: takes no value`);
      if (name === 'help') wantsHelp = true;
      else if (name === 'version') wantsVersion = true;
      else values.set(name, '');
      continue;
    }
    // Without this check, --listen --monitor :1 would listen on "--monitor".
    if (value === undefined || value === '' || (value.startsWith('-') && inlineValue !== true)) {
      throw new ConfigError(`--${name}: missing value`);
    }
    if (values.has(name)) throw new ConfigError(`--${name}: given twice, expected once`);
    values.set(name, value);
  }
  return { words, values, wantsHelp, wantsVersion };
}

function isOptionName(name: string): name is OptionName {
  return Object.hasOwn(OPTIONS, name);
}

function toCommandName(word: string): CommandName {
  if (word !== 'serve' && Object.hasOwn(OPTIONS_OF, word)) return word as CommandName;
  const known = Object.keys(OPTIONS_OF).filter((name) => name !== 'serve');
  const near = nearest(word, known);
  const hint = near === undefined ? `expected one of ${known.join(', ')}, or flags only` : `did you mean ${near}?`;
  throw new ConfigError(`${quote(word)}: unknown command, ${hint}`);
}

function toPid(text: string): number {
  if (/^[1-9]\d{0,9}$/.test(text)) return Number(text);
  throw new ConfigError(
    `--pid: got ${quote(text)}, expected the process id of a running sidecar, a whole number from 1`,
  );
}

function toWaitMs(text: string): number {
  const ms = toDurationMs(text);
  if (ms !== undefined) return ms;
  throw new ConfigError(`--wait: got ${quote(text)}, expected a time such as 500ms, 20s, 1m or a number of seconds`);
}

function toMinutes(text: string | undefined): number {
  if (text === undefined) return DEFAULT_MINUTES;
  const minutes = /^\d{1,5}(?:\.\d{1,3})?$/.test(text) ? Number(text) : 0;
  if (minutes > 0 && minutes <= MAX_MINUTES) return minutes;
  throw new ConfigError(`--minutes: got ${quote(text)}, expected a number such as 5 or 0.5, of at most ${MAX_MINUTES}`);
}

/** The typed text on one line, without the part of an address that may be a password. */
function quote(text: string): string {
  return JSON.stringify(text.replace(/^.*@/s, '[hidden]@').slice(0, 80));
}
