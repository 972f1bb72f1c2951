/**
 * Parses the command line into a command. Scripts rely on these commands and flags, so they are a contract. The folder
 * cli/ has the commands and their shared parts; only main.ts and program.ts import it. It must not know how traffic is relayed or
 * measured.
 */
import { parseArgs } from 'node:util';
import { ConfigError } from '../base/errors.ts';
import type { HostPort } from '../config/config.ts';
import { parseDurationMs } from '../config/duration.ts';
import { HOST_PORT_FORMS, parseHostPort } from '../config/host-port.ts';
import type { ConfigFlags } from '../config/load-config.ts';
import { nearest } from '../config/nearest.ts';
import { isName, isRole, NAME_FORM, ROLES, type Role } from '../monitor/access/reader.ts';

/** Selects the running sidecar that a command is for; see cli/control/find-sidecar.ts. */
export interface SidecarSelection extends ConfigFlags {
  readonly control?: string | undefined;
  readonly pid?: number | undefined;
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
      readonly flags: SidecarSelection;
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
type Values = {
  readonly [Name in OptionName]?: (typeof OPTIONS)[Name]['type'] extends 'boolean' ? boolean : string;
};

const SERVE_OPTIONS: readonly OptionName[] = ['upstream', 'listen', 'monitor', 'config'];
const SELECT_OPTIONS: readonly OptionName[] = ['control', 'pid', 'config'];

const OPTIONS_OF: Readonly<Record<CommandName, readonly OptionName[]>> = {
  serve: SERVE_OPTIONS,
  check: [...SERVE_OPTIONS, 'as', 'connect'],
  learn: [...SERVE_OPTIONS, 'minutes'],
  demo: [],
  health: [...SELECT_OPTIONS, 'ready', 'monitor'],
  report: [...SELECT_OPTIONS, 'out', 'with-users'],
  drain: [...SELECT_OPTIONS, 'wait'],
  reload: SELECT_OPTIONS,
  shutdown: SELECT_OPTIONS,
  threads: SELECT_OPTIONS,
  verdict: SELECT_OPTIONS,
  top: [...SELECT_OPTIONS, 'once'],
  passwd: ['role', 'file', 'token'],
};

/** How long `learn` listens. The maximum is a week. */
const DEFAULT_MINUTES = 5;
const MAX_MINUTES = 10_080;

/** The role with the fewest rights: more must be requested explicitly. */
const DEFAULT_ROLE: Role = 'metrics';

/** `argv` without node and script. Throws ConfigError for anything that the help does not list. */
export function parseCommandLine(argv: readonly string[]): Command {
  const { words, values } = parseWords(argv);
  const [word, ...rest] = words;
  if (values.help || (!values.version && word === 'help' && rest.length === 0)) return { kind: 'help' };
  if (values.version) return { kind: 'version' };
  const name = word === undefined ? 'serve' : parseCommandName(word);
  if (rest.length > 0 && name !== 'passwd')
    throw new ConfigError(`${name}: unexpected argument ${quote(rest[0] ?? '')}, expected flags only`);
  const stray = (Object.keys(values) as OptionName[]).find((option) => !OPTIONS_OF[name].includes(option));
  if (stray === undefined) return name === 'passwd' ? createPasswd(rest, values) : createCommand(name, values);
  const describe = (command: string) => (command === 'serve' ? 'd2-sidecar without a command' : command);
  const owners = Object.entries(OPTIONS_OF).filter(([, options]) => options.includes(stray));
  throw new ConfigError(
    `--${stray}: not a flag of ${describe(name)}; it belongs to ${owners.map(([owner]) => describe(owner)).join(', ')}`,
  );
}

/** Never repeats a word in a message: a superfluous one may be the password. */
function createPasswd(words: readonly string[], { role = DEFAULT_ROLE, token, file }: Values): Command {
  const [name, ...rest] = words;
  if (name === undefined || rest.length > 0 || !isName(name)) {
    throw new ConfigError(`passwd: expected ${NAME_FORM}, and nothing else; the password comes from standard input`);
  }
  if (!isRole(role)) throw new ConfigError(`--role: got ${quote(role)}, expected ${ROLES.join(' or ')}`);
  return { kind: 'passwd', name, role, isToken: token === true, file };
}

function createCommand(kind: Exclude<CommandName, 'passwd'>, values: Values): Command {
  const { upstream, listen, monitor, config } = values;
  const flags = { upstream, listen, monitor, config };
  switch (kind) {
    case 'demo':
      return { kind };
    case 'serve':
      return { kind, flags };
    case 'check':
      return { kind, flags, as: values.as, connects: values.connect === true };
    case 'learn':
      return { kind, flags, minutes: parseMinutes(values.minutes) };
    case 'health':
      return { kind, flags: select(values), checksReadiness: values.ready === true, monitor: parseMonitor(values) };
    case 'report':
      return { kind, flags: select(values), file: values.out, includesUsers: values['with-users'] === true };
    case 'drain':
      return { kind, flags: select(values), waitMs: parseWait(values.wait ?? '0') };
    case 'top':
      return { kind, flags: select(values), isOnce: values.once === true };
    default:
      return { kind, flags: select(values) };
  }
}

function select({ control, pid, config }: Values): SidecarSelection {
  if (control !== undefined && pid !== undefined)
    throw new ConfigError('--control and --pid: got both, expected one of them');
  return { config, control, pid: pid === undefined ? undefined : parsePid(pid) };
}

function parseMonitor({ monitor, control, pid, config }: Values): HostPort | undefined {
  if (monitor === undefined) return undefined;
  if ((control ?? pid ?? config) !== undefined)
    throw new ConfigError('--monitor: cannot be combined with --control, --pid or --config');
  const address = parseHostPort(monitor);
  if (address === undefined) throw new ConfigError(`--monitor: got ${quote(monitor)}, expected ${HOST_PORT_FORMS}`);
  return { host: '127.0.0.1', ...address };
}

function parseWords(argv: readonly string[]): { readonly words: readonly string[]; readonly values: Values } {
  const parsed = parseArgs({ args: [...argv], options: OPTIONS, strict: false, allowPositionals: true, tokens: true });
  const seen = new Set<OptionName>();
  for (const token of parsed.tokens) {
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
      continue;
    }
    // Without this check, --listen --monitor :1 would listen on "--monitor".
    if (value === undefined || value === '' || (value.startsWith('-') && inlineValue !== true)) {
      throw new ConfigError(`--${name}: missing value`);
    }
    if (seen.has(name)) throw new ConfigError(`--${name}: given twice, expected once`);
    seen.add(name);
  }
  return { words: parsed.positionals, values: parsed.values as Values };
}

