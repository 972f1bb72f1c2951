/**
 * Secrets that can be found again: a text for each place where there may be one, and a search for all of them in whatever form
 * they may come out.
 */

/** Nothing else holds it. */
const PREFIX = 'zQ7x';
/** Also what is left of one that was cut short at either end, or turned into base64 at any offset, has a whole unit in it. */
const REPEATS = 4;

interface Needle {
  readonly place: string;
  readonly form: string;
  readonly text: string;
}

export class Markers {
  readonly #places: string[] = [];
  /** Compared with a text in lower case. */
  readonly #folded: Needle[] = [];
  readonly #exact: Needle[] = [];

  /** Places that have one, e.g. `client: password of HTTP Basic`. */
  get places(): readonly string[] {
    return this.#places;
  }

  /** A secret of 24 letters and digits for the place. */
  at(place: string): string {
    const unit = `${PREFIX}${(36 + this.#places.length).toString(36).padStart(2, '0').slice(-2)}`;
    if (this.#places.length >= 36 * 35) throw new RangeError('too many places');
    this.#places.push(place);
    const bytes = Buffer.from(unit, 'latin1');
    this.#addFolded(place, 'as it is', unit);
    this.#addFolded(place, 'hex', bytes.toString('hex'));
    this.#addFolded(place, 'percent', toEscapes(bytes, '%', 2));
    this.#addFolded(place, 'JSON escapes', toEscapes(bytes, '\\u', 4));
    this.#addFolded(place, 'octets', [...bytes].join(','));
    this.#addBase64(place, unit);
    return unit.repeat(REPEATS);
  }

  /** A secret that is what it is, e.g. a hash. */
  know(place: string, secret: string): void {
    this.#places.push(place);
    this.#exact.push({ place, form: 'as it is', text: secret });
    this.#addFolded(place, 'hex', Buffer.from(secret, 'utf8').toString('hex'));
  }

  /** Each secret that `text` holds, e.g. `client: password of HTTP Basic (base64)`. */
  leaksIn(text: string): string[] {
    const folded = text.toLowerCase();
    return [
      ...this.#folded.filter((needle) => folded.includes(needle.text)),
      ...this.#exact.filter((needle) => text.includes(needle.text)),
    ].map(({ place, form }) => `${place} (${form})`);
  }

  #addFolded(place: string, form: string, text: string): void {
    this.#folded.push({ place, form, text: text.toLowerCase() });
  }

  /** Six bytes are eight characters, so that the repeated unit is the same eight at each of three offsets. */
  #addBase64(place: string, unit: string): void {
    for (const offset of [0, 1, 2]) {
      const text = Buffer.from(unit.slice(offset) + unit.slice(0, offset), 'latin1').toString('base64');
      this.#exact.push({ place, form: 'base64', text });
    }
  }
}

function toEscapes(bytes: Buffer, before: string, digits: number): string {
  return [...bytes].map((byte) => `${before}${byte.toString(16).padStart(digits, '0')}`).join('');
}
