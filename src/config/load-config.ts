/**
 * Loads the configuration: flags override the environment, the environment the file, the file the defaults. The folder
 * config/ knows keys and values, but nothing of what they control; the rest of the program sees only `config.ts`.
 */
import { ConfigError, StartError } from '../base/errors.ts';
import { decodeText, describeFileError, readRegularFile } from '../base/trusted-file.ts';
import { buildConfig } from './config.ts';
import { CONFIG_VARIABLE, deleteRemovedKeys, type Environment, readEnvironment } from './environment.ts';
import { explainIssues, type Mistake } from './explain.ts';
import { formatHostPort, type GivenSocket, HOST_PORT_FORMS, isLoopback, isWithin, parseHostPort } from './host-port.ts';
import { configSchema, findConflicts, findStopConflicts } from './schema.ts';
import { choicesAt, listKeys } from './schema-walk.ts';
import { hideUrlSecrets } from './upstream-url.ts';
import { createGroup, formatKey, type Group, isGroup, type Layer, setAt, valueAt, Written } from './written.ts';
import { parseYaml } from './yaml-text.ts';

export interface ConfigFlags {
  /** `http://127.0.0.1:8080/smartWeb` */
  readonly upstream?: string | undefined;
  /** `0.0.0.0:8081`, `:8081`, `[::]:8081` or `8081` */
  readonly listen?: string | undefined;
  /** The same forms as `listen`. */
  readonly monitor?: string | undefined;
  readonly config?: string | undefined;
}

export interface ConfigSources {
  readonly flags: ConfigFlags;
  readonly env: Environment;
  /** Returns the text of a file. Default: `readRegularFile`, for a regular file of at most 16 MiB. */
  readonly readFile?: (path: string) => string | Promise<string>;
  /** Listening sockets of the process; they must agree with what is written. */
  readonly sockets?: readonly GivenSocket[];
}

export type LoadedConfig = Awaited<ReturnType<typeof loadConfig>>;

/**
 * Throws ConfigError (D2S_ERR_CONFIG) with one line for each problem: key, value and what was expected. Throws
 * StartError (D2S_ERR_CONFIG_FILE) if the file cannot be read. `parsed` is the same configuration by its keys; see
 * reload-config.ts. `warnings` are for the log: keys that are gone, and unknown environment variables with our prefix,
 * without their values.
 */
export async function loadConfig(sources: ConfigSources) {
  const { written, warnings, mistakes } = await gather(sources);
  const first = configSchema.safeParse(written.group);
  const found = first.success ? [] : explainIssues(first.error.issues, written);
  // Check the valid rest again, with defaults instead of the invalid keys, so that one run reports all problems.
  const paths = found.map(({ path }) => path);
  const parsed = first.success ? first : configSchema.safeParse(without(written.group, paths));
  const problems = [...mistakes, ...found];
  const wrong = problems.map(({ path }) => formatKey(path));
  // Skip conflicts of invalid keys: they have defaults here that nobody wrote.
  const broken = parsed.success
    ? [...findConflicts(parsed.data), ...findStopConflicts(parsed.data, written.group)]
    : [];
  const conflicts = broken.filter(({ keys }) => !keys.some((key) => wrong.some((path) => isRelated(key, path))));
  const lines = [...problems, ...conflicts].map(({ line }) => line);
  if (lines.length > 0 || !parsed.success) throw new ConfigError(lines.join('\n'));
  return { config: buildConfig(parsed.data), parsed: parsed.data, warnings };
}

/** Reads only `control.socket`, for commands to a running sidecar, and ignores mistakes in other keys. */
export async function loadControlSocket(sources: ConfigSources): Promise<string | undefined> {
  const { written } = await gather(sources);
  const parsed = configSchema.shape.control.safeParse(written.group.control);
  if (parsed.success) return parsed.data.socket;
  const issues = parsed.error.issues.map((issue) => ({ ...issue, path: ['control', ...issue.path] }));
  const lines = explainIssues(issues, written).map(({ line }) => line);
  throw new ConfigError(lines.join('\n'));
}

async function gather({ flags, env, readFile = readConfigFile, sockets = [] }: ConfigSources) {
  const written = new Written();
  const path = flags.config ?? (env[CONFIG_VARIABLE] || undefined);
  const environment = await readEnvironment(env);
  const layers = [...environment.layers];
  if (path !== undefined) layers.unshift({ group: await readGroup(path, readFile), origin: () => path });
  const removed = deleteRemovedKeys(layers);
  for (const layer of layers) {
    restoreWords(layer.group);
    written.add(layer);
  }
  const fromFlags = readFlags(flags);
  written.add(fromFlags.layer);
  const given = readSockets(sockets, written.group);
  written.add(given.layer);
  const warnings = [...environment.warnings, ...removed, ...given.warnings];
  return { written, warnings, mistakes: [...environment.mistakes, ...fromFlags.mistakes, ...given.mistakes] };
}

