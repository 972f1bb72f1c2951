import type { HostPort } from './host-port.ts';

/** A listening socket that the process was started with. Its address takes the place of the configured one. */
export interface GivenSocket {
  readonly section: 'listen' | 'monitor';
  readonly fd: number;
  readonly address: HostPort;
}
