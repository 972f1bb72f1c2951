/** How one direction compresses, RFC 7692 §7.1. */
export interface DeflateParameters {
  /** Messages may refer back to earlier ones. */
  readonly contextTakeover: boolean;
  /** Base-2 logarithm of the window, 8 to 15; 15 unless less was agreed. */
  readonly windowBits: number;
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const PERMESSAGE_DEFLATE = 'permessage-deflate';
const NO_CONTEXT_TAKEOVER = /^(?:client|server)_no_context_takeover$/;
const MAX_BITS = /^(?:client|server)_max_window_bits$/;
const WINDOW_BITS = /^(?:[89]|1[0-5])$/;
const MAX_WINDOW_BITS = 15;
/** Extensions, empty members included, or parameters of one: four are defined, and a second extension is unknown. */
const MAX_MEMBERS = 16;

/**
 * Parses the Sec-WebSocket-Extensions fields of a 101, e.g. `['permessage-deflate; client_max_window_bits=12']`; none,
 * or empty ones, mean no extension: then `deflate` is absent. `unknown` for everything else: it may give payloads any
 * meaning. RFC 6455 §9.1, RFC 7692 §7.1.
 */
export function parseExtensions(values: readonly string[]) {
  // No value of permessage-deflate has a comma or semicolon, even quoted: a part of such a value is not a token.
  const members = values.join(',').split(',', MAX_MEMBERS + 1);
  const extensions = members.filter((extension) => extension.trim() !== '');
  const [extension] = extensions;
  if (members.length > MAX_MEMBERS || extensions.length > 1) return 'unknown';
  if (extension === undefined) return {};
  const [name = '', ...written] = extension.split(';', MAX_MEMBERS).map((part) => part.trim());
  const parameters = parseParameters(written);
  if (name.toLowerCase() !== PERMESSAGE_DEFLATE || parameters === undefined) return 'unknown';
  const isMissing = (side: string): boolean => !parameters.has(`${side}_no_context_takeover`);
  const bits = (side: string): number => Number(parameters.get(`${side}_max_window_bits`) ?? MAX_WINDOW_BITS);
  return {
    deflate: {
      client: { contextTakeover: isMissing('client'), windowBits: bits('client') },
      upstream: { contextTakeover: isMissing('server'), windowBits: bits('server') },
    },
  };
}

/** `undefined` if one is unknown, comes twice, or has a value that it cannot have in an answer. */
function parseParameters(written: readonly string[]): ReadonlyMap<string, string> | undefined {
  const parameters = new Map<string, string>();
  for (const parameter of written) {
    const equals = parameter.indexOf('=');
    const name = (equals < 0 ? parameter : parameter.slice(0, equals)).trim().toLowerCase();
    const value = equals < 0 ? undefined : unquoted(parameter.slice(equals + 1).trim());
    if (parameters.has(name) || !isParameter(name, value)) return undefined;
    parameters.set(name, value ?? '');
  }
  return parameters;
}

/** A client may offer its own window without a value; an answer must have one (§7.1.2.2). */
function isParameter(name: string, value: string | undefined): boolean {
  if (NO_CONTEXT_TAKEOVER.test(name)) return value === undefined;
  return MAX_BITS.test(name) && value !== undefined && WINDOW_BITS.test(value);
}

/** A quoted value must be a token once its quotes are removed (RFC 6455 §9.1). */
function unquoted(value: string): string {
  const inner = value.startsWith('"') && value.endsWith('"') && value.length > 2 ? value.slice(1, -1) : value;
  return TOKEN.test(inner) ? inner : '';
}
