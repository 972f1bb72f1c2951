import type { CertificateMode } from '../../protocol/http1/certificate-fields.ts';
import type { ForwardedMode } from '../../protocol/http1/forwarded.ts';

/** Options of the relay and of WebSockets. A reload can change them. */
export interface TrafficOptions {
  readonly forwarded: ForwardedMode;
  readonly clientCertificate: CertificateMode;
  /** Fields and trailers that are removed from requests, as keys of `twinKey`. */
  readonly replacedFields: ReadonlySet<string>;
  readonly headBytes: number;
  readonly maxFields: number;
  readonly headTimeoutMs: number;
  readonly idleTimeoutMs: number;
  /** How long a client that has closed its sending side may still wait for its answer. */
  readonly halfClosedTimeoutMs: number;
  /** From the end of the request to the first byte of the response; 0: no limit, so that long polls may be held. */
  readonly responseTimeoutMs: number;
}