function isOptionName(name: string): name is OptionName {
  return Object.hasOwn(OPTIONS, name);
}

function parseCommandName(word: string): CommandName {
  if (word !== 'serve' && Object.hasOwn(OPTIONS_OF, word)) return word as CommandName;
  const known = Object.keys(OPTIONS_OF).filter((name) => name !== 'serve');
  const near = nearest(word, known);
  const hint = near === undefined ? `expected one of ${known.join(', ')}, or flags only` : `did you mean ${near}?`;
  throw new ConfigError(`${quote(word)}: unknown command, ${hint}`);
}

function parsePid(text: string): number {
  if (/^[1-9]\d{0,9}$/.test(text)) return Number(text);
  throw new ConfigError(
    `--pid: got ${quote(text)}, expected the process id of a running sidecar, a whole number from 1`,
  );
}

function parseWait(text: string): number {
  const ms = parseDurationMs(text);
  if (ms !== undefined) return ms;
  throw new ConfigError(`--wait: got ${quote(text)}, expected a time such as 500ms, 20s, 1m or a number of seconds`);
}

function parseMinutes(text: string | undefined): number {
  if (text === undefined) return DEFAULT_MINUTES;
  const minutes = /^\d{1,5}(?:\.\d{1,3})?$/.test(text) ? Number(text) : 0;
  if (minutes > 0 && minutes <= MAX_MINUTES) return minutes;
  throw new ConfigError(`--minutes: got ${quote(text)}, expected a number such as 5 or 0.5, of at most ${MAX_MINUTES}`);
}

/** The typed text on one line, without the part of an address that may be a password. */
function quote(text: string): string {
  return JSON.stringify(text.replace(/^.*@/s, '[hidden]@').slice(0, 80));
}
