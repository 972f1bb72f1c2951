/**
 * The paths of `rest.deny`, which only clients on loopback may request. Servers differ in how they read a path. A
 * target is therefore denied if any reading of it lies at or below a denied path: escapes, path parameters, empty and
 * dot segments, backslashes, absolute form.
 */
import { decodeText, toRawPath } from './path.ts';

export class DeniedPaths {
  /** As on the wire, in latin1: `['/manager']`. */
  readonly #paths: readonly string[];
  readonly #segments: readonly (readonly string[])[];

  private constructor(paths: readonly string[]) {
    this.#segments = paths.map((path) => toWireText(path).split('/').filter(Boolean));
    this.#paths = this.#segments.map((segments) => `/${segments.join('/')}`);
  }

  /** Undefined for an empty list, so that the data plane has no check to make. */
  static of(paths: readonly string[]): DeniedPaths | undefined {
    return paths.length === 0 ? undefined : new DeniedPaths(paths);
  }

  /** `target` as sent, in latin1; `remoteAddress` is the socket's. */
  denies(target: string, remoteAddress: string): boolean {
    if (LOOPBACK.test(remoteAddress)) return false;
    const queryAt = target.indexOf('?');
    const path = queryAt < 0 ? target : target.slice(0, queryAt);
    if (path.charCodeAt(0) === SLASH && !IRREGULAR.test(path)) return this.#deniesRegular(path);
    return AMBIGUOUS.test(path) ? this.#deniesAmbiguous(path) : this.#deniesDecoded(path);
  }

  #deniesRegular(path: string): boolean {
    for (const denied of this.#paths) if (isBelow(path, denied)) return true;
    return false;
  }

  #deniesDecoded(path: string): boolean {
    const segments = decodeBytes(toRawPath(path) ?? path)
      .split('/')
      .filter((segment) => segment !== '' && segment !== '.');
    return this.#segments.some((denied) => denied.every((segment, index) => segment === segments[index]));
  }

  /**
   * Servers differ on what `..` removes and on what separates segments. In every reading, the remaining segments are a
   * subsequence of these, so a denied path that is a subsequence is denied.
   */
  #deniesAmbiguous(path: string): boolean {
    const segments = decodeBytes(path).split(SEPARATORS);
    return this.#segments.some((denied) => {
      let found = 0;
      for (const segment of segments) if (segment === denied[found]) found += 1;
      return found === denied.length;
    });
  }
}

function isBelow(path: string, denied: string): boolean {
  return path.startsWith(denied) && (path.length === denied.length || path.charCodeAt(denied.length) === SLASH);
}

/** Decodes each escape separately: a broken one must not prevent the decoding of the others. */
function decodeBytes(path: string): string {
  return path.replace(ESCAPE, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** A path of the configuration as its UTF-8 bytes, one latin1 character for each. */
function toWireText(path: string): string {
  return Buffer.from(decodeText(path), 'utf8').toString('latin1');
}

const SLASH = 0x2f;
const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/i;
/** A path that begins with a slash and has none of these reads the same everywhere. */
const IRREGULAR = /[%;\\]|\/[/.]/;
/** `..`, and separators that some servers decode and others do not. */
const AMBIGUOUS = /\\|%(?:2f|3b|5c)|(?:\.|%2e){2}/i;
const SEPARATORS = /[/\\;]/;
const ESCAPE = /%([0-9a-f]{2})/gi;
