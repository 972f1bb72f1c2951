import { expect, it } from 'vitest';
import { toCounters } from '../../../../src/jvm/hsperfdata/counters.ts';
import { toLayout } from '../../../../src/jvm/hsperfdata/entries.ts';
import { toJavaCommand } from '../../../../src/jvm/hsperfdata/java-command.ts';
import {
  countersOf,
  entryOf,
  printedCounters,
  SAMPLES,
  sampleBytes,
  toBigEndian,
  withEntry,
  withNumber,
  withText,
} from '../../../support/jvm/hsperfdata/samples.ts';

const bytes = sampleBytes('jdk17-g1');

for (const sample of SAMPLES) {
  it(`${sample}: every counter of the file is what jcmd printed, none is missing`, () => {
    const file = sampleBytes(sample);
    const result = toLayout(file);
    if (result.kind !== 'layout') throw new Error(result.kind);
    const read = new Map(
      result.layout.entries.map(({ name, type, dataOffset, dataBytes }) => {
        if (type === 'J') return [name, String(file.readBigInt64LE(dataOffset))];
        const text = file.toString('latin1', dataOffset, dataOffset + dataBytes);
        return [name, `"${text.slice(0, text.indexOf('\0'))}"`];
      }),
    );
    const printed = new Map([...printedCounters(sample)].filter(([name]) => !name.startsWith('sun.perfdata.')));
    // It moves every 50 ms; jcmd read it after the copy was made.
    printed.delete('sun.os.hrt.ticks');
    read.delete('sun.os.hrt.ticks');
    expect(read).toEqual(printed);
  });

  it(`${sample}: the wanted counters have the values that jcmd printed`, () => {
    const { numbers, texts } = countersOf(sampleBytes(sample));
    const printed = printedCounters(sample);
    expect(numbers.size).toBeGreaterThan(20);
    for (const [name, value] of numbers)
      if (name !== 'sun.os.hrt.ticks') expect(String(value), name).toBe(printed.get(name));
    for (const [name, value] of texts) expect(`"${value}"`, name).toBe(printed.get(name));
  });

  it(`${sample}: a big-endian file says the same`, () => {
    const file = sampleBytes(sample);
    const converted = toBigEndian(file);
    expect(converted.equals(file)).toBe(false);
    expect(countersOf(converted)).toEqual(countersOf(file));
  });
}

it('reads the JDK, the start time and the started class', () => {
  expect(countersOf(bytes)).toMatchObject({
    jdkMajor: 17,
    startedEpochMs: 1795227162413,
    command: { kind: 'other', name: 'Probe' },
  });
  expect(countersOf(sampleBytes('jdk25-z'))).toMatchObject({ jdkMajor: 25, hasOverflow: false });
});

it('ignores a JDK version that only one of two counters has', () => {
  const changed = withText(bytes, 'java.property.java.vm.specification.version', '27');
  expect(countersOf(changed).jdkMajor).toBeUndefined();
});

it('never exposes a password of an option, an argument or a property', () => {
  let planted = withText(bytes, 'java.rt.vmArgs', '-Dpassword=hunter2');
  planted = withEntry(planted, 'java.property.java.vm.password', 'hunter2');
  planted = withEntry(planted, 'java.rt.vmFlags.more', 'hunter2');
  planted = withEntry(planted, 'sun.gc.collector.7.password', 'hunter2');
  // The name of the command's own counter, changed so that a second one can be planted with a longer text.
  const name = entryOf(bytes, 'sun.rt.javaCommand');
  planted.write('X', name.dataOffset - 2, 'latin1');
  planted = withEntry(planted, 'sun.rt.javaCommand', 'com.example.Main --password hunter2 -Dpassword=hunter2');
  const counters = countersOf(planted);
  expect(counters.command).toEqual({ kind: 'other', name: 'com.example.Main' });
  const everything = JSON.stringify({ ...counters, numbers: [...counters.numbers.keys()], texts: [...counters.texts] });
  expect(everything).not.toContain('hunter2');
});

it('reports a file that is not accessible yet as a starting JVM', () => {
  const starting = Buffer.from(bytes);
  starting.writeUInt8(0, 7);
  expect(toCounters(starting)).toEqual({ kind: 'starting' });
});

