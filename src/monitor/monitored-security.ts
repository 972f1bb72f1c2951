/** What the monitoring server tells of TLS, of who may read, and of reloads: numbers since the start, and no names. */

/** Watched files of one kind. */
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
    /** Undefined where no credential was ever needed. */
    readonly counts: { readonly unverified: number; readonly forgotten: number } | undefined;
  };
  /** Of the monitoring port itself. */
  readonly connections: { readonly size: number; readonly overflows: number };
  /** Each undefined where it is plain. */
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
