/** The sources that read a JVM on this machine without its help, as the tests use them. */
import { pino } from 'pino';
import { AttachOverlay } from '../../../../src/jvm/attach/attach-overlay.ts';
import { HsperfdataSource } from '../../../../src/jvm/hsperfdata/hsperfdata-source.ts';
import type { JvmReading, JvmSource } from '../../../../src/jvm/jvm-source.ts';
import { LocalSource } from '../../../../src/jvm/local-source.ts';
import type { SourceName } from './exceptions.ts';

const ATTACH_TIMEOUT_MS = 1_000;

/** `hsperfdata+attach` as with `jvm.attach: true`. It fails where the overlay would silently go without an answer. */
export function openSource(name: SourceName, pid: number): JvmSource {
  const file = new HsperfdataSource({ pid });
  if (name === 'hsperfdata') return file;
  const overlay = new AttachOverlay({ mayOpen: true, timeoutMs: ATTACH_TIMEOUT_MS });
  const source = new LocalSource(file, overlay, pino({ level: 'silent' }));
  return {
    name,
    async read(signal): Promise<JvmReading> {
      const reading = await source.read(signal);
      if (overlay.reason !== undefined) throw new Error(overlay.reason);
      return reading;
    },
    close: () => source.close(),
  };
}
