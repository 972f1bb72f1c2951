/** Numbers since the start about TLS, access and reloads; never names. */

/** Counters of watched files of one kind. */
interface MonitoredFiles {
  readonly replaced: number;
  readonly unusable: number;
}

interface MonitoredTlsNumbers extends MonitoredFiles {
  /** In milliseconds since 1970; undefined without a certificate of its own. */
  readonly notAfterEpochMs: number | undefined;
  readonly failed: number;
}

interface MonitoredHandshakes extends MonitoredTlsNumbers {
  readonly timedOut: number;
  readonly refused: number;
  readonly unverified: number;
}

export interface MonitoredSecurity {
  readonly access: {
    readonly numbers: MonitoredFiles;
    /** Undefined if no credential was ever needed. */
    readonly counts: { readonly unverified: number; readonly forgotten: number } | undefined;
  };
  /** Connections of the monitoring port. */
  readonly connections: { readonly size: number; readonly overflows: number };
  /** Undefined for a connection without TLS. */
  readonly tls: {
    readonly listen: { readonly numbers: MonitoredHandshakes } | undefined;
    readonly monitor: { readonly numbers: MonitoredHandshakes } | undefined;
    readonly upstream: { readonly numbers: MonitoredTlsNumbers } | undefined;
  };
  readonly reloads: {
    readonly results: Readonly<Record<'applied' | 'refused', number>>;
    readonly lastAppliedEpochMs: number;
    readonly isLastApplied: boolean;
    readonly waiting: number;
  };
}
