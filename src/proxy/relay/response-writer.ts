import type { ResponseReader } from '../../protocol/http1/response-reader.ts';
import { MAX_TEXT_BYTES } from '../../protocol/http1/text.ts';
import type { ReadBuffer } from '../upstream/read-buffer.ts';
import type { ClientLink } from './client-link.ts';
import { withDrainNotice } from './messages.ts';
import type { RelayServices } from './relay-services.ts';

/** Writes what was read of a response to the client, with `Connection: close` in its head while the sidecar drains. */
export class ResponseWriter {
  readonly #client: ClientLink;
  readonly #services: RelayServices;
  readonly #context: { readonly isDraining: boolean };
  /** We added `Connection: close` to the current response. */
  hasDrainNotice = false;

  constructor(client: ClientLink, services: RelayServices, context: { readonly isDraining: boolean }) {
    this.#client = client;
    this.#services = services;
    this.#context = context;
  }

  /**
   * False if the client's socket is full. `read` is the read that `response` has just parsed, in `buffer` if that is
   * shared. `endedNs`: 0 before the response's end.
   */
  write(response: ResponseReader, read: Buffer, buffer: ReadBuffer | undefined, endedNs: number): boolean {
    const { bytes, end, headEnd, head } = response;
    if (end === 0) return true;
    const sinceNs = endedNs > 0 ? this.#services.reporter.added.response.sample(endedNs) : 0;
    const hasNotice = headEnd > 0 && this.#context.isDraining && head?.isPersistent === true;
    if (hasNotice) this.hasDrainNotice = true;
    if (!hasNotice && end <= MAX_TEXT_BYTES) {
      this.#client.writeSoon(bytes.toString('latin1', 0, end), sinceNs);
      return true;
    }
    return hasNotice
      ? this.#client.write(withDrainNotice(bytes, headEnd, end), sinceNs)
      : this.#client.write(bytes.subarray(0, end), sinceNs, bytes === read ? buffer : undefined);
  }
}
