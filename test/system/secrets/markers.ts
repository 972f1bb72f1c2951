/** Secrets that can be found again: a text for each place that can hold one, and a search for all in any encoding. */

/** Occurs nowhere else. */
const PREFIX = 'zQ7x';
/** Repeated, so that a secret that is cut at either end, or encoded in base64 at any offset, still contains a whole unit. */
const REPEATS = 4;
const MAX_PLACES = 36 * 35;

/** Encodings of bytes; compared in lower case. */
const FORMS: Readonly<Record<string, (bytes: Buffer) => string>> = {
  'as it is': (bytes) => bytes.toString('latin1').toLowerCase(),
  hex: (bytes) => bytes.toString('hex'),
  percent: (bytes) => toEscapes(bytes, '%', 2),
  'JSON escapes': (bytes) => toEscapes(bytes, '\\u', 4),
  octets: (bytes) => [...bytes].join(','),
};

const BASE64_LENGTH = 8;

interface Marker {
  readonly place: string;
  readonly bytes: Buffer;
}

/** Puts secrets into a text, e.g. `Cookie: «cookie»; x=base64(user:«password»)`. */
export type Fill = (text: string) => string;

export class Markers {
  readonly #markers: Marker[] = [];
  readonly #secrets = new Map<string, string>();
  /** Secrets not generated here, by place. */
  readonly #known: Marker[] = [];
  readonly #base64 = new Map<string, string>();

  get places(): readonly string[] {
    return [...this.#markers, ...this.#known].map(({ place }) => place);
  }

  /** A secret of 24 letters and digits for the place, the same at each call. */
  at(place: string): string {
    const known = this.#secrets.get(place);
    if (known !== undefined) return known;
    if (this.#markers.length === MAX_PLACES) throw new RangeError('too many places');
    const unit = `${PREFIX}${(36 + this.#markers.length).toString(36)}`;
    this.#markers.push({ place, bytes: Buffer.from(unit, 'latin1') });
    // Six bytes are eight characters, so that the repeated unit is the same eight at each of three offsets.
    for (const offset of [0, 1, 2]) {
      const turned = unit.slice(offset) + unit.slice(0, offset);
      this.#base64.set(Buffer.from(turned, 'latin1').toString('base64'), place);
    }
    this.#secrets.set(place, unit.repeat(REPEATS));
    return unit.repeat(REPEATS);
  }

  filling(prefix: string): Fill {
    return (text) =>
      text
        .replaceAll(/«([^»]*)»/g, (_, place: string) => this.at(`${prefix}${place}`))
        .replaceAll(/base64\(([^)]*)\)/g, (_, content: string) => Buffer.from(content).toString('base64'));
  }

  know(place: string, secret: string): void {
    this.#known.push({ place, bytes: Buffer.from(secret, 'utf8') });
  }

  /** Each secret that `text` holds, e.g. `client: password of HTTP Basic (base64)`. */
  leaksIn(text: string): string[] {
    const folded = text.toLowerCase();
    const leaks = Object.entries(FORMS).flatMap(([form, write]) => {
      const isThere = folded.includes(write(Buffer.from(PREFIX, 'latin1')));
      return [...(isThere ? this.#markers : []), ...this.#known]
        .filter(({ bytes }) => folded.includes(write(bytes)))
        .map(({ place }) => `${place} (${form})`);
    });
    return [...leaks, ...this.#leaksInBase64(text)];
  }

  #leaksInBase64(text: string): string[] {
    const places = new Set<string>();
    for (const [run] of text.matchAll(/[A-Za-z0-9+/]{8,}/g)) {
      for (let at = 0; at + BASE64_LENGTH <= run.length; at += 1) {
        const place = this.#base64.get(run.slice(at, at + BASE64_LENGTH));
        if (place !== undefined) places.add(place);
      }
    }
    for (const { place, bytes } of this.#known) if (text.includes(bytes.toString('base64'))) places.add(place);
    return [...places].map((place) => `${place} (base64)`);
  }
}

function toEscapes(bytes: Buffer, before: string, digits: number): string {
  return [...bytes].map((byte) => `${before}${byte.toString(16).padStart(digits, '0')}`).join('');
}
