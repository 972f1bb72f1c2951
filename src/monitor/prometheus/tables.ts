/**
 * All tables of `/metrics`, in their order. Prefixes: `d2_` for the control system, `d2_sidecar_` for the sidecar,
 * `jvm_` and `process_` as in the Prometheus libraries. Labels are closed sets, or the bounded names of RPCs and
 * objects; never a user, a session or an address. docs/prometheus.md lists all of them. This folder writes tables as
 * text; it must not know HTTP, except for the negotiation of the format.
 */
import type { Monitored } from '../monitored.ts';
import type { ProcessReading } from '../process-reading.ts';
import { accessLogTables } from './access-log-tables.ts';
import { applicationTables, nameTables } from './application-tables.ts';
import { cometTables } from './comet-tables.ts';
import { jvmSourceTables, jvmTables } from './jvm-tables.ts';
import { otlpTables } from './otlp-tables.ts';
import { securityTables } from './security-tables.ts';
import { brokenCallTables, limitTables, processTables, trafficTables } from './sidecar-tables.ts';
import { stateTables } from './state-tables.ts';
import type { Table } from './table.ts';

export function toTables(
  { applications, sidecar, jvm }: Pick<Monitored, 'applications' | 'sidecar' | 'jvm'>,
  reading: ProcessReading,
): readonly Table[] {
  const numbers = sidecar.own.read();
  return [
    ...applicationTables(applications),
    ...brokenCallTables(numbers),
    ...cometTables(numbers.comet),
    ...jvmTables(jvm),
    ...trafficTables(sidecar, numbers),
    ...nameTables(applications),
    ...limitTables(sidecar, numbers),
    ...securityTables(sidecar.security),
    ...stateTables(sidecar.state),
    ...otlpTables(sidecar.otlp),
    ...accessLogTables(sidecar.accessLog),
    ...jvmSourceTables(jvm),
    ...processTables(sidecar, reading),
  ];
}