it('reports that some counters did not fit', () => {
  const overflown = Buffer.from(bytes);
  overflown.writeInt32LE(4328, 12);
  expect(countersOf(overflown).hasOverflow).toBe(true);
});

it('refuses a file that was cut anywhere in its header or counters', () => {
  const used = bytes.readInt32LE(8);
  for (let length = 0; length < used; length += 1)
    expect(toCounters(bytes.subarray(0, length)).kind, `${length}`).toBe('invalid');
  expect(countersOf(bytes.subarray(0, used))).toEqual(countersOf(bytes));
});

const HEADER_DAMAGE: readonly (readonly [string, number, number])[] = [
  ['magic', 0, 0xcb],
  ['byte order', 4, 2],
  ['the other byte order', 4, 0],
  ['major version', 5, 3],
  ['accessible', 7, 2],
  ['end', 8, 1],
  ['overflow', 15, 0x80],
  ['offset of the first counter', 24, 0],
  ['number of counters', 28, 1],
];
it.each(HEADER_DAMAGE)('refuses a header with a wrong %s', (_, offset, value) => {
  const damaged = Buffer.from(bytes);
  damaged.writeUInt8(value, offset);
  expect(toCounters(damaged).kind).toBe('invalid');
});

it('refuses a duplicate counter', () => {
  const damaged = Buffer.from(bytes);
  damaged.write('sun.gc.collector.0.time', bytes.indexOf('sun.gc.collector.1.time\0', 0, 'latin1'), 'latin1');
  expect(toCounters(damaged)).toEqual({ kind: 'invalid', reason: 'it has the counter sun.gc.collector.0.time twice' });
});

it('refuses a counter of another type or unit than HotSpot gives it', () => {
  const { dataOffset } = entryOf(bytes, 'sun.gc.metaspace.used');
  const damaged = Buffer.from(bytes);
  // The value of this one begins 48 bytes behind its head.
  damaged.writeUInt8(3, dataOffset - 48 + 14);
  expect(toCounters(damaged)).toEqual({
    kind: 'invalid',
    reason: 'its counter sun.gc.metaspace.used is of another kind',
  });
});

it('reads numbers without judging their plausibility', () => {
  expect(countersOf(withNumber(bytes, 'sun.gc.metaspace.used', -1n)).numbers.get('sun.gc.metaspace.used')).toBe(-1n);
});

it.each([
  ['org.apache.catalina.startup.Bootstrap start', 'application-server', 'org.apache.catalina.startup.Bootstrap'],
  [
    'org.apache.catalina.startup.Bootstrap -config /etc/x.xml start',
    'application-server',
    'org.apache.catalina.startup.Bootstrap',
  ],
  ['org.apache.catalina.startup.Bootstrap stop', 'tool', 'org.apache.catalina.startup.Bootstrap'],
  ['org.apache.catalina.startup.Bootstrap configtest', 'tool', 'org.apache.catalina.startup.Bootstrap'],
  [
    '/opt/wildfly/jboss-modules.jar -mp /opt/wildfly/modules org.jboss.as.standalone',
    'application-server',
    'jboss-modules.jar',
  ],
  ['/opt/wildfly/jboss-modules.jar -mp /opt/wildfly/modules org.jboss.as.cli --connect', 'tool', 'jboss-modules.jar'],
  ['jdk.jcmd/sun.tools.jcmd.JCmd 12 help', 'tool', 'sun.tools.jcmd.JCmd'],
  ['sun.tools.jps.Jps', 'tool', 'sun.tools.jps.Jps'],
  ['jdk.jcmd/sun.tools.jstat.Jstat -gc 12', 'tool', 'sun.tools.jstat.Jstat'],
  ['com.example.Main org.apache.catalina.startup.Bootstrap start', 'other', 'com.example.Main'],
  ['', 'other', 'unnamed'],
])('reads `%s` as %s', (text, kind, name) => {
  expect(toJavaCommand(text)).toEqual({ kind, name });
});

it('keeps a short name of harmless characters only', () => {
  const { name } = toJavaCommand(`/opt/<b>a"b\u0001${'x'.repeat(200)}.jar secret`);
  expect(name).toMatch(/^[\w.$-]{1,80}$/);
});