function readFlags(flags: ConfigFlags): { layer: Layer; mistakes: readonly Mistake[] } {
  const group = createGroup();
  const mistakes: Mistake[] = [];
  if (flags.upstream !== undefined) setAt(group, ['upstream', 'url'], flags.upstream);
  for (const name of ['listen', 'monitor'] as const) {
    const text = flags[name];
    if (text === undefined) continue;
    const address = parseHostPort(text);
    if (address === undefined) {
      const line = `--${name}: got ${JSON.stringify(hideUrlSecrets(text).slice(0, 80))}, expected ${HOST_PORT_FORMS}`;
      mistakes.push({ path: [name], line });
      continue;
    }
    if (address.host !== undefined) setAt(group, [name, 'host'], address.host);
    setAt(group, [name, 'port'], address.port);
  }
  return { layer: { group, origin: ([section]) => `--${section}` }, mistakes };
}

/** The address of a socket takes the place of the written one, within which it must be. */
function readSockets(sockets: readonly GivenSocket[], written: Group) {
  const group = createGroup();
  const mistakes: Mistake[] = [];
  const warnings: string[] = [];
  for (const { section, address } of sockets) {
    const { host, port } = isGroup(written[section]) ? written[section] : {};
    if (isWithin(address, { host: host === undefined ? undefined : String(host), port: Number(port ?? 0) })) {
      if (host !== undefined && isLoopback(address.host) && !isLoopback(String(host))) {
        warnings.push(
          `${section}.host: ${host}, but the socket from LISTEN_FDS is on ${formatHostPort(address)}: no other machine reaches it ` +
            'until ListenStream= of the .socket unit says the same (docs/install.md)',
        );
      }
      if (group[section] !== undefined) continue;
      setAt(group, [section, 'host'], address.host);
      setAt(group, [section, 'port'], address.port);
    } else {
      const line =
        `${section}: got the socket ${formatHostPort(address)} from LISTEN_FDS, but ${section}.host or ${section}.port says ` +
        'otherwise: expected the same address there and in ListenStream= of the .socket unit (docs/install.md)';
      mistakes.push({ path: [section], line });
    }
  }
  const layer: Layer = { group, origin: () => 'LISTEN_FDS' };
  return { layer, mistakes, warnings };
}

const MAX_FILE_BYTES = 16 * 1024 * 1024;

export async function readConfigFile(path: string): Promise<string> {
  return decodeText(await readRegularFile(path, MAX_FILE_BYTES));
}

async function readGroup(path: string, readFile: NonNullable<ConfigSources['readFile']>): Promise<Group> {
  let text: string;
  try {
    text = await readFile(path);
  } catch (cause) {
    throw new StartError('D2S_ERR_CONFIG_FILE', `${path} cannot be read: ${describeFileError(cause)}`, { cause });
  }
  const value = await parseYaml(text, path);
  if (value === null || value === undefined) return {};
  if (!isGroup(value))
    throw new ConfigError(`${path}: got ${Array.isArray(value) ? 'a list' : 'a single value'}, expected keys`);
  return value;
}

function without(value: unknown, paths: readonly (readonly PropertyKey[])[]): unknown {
  if (paths.some((path) => path.length === 0)) return undefined;
  const below = (step: PropertyKey) => paths.filter((path) => path[0] === step).map((path) => path.slice(1));
  // Drop invalid items of a list completely: without its invalid part, an item could break another rule.
  if (Array.isArray(value)) return value.filter((_, index) => below(index).length === 0);
  if (!isGroup(value)) return value;
  const entries = Object.entries(value).map(([name, inner]) => [name, without(inner, below(name))] as const);
  return Object.fromEntries(entries.filter(([, inner]) => inner !== undefined));
}

/** Whether both are the same key, or one is inside the other, which is a section or list. */
function isRelated(key: string, path: string): boolean {
  const [inner, outer] = key.length < path.length ? [path, key] : [key, path];
  return inner === outer || inner.startsWith(`${outer}.`) || inner.startsWith(`${outer}[`);
}

/** What YAML 1.1 reads as false or true, and tools such as Helm write as that. */
const WORDS: Readonly<Record<string, readonly string[] | undefined>> = { false: ['off', 'no'], true: ['on', 'yes'] };

/** Puts back the word that was written, e.g. `off` where `forwarded` is false; only where a key takes the word. */
export function restoreWords(group: Group): void {
  for (const { path } of listKeys()) {
    const value = valueAt(group, path);
    const words = typeof value === 'boolean' || typeof value === 'string' ? WORDS[`${value}`] : undefined;
    const word = words && choicesAt(path).find((choice) => words.includes(choice));
    if (word !== undefined) setAt(group, path, word);
  }
}
